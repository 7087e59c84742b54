"""Copies that are found, and fresh queries that are not harmed: ``python -m benchmarks.find_the_same``.

For each set of rows and kind of mask: 200 copies of candidates at each noise and up to 500 other rows are queries;
800 candidates, fewer where there are fewer rows, seeds pooled. Features of breast_cancer and wine are divided by their
standard deviations. Tables of docs/find-the-same.md; ``--help`` shows what else can be asked.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.search_cells import asked_cells

NOISES = (0.0, 0.1, 0.25)  # an exact, a near and a rough copy
TOLD = 0.5  # share of copies that is told where calibration is measured: copies and as many others
BINS = 10


def main() -> None:
    cells, asked = asked_cells(argparse.ArgumentParser(prog="python -m benchmarks.find_the_same"))
    for cell in cells:
        rows, fresh = measured(cell, asked.seeds, asked.effort)
        print(table(rows), table([fresh]), sep="\n\n", end="\n\n", flush=True)


def measured(cell, seeds, effort):
    """One line for every noise, and one for the queries that are no copies."""
    found = [one(cell, seed, effort) for seed in seeds]
    rows = []
    for i, noise in enumerate(NOISES):
        labels = np.concatenate([np.concatenate([np.ones(cell.n_q), np.zeros(f["fresh"])]) for f in found])
        line = {"data": str(cell), "noise": noise}
        for key in ("without", "overlap", "copies", "possible"):
            line[f"first, {key}"] = f"{np.mean([f[key][i] for f in found]):.3f}"
        for key in ("S0", "p"):
            scores = np.concatenate([np.concatenate([f[key][i], f[key][-1]]) for f in found])
            line[f"AUC {key}"] = f"{roc_auc_score(labels, scores):.3f}"
        for key in ("told", "kind told"):
            p = np.concatenate([np.concatenate([f[key][i], f[key][-1][i][: cell.n_q]]) for f in found])
            copy = np.concatenate([np.arange(2 * cell.n_q) < cell.n_q] * len(found))
            line[f"ECE, {key}"] = f"{calibration_error(p, copy[: len(p)]):.3f}"
        rows.append(line)
    error, before = (sum(f[key] for f in found) for key in ("error", "error before"))
    fresh = {
        "data": str(cell),
        "fresh": sum(f["fresh"] for f in found),
        "squared error, of that without": f"{error / before:.4f}",
        "recall@10, change": f"{np.mean([f['recall'] for f in found]):+.4f}",
    }
    return rows, fresh


def calibration_error(p, hit):
    """Mean difference of stated probability and frequency over bins, by their sizes."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    return sum(abs(np.sum(p[bins == b] - hit[bins == b])) for b in range(BINS)) / len(p)


def one(cell, seed, effort):
    """What is measured with one seed: lists by noise, with the queries that are no copies at the end."""
    P, fresh, rng = cell.parts(seed)
    source = rng.permutation(len(P))[: cell.n_q]
    copies = [P[source] + noise * P.std(axis=0) * rng.standard_normal((len(source), P.shape[1])) for noise in NOISES]
    whole = np.concatenate([*copies, fresh])
    Q = cell.hidden(whole, rng)
    parts = np.split(np.arange(len(whole)), np.cumsum([len(source)] * len(NOISES)))
    own = {"method": "posterior", "effort": effort, "progress": False}
    plain = sc.complete(P, Q, copies=False, **own)
    done = sc.complete(P, Q, **own)
    told = [sc.complete(P, Q, prior=prior, **own).match.copy for prior in (TOLD, *TOLD * np.eye(3))]
    S0 = sc.overlap_similarity(P, Q)
    best = {"without": plain.search(1).ids[:, 0], "overlap": S0.argmax(axis=1), "copies": done.search(1).ids[:, 0]}
    out = {key: [np.mean(ids[part] == source) for part in parts[:-1]] for key, ids in best.items()}
    # Exact copies of rows that agree in all that is seen cannot be told apart.
    equal = [np.sum(((q == P) | np.isnan(q)).all(axis=1)) for q in Q[parts[0]]]
    out["possible"] = [np.mean(1 / np.array(equal)), *[1.0] * (len(NOISES) - 1)]
    out["S0"], out["p"] = ([x[part] for part in parts] for x in (S0.max(axis=1), done.match.copy))
    out["told"] = [*(told[0][part] for part in parts[:-1]), [told[0][parts[-1]]] * len(NOISES)]
    out["kind told"] = [*(p[part] for p, part in zip(told[1:], parts, strict=False)), [p[parts[-1]] for p in told[1:]]]
    truth, last = cosine_similarity(fresh, P), parts[-1]
    S, before = (x.similarity("queries", "candidates")[last] for x in (done, plain))
    nearest = [np.argsort(-x, axis=1)[:, :10] for x in (truth, S, before)]
    found = [np.mean([len(set(a) & set(b)) for a, b in zip(nearest[0], x, strict=True)]) / 10 for x in nearest[1:]]
    return {
        **out,
        "fresh": len(fresh),
        "error": np.sum((S - truth) ** 2),
        "error before": np.sum((before - truth) ** 2),
        "recall": found[0] - found[1],
    }


if __name__ == "__main__":
    main()
