"""Covariances to condition on: a matrix, or a low-rank part plus a diagonal; each can be shrunk towards a diagonal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import distinct_masks
from simcomplete._types import Mask, Matrix

Solve = Callable[[Matrix], Matrix]
SMALLEST_VARIANCE = 1e-200  # that can be divided by without leaving the range of numbers
REMEMBERED = 32  # masks whose factorisation is kept between calls


class ManySystems(Protocol):
    """C_oo of many rows, factorised together."""

    def weigh(self, sides: Matrix) -> Matrix:
        """Return C_oo^-1 r_o for right-hand sides of shape (sides, rows, d), 0 where missing."""


class Covariance(Protocol):
    """What conditioning asks of a covariance."""

    @property
    def variances(self) -> Matrix:
        """Its diagonal."""

    def shrunk(self, delta: float) -> Covariance:
        """(1 - delta) C + delta diag(C_ff/2 + tr(C)/(2 d)).

        Half of the target is each feature's own variance, half the mean of all: a purely diagonal one explodes on rare
        features, a purely scalar one ignores that features differ.
        """

    def times(self, A: Matrix) -> Matrix:
        """Return A C."""

    def times_some(self, A: Matrix, o: NDArray[np.int64]) -> Matrix:
        """Return A C where A is 0 outside some features o."""

    def between(self, o: NDArray[np.int64], u: NDArray[np.int64]) -> Matrix:
        """C_ou."""

    def solvers(self, observed: Mask) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Solve]]:
        """For every distinct mask: the rows that have it, its features o, and B -> C_oo^-1 B."""

    def systems(self, observed: Mask) -> ManySystems | None:
        """All masks factorised at once, where that is faster."""

    def second_moments(self, mean: Matrix, delta: float) -> Solve:
        """B -> G^-1 B, G = C + mean mean^T with C shrunk."""


@dataclass(frozen=True)
class Dense:
    """A covariance matrix."""

    C: Matrix
    _known: dict[bytes, Solve] = field(default_factory=dict, repr=False, compare=False)
    _shrunk: dict[float, Dense] = field(default_factory=dict, repr=False, compare=False)
    _read: dict[bytes, Matrix] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[Dense], tuple[Matrix]]:
        return Dense, (self.C,)  # what is remembered cannot be pickled, and need not be

    @property
    def variances(self) -> Matrix:
        """Its diagonal."""
        return np.diag(self.C)

    @cached_property
    def precision(self) -> Matrix:
        """Its inverse."""
        return cholesky(self.C)(np.eye(len(self.C)))

    def of(self, C: Matrix) -> Dense:
        """Another matrix of the same kind."""
        return Dense(C)

    def systems(self, observed: Mask) -> ManySystems | None:
        """None: masks are factorised one after the other; see `batched` for all of them at once."""
        return None

    def shrunk(self, delta: float) -> Dense:
        """Shrink towards the diagonal target; the last one asked for is remembered."""
        if delta not in self._shrunk:
            S = (1 - delta) * self.C
            S[np.diag_indices(len(S))] += delta * target(self.variances)
            self._shrunk.clear()
            self._shrunk[delta] = self.of(S)
        return self._shrunk[delta]

    def times(self, A: Matrix) -> Matrix:
        """Return A C."""
        return A @ self.C

    def times_some(self, A: Matrix, o: NDArray[np.int64]) -> Matrix:
        """Return A C where A is 0 outside some features o."""
        return A[:, o] @ self._rows_of(o) if 2 * len(o) <= len(self.C) else A @ self.C

    def _rows_of(self, o: NDArray[np.int64]) -> Matrix:
        """Rows of the covariance; the last ones asked for are remembered, because they are asked for again."""
        key = o.tobytes()
        found = self._read.get(key)
        if found is None:
            found = self.C[o]
            self._read.clear()
            self._read[key] = found
        return found

    def between(self, o: NDArray[np.int64], u: NDArray[np.int64]) -> Matrix:
        """C_ou."""
        return self.C[np.ix_(o, u)]

    def solvers(self, observed: Mask) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Solve]]:
        """By Cholesky of C_oo, or of the precision's missing part when more is observed than missing."""
        if len(observed) == 1 and 2 * observed.sum() <= len(self.C):  # rows that are read again: see `times_some`
            self._rows_of(np.flatnonzero(observed[0]))
        for mask, rows in rows_by_mask(observed):
            key = np.packbits(mask).tobytes()
            if key not in self._known:
                self._known[key] = self._solver(mask)
                if len(self._known) > REMEMBERED:  # the oldest goes, so that memory stays bounded
                    del self._known[next(iter(self._known))]
            yield rows, np.flatnonzero(mask), self._known[key]

    def second_moments(self, mean: Matrix, delta: float) -> Solve:
        """By Cholesky."""
        G = (1 - delta) * self.C + np.outer(mean, mean)
        G[np.diag_indices(len(G))] += delta * target(self.variances)
        return cholesky(G)

    def _solver(self, mask: Mask) -> Solve:
        o, u = np.flatnonzero(mask), np.flatnonzero(~mask)
        if len(o) <= len(self.C) // 2:
            read = self._read.get(o.tobytes())
            return cholesky(self.C.take(o[:, None] * len(self.C) + o) if read is None else read[:, o])
        return _by_precision(self.precision, o, u)


