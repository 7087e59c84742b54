"""Similarities over common features as matrix products, no loop over pairs.

With Z the values (0 where missing) and M the mask (1 where observed), the cosine over common features is
``N = Z Z^T``, ``A = (Z*Z) M^T``, ``S = N / sqrt(A * A^T)``. Pearson is the same on rows centred over the common
features.

Below them, the steps over every value of a block of rows, which are limited by memory: each reads and writes rows once.
NumPy does them in a few rows at a time; on a GPU they are single kernels, where these can be used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from simcomplete._rows import gpu_kernels
from simcomplete._rows.xp import Array, astype, count_true, empty, is_numpy, namespace, ordinary, scale_rows, zeros
from simcomplete._similarity.measure import Measure

FEW_ROWS = 64  # that NumPy casts, squares, divides or reflects at a time: they are in the cache for every step

# A row whose squares on the common features are a smaller part than this of all its squares is zero there: values below
# 1e-100 of the row's largest. Their squares would leave the range of numbers, sooner or later by how the row is scaled.
NO_PART = 1e-200


class PreparedRows(NamedTuple):
    """Rows made ready for products: values with 0 where missing, and the mask (None when complete)."""

    Z: Array
    M: Array | None


def prepare_rows(X: Array, measure: Measure, precision: float | None = None) -> PreparedRows:
    """Fill missing values with 0 and scale each row by a power of two, so that squares neither over- nor underflow.

    Both metrics ignore the scale of a row, and Pearson its mean: it is taken out first, over all the row's
    observed features, so that the centring over the common ones loses no digits. What differs by rounding alone,
    in the precision that values came in, is constant.
    """
    xp = namespace(X)
    observed = ~xp.isnan(X)
    M = astype(observed, X.dtype)
    Z = xp.where(observed, X, xp.zeros_like(X))
    Z = scale_rows(Z)
    if measure.metric == "pearson":
        count = xp.sum(M, axis=1, keepdims=True)
        count = xp.where(count > 0, count, xp.ones_like(count))
        precision = float(xp.finfo(X.dtype).eps) if precision is None else precision
        noise = 8 * X.shape[1] ** 0.5 * precision  # what rounding leaves of a constant row
        top = xp.max(xp.abs(Z), axis=1, keepdims=True)
        for _ in range(2):  # the second time for the digits that the first mean lacks
            Z = (Z - xp.sum(Z, axis=1, keepdims=True) / count) * M
        flat = xp.max(xp.abs(Z), axis=1, keepdims=True) <= noise * top
        Z = scale_rows(xp.where(flat, xp.zeros_like(Z), Z))
    return PreparedRows(Z, M)


def part(rows: PreparedRows, which: slice) -> PreparedRows:
    """Some of the rows."""
    return PreparedRows(rows.Z[which, :], None if rows.M is None else rows.M[which, :])


def cross(a: PreparedRows, b: PreparedRows, measure: Measure) -> tuple[Array, Array]:
    """Similarities of rows `a` with rows `b` over common features, and which pairs have evidence.

    `a` may be complete (mask None), which saves one of the three products.
    """
    xp = namespace(a.Z)
    mask_b = b.M if b.M is not None else xp.ones_like(b.Z)
    squares_b = b.Z * b.Z
    dot = a.Z @ b.Z.T
    energy_a = (a.Z * a.Z) @ mask_b.T  # of a row of a, on the features of a row of b
    energy_b = xp.sum(squares_b, axis=1)[None, :] if a.M is None else a.M @ squares_b.T
    floor_a: Any = NO_PART * xp.sum(a.Z * a.Z, axis=1)[:, None]
    floor_b: Any = NO_PART * xp.sum(squares_b, axis=1)[None, :]
    count: Array = None
    if measure.metric == "pearson" or measure.min_overlap > 1 or measure.epsilon > 0:
        count = xp.sum(mask_b, axis=1)[None, :] if a.M is None else a.M @ mask_b.T
    if measure.metric == "pearson":
        safe = xp.where(count > 0, count, xp.ones_like(count))
        sum_a = a.Z @ mask_b.T
        sum_b = xp.sum(b.Z, axis=1)[None, :] if a.M is None else a.M @ b.Z.T
        # A row that is constant on the common features leaves only rounding here: no evidence.
        noise = 8 * a.Z.shape[1] ** 0.5 * float(xp.finfo(a.Z.dtype).eps)
        floor_a, floor_b = floor_a + noise * energy_a, floor_b + noise * energy_b
        dot = dot - sum_a * sum_b / safe
        energy_a = energy_a - sum_a * sum_a / safe
        energy_b = energy_b - sum_b * sum_b / safe
    has_a, has_b = energy_a > floor_a, energy_b > floor_b
    supported = has_a & has_b
    norm = xp.sqrt(xp.where(has_a, energy_a, xp.ones_like(energy_a)))
    norm_b = xp.sqrt(xp.where(has_b, energy_b, xp.ones_like(energy_b)))
    S = dot / norm / norm_b
    if measure.epsilon > 0:
        S, supported = _smooth(a, b, S, (has_a, has_b), (norm, norm_b), count)
    if measure.min_overlap > 1:
        supported = supported & (count >= measure.min_overlap)
    S = xp.where(supported, S, xp.zeros_like(S))
    return xp.clip(S, -1.0, 1.0), supported


def _smooth(
    a: PreparedRows, b: PreparedRows, S: Array, has: tuple[Array, Array], norm: tuple[Array, Array], count: Array
) -> tuple[Array, Array]:
    """Epsilon smoothing: a row that is zero on the common features becomes constant there."""
    xp = namespace(S)
    shared = count > 0
    root = xp.sqrt(xp.where(shared, count, xp.ones_like(count)))
    sum_a = a.Z @ (b.M if b.M is not None else xp.ones_like(b.Z)).T
    sum_b = xp.sum(b.Z, axis=1)[None, :] if a.M is None else a.M @ b.Z.T
    S = xp.where(has[0], S, sum_b / root / norm[1])
    S = xp.where(has[1], S, sum_a / root / norm[0])
    S = xp.where(has[0] | has[1], S, xp.ones_like(S))
    return S, shared & xp.ones_like(S, dtype=xp.bool)


class Cosines(NamedTuple):
    """What cosines of rows with queries stand on.

    Attributes
    ----------
    something : array of shape (n, n_q)
        Where a row is more than nothing on a query's features.
    own : array of shape (n, 1)
        Lengths of the rows.
    """

    something: Array
    own: Array


class PlainSides(NamedTuple):
    """What rows are multiplied with.

    Attributes
    ----------
    masks : array of shape (d, n_q + 1)
        The queries' masks, and a column of ones: it gives the whole length of a row along with its lengths on the
        queries' features.
    values : array of shape (d, n_q)
        The queries as unit vectors, 0 where missing.
    fit : array of bool, shape (n_q,)
        Queries that have evidence.
    """

    masks: Array
    values: Array
    fit: Array

    @classmethod
    def of(cls, queries: PreparedRows, min_overlap: int) -> PlainSides:
        """Take prepared queries."""
        Z, M = queries
        assert M is not None  # queries are prepared with their mask
        xp = namespace(Z)
        norm = xp.sqrt(xp.sum(Z * Z, axis=1))
        count = xp.sum(M, axis=1)
        fit = (norm > 0) & (count >= min_overlap)
        unit = xp.where(fit, 1 / xp.where(norm > 0, norm, xp.ones_like(norm)), xp.zeros_like(norm))
        return cls(xp.concat([M, xp.ones_like(M[:1, :])], axis=0).T, (Z * unit[:, None]).T, fit)

    def nothing(self, n: int) -> Array:
        """Booleans for the pairs of `n` rows with the queries, all False."""
        return zeros(self.fit, (n, int(self.fit.shape[0])))

    def cosines(self, X: Array, Z: Array, B: Array) -> Cosines | None:
        """Write rows X to Z, in float64, and their cosines to B; None where squares leave the range of numbers.

        Examples
        --------
        >>> queries = PreparedRows(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]))
        >>> X, B = np.array([[3.0, 4.0], [0.0, 1.0]]), np.empty((2, 1))
        >>> found = PlainSides.of(queries, 1).cosines(X, np.empty((2, 2)), B)
        >>> B.ravel(), found.own.ravel(), found.something.ravel()
        (array([1., 0.]), array([5., 1.]), array([ True, False]))
        """
        xp = namespace(Z)
        with np.errstate(over="ignore", invalid="ignore"):  # such rows are read again, scaled
            energy = cast_and_square(X, Z) @ self.masks
        own = energy[:, -1:]
        if not ordinary(own):
            return None
        energy = energy[:, :-1]
        something = energy > NO_PART * own
        if count_true(something) < int(np.prod(something.shape)):
            energy = xp.where(something, energy, xp.full_like(energy, np.inf))  # no evidence: 0
        product_into(B, Z, self.values)
        B /= xp.sqrt(energy)
        clip_in_place(B)
        return Cosines(something, xp.sqrt(own))


def cast_and_square(X: Array, out: Array) -> Array:
    """Write rows X into `out`, of another type perhaps, and return their squares in that type.

    Examples
    --------
    >>> Z = np.empty((1, 2))
    >>> cast_and_square(np.array([[2.0, 3.0]], dtype=np.float32), Z), Z
    (array([[4., 9.]]), array([[2., 3.]]))
    """
    squares = empty(out, (int(out.shape[0]), int(out.shape[1])))
    if is_numpy(out) or not gpu_kernels.ran("square", _square, X, out, squares):
        _square(X, out, squares)
    return squares


def divide_and_reflect(H: Array, X: Array, lengths: Array, reflector: Array | None) -> None:
    """Write X / lengths into the first columns of H, and reflect all of H, if there is a reflector.

    Examples
    --------
    >>> H = np.array([[0.0, 0.0, 1.0]])
    >>> divide_and_reflect(H, np.array([[3.0, 4.0]]), np.array([[5.0]]), np.array([0.0, 0.6, 0.8]))
    >>> H.round(3)
    array([[ 0.6  , -0.736, -1.048]])
    """
    if is_numpy(H) or not gpu_kernels.ran("divide", _divide, X, H, lengths, reflector):
        _divide(X, H, lengths, reflector)


def product_into(out: Array, A: Array, B: Array) -> None:
    """Write the matrix product A B into `out`, part of a larger array perhaps; NumPy makes no other array for it.

    Examples
    --------
    >>> H = np.zeros((2, 2))
    >>> product_into(H[:, 1:], np.array([[1.0], [2.0]]), np.array([[3.0]]))
    >>> H
    array([[0., 3.],
           [0., 6.]])
    """
    if is_numpy(out):
        np.matmul(A, B, out=out)
    else:
        out[:, :] = A @ B


def clip_in_place(S: Array) -> None:
    """Bring similarities that rounding carried beyond [-1, 1] back, in their place."""
    if is_numpy(S):
        np.clip(S, -1.0, 1.0, out=S)
    else:
        S[:, :] = namespace(S).clip(S, -1.0, 1.0)


def subtract_outer(H: Array, a: Array, b: Array) -> None:
    """Subtract a b^T from H in its place, in torch by one kernel."""
    if array_api_compat.is_torch_array(H):
        H.addr_(a, b, alpha=-1)
    else:
        H -= a[:, None] * b[None, :]


def _square(X: Array, out: Array, squares: Array) -> None:
    for rows in _few(out):
        some = out[rows, :]
        some[:, :] = X[rows, :]  # cast on the way
        if is_numpy(some):
            np.multiply(some, some, out=squares[rows, :])
        else:
            squares[rows, :] = some * some


def _divide(X: Array, H: Array, lengths: Array, reflector: Array | None) -> None:
    for rows in _few(H):
        part = H[rows, :]
        _divide_rows(part[:, : X.shape[1]], X[rows, :], lengths[rows, :])
        if reflector is not None:
            subtract_outer(part, 2 * (part @ reflector), reflector)


def _divide_rows(out: Array, X: Array, lengths: Array) -> None:
    if is_numpy(out):
        out[:, :] = X  # cast by itself: NumPy divides values of two types in small pieces, with copies of the lengths
        out /= lengths
    elif array_api_compat.is_torch_array(out) and not X.requires_grad:
        sys.modules["torch"].div(X, lengths, out=out)  # casts in the same kernel
    else:
        out[:, :] = astype(X, out.dtype) / lengths


def _few(H: Array) -> Iterator[slice]:
    n = int(H.shape[0])
    each = FEW_ROWS if is_numpy(H) else max(1, n)
    return (slice(start, min(start + each, n)) for start in range(0, n, each))
