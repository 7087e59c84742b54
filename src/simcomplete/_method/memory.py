"""Parts that methods' statements of their memory have in common.

A method states its peak as a function of the sizes (`Method.memory`), as it states its `work`: in numbers of eight
bytes, beyond what was given, the result included. A test measures every method against its statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._method.spec import Sizes
from simcomplete._rows.budget import block_bytes

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
