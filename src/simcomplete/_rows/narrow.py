"""A fast search in float32 for the few rows that can be among the best, which are then compared in float64.

A product of float32 rows reads half as much and is twice as fast. Its error is bounded: casting two rows and summing m
products in any order errs by at most (m + 2) 2^-24 times the product of their lengths (Higham, Accuracy and Stability
of Numerical Algorithms, section 3.1), except for underflow. So rows whose result is below the k-th best by more than
twice that bound cannot be among the k best.

For wide rows, an outline is compared first: their components along a few directions that contain most of their length.
The rest of a product is at most the product of the lengths of the remainders.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import row_blocks

BLOCK = 8192  # rows per block, stored feature by feature
ROUNDING = 2.0**-24  # relative rounding error of float32
FRAIL = 1e-15  # squares of smaller numbers may underflow
FEW = 2  # up to so many vectors are multiplied singly: BLAS would take longer to pack a block than to read it
WIDEST = 2**18  # largest number of features; with more, the bound is too wide to be useful
DIRECTIONS = 64  # directions of an outline
WIDE = 256  # number of features from which an outline is made
SAMPLE = 256  # evenly spaced rows that determine the directions
CLEAR = 16  # an outline is useful if it leaves at most 1 / CLEAR of the rows
HALF_CLEAR = 4  # the same where the alternative is to read all rows in float64
SHORTEST = 1e-150  # shorter vectors have no direction in floating point
UNEXACT = 1e-12  # share of squared lengths, above rounding errors in float64
Single = NDArray[np.float32]


def slack(m: int) -> float:
    """Return a bound on the error of a product of two unit rows over m features in float32.

    Examples
    --------
    >>> bool(1e-5 < slack(200) < 2e-5)
    True
    """
    return 1.1 * (m + 8) * ROUNDING


def exact_products(rows: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return products with one vector, each summed by itself, so that they do not depend on the other rows."""
    return np.asarray(np.sum(rows * u, axis=1))