@dataclass(frozen=True)
class LowRank:
    """W W^T + diag(psi): nothing d x d, and |o| r^2 + r^3 for each mask (Woodbury)."""

    W: Matrix
    psi: Matrix

    @property
    def variances(self) -> Matrix:
        """Its diagonal."""
        return np.asarray(np.sum(self.W * self.W, axis=1) + self.psi)

    def shrunk(self, delta: float) -> LowRank:
        """Shrink towards the diagonal target, which goes into psi."""
        wanted = target(self.variances)
        psi = (1 - delta) * self.psi + delta * wanted
        return LowRank(np.sqrt(1 - delta) * self.W, np.maximum(psi, 1e-9 * max(float(wanted.mean()), 1e-300)))

    def systems(self, observed: Mask) -> ManySystems | None:
        """None: the small matrices are factorised one after the other."""
        return None

    def times(self, A: Matrix) -> Matrix:
        """Return A C."""
        return np.asarray((A @ self.W) @ self.W.T + A * self.psi)

    def times_some(self, A: Matrix, o: NDArray[np.int64]) -> Matrix:
        """Return A C where A is 0 outside some features o."""
        return np.asarray((A[:, o] @ self.W[o]) @ self.W.T + A * self.psi)

    def between(self, o: NDArray[np.int64], u: NDArray[np.int64]) -> Matrix:
        """C_ou, for o and u that have nothing in common."""
        return self.W[o] @ self.W[u].T

    def solvers(self, observed: Mask) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Solve]]:
        """By the small matrix I + W_o^T psi_o^-1 W_o."""
        for mask, rows in rows_by_mask(observed):
            o = np.flatnonzero(mask)
            yield rows, o, self._woodbury(o)

    def second_moments(self, mean: Matrix, delta: float) -> Solve:
        """The mean is one column more of the low-rank part."""
        shrunk = self.shrunk(delta)
        return LowRank(np.column_stack([shrunk.W, mean]), shrunk.psi)._woodbury(np.arange(len(mean)))

    def _woodbury(self, o: NDArray[np.int64]) -> Solve:
        W, psi = self.W[o], self.psi[o][:, None]
        inner = cholesky(np.eye(W.shape[1]) + W.T @ (W / psi))
        return lambda B: np.asarray(B / psi - (W / psi) @ inner(W.T @ (B / psi)))


