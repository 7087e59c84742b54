"""Picture of reliability: ``python -m benchmarks.reliability_picture [FILE]``, docs/reliability-of-search.png.

Stated probabilities against how often they are true, in ten bins with at least 300 pairs (30 queries):
P(similarity > t) for t exceeded by 1, 5 and 20 % of all pairs, and P(copy) where half of the queries are copies,
which is told. Data, sizes and seeds of benchmarks.find_the_same, 80 % of the values missing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.find_the_same import BINS, LEAST_PAIRS, SEEDS, SHARES, parts

mpl.use("Agg")
from matplotlib import pyplot

MISSING, LEAST_QUERIES = 0.8, 30
MARKS = ("o", "s", "^", "D")


def main(target: Path) -> None:
    cells = load_breast_cancer().data
    data = {"digits": (load_digits().data, 800, 200), "breast_cancer": (cells / cells.std(axis=0), 427, 142)}
    figure, axes = pyplot.subplots(1, len(data), figsize=(9, 4.4), sharey=True)
    for axis, (name, of) in zip(axes, data.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for mark, (label, (p, hit, least)) in zip(MARKS, curves(*of).items(), strict=True):
            axis.plot(*binned(p, hit, least), marker=mark, markersize=5, linewidth=1.2, label=label)
        axis.set(title=f"{name}, 80 % missing", xlabel="stated probability", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("how often it was true")
    axes[0].legend(frameon=False, loc="upper left")
    figure.tight_layout()
    figure.savefig(target, dpi=110)


def curves(X, n, n_q):
    """Stated probabilities and what was true, for each question."""
    found = {f"similarity > t, t: top {share:.0%}": ([], [], LEAST_PAIRS) for share in SHARES}
    found["copy of a candidate"] = ([], [], LEAST_QUERIES)
    for seed in SEEDS:
        P, whole, rng = parts(X, n, n_q, seed)
        done = sc.complete(P, hidden(whole, rng), method="posterior", effort="fast", progress=False)
        truth = cosine_similarity(whole, P)
        for share, (p, hit, _) in zip(SHARES, found.values(), strict=False):
            t = float(np.quantile(truth, 1 - share))
            p.append(done.probability(above=t).ravel())
            hit.append((truth > t).ravel())
        both = np.concatenate([P[rng.permutation(n)[:n_q]], whole])
        own = {"method": "posterior", "effort": "fast", "copies": True, "prior": 0.5, "progress": False}
        match = sc.complete(P, hidden(both, rng), **own).match
        found["copy of a candidate"][0].append(match.copy)
        found["copy of a candidate"][1].append(np.arange(2 * n_q) < n_q)
    return {name: (np.concatenate(p), np.concatenate(hit), least) for name, (p, hit, least) in found.items()}


def hidden(whole, rng):
    """Rows with values missing, one left at least."""
    Q = np.where(rng.random(whole.shape) < MISSING, np.nan, whole)
    empty = np.isnan(Q).all(axis=1)
    Q[empty, 0] = whole[empty, 0]
    return Q


def binned(p, hit, least):
    """Mean stated probability and share of what was true, bin by bin."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    full = [b for b in range(BINS) if (bins == b).sum() >= least]
    return [p[bins == b].mean() for b in full], [hit[bins == b].mean() for b in full]


if __name__ == "__main__":
    beside = Path(__file__).parent.parent / "docs" / "reliability-of-search.png"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else beside)
