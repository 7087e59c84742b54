"""Intervals that hold, reliable probabilities, copies that are found: ``python -m benchmarks.find_the_same``.

Digits and breast cancer of scikit-learn, features of the latter divided by their standard deviations; 800 candidates
and 200 queries (427 and 142), seeds 10 to 12 pooled, `effort="fast"` unless told. The tables of docs/find-the-same.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.__main__ import table

SEEDS, SHARES, LEAST_PAIRS, BINS = (10, 11, 12), (0.01, 0.05, 0.2), 300, 10
NOISES = (0.0, 0.1, 0.25)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.find_the_same")
    parser.add_argument("--effort", default="fast", help="of posterior (fast)")
    asked = parser.parse_args()
    X = load_breast_cancer().data
    data = {"digits": (load_digits().data, 800, 200), "breast_cancer": (X / X.std(axis=0), 427, 142)}
    print(table([reliability(name, *of, missing, asked.effort) for name, of in data.items() for missing in (0.5, 0.8)]))
    print(table([row for name, of in data.items() for row in copies(name, *of, asked.effort)]))


def parts(X, n, n_q, seed):
    """Candidates, complete queries, and what is random."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[: n + n_q]
    return X[rows[:n]], X[rows[n:]], rng


def reliability(name, X, n, n_q, missing, effort):
    """Coverage of 90 % intervals, and the largest error of stated probabilities in a bin."""
    inside, widths, stated = {"all": [], "top 10": [], "top 1": []}, [], {share: ([], []) for share in SHARES}
    for seed in SEEDS:
        P, whole, rng = parts(X, n, n_q, seed)
        Q = np.where(rng.random(whole.shape) < missing, np.nan, whole)
        Q[np.isnan(Q).all(axis=1), 0] = whole[np.isnan(Q).all(axis=1), 0]
        done = sc.complete(P, Q, method="posterior", effort=effort, progress=False)
        truth, (low, high) = cosine_similarity(whole, P), done.interval(0.9)
        held = (low <= truth) & (truth <= high)
        order = np.argsort(-done.similarity("queries", "candidates"), axis=1)
        for key, k in (("all", n), ("top 10", 10), ("top 1", 1)):
            inside[key].append(np.take_along_axis(held, order[:, :k], axis=1).mean())
        widths.append((high - low).mean())
        for share, (p, hit) in stated.items():
            t = np.quantile(truth, 1 - share)
            p.append(done.probability(above=t).ravel())
            hit.append((truth > t).ravel())
    worst = "/".join(_worst(np.concatenate(p), np.concatenate(hit)) for p, hit in stated.values())
    covered = {key: f"{np.mean(values):.3f}" for key, values in inside.items()}
    return {"data": f"{name}, {missing}", **covered, "width": f"{np.mean(widths):.3f}", "worst bin 1/5/20 %": worst}


def _worst(p, hit):
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    gaps = [abs(p[bins == b].mean() - hit[bins == b].mean()) for b in range(BINS) if (bins == b).sum() >= LEAST_PAIRS]
    return f"{max(gaps):.3f}"


def copies(name, X, n, n_q, effort):
    """Whose first neighbour is the source of a copy, and how well copies are told from fresh queries."""
    for noise in NOISES:
        first, scores, labels = {"without": [], "overlap": [], "copies=True": []}, {"overlap": [], "match": []}, []
        for seed in SEEDS:
            P, fresh, rng = parts(X, n, n_q, seed)
            source = rng.permutation(n)[:n_q]
            made = P[source] + noise * P.std(axis=0) * rng.standard_normal((n_q, X.shape[1]))
            both = np.concatenate([made, fresh])
            Q = np.where(rng.random(both.shape) < 0.8, np.nan, both)
            Q[np.isnan(Q).all(axis=1), 0] = both[np.isnan(Q).all(axis=1), 0]
            S0 = sc.overlap_similarity(P, Q)
            plain = sc.complete(P, Q, method="posterior", effort=effort, progress=False)
            found = sc.complete(P, Q, method="posterior", effort=effort, copies=True, progress=False)
            for key, ids in (
                ("without", plain.search(1).ids[:, 0]),
                ("overlap", S0.argmax(axis=1)),
                ("copies=True", found.search(1).ids[:, 0]),
            ):
                first[key].append(np.mean(ids[:n_q] == source))
            scores["overlap"].append(S0.max(axis=1))
            scores["match"].append(found.match.copy)
            labels.append(np.arange(2 * n_q) < n_q)
        told = {
            f"AUC {key}": f"{roc_auc_score(np.concatenate(labels), np.concatenate(of)):.3f}"
            for key, of in scores.items()
        }
        yield {
            "data": f"{name}, noise {noise} sd",
            **{f"first, {k}": f"{np.mean(v):.3f}" for k, v in first.items()},
            **told,
        }


if __name__ == "__main__":
    main()
