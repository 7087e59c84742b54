"""Classifiers of incomplete rows behind completed ones: ``python -m benchmarks.classifiers``.

Accuracy of a linear model (and of a support vector machine with the same similarities as kernel) that is trained on
complete rows, for test rows with 80 % of their values missing: vectors of one call of `complete`; of
`PosteriorCompleter` with default masks; the same after `recalibrate` with the gaps of the test rows; `PosteriorKernel`.
Then training rows are incomplete, too, with half of their values missing. `effort="fast"`, seeds 10 to 14.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import simcomplete as sc
from benchmarks.__main__ import table

SEEDS, MISSING, TRAINING = (10, 11, 12, 13, 14), 0.8, 0.5
OWN = {"effort": "fast"}


def main() -> None:
    cells = load_breast_cancer()
    data = {
        "digits": (*load_digits(return_X_y=True), 800, 400),
        "breast_cancer": (cells.data / cells.data.std(axis=0), cells.target, 400, 169),
    }
    for name, of in data.items():
        print(table(list(lines(name, *of))), flush=True)


def lines(name, X, y, n, n_q):
    """Mean accuracies, and the standard error of the difference to `complete`."""
    for training in (0.0, TRAINING):
        found = {}
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            rows = rng.permutation(len(X))[: n + n_q]
            P, Q = hidden(X[rows[:n]], training, rng), hidden(X[rows[n:]], MISSING, rng)
            for way, score in scores(P, Q, y[rows[:n]], y[rows[n:]]).items():
                found.setdefault(way, []).append(score)
        base = np.array(found["complete"])
        for way, each in found.items():
            error = np.std(np.array(each) - base, ddof=1) / np.sqrt(len(each))
            yield {
                "data": f"{name}, {training:g} of training rows missing",
                "vectors": way,
                "accuracy": f"{np.mean(each):.3f}",
                "less complete": f"{np.mean(each) - base.mean():+.3f} +- {error:.3f}",
            }


def scores(P, Q, y, y_q):
    """Accuracy by way of completing."""
    given = (np.concatenate([P, Q]),) if np.isnan(P).any() else (P, Q)
    done = sc.complete(*given, method="posterior", progress=False, **OWN)
    whole, new = (np.asarray(done.factor)[part] for part in (slice(len(P)), slice(len(P), None)))
    model = sc.PosteriorCompleter(**OWN).fit(P)
    found = {
        "complete": linear(whole, new, y, y_q),
        "completer": linear(model.transform(P), model.transform(Q), y, y_q),
    }
    if not np.isnan(P).any():
        again = model.recalibrate(Q)
        found["recalibrated"] = linear(again.transform(P), again.transform(Q), y, y_q)
    found["complete, kernel"] = SVC(kernel="precomputed").fit(whole @ whole.T, y).score(new @ whole.T, y_q)
    machine = make_pipeline(sc.PosteriorKernel(**OWN), SVC(kernel="precomputed")).fit(P, y)
    return found | {"PosteriorKernel": machine.score(Q, y_q)}


def linear(train, test, y, y_q):
    """Accuracy of a linear model."""
    return RidgeClassifier(alpha=0.1).fit(train, y).score(test, y_q)


def hidden(X, missing, rng):
    """Rows with values missing, one left at least."""
    gone = rng.random(X.shape) < missing
    gone[gone.all(axis=1), 0] = False
    return np.where(gone, np.nan, X)


if __name__ == "__main__":
    main()
