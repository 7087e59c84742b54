"""The paper's figures in its own layout: a panel for each data set or rank, a curve for each method."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, cycle, repeat
from typing import Any

import numpy as np

from simcomplete._report.figures import LIGHT, Theme, drawing
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.tables import MEASURE_LABELS
from simcomplete._reproduction.reported import method_label, set_label
from simcomplete._reproduction.summary import CellSummary
from simcomplete.errors import optional

# Colours that people with colour blindness can tell apart (Okabe and Ito); the markers differ, too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8d99ae", "#9d4edd", "#b08968", "#e63946")
MARKERS = "osD^v<>PX*"
# The smallest half of a range on the vertical axis: smaller differences do not fill the panel.
MIN_HALF_RANGE = 0.005
# Inches; a legend of five columns does not fit into less.
LEAST_WIDTH = 5.6
AXIS_LABELS = {"missing": "missing ratio", "rank": "rank", "penalty": "weight", "step": "step"}


@dataclass(frozen=True)
class PaperFigure:
    """One figure: the name of its files, its title, its protocol, and the cells that it shows."""

    name: str
    title: str
    protocol: Protocol
    cells: list[CellSummary]

    def panels(self) -> list[Any]:
        """Return the values of the panels, from left to right."""
        return list(dict.fromkeys(cell.at[self.protocol.layout_options["panels"]] for cell in self.cells))

    def alt(self) -> str:
        """Describe the figure in words, with the number of points it shows."""
        shown = sum(bool(cell.mean) for cell in self.cells)
        measures = " and ".join(MEASURE_LABELS[m] for m in self.protocol.measures)
        over = sum(bool(cell.mean) and cell.over > 0 for cell in self.cells)
        late = f", {over} of them hollow: over their time limit" if over else ""
        return (
            f"{self.title}: {measures} against {AXIS_LABELS[self.protocol.layout_options['x']]}, {shown} points{late}."
        )


def build_figures(protocol: Protocol, cells: Sequence[CellSummary]) -> list[PaperFigure]:
    """Return the figures of a protocol that have at least one curve, not only single points."""
    axis = protocol.layout_options["pages"]
    figures = []
    for value in dict.fromkeys(cell.at[axis] for cell in cells):
        here = [cell for cell in cells if cell.at[axis] == value]
        if _has_curve(here, protocol.layout_options["x"]):
            label = set_label(value) if axis == "dataset" else f"{AXIS_LABELS[axis]} {value:g}"
            name = f"{protocol.name}-{value if axis == 'dataset' else f'{value:g}'}"
            figures.append(PaperFigure(name, f"{protocol.title}, {label}", protocol, here))
    return figures


def _has_curve(cells: Sequence[CellSummary], x: str) -> bool:
    """Whether any method has points at two values of x."""
    curves: dict[tuple[Any, ...], set[Any]] = {}
    for cell in cells:
        if cell.mean:
            rest = tuple(value for name, value in cell.at.items() if name != x)
            curves.setdefault((cell.method, cell.column, rest), set()).add(cell.at[x])
    return any(len(values) > 1 for values in curves.values())


def draw_figure(figure: PaperFigure, kind: str, theme: Theme = LIGHT) -> bytes:
    """Draw one figure as "png" or "svg"; the same data give the same bytes."""
    options = figure.protocol.layout_options
    panels = figure.panels()
    measures = figure.protocol.measures
    shape = (len(measures), len(panels))
    width = max(2.1 * shape[1] + 0.6, LEAST_WIDTH)
    canvas, grid = drawing(width, 2.2 * shape[0] + 0.6, theme, columns=shape[0] * shape[1])
    specs = canvas.add_gridspec(*shape)
    for axes, spec in zip(np.atleast_1d(grid), specs, strict=True):  # from one row of panels to a row per measure
        axes.set_subplotspec(spec)
    for row, measure in zip(np.reshape(grid, shape), measures, strict=True):
        for axes in row[1:] if options["panels"] != "dataset" else ():  # the same data, so the same scale
            axes.sharey(row[0])
        for axes, panel in zip(row, panels, strict=True):
            here = [cell for cell in figure.cells if cell.at[options["panels"]] == panel]
            _draw_panel(axes, here, measure, figure.protocol, theme)
            name = set_label(panel) if options["panels"] == "dataset" else f"{AXIS_LABELS[options['panels']]} {panel:g}"
            axes.set_title(name, color=theme.ink, fontsize=9)
        row[0].set_ylabel(MEASURE_LABELS[measure], color=theme.ink)
    drawn = [line for axes in np.ravel(grid) for line in axes.get_lines()]
    lines = {line.get_label(): line for line in drawn if not line.get_label().startswith("_")}
    style = {"facecolor": theme.paper, "edgecolor": theme.ink, "labelcolor": theme.ink, "fontsize": 8}
    canvas.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=5, **style)
    return figure_bytes(canvas, kind)


def figure_bytes(canvas: Any, kind: str) -> bytes:
    """Return a figure as "png" or "svg", without date and random names: the same data give the same bytes."""
    out = io.BytesIO()
    matplotlib = optional("matplotlib", extra="cli", purpose="drawing figures")
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "simcomplete", "svg.fonttype": "none"}):  # text stays text
        canvas.savefig(out, format=kind, dpi=100, metadata=metadata)
    return out.getvalue()


def _draw_panel(axes: Any, cells: Sequence[CellSummary], measure: str, protocol: Protocol, theme: Theme) -> None:
    x = protocol.layout_options["x"]
    many = len(protocol.columns) > 1
    curves = list(dict.fromkeys((e.method, e.column) for e in cells))
    sizes = chain((7, 5), repeat(4))  # different sizes, so that both of two equal curves are visible
    for (method, column), colour, marker, size in zip(curves, cycle(COLOURS), cycle(MARKERS), sizes, strict=False):
        mine = [e for e in cells if (e.method, e.column) == (method, column) and measure in e.mean]
        style = {"color": colour, "marker": marker, "markersize": size}
        label = method_label(method) + (f", {column}" if many else "")
        if mine:
            axes.plot([e.at[x] for e in mine], [e.mean[measure] for e in mine], label=label, linewidth=1.2, **style)
        for cell in mine:
            if cell.over:  # hollow: over its time limit
                axes.plot(cell.at[x], cell.mean[measure], label="_over", markerfacecolor=theme.paper, **style)
    if protocol.layout_options.get("log_x"):
        axes.set_xscale("log")
    if measure in protocol.layout_options.get("log_y", []):
        axes.set_yscale("log")
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, (low + high) / 2 - MIN_HALF_RANGE), max(high, (low + high) / 2 + MIN_HALF_RANGE))
    axes.minorticks_off()  # they would take a third of the file
    axes.set_xlabel(AXIS_LABELS[x], fontsize=8)
    axes.tick_params(labelsize=7)