@dataclass(frozen=True)
class NarrowRows:
    """Rows of length at most 1 in float32, stored feature by feature.

    Attributes
    ----------
    exact : array of shape (n, d)
        The rows in float64.
    blocks : list of array of shape (d, at most BLOCK)
        The rows in float32.
    frail : array of int
        Rows with numbers so small that their squares may underflow in float32, ascending.
    """

    exact: NDArray[np.float64]
    blocks: list[Single]
    frail: NDArray[np.int64]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> NarrowRows:
        """Take rows in float64."""
        blocks, frail = [], []
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            blocks.append(np.ascontiguousarray(part.T, dtype=np.float32))
            size = np.abs(part)
            frail.append(start + np.flatnonzero(((size < FRAIL) & (size > 0)).any(axis=1)))
        return cls(rows, blocks, np.concatenate([np.zeros(0, np.int64), *frail]))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return (len(self.exact), int(self.exact.shape[1]))

    def products(self, U: Single) -> Single:
        """Return products of all rows with vectors, (vectors, rows)."""
        found = np.empty((len(U), len(self.exact)), dtype=np.float32)
        for i, block in enumerate(self.blocks):
            out = found[:, i * BLOCK : i * BLOCK + block.shape[1]]
            if len(U) <= FEW:
                for u, line in zip(U, out, strict=True):
                    np.matmul(u, block, out=line)
            else:
                np.matmul(U, block, out=out)
        return found

    def nearest(
        self, u: NDArray[np.float64], k: int, bounds: tuple[float, float] = (-np.inf, np.inf)
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return positions and clipped products of the `k` rows with the largest, best first, ties by position."""
        ids, scores = np.empty((len(u), k), dtype=np.int64), np.empty((len(u), k))
        for part in row_blocks(len(u), 12 * len(self.exact)):
            length = np.sqrt(np.sum(u[part] ** 2, axis=1))
            points = length > SHORTEST  # very short vectors are compared with all rows, those of length 0 with none
            direction = np.where(points[:, None], u[part] / np.where(points, length, 1.0)[:, None], 0.0)
            for i, some in enumerate(self._possible(direction, k), start=part.start):
                if not u[i].any():
                    ids[i], scores[i] = np.arange(k), 0.0
                    continue
                exact = np.concatenate(
                    [exact_products(self.exact[some[few]], u[i]) for few in row_blocks(len(some), 16 * u.shape[1])]
                ).clip(*bounds)
                best = np.argsort(-exact, kind="stable")[:k]
                ids[i], scores[i] = some[best], exact[best]
        return ids, scores

    def _possible(self, directions: NDArray[np.float64], k: int) -> list[NDArray[np.int64]]:
        """Return the rows that can be among the k with the largest products with unit vectors, ascending."""
        n, d = self.shape
        if d >= WIDE and k * CLEAR <= n:
            found = self.outline.possible(self.exact, directions, k, 3 * slack(d))
        else:
            found = [np.arange(n)] * len(directions)
        left = [i for i, some in enumerate(found) if len(some) * CLEAR > n]
        for i, line in zip(left, self.products(directions[left].astype(np.float32)), strict=True):
            found[i] = close(line, k, 2 * slack(d))
        return found

    @cached_property
    def outline(self) -> Outline:
        """Components of the rows along a few directions."""
        return Outline.of(self.exact)


@dataclass(frozen=True)
class Outline:
    """Components of unit rows along orthonormal directions, and the lengths of the remainders.

    Attributes
    ----------
    basis : array of shape (d, r)
        Directions.
    parts : array of shape (r, n)
        Components of the rows, in float32.
    rest : array of shape (n,)
        Upper bounds of the lengths of the remainders.
    """

    basis: NDArray[np.float64]
    parts: Single
    rest: Single

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Outline:
        """Take the main directions of some of the rows."""
        some = rows[np.linspace(0, len(rows) - 1, min(SAMPLE, len(rows))).astype(np.int64)]
        basis = np.linalg.svd(some, full_matrices=False)[2][:DIRECTIONS].T
        parts, rest = np.empty((basis.shape[1], len(rows)), np.float32), np.empty(len(rows), np.float32)
        for part in row_blocks(len(rows), 16 * rows.shape[1]):
            along = rows[part] @ basis
            parts[:, part] = along.T
            rest[part] = np.sqrt(_remainder(np.sum(rows[part] ** 2, axis=1), along))
        return cls(basis, parts, rest)

    def nearest_to_one(
        self, rows: NDArray[np.float64], u: NDArray[np.float64], k: int, bounds: tuple[float, float]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Return what `NarrowRows.nearest` does for a single vector, or None if the outline leaves too many rows."""
        length = float(np.sqrt(np.vdot(u, u)))
        if length < SHORTEST:
            return None
        (some,) = self.possible(rows, u / length, k, 3 * slack(rows.shape[1]))
        if len(some) * HALF_CLEAR > len(rows):
            return None
        exact = exact_products(rows[some], u[0]).clip(*bounds)
        best = np.argsort(-exact, kind="stable")[:k]
        return some[best][None], exact[best][None]

    def possible(
        self, rows: NDArray[np.float64], directions: NDArray[np.float64], k: int, gap: float
    ) -> list[NDArray[np.int64]]:
        """Return the rows whose products can reach the k-th largest for a direction; `gap` allows for rounding."""
        along = directions @ self.basis
        rest = np.sqrt(_remainder(1.0, along)).astype(np.float32)
        found = []
        for u, line, far in zip(directions, along.astype(np.float32) @ self.parts, rest, strict=True):
            least = exact_products(rows[np.argpartition(line, -k)[-k:]], u).min()
            line += far * self.rest
            found.append(np.flatnonzero(line >= least - gap))
        return found


def _remainder(squares: NDArray[np.float64] | float, along: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum(squares - np.sum(along * along, axis=1), 0.0) + UNEXACT)


def close(rough: Single, k: int, gap: float) -> NDArray[np.int64]:
    """Return the positions of values at most `gap` below the k-th largest, ascending.

    Examples
    --------
    >>> close(np.array([0.5, 0.9, 0.1, 0.8], dtype=np.float32), 2, 0.35)
    array([0, 1, 3])
    """
    n = len(rough)
    limit = np.partition(rough, n - k)[n - k] if k < n else rough.min()
    return np.flatnonzero(rough >= np.float64(limit) - gap)