class Conditioner:
    """C_oo^-1 for the observed features o of every row; each distinct mask is factorised once and remembered."""

    def __init__(self, covariance: Covariance, observed: Mask) -> None:
        self._covariance, self._observed = covariance, observed
        self._systems = covariance.systems(observed)
        self._parts = [] if self._systems is not None else self._solvers(observed)
        # One row: of the covariance only the rows of its features are read.
        self._seen = self._parts[0][1] if len(observed) == 1 and self._parts else None

    def _solvers(self, observed: Mask) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Solve]]:
        return [(rows, o, solve) for rows, o, solve in self._covariance.solvers(observed) if len(o)]

    def times(self, A: Matrix) -> Matrix:
        """Return A C for rows A that are 0 where missing."""
        return self._covariance.times(A) if self._seen is None else self._covariance.times_some(A, self._seen)

    def weigh(self, sides: Matrix) -> Matrix:
        """Return C_oo^-1 r_o for right-hand sides of shape (sides, rows, d), 0 where missing."""
        if self._systems is not None:
            return self._systems.weigh(sides)
        out = np.zeros_like(sides)
        every = np.arange(len(sides))
        if self._seen is not None and len(sides) == 1:
            out[0, 0, self._seen] = self._parts[0][2](sides[0, 0, self._seen][:, None])[:, 0]
            return out
        for rows, o, solve in self._parts:
            if len(rows) == 1:  # mostly: less is copied
                out[:, rows[0], o] = solve(sides[:, rows[0]].take(o, axis=1).T).T
                continue
            block = sides[:, rows][:, :, o].reshape(-1, len(o)).T
            out[np.ix_(every, rows, o)] = solve(block).T.reshape(len(sides), len(rows), len(o))
        return out

    def by_row(self, most: int) -> Iterator[tuple[int, NDArray[np.int64], Solve]]:
        """Rows below `most` of which anything is observed, the features o, and B -> C_oo^-1 B."""
        for rows, o, solve in self._parts or self._solvers(self._observed[:most]):
            for row in rows:
                if row < most:
                    yield int(row), o, solve


def conditional_variances(covariance: Covariance, observed: Mask) -> Matrix:
    """Diagonal of C_uu - C_uo C_oo^-1 C_ou for what every row lacks, 0 for what it has.

    Examples
    --------
    >>> C = Dense(np.array([[1.0, 0.6], [0.6, 1.0]]))
    >>> conditional_variances(C, np.array([[True, False], [False, False]])).round(2)
    array([[0.  , 0.64],
           [1.  , 1.  ]])
    """
    out = np.where(observed, 0.0, covariance.variances)
    for rows, o, solve in covariance.solvers(observed):
        u = np.flatnonzero(~observed[rows[0]])
        if len(o) and len(u):
            C_ou = covariance.between(o, u)
            out[np.ix_(rows, u)] -= np.sum(C_ou * solve(C_ou), axis=0)
    return np.maximum(out, 0.0)


def target(variances: Matrix) -> Matrix:
    """What a covariance is shrunk towards."""
    return np.asarray(variances / 2 + variances.mean() / 2)


def rows_by_mask(observed: Mask) -> Iterator[tuple[Mask, NDArray[np.int64]]]:
    """Rows that share a mask, so that each mask is factorised once."""
    if len(observed) == 1:
        yield observed[0], np.zeros(1, dtype=np.int64)
        return
    first, which = distinct_masks(observed)
    order = np.argsort(which, kind="stable")
    edges = np.searchsorted(which[order], np.arange(len(first) + 1))
    for g, row in enumerate(first):
        yield observed[row], order[edges[g] : edges[g + 1]]


def cholesky(A: Matrix) -> Solve:
    """Factorise; one that fails is tried again with 1e-4 of the mean variance on the diagonal."""
    mean = np.trace(A) / max(len(A), 1)
    for extra in (0.0, 1e-4, 1e-2) if mean > SMALLEST_VARIANCE else ():
        lifted = A if extra == 0 else A + extra * mean * np.eye(len(A))
        L, failed = scipy.linalg.lapack.dpotrf(lifted, lower=1, clean=0)
        if not failed:
            return partial(_solved, L)
    return np.zeros_like  # no variance at all: nothing can be learnt from these features


def _solved(L: Matrix, B: Matrix) -> Matrix:
    """L^-T L^-1 B, by LAPACK itself: what scipy does around it takes longer for one row."""
    return np.asarray(scipy.linalg.lapack.dpotrs(L, B, lower=1)[0])


def _by_precision(L: Matrix, o: NDArray[np.int64], u: NDArray[np.int64]) -> Solve:
    """C_oo^-1 = L_oo - L_ou L_uu^-1 L_uo with the precision matrix L = C^-1."""
    if len(u) == 0:
        return lambda B: L @ B
    inner, L_oo, L_uo = cholesky(L[np.ix_(u, u)]), L[np.ix_(o, o)], L[np.ix_(u, o)]
    return lambda B: L_oo @ B - L_uo.T @ inner(L_uo @ B)
