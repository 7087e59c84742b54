"""Intervals that hold and reliable probabilities: ``python -m benchmarks.search_coverage``.

Queries are up to 500 rows that are no candidates; 800 candidates, fewer where there are fewer rows, seeds pooled.
Coverage of 90 % intervals of all pairs and of the predicted nearest, their mean width, and the largest difference of
stated probability and frequency in ten bins: of P(similarity > t), t exceeded by 1, 5 and 20 % of the pairs, and of
P(among the ten nearest), with their standard errors if queries are drawn anew: the pairs of a query go together, and
large probabilities may be those of few queries. Tables of docs/find-the-same.md; ``--help`` shows what else can be
asked.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.search_cells import asked_cells

SHARES, LEAST_PAIRS, BINS, NEAREST = (0.01, 0.05, 0.2), 100, 10, 10  # pairs of a bin for each seed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_coverage")
    parser.add_argument("--least", type=int, help=f"pairs of a bin that counts ({LEAST_PAIRS} for each seed)")
    cells, asked = asked_cells(parser)
    for cell in cells:
        least = LEAST_PAIRS * len(asked.seeds) if asked.least is None else asked.least
        print(table([reliability(cell, asked.seeds, asked.effort, least)]), flush=True)


def reliability(cell, seeds, effort, least_pairs):
    """Coverage of 90 % intervals, and the largest error of stated probabilities in a bin."""
    inside, widths = {"all": [], "top 10": [], "top 1": []}, []
    stated = {name: ([], []) for name in (*SHARES, "nearest")}
    for seed in seeds:
        P, whole, rng = cell.parts(seed)
        done = sc.complete(P, cell.hidden(whole, rng), method="posterior", effort=effort, progress=False)
        truth, (low, high) = cosine_similarity(whole, P), done.interval(0.9)
        held = (low <= truth) & (truth <= high)
        order = np.argsort(-done.similarity("queries", "candidates"), axis=1)
        for key, k in (("all", cell.n), ("top 10", 10), ("top 1", 1)):
            inside[key].append(np.take_along_axis(held, order[:, :k], axis=1).mean())
        widths.append((high - low).mean())
        for share in SHARES:
            t = float(np.quantile(truth, 1 - share))
            stated[share][0].append(done.probability(above=t))
            stated[share][1].append(truth > t)
        stated["nearest"][0].append(done.top_probability(NEAREST))
        least = -np.partition(-truth, NEAREST - 1, axis=1)[:, NEAREST - 1 : NEAREST]
        stated["nearest"][1].append(truth >= least)
    worst = [largest_gap(np.concatenate(p), np.concatenate(hit), least_pairs) for p, hit in stated.values()]
    gaps, errors = ([f"{number:.3f}" for number in each] for each in zip(*worst, strict=True))
    covered = {key: f"{np.mean(values):.3f}" for key, values in inside.items()}
    width = f"{np.mean(widths):.3f}"
    bins = {"bins 1/5/20 %": "/".join(gaps[:3]), "nearest": gaps[3], "their standard errors": "/".join(errors)}
    return {"data": str(cell), **covered, "width": width, **bins}


def largest_gap(p, hit, least):
    """The largest difference of stated probability and frequency in a bin with enough pairs, and its standard error.

    Lines are queries.
    """
    bins, found = np.minimum((p * BINS).astype(int), BINS - 1), []
    for b in range(BINS):
        count = (bins == b).sum()
        if count >= least:
            by_query = np.where(bins == b, p - hit, 0.0).sum(axis=1)
            found.append((abs(by_query.sum()) / count, np.sqrt(np.sum(by_query**2)) / count))
    return max(found)


if __name__ == "__main__":
    main()
