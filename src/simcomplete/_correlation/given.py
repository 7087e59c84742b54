"""The matrix to repair, checked: symmetric, finite or NaN where unknown, with the diagonal it should have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._correlation.labels import Labelled, opened
from simcomplete._rows.budget import require
from simcomplete._rows.square import ASYMMETRY, refuse_distances, unlike
from simcomplete._types import Mask, Matrix
from simcomplete.errors import InputError

LARGE = 1e3  # no estimate of a correlation is beyond
SIZES = (1e-150, 1e150)  # of the largest entry: squared distances of others are beyond the range of numbers


@dataclass(frozen=True)
class Given:
    """A symmetric matrix without NaN, which entries were known, and what was compared with in the end."""

    source: Labelled
    values: Matrix
    known: Mask
    compared: Matrix
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.values)


def read_symmetric(A: Any, name: str = "A") -> tuple[Labelled, Matrix, list[str]]:
    """Read a matrix and make it symmetric: rounding and one-sided gaps are mended and noted, more is refused."""
    source = opened(A, name)
    S, notes = source.values, list(source.notes)
    n = len(S)
    require(100 * n * n, f"a repair of {n} x {n} entries", "repair a smaller matrix, or blocks of it")
    one_sided = np.isnan(S) & ~np.isnan(S.T)
    if one_sided.any():
        notes.append(f"{int(one_sided.sum())} entries were missing on one side of the diagonal: taken from the other")
        S = np.where(one_sided, S.T, S)
    largest = float(np.nanmax(np.abs(S), initial=0.0))
    if largest > 0 and not SIZES[0] <= largest <= SIZES[1]:
        raise InputError(
            f"the largest entry of {name} is {largest:.1e}, and squares of its distances would be beyond the range of "
            f"numbers; give {name} in other units, such as {name} / {largest:.0e}"
        )
    gap = np.abs(S - S.T)
    worst = float(np.nanmax(gap, initial=0.0))
    if worst > ASYMMETRY * largest:
        i, j = (int(x) for x in np.unravel_index(int(np.nanargmax(gap)), gap.shape))
        one, other = unlike(float(S[i, j]), float(S[j, i]))
        raise InputError(
            f"{name} is not symmetric: {source.place(i, j, name)} = {one} but {source.place(j, i, name)} = "
            f"{other}; give ({name} + {name}.T) / 2 if that is meant"
        )
    if worst > 0:
        notes.append(f"made symmetric: entries and their mirror images differed by up to {worst:.1e}")
        S = (S + S.T) / 2
    return source, S, notes


def given_correlation(A: Any, *, rescale: bool = False) -> Given:
    """Read a matrix that is to become a correlation matrix."""
    if not isinstance(rescale, (bool, np.bool_)):  # "no" would count as true
        raise InputError(f"rescale={rescale!r} is neither True nor False; give one of them", about=("rescale",))
    source, S, notes = read_symmetric(A)
    refuse_distances(np.nan_to_num(S), "A")
    n, d = len(S), np.diag(S).copy()
    negative = np.flatnonzero(d < 0)
    if len(negative):
        i = int(negative[0])
        raise InputError(
            f"{source.place(i, i)} = {d[i]:.6g} is negative, and neither a correlation of a variable with itself nor a "
            "variance is; give 1, or the variance"
        )
    if rescale:
        S = _rescaled(source, S, d)
        notes.append("divided by standard deviations, the square roots of the diagonal")
        d = np.diag(S).copy()
    off = np.where(np.eye(n) > 0, 0.0, S)
    beyond = np.argwhere(np.abs(off) > LARGE)
    if len(beyond):
        i, j = map(int, beyond[0])
        raise InputError(
            f"{source.place(i, j)} = {off[i, j]:.4g} is not a correlation; rescale=True divides by standard "
            "deviations, and nearest_covariance repairs a covariance matrix"
        )
    odd = ~(np.abs(d - 1) <= 1e-12)
    if odd.any():
        first = int(np.argmax(odd))
        hint = "" if rescale else "; off-diagonal entries are as given (rescale=True divides by standard deviations)"
        notes.append(
            f"{int(odd.sum())} of {n} diagonal entries were not 1 (the first, {source.place(first, first)}, was "
            f"{d[first]:.6g}) and were set to 1{hint}"
        )
    unknown = np.isnan(off)
    if unknown.any():
        notes.append(unknown_note(int(unknown.sum()) // 2))
    values = np.where(unknown, 0.0, off)
    np.fill_diagonal(values, 1.0)
    return Given(source, values, ~unknown, S, tuple(notes))


def unknown_note(count: int) -> str:
    """What is told of pairs with NaN."""
    pairs = "1 unknown pair (NaN) has" if count == 1 else f"{count} unknown pairs (NaN) have"
    return f"{pairs} weight 0: any value that is valid"


def _rescaled(source: Labelled, S: Matrix, d: Matrix) -> Matrix:
    bad = np.flatnonzero(~(d > 0))
    if len(bad):
        i = int(bad[0])
        raise InputError(f"{source.place(i, i)} = {d[i]:.6g} is not a variance to divide by; give a positive one")
    root = np.sqrt(d)
    scaled: Matrix = S / np.outer(root, root)
    np.fill_diagonal(scaled, 1.0)
    return scaled
