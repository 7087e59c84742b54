"""Figures of the paper in its own layout: a panel for each data set or rank, a curve for each method."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, cycle, repeat
from typing import Any

import numpy as np

from simcomplete._report.figures import LIGHT, Theme, drawing
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.tables import WORDS
from simcomplete._reproduction.reported import method_label, set_label
from simcomplete._reproduction.summary import Entry
from simcomplete.errors import optional

# Colours that differ for colour-blind eyes too (Okabe and Ito); markers tell curves apart without any.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8d99ae", "#9d4edd", "#b08968", "#e63946")
MARKERS = "osD^v<>PX*"
# Differences far below this are not worth a scale of their own.
FLAT = 0.005
AXES = {"missing": "missing ratio", "rank": "rank", "penalty": "weight", "step": "step"}


@dataclass(frozen=True)
class Figure:
    """One page of a figure: its name in files, its title, and what is on it."""

    name: str
    title: str
    protocol: Protocol
    entries: list[Entry]

    def panels(self) -> list[Any]:
        """Return what the panels stand for, from left to right."""
        return list(dict.fromkeys(entry.at[self.protocol.layout_of["panels"]] for entry in self.entries))

    def alt(self) -> str:
        """Describe the figure in words, with the number of points it shows."""
        shown = sum(bool(entry.mean) for entry in self.entries)
        measures = " and ".join(WORDS[m] for m in self.protocol.measures)
        over = sum(bool(entry.mean) and entry.over > 0 for entry in self.entries)
        late = f", {over} of them hollow: over their time limit" if over else ""
        return f"{self.title}: {measures} against {AXES[self.protocol.layout_of['x']]}, {shown} points{late}."


def pages(protocol: Protocol, entries: Sequence[Entry]) -> list[Figure]:
    """Return the figures of a protocol that have at least one curve; tables often share single points."""
    axis = protocol.layout_of["pages"]
    found = []
    for value in dict.fromkeys(entry.at[axis] for entry in entries):
        here = [entry for entry in entries if entry.at[axis] == value]
        if _curve(here, protocol.layout_of["x"]):
            told = set_label(value) if axis == "dataset" else f"{AXES[axis]} {value:g}"
            name = f"{protocol.name}-{value if axis == 'dataset' else f'{value:g}'}"
            found.append(Figure(name, f"{protocol.title}, {told}", protocol, here))
    return found


def _curve(entries: Sequence[Entry], x: str) -> bool:
    """Whether any method has points at two places."""
    places: dict[tuple[Any, ...], set[Any]] = {}
    for entry in entries:
        if entry.mean:
            rest = tuple(value for name, value in entry.at.items() if name != x)
            places.setdefault((entry.method, entry.column, rest), set()).add(entry.at[x])
    return any(len(found) > 1 for found in places.values())


def draw(figure: Figure, kind: str, theme: Theme = LIGHT) -> bytes:
    """Draw one figure as "png" or "svg"; the same data give the same bytes."""
    told = figure.protocol.layout_of
    panels = figure.panels()
    measures = figure.protocol.measures
    shape = (len(measures), len(panels))
    canvas, grid = drawing(2.1 * shape[1] + 0.6, 2.2 * shape[0] + 0.6, theme, columns=shape[0] * shape[1])
    places = canvas.add_gridspec(*shape)
    for axes, place in zip(np.atleast_1d(grid), places, strict=True):  # from one line into lines by measure
        axes.set_subplotspec(place)
    for row, measure in zip(np.reshape(grid, shape), measures, strict=True):
        for axes in row[1:] if told["panels"] != "dataset" else ():  # the same data: the same scale
            axes.sharey(row[0])
        for axes, panel in zip(row, panels, strict=True):
            here = [entry for entry in figure.entries if entry.at[told["panels"]] == panel]
            _panel(axes, here, measure, figure.protocol, theme)
            name = set_label(panel) if told["panels"] == "dataset" else f"{AXES[told['panels']]} {panel:g}"
            axes.set_title(name, color=theme.ink, fontsize=9)
        row[0].set_ylabel(WORDS[measure], color=theme.ink)
    drawn = [line for axes in np.ravel(grid) for line in axes.get_lines()]
    lines = {line.get_label(): line for line in drawn if not line.get_label().startswith("_")}
    style = {"facecolor": theme.paper, "edgecolor": theme.ink, "labelcolor": theme.ink, "fontsize": 8}
    canvas.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=5, **style)
    out = io.BytesIO()
    # Neither date nor random names inside; text stays text.
    matplotlib = optional("matplotlib", extra="cli", purpose="drawing figures")
    nothing = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "simcomplete", "svg.fonttype": "none"}):
        canvas.savefig(out, format=kind, dpi=100, metadata=nothing)
    return out.getvalue()


def _panel(axes: Any, entries: Sequence[Entry], measure: str, protocol: Protocol, theme: Theme) -> None:
    x = protocol.layout_of["x"]
    many = len(protocol.columns) > 1
    curves = list(dict.fromkeys((e.method, e.column) for e in entries))
    sizes = chain((7, 5), repeat(4))  # so that of two equal curves both show
    for (method, column), colour, marker, size in zip(curves, cycle(COLOURS), cycle(MARKERS), sizes, strict=False):
        mine = [e for e in entries if (e.method, e.column) == (method, column) and measure in e.mean]
        style = {"color": colour, "marker": marker, "markersize": size}
        label = method_label(method) + (f", {column}" if many else "")
        if mine:
            axes.plot([e.at[x] for e in mine], [e.mean[measure] for e in mine], label=label, linewidth=1.2, **style)
        for entry in mine:
            if entry.over:  # hollow: stopped there, not finished
                axes.plot(entry.at[x], entry.mean[measure], label="_over", markerfacecolor=theme.paper, **style)
    if protocol.layout_of.get("log"):
        axes.set_xscale("log")
    if measure in protocol.layout_of.get("logy", []):
        axes.set_yscale("log")
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, (low + high) / 2 - FLAT), max(high, (low + high) / 2 + FLAT))
    axes.minorticks_off()  # a third of the file, and nobody reads them here
    axes.set_xlabel(AXES[x], fontsize=8)
    axes.tick_params(labelsize=7)
