"""Kinds of rows, masks, matrices and scales that problems are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Rows

Generator = np.random.Generator

# Powers that squares, products or sums of squares overflow or underflow at, and those around single precision.
SCALES = [1e-310, 1e-300, 1e-160, 1e-154, 1e-30, 1e-8, 1e8, 1e30, 1e154, 1e155, 1e200, 1e300]
SINGLE_SCALES = [1e-44, 1e-38, 1e-30, 1e-20, 1e-8, 1e8, 1e19, 1e30, 1e37]


def _one_hot(rng: Generator, n: int, d: int) -> Rows:
    return np.eye(d)[rng.integers(d, size=n)]


def _duplicated(rng: Generator, n: int, d: int) -> Rows:
    return rng.random((max(1, n // 3), d))[rng.integers(max(1, n // 3), size=n)]


def _zero_rows(rng: Generator, n: int, d: int) -> Rows:
    return rng.random((n, d)) * (rng.random((n, 1)) < 0.6)


def _almost_all_ones(rng: Generator, n: int, d: int) -> Rows:
    rows = np.ones((n, d))
    rows[rng.integers(n, size=3), rng.integers(d, size=3)] = 0
    return rows


def _constant_columns(rng: Generator, n: int, d: int) -> Rows:
    return np.where(rng.random(d) < 0.6, 1.0, rng.random((n, d)))


def _opposite(rng: Generator, n: int, d: int) -> Rows:
    return rng.normal(size=d) * rng.choice([-1.0, 1.0], size=(n, 1))


FAMILIES: dict[str, Callable[[Generator, int, int], Rows]] = {
    "uniform": lambda rng, n, d: rng.random((n, d)),
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "offset": lambda rng, n, d: 100 + rng.normal(size=(n, d)),
    "constant": lambda rng, n, d: np.full((n, d), rng.choice([-1.0, 1.0, 3.0])),
    "constant rows": lambda rng, n, d: np.repeat(rng.normal(size=(n, 1)), d, axis=1),
    "same row": lambda rng, n, d: np.repeat(rng.random((1, d)), n, axis=0),
    "near constant": lambda rng, n, d: 1 + rng.choice([1e-12, 1e-6, 1e-3]) * rng.normal(size=(n, d)),
    "almost all ones": _almost_all_ones,
    "constant columns": _constant_columns,
    "one-hot": _one_hot,
    "duplicated": _duplicated,
    "rank 1": lambda rng, n, d: rng.random((n, 1)) * rng.random(d),
    "rank 1, signs": lambda rng, n, d: rng.normal(size=(n, 1)) * rng.normal(size=d),
    "opposite": _opposite,
    "zero": lambda rng, n, d: np.zeros((n, d)),
    "zero rows": _zero_rows,
    "ties": lambda rng, n, d: rng.integers(0, 3, size=(n, d)).astype(float),
    "sparse binary": lambda rng, n, d: (rng.random((n, d)) < 0.15).astype(float),
    "binary": lambda rng, n, d: (rng.random((n, d)) < 0.5).astype(float),
    "heavy tails": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 9, size=(n, d)),
}


def _one_each(rng: Generator, n: int, d: int) -> Rows:
    return np.arange(d) == rng.integers(d, size=(n, 1))


def _one_row_empty(rng: Generator, n: int, d: int) -> Rows:
    observed = rng.random((n, d)) < 0.6
    observed[rng.integers(n)] = False
    return observed


def _same_for_all(rng: Generator, n: int, d: int) -> Rows:
    return np.repeat(rng.random((1, d)) < 0.5, n, axis=0)


MASKS: dict[str, Callable[[Generator, int, int], Rows]] = {
    "complete": lambda rng, n, d: np.ones((n, d), bool),
    "half": lambda rng, n, d: rng.random((n, d)) < 0.5,
    "few missing": lambda rng, n, d: rng.random((n, d)) < 0.85,
    "few left": lambda rng, n, d: rng.random((n, d)) < 0.2,
    "one each": _one_each,
    "one row empty": _one_row_empty,
    "nothing": lambda rng, n, d: np.zeros((n, d), bool),
    "same for all": _same_for_all,
}


def _symmetric(S: Rows) -> Rows:
    return (S + S.T) / 2


def _with_ones(S: Rows) -> Rows:
    S = _symmetric(S)
    np.fill_diagonal(S, 1.0)
    return S


def _gram(rng: Generator, n: int) -> Rows:
    rows = rng.normal(size=(n, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return _with_ones(rows @ rows.T)


MATRICES: dict[str, Callable[[Generator, int], Rows]] = {
    "valid": _gram,
    "inconsistent": lambda rng, n: _with_ones(rng.uniform(-1, 1, size=(n, n))),
    "with gaps": lambda rng, n: _with_ones(_gram(rng, n) * _symmetric(rng.random((n, n)) < 0.5).astype(bool)),
    "identity": lambda rng, n: np.eye(n),
    "ones": lambda rng, n: np.ones((n, n)),
    "zero": lambda rng, n: np.zeros((n, n)),
    "zero diagonal": lambda rng, n: _symmetric(rng.uniform(-1, 1, size=(n, n))) * (1 - np.eye(n)),
    "any diagonal": lambda rng, n: _symmetric(rng.normal(size=(n, n))),
    "negative": lambda rng, n: -_gram(rng, n),
    "large": lambda rng, n: 1e6 * _symmetric(rng.normal(size=(n, n))),
    "small": lambda rng, n: 1e-9 * _symmetric(rng.normal(size=(n, n))),
    "signs": lambda rng, n: _with_ones(np.sign(_symmetric(rng.normal(size=(n, n))))),
}


def _of_scales(rng: Generator, n: int, low: float, high: float) -> Rows:
    sd = 10.0 ** rng.uniform(low, high, size=n)
    return _symmetric(_with_ones(rng.uniform(-1, 1, size=(n, n))) * np.outer(sd, sd))


COVARIANCES: dict[str, Callable[[Generator, int], Rows]] = {
    "covariance": lambda rng, n: _of_scales(rng, n, -1, 1),
    "covariance of units far apart": lambda rng, n: _of_scales(rng, n, -6, 6),
    "tiny covariance": lambda rng, n: _of_scales(rng, n, -150, -140),
    "huge covariance": lambda rng, n: _of_scales(rng, n, 140, 150),
    "variance 0": lambda rng, n: _of_scales(rng, n, -1, 1) * np.outer(*[rng.random(n) < 0.7] * 2),
    "beyond 1": lambda rng, n: _with_ones(3 * _symmetric(rng.normal(size=(n, n)))),
}
