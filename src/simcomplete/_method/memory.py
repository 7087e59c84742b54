"""Memory: what a method takes at its peak, refused before it runs where that is more than there is.

A method states its peak as a function of the sizes (`Method.memory`), as it states its `work`: in numbers of eight
bytes, beyond what was given, the result included. The functions here are the parts that statements have in common; a
test measures every method against its statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import AllRows, CandidatesQueries, Problem, Similarities
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes
from simcomplete._rows.budget import block_bytes, require
from simcomplete._rows.xp import is_dask, on_accelerator, to_numpy
from simcomplete._types import Matrix

PAIR_BLOCK = 6  # arrays that a block of similarities is planned for: see `_similarity.overlap`


def block(numbers: float) -> float:
    """Of an array that is made block by block, what is there at a time."""
    return min(numbers, block_bytes() / 8)


def first_pass(s: Sizes) -> float:
    """One pass over candidates: sums of H^T H with d + n_q columns, what is made of them, and a block."""
    return 4.0 * (s.d + s.n_queries) ** 2 + block(s.n_candidates * (1.5 * s.d + 2.5 * s.n_queries))


def making_pairs(s: Sizes) -> float:
    """While S0 is made as an n x n matrix, that matrix included; nothing where it was given."""
    n, p = s.n, s.n_candidates
    if s.form == "similarities":
        return 0.0
    if s.form == "rows":
        return n**2 + max(5.0 * n * s.d, 3 * n * s.d + 7 * min(n**2, block_bytes() / 8 / PAIR_BLOCK))
    return n**2 + max(2.0 * p**2 + 2 * p * s.d, first_pass(s))


def with_pairs(s: Sizes, extra: float) -> float:
    """S0 as an n x n matrix, and what a method takes beside the one that its problem holds."""
    held = {"similarities": 0, "rows": s.n**2, "candidates": 2 * (s.d + s.n_queries) ** 2}[s.form]
    return max(making_pairs(s), held + extra)


def mode_memory(s: Sizes, params: Mapping[str, Any], on_table: float, on_pairs: float) -> float:
    """What a method with modes takes: numbers in mode "X", or beside S0 in mode "S"."""
    return with_pairs(s, on_pairs) if params["mode"] == "S" or s.form == "similarities" else on_table


def sizes_of(problem: Problem, settings: Settings) -> Sizes:
    """The sizes of a problem."""
    n, n_p, rank = problem.n, problem.n_candidates, settings.rank
    if isinstance(problem, CandidatesQueries):
        hidden = np.isnan(to_numpy(problem.queries.array))
        written = settings.out is not None or is_dask(problem.candidates.array_like)
        return Sizes(
            n_p, n - n_p, hidden.shape[1], rank, "candidates", float(hidden.mean()), written, settings.rank_given
        )
    if isinstance(problem, AllRows):
        counts = problem.rows.known_counts()
        return sizes_of_counts(counts, problem.rows.d)._replace(rank=rank, rank_given=settings.rank_given)
    return Sizes(n_p, n - n_p, 0, rank, "similarities", rank_given=settings.rank_given)


def sizes_of_rows(X: Matrix) -> Sizes:
    """The sizes of rows of which every one may be incomplete."""
    return sizes_of_counts(np.sum(~np.isnan(X), axis=1), X.shape[1])


def sizes_of_counts(known: NDArray[np.int64], d: int) -> Sizes:
    """The same of rows of which so many values are known each."""
    n, whole = len(known), int(np.sum(known == d))
    return Sizes(whole, n - whole, d, 1, "rows", (n * d - int(known.sum())) / max((n - whole) * d, 1))


def peak_bytes(method: Method, sizes: Sizes, params: Mapping[str, Any]) -> int:
    """Bytes that a method takes at its peak, beyond what was given."""
    return int(8 * method.memory(sizes, params))


def on_device(problem: Problem) -> bool:
    """Whether a problem lies on an accelerator, which has memory of its own."""
    given = getattr(problem, {CandidatesQueries: "candidates", AllRows: "rows", Similarities: "S0"}[type(problem)])
    array = getattr(given, "held", given)  # None where rows are read by block
    return array is not None and on_accelerator(array)


def check_memory(method: Method, problem: Problem, settings: Settings, params: Mapping[str, Any]) -> None:
    """Raise MemoryLimitError where a method would take more than is free."""
    if not on_device(problem):
        require_memory(method, sizes_of(problem, settings), params)


def require_memory(method: Method, s: Sizes, params: Mapping[str, Any]) -> None:
    """Raise MemoryLimitError where a method would take more than is free for given sizes."""
    given, instead = {
        "candidates": (
            f"{s.n_candidates} candidates and {s.n_queries} queries of {s.d} features",
            "use method='fmc', 'smcnn' or 'posterior', which hold no n x n matrix, and out= for a large factor",
        ),
        "rows": (
            f"{s.n} rows of {s.d} features",
            "give complete rows as candidates and the others as queries, a form that needs no n x n matrix",
        ),
        "similarities": (f"a matrix of {s.n} x {s.n}", "use method='smcnn' with a small rank"),
    }[s.form]
    require(
        peak_bytes(method, s, params), f"method {method.name!r}, for {given},", f"complete fewer rows, or {instead}"
    )
