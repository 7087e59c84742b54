"""Rows in blocks: how long loops over many rows keep their memory small."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_BYTES = 64 * 2**20


def row_blocks(n: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> list[slice]:
    """Cut `n` rows into slices of about `budget` bytes each.

    Examples
    --------
    >>> row_blocks(10, bytes_per_row=8, budget=32)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    rows = max(1, budget // max(1, bytes_per_row))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def triangle_blocks(n: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[tuple[slice, slice]]:
    """Pairs of slices that cover the upper triangle of an n x n matrix: rows, and columns from there on."""
    for rows in row_blocks(n, bytes_per_row, budget):
        yield rows, slice(rows.start, n)
