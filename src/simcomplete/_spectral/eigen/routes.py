"""The largest eigenvalues of S0 and their vectors, by the route that suits its size and form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simcomplete._rows.xp import Array, like, to_numpy
from simcomplete._similarity.candidate_pass import weights
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.eigen import reduced
from simcomplete._spectral.eigen.krylov import BLOCK, largest_by_products
from simcomplete._spectral.eigen.reduced import Reduced, dense_largest
from simcomplete._types import Vector
from simcomplete.errors import InputError

Route = Literal["auto", "full", "partial", "iterative", "structured"]

# Up to here the structured form pays only when it halves the problem.
SMALL = 2000
# From here products with S0 are quicker than a decomposition of it, when few vectors are wanted.
LARGE = 2000
COPIES_LIMIT = 8000  # rows up to which a dense decomposition answers where products alone may have missed something
SAME = 1e-8  # of the largest eigenvalue: two that differ by no more than this are copies of one


@dataclass(frozen=True)
class Spectrum:
    """The largest eigenvalues, falling, and a way to get their vectors, each times a number.

    `scaled_vectors(scale, target, dtype)`: where and in which type, for the route that makes them row by row.
    """

    w: Vector
    scaled_vectors: Callable[..., Array]
    route: str
    reduced: Reduced | None = None  # of the structured route


def largest_eigenpairs(operator: Operator, rank: int, route: Route = "auto", seed: int = 0) -> Spectrum:
    """Compute the `rank` largest eigenvalues of S0.

    Parameters
    ----------
    operator : Operator
        S0.
    rank : int
        How many.
    route : {"auto", "full", "partial", "iterative", "structured"}
        "full" and "partial": one dense decomposition, of everything or of the largest only. "iterative": products
        with S0 only. "structured": the small problem of candidates and queries, exact and never n x n.
    seed : int
        Start of the iterative route.
    """
    asked = route
    if route == "auto":
        route = choose_route(operator, rank)
    if route == "structured":
        if not isinstance(operator, CandidateQuerySimilarity):
            raise InputError("route='structured' needs complete candidates and queries; use route='auto'")
        w, lifted = reduced.reduced_eigenpairs(operator, rank)
        return Spectrum(without_noise(w, reduced.NOISE), lifted.scaled_vectors, route, lifted)
    if route == "iterative":
        w, U = _iterative(operator, rank, seed)
        # From a block of vectors no more copies of an eigenvalue are found than the block has vectors.
        if asked == "auto" and operator.n <= COPIES_LIMIT and copies(w) >= BLOCK:
            route = "partial"
            w, U = dense_largest(operator.dense(), rank)
    elif route in ("full", "partial"):
        w, U = dense_largest(operator.dense(), rank, partial=route == "partial")
    else:
        raise InputError(f"route={route!r} is unknown; use auto, full, partial, iterative or structured")
    U = U * like(orientation(U), U)
    w = without_noise(w, operator.n * np.finfo(np.float64).eps)
    return Spectrum(w, lambda scale, target=None, dtype=None: U * like(scale, U), route)


def copies(w: Vector) -> int:
    """How often the most frequent of the eigenvalues is there, w falling, of those above 0 and above the smallest.

    One more of the smallest, or of 0, which is what a matrix of low rank has most of, would change nothing.

    Examples
    --------
    >>> copies(np.array([5.0, 3.0, 3.0, 3.0, 1.0, 1.0])), copies(np.array([5.0, 0.0, 0.0]))
    (3, 1)
    """
    same = SAME * float(np.max(np.abs(w)))
    above = w[w > max(float(w[-1]), 0.0) + same]
    ends = np.flatnonzero(np.abs(np.diff(above)) > same)
    return int(np.max(np.diff([-1, *ends, len(above) - 1]))) if len(above) else 0


def without_noise(w: Vector, share: float) -> Vector:
    """Set to 0 the positive eigenvalues that are rounding of 0, by the rule of the numerical rank."""
    return np.where((w > 0) & (w <= share * w[0]), 0.0, w)


def choose_route(operator: Operator, rank: int) -> Route:
    """Pick the cheapest exact route."""
    n = operator.n
    if isinstance(operator, CandidateQuerySimilarity):
        size = operator.reduced_size
        if 2 * size <= n or (n > SMALL and size < n):
            return "structured"
    if n > LARGE and rank <= n // 40:
        return "iterative"
    return "partial" if rank <= n // 4 else "full"


def _iterative(operator: Operator, rank: int, seed: int) -> tuple[Vector, Array]:
    result = largest_by_products(operator, rank, seed)
    return dense_largest(operator.dense(), rank, partial=False) if result is None else result


def orientation(U: Array) -> Vector:
    """Signs of columns, by fixed weights of their rows, so that routes and runs agree."""
    return np.where(to_numpy(weights(0, U) @ U) < 0, -1.0, 1.0)
