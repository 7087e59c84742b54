"""Picture of reliability: ``python -m benchmarks.reliability_picture [FILE]``, docs/reliability-of-search.png.

Stated probabilities against how often they are true, in ten bins with at least 300 pairs (30 queries):
P(similarity > t) for t exceeded by 1, 5 and 20 % of all pairs, and P(copy) where half of the queries are exact copies,
which is told. Data, sizes and seeds of benchmarks.search_coverage, 80 % of the values missing independently.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.search_cells import SEEDS, Cell, data
from benchmarks.search_coverage import BINS, LEAST_PAIRS, SHARES

mpl.use("Agg")
from matplotlib import pyplot

LEAST_QUERIES = 10  # of a bin, for each seed
MARKS = ("o", "s", "^", "D")


def main(target: Path) -> None:
    tables = data()
    cells = [Cell(name, *tables[name], "independent") for name in ("digits", "breast_cancer")]
    figure, axes = pyplot.subplots(1, len(cells), figsize=(9, 4.4), sharey=True)
    for axis, cell in zip(axes, cells, strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for mark, (label, (p, hit, least)) in zip(MARKS, curves(cell).items(), strict=True):
            axis.plot(*binned(p, hit, least), marker=mark, markersize=5, linewidth=1.2, label=label)
        axis.set(title=f"{cell.name}, 80 % missing", xlabel="stated probability", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("how often it was true")
    axes[0].legend(frameon=False, loc="upper left")
    figure.tight_layout()
    figure.savefig(target, dpi=110)


def curves(cell):
    """Stated probabilities and what was true, for each question."""
    found = {f"similarity > t, t: top {share:.0%}": ([], [], LEAST_PAIRS) for share in SHARES}
    found["copy of a candidate"] = ([], [], LEAST_QUERIES)
    own = {"method": "posterior", "effort": "fast", "progress": False}
    for seed in SEEDS:
        P, whole, rng = cell.parts(seed)
        done = sc.complete(P, cell.hidden(whole, rng), **own)
        truth = cosine_similarity(whole, P)
        for share, (p, hit, _) in zip(SHARES, found.values(), strict=False):
            t = float(np.quantile(truth, 1 - share))
            p.append(done.probability(above=t).ravel())
            hit.append((truth > t).ravel())
        both = np.concatenate([P[rng.permutation(cell.n)[: cell.n_q]], whole[: cell.n_q]])
        match = sc.complete(P, cell.hidden(both, rng), prior=(0.5, 0, 0), **own).match
        found["copy of a candidate"][0].append(match.copy)
        found["copy of a candidate"][1].append(np.arange(len(both)) < cell.n_q)
    return {
        name: (np.concatenate(p), np.concatenate(hit), least * len(SEEDS)) for name, (p, hit, least) in found.items()
    }


def binned(p, hit, least):
    """Mean stated probability and share of what was true, bin by bin."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    full = [b for b in range(BINS) if (bins == b).sum() >= least]
    return [p[bins == b].mean() for b in full], [hit[bins == b].mean() for b in full]


if __name__ == "__main__":
    beside = Path(__file__).parent.parent / "docs" / "reliability-of-search.png"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else beside)
