"""How well similarities find classes again: neighbours, a support vector machine, clusters, retrieval."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._types import Matrix

FOUND = 10  # how many are retrieved
LEAST = 1e-6  # affinity in clustering: with 0 the graph of the rows could fall into parts


def label_measures(S: Matrix, y: Any, n_train: int, n_classes: int, seed: int) -> dict[str, float]:
    """Return accuracies of the rows after the first `n_train`, precision of retrieval, and the adjusted Rand index.

    Parameters
    ----------
    S : array of shape (n, n)
        Similarities of all rows; classes of the first `n_train` are known.
    y : array of shape (n,)
        Classes, as whole numbers.
    n_train, n_classes, seed : int
        How many classes are known, how many there are, and where clustering starts.

    Examples
    --------
    >>> y = np.repeat([0, 1], 12)[np.random.default_rng(0).permutation(24)]
    >>> S = np.where(y[:, None] == y, 0.9, 0.1) + 0.1 * np.eye(24)
    >>> label_measures(S, y, 16, 2, 0)["nn1"]
    1.0
    """
    across, known, asked = S[n_train:, :n_train], y[:n_train], y[n_train:]
    order = np.argsort(-across, axis=1, kind="stable")
    return {
        "nn1": float(np.mean(known[order[:, 0]] == asked)),
        "nn5": float(np.mean(_majority(known[order[:, :5]], n_classes) == asked)),
        "svc": _svc_accuracy(S, y, n_train),
        "retrieval": float(np.mean(known[order[:, :FOUND]] == asked[:, None])),
        "ari": _rand_index(S, y, n_classes, seed),
    }


def _majority(classes: Any, n_classes: int) -> Any:
    """The most frequent class in each row; of equally frequent ones the one that comes first, the nearest."""
    votes = np.stack([np.sum(classes == k, axis=1) for k in range(n_classes)], axis=1)
    # The nearer a neighbour is, the more its vote counts, but never as much as another vote.
    places = np.stack([np.argmax(classes == k, axis=1) for k in range(n_classes)], axis=1)
    return np.argmax(votes - places / 100, axis=1)


def _svc_accuracy(S: Matrix, y: Any, n_train: int) -> float:
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed").fit(S[:n_train, :n_train], y[:n_train])
    return float(machine.score(S[n_train:, :n_train], y[n_train:]))


def _rand_index(S: Matrix, y: Any, n_classes: int, seed: int) -> float:
    from sklearn.cluster import SpectralClustering
    from sklearn.metrics import adjusted_rand_score

    affinity = np.maximum((S + S.T) / 2, LEAST)
    np.fill_diagonal(affinity, 1.0)
    clusters = SpectralClustering(n_classes, affinity="precomputed", random_state=seed, n_init=3).fit_predict(affinity)
    return float(adjusted_rand_score(y, clusters))
