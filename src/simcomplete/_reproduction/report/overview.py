"""The one picture that tells the story: the error of every method against the missing ratio, on every data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from simcomplete._report.figures import LIGHT, Theme, drawing
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.figures import COLOURS, MARKERS, figure_bytes
from simcomplete._reproduction.reported import method_label, set_label
from simcomplete._reproduction.summary import CellSummary

PROTOCOL = "effectiveness-1000"  # what is shown
NAME = "overview"
PAPERS = ("smcnn", "smcnmf")
OURS = "posterior"
START = "overlap"


@dataclass(frozen=True)
class Overview:
    """Errors by data set and method: pairs of missing ratio and error, the smaller of a method's two columns."""

    errors: dict[str, dict[str, list[tuple[float, float]]]]

    def alt(self) -> str:
        """Describe the picture in words."""
        last = [curves[OURS][-1][1] for curves in self.errors.values() if OURS in curves]
        least = f" posterior ends between {min(last):.2f} and {max(last):.2f}." if last else ""
        return (
            f"Relative squared error (log scale; 1 is that of S0) of every method against the missing ratio, "
            f"{len(self.errors)} data sets, 1,000 candidates: SMCNN and SMCNmF of the paper, posterior of this "
            f"library, all others thin.{least}"
        )

    def draw(self, kind: str, theme: Theme = LIGHT) -> bytes:
        """Draw it as "png" or "svg"."""
        canvas, grid = drawing(2.3 * max(len(self.errors), 1) + 0.6, 4.2, theme, columns=max(len(self.errors), 1))
        every = list(dict.fromkeys(name for curves in self.errors.values() for name in curves))
        others = [name for name in every if name not in (*PAPERS, OURS, START)]
        styles = {
            name: {"color": colour, "marker": marker, "linewidth": 0.7, "markersize": 3, "alpha": 0.75}
            for name, colour, marker in zip(others, cycle(COLOURS[2:]), cycle(f"{MARKERS[2:]}hp"), strict=False)
        }
        styles["smcnmf"] = {"color": COLOURS[1], "marker": "D", "linewidth": 1.5, "markersize": 9, "fillstyle": "none"}
        styles["smcnn"] = {"color": COLOURS[1], "marker": "o", "linewidth": 2.5, "markersize": 5}
        styles[OURS] = {"color": COLOURS[0], "marker": "s", "linewidth": 3.0, "markersize": 6}
        first = np.atleast_1d(grid)[0]
        for axes, (dataset, curves) in zip(np.atleast_1d(grid), self.errors.items(), strict=False):
            if axes is not first:
                axes.sharey(first)
            axes.axhline(1.0, color=theme.ink, linewidth=1.0, linestyle="--", label="S0")
            for name in [*others, "smcnmf", "smcnn", OURS]:
                if name in curves:
                    axes.plot(*zip(*curves[name], strict=True), label=method_label(name), **styles[name])
            axes.set_yscale("log")
            axes.set_title(set_label(dataset), color=theme.ink, fontsize=10)
            axes.set_xlabel("missing ratio", fontsize=8)
            axes.set_xticks(sorted({x for points in curves.values() for x, _ in points}))
            axes.set_yticks([0.1, 0.3, 1, 3, 10, 100, 1000], ["0.1", "0.3", "1", "3", "10", "100", "1000"])
            axes.minorticks_off()
            axes.tick_params(labelsize=7)
        first.set_ylabel("error, S0 = 1", color=theme.ink)
        lines = {line.get_label(): line for axes in np.atleast_1d(grid) for line in axes.get_lines()}
        style = {"facecolor": theme.paper, "edgecolor": theme.ink, "labelcolor": theme.ink, "fontsize": 8}
        canvas.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=8, **style)
        return figure_bytes(canvas, kind)


def build_overview(protocols: Sequence[Protocol], cells: dict[str, list[CellSummary]]) -> Overview | None:
    """Collect the errors; None where the protocol is not among these, or was not run."""
    if PROTOCOL not in {one.name for one in protocols}:
        return None
    errors: dict[str, dict[str, dict[float, float]]] = {}
    for cell in cells[PROTOCOL]:
        if "error" in cell.mean:
            curve = errors.setdefault(cell.at["dataset"], {}).setdefault(cell.method, {})
            curve[cell.at["missing"]] = min(cell.mean["error"], curve.get(cell.at["missing"], np.inf))
    shown = {
        name: {method: sorted(points.items()) for method, points in curves.items()} for name, curves in errors.items()
    }
    return Overview(shown) if shown else None
