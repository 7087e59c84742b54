"""Building blocks for the memory that each method states.

A method states its peak memory as a function of the sizes (`Method.memory`): in numbers of eight bytes, without the
input, with the result. A test compares the statement of every method with what it is measured to take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._method.spec import Sizes
from simcomplete._rows.budget import block_bytes

PAIR_BLOCK = 6  # arrays of the size of a block of similarities that are held at once: see `_similarity.overlap`


def block(numbers: float) -> float:
    """Return how many numbers of an array that is made block by block are held at a time."""
    return min(numbers, block_bytes() / 8)


def first_pass(s: Sizes) -> float:
    """Return the memory of one pass over candidates: a Gram matrix of d + n_q columns, its decomposition, a block."""
    return 4.0 * (s.d + s.n_queries) ** 2 + block(s.n_candidates * (1.5 * s.d + 2.5 * s.n_queries))


def making_pairs(s: Sizes) -> float:
    """Return the memory for computing S0 as an n x n matrix, including that matrix; 0 if it was given."""
    n, p = s.n, s.n_candidates
    if s.form == "similarities":
        return 0.0
    if s.form == "rows":
        return n**2 + max(5.0 * n * s.d, 3 * n * s.d + 7 * min(n**2, block_bytes() / 8 / PAIR_BLOCK))
    return n**2 + max(2.0 * p**2 + 2 * p * s.d, first_pass(s))


def with_pairs(s: Sizes, extra: float) -> float:
    """Return the memory of a method that holds S0 as an n x n matrix and `extra` numbers beside it."""
    held = {"similarities": 0, "rows": s.n**2, "candidates": 2 * (s.d + s.n_queries) ** 2}[s.form]
    return max(making_pairs(s), held + extra)


def mode_memory(s: Sizes, params: Mapping[str, Any], on_table: float, on_pairs: float) -> float:
    """Return the memory of a method with modes: `on_table` in mode "X"; S0 and `on_pairs` in mode "S"."""
    return with_pairs(s, on_pairs) if params["mode"] == "S" or s.form == "similarities" else on_table
