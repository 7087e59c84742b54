"""Draw the pictures of the README: python docs/picture.py [FOLDER]."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import numpy as np

import simcomplete as sc
from simcomplete._report import demo, figures

SHOWN = 6
SHAPE = (8, 8)


def main(target: Path, **settings: int) -> None:
    """Run the demonstration and write its spectrum as PNG."""
    shown = demo.run(methods=["overlap", "posterior"], **settings)
    named = {"S0, overlap similarity": shown.before, "after posterior": shown.after, "S*, the truth": shown.truth}
    address = figures.spectrum({name: np.linalg.eigvalsh(S) for name, S in named.items()})
    target.write_bytes(base64.b64decode(address.split(",", 1)[1]))


def queries(target: Path, candidates: int = 1000, number: int = 200) -> None:
    """Draw the first queries of the README's ten lines, the nearest candidate of each, and the complete images."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    X = sc.datasets.load("digits").X
    P, truth = X[:candidates], X[candidates : candidates + number]
    Q = sc.masks.apply(truth, sc.masks.random(truth, missing=0.8))
    done = sc.complete(P, Q, progress=False)
    ids, scores = done.search(k=1)
    low, high = done.interval(0.9)
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    axes = figure.subplots(3, SHOWN)
    names = (
        "input: images with\n80 % of their pixels\nmissing (orange)",
        f"output: the most similar\nof {candidates} complete images,\nsimilarity, 90 % interval",
        "truth: the same images\nwithout gaps, and the\ntrue similarity",
    )
    for row, name in zip(axes, names, strict=True):
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
    for i, column in enumerate(axes.T):
        at = ids[i, 0]
        for axis, pixels in zip(column, (Q[i], P[at], truth[i]), strict=True):
            axis.imshow(pixels.reshape(SHAPE), cmap="gray_r", vmin=0, vmax=16)
            axis.set_facecolor([part / 255 for part in figures.HIDDEN])
            axis.set(xticks=[], yticks=[])
        true = P[at] @ truth[i] / np.linalg.norm(P[at]) / np.linalg.norm(truth[i])
        column[1].set_xlabel(f"{scores[i, 0]:.2f}\n({low[i, at]:.2f} to {high[i, at]:.2f})", fontsize=10)
        column[2].set_xlabel(f"{true:.2f}", fontsize=10)
    figure.savefig(target, dpi=150)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    main(folder / "spectrum.png")
    queries(folder / "queries.png")
