"""The demonstration as data: bundled digits with hidden pixels, completed by several methods, and their errors.

`run` returns a `Demo`, which has everything that the page shows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete import datasets, masks
from simcomplete._api import complete
from simcomplete._compare.trial import measure
from simcomplete._rows.progress import track
from simcomplete._similarity.overlap import overlap_similarity
from simcomplete.errors import InputError

# In the order of the table; the others start from the first.
METHODS = ("overlap", "mean", "lr", "fmc", "smcnn", "smcnmf", "smc_nr", "smc_f", "posterior")
# The method that the figures show.
FEATURED = "posterior"


@dataclass(frozen=True)
class Row:
    """The results of one method.

    Attributes
    ----------
    method : str
        The name of the method.
    error : float
        Relative squared error over the whole matrix: 1 is the error of S0.
    recall_fifth, recall_ten, ndcg : float
        Recall among the first 20 percent and the first 10 candidates, nDCG among the first 20 percent.
    rank : int
        Rank of the completed matrix.
    valid : bool
        Whether it passes all five checks of validity.
    fails : list of str
        The checks that it fails.
    validity : dict
        The five checks with their numbers.
    seconds : float
        Time of the completion alone.
    """

    method: str
    error: float
    recall_fifth: float
    recall_ten: float
    ndcg: float
    rank: int
    valid: bool
    fails: list[str]
    validity: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Demo:
    """The data and results of the demonstration; candidates first, then queries."""

    candidates: int
    queries: int
    missing: float
    seed: int
    X: NDArray[np.float64]
    y: NDArray[Any]
    observed: NDArray[np.bool_]
    image_shape: tuple[int, int]
    truth: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    featured: str
    rows: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """Return settings and results as plain values, for JSON."""
        settings = {name: getattr(self, name) for name in ("candidates", "queries", "missing", "seed")}
        return {"data": "digits", **settings, "rows": [asdict(row) for row in self.rows]}

    def query_block(self, S: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the similarities of queries (rows) to candidates (columns)."""
        return S[self.candidates :, : self.candidates]


def run(
    candidates: int = 1000,
    queries: int = 200,
    missing: float = 0.8,
    seed: int = 0,
    *,
    methods: Sequence[str] = METHODS,
    featured: str = FEATURED,
    progress: bool | None = None,
) -> Demo:
    """Hide pixels of some digits, complete their similarities to the others by several methods, and measure the errors.

    Parameters
    ----------
    candidates, queries : int
        How many complete and how many incomplete digits.
    missing : float
        Share of the pixels of each query to hide.
    seed : int
        For the order of the digits and the pixels to hide.
    methods : sequence of str
        Methods to compare.
    featured : str
        The method whose completed matrix is kept; the last one where it is not among the methods.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Demo
        Data, matrices and one row per method.

    Examples
    --------
    >>> demo = run(candidates=60, queries=10, methods=["overlap", "smcnn"])
    >>> [row.method for row in demo.rows], demo.rows[0].error
    (['overlap', 'smcnn'], 1.0)
    """
    featured = featured if featured in methods else methods[-1]
    X, y, shape = _digits(candidates, queries, seed)
    observed = masks.random(X[candidates:], missing=missing, random_state=seed)
    P, Q = X[:candidates], masks.apply(X[candidates:], observed)
    truth, before = overlap_similarity(X), overlap_similarity(np.concatenate([P, Q]))
    rows, after = [], before
    for method in track(methods, "methods", progress):
        start = time.perf_counter()
        done = complete(P, Q, method=method, random_state=seed, progress=False)
        seconds = time.perf_counter() - start
        S = done.similarity()
        if method == featured:
            after = S
        measures = measure(done, S, before, truth, candidates)
        del measures["error_queries_candidates"]  # not in the table
        rows.append(Row(method=method, **measures, validity=done.validity.as_dict(), seconds=seconds))
    return Demo(candidates, queries, missing, seed, X, y, observed, shape, truth, before, after, featured, rows)


def _digits(candidates: int, queries: int, seed: int) -> tuple[NDArray[np.float64], NDArray[Any], tuple[int, int]]:
    data = datasets.load("digits")
    order = np.random.default_rng(seed).permutation(len(data.X))
    order = order[data.X[order].any(axis=1)]  # a row of zeros has no direction, so no cosine
    if candidates < 1 or queries < 1 or candidates + queries > len(order):
        raise InputError(
            f"candidates={candidates} and queries={queries} were requested, but there are {len(order)} digits; "
            f"use at least 1 of each and at most {len(order)} together"
        )
    order = order[: candidates + queries]
    return data.X[order], np.asarray(data.y)[order], data.image_shape or (8, 8)
