"""Checks of square tables: similarity matrices, the order of their labels, and matrices given as samples by mistake."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import row_blocks
from simcomplete._rows.frames import FrameRows, is_frame, read_frame
from simcomplete._rows.sparse import dense_rows
from simcomplete._rows.table import RowTable
from simcomplete._rows.validate import as_float, first_position
from simcomplete._rows.xp import Array, namespace, to_numpy
from simcomplete.errors import InputError

# Asymmetry up to 1e-7 of the largest entry is rounding, as in a matrix computed in float32 and stored in float64.
ASYMMETRY = 1e-6
ROUNDING = 1e-6  # error of the entries of a correlation matrix stored in float32, or as text with six digits
LEAST_ROWS = 3  # least rows of an array to be taken for a similarity matrix: two rows are symmetric too easily
THIRD_ROWS = 20  # number of rows used to test the triangle inequality

SIMILARITIES = (
    "complete(), whose rows are samples and whose columns are their features; to repair or complete a similarity or "
    "correlation matrix, give it to sc.complete_similarity(S, method='dmc'), or to sc.nearest_correlation(S); from a "
    "shell: simcomplete repair"
)
DISTANCES = (
    "similarities are needed, with 1 on the diagonal: for cosine distances give 1 - D, for others for example "
    "numpy.exp(-(D / numpy.median(D)) ** 2), to sc.complete_similarity()"
)


def as_similarity(
    S0: Any, name: str = "S0", id: Any = None, fill: Callable[..., Array] | None = None
) -> tuple[Array, list[str] | None]:
    """Check a similarity matrix: square, finite after `fill`, symmetric up to rounding, which is removed.

    Columns of a frame are put into the order of its rows.
    """
    S, labels = _square_values(S0, name, id)
    S = S if fill is None else fill(S, names=labels)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError(f"{name} has shape {tuple(S.shape)}; a square matrix is needed, one row per sample")
    xp = namespace(S)
    size = worst = 0.0
    where = (0, 0)
    for rows in row_blocks(S.shape[0], S.shape[0] * 8):
        block = S[rows, :]
        if not bool(xp.all(xp.isfinite(block))):
            i, j = first_position(~xp.isfinite(block), rows.start)
            raise InputError(
                f"{name}[{i}, {j}] = {float(S[i, j])} is not finite; every entry is needed: put 0 where two "
                "samples have no common evidence, or give the samples themselves to complete()"
            )
        gap = xp.abs(block - S[:, rows].T)
        size = max(size, float(xp.max(xp.abs(block))))
        if float(xp.max(gap)) > worst:
            worst = float(xp.max(gap))
            where = first_position(gap == worst, rows.start)
    if worst > (1e-5 if S.dtype == xp.float32 else ASYMMETRY) * size:
        i, j = where
        one, other = unlike(float(S[i, j]), float(S[j, i]))
        raise InputError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {one} but {name}[{j}, {i}] = {other}, a difference of "
            f"{worst:.2g}; if the order within a pair has no meaning, give ({name} + {name}.T) / 2"
        )
    return (S if worst == 0 else (S + S.T) / 2), labels


def _square_values(S0: Any, name: str, id: Any) -> tuple[Array, list[str] | None]:
    """Return the values of a matrix, and the labels of its rows if a frame has some."""
    if type(S0) is not np.ndarray and is_frame(S0):
        return in_row_order(read_frame(S0, name, id), name)
    if hasattr(S0, "tocsr"):
        return dense_rows(S0, name, "zero"), None  # the overlap of a pair without evidence
    return as_float(S0, name), None


def unlike(one: float, other: float) -> tuple[str, str]:
    """Return two numbers as text with as many digits as needed to show that they differ.

    Examples
    --------
    >>> unlike(0.5, 0.50000012)
    ('0.5', '0.5000001')
    """
    for digits in range(6, 17):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def in_row_order(table: FrameRows, name: str) -> tuple[NDArray[Any], list[str] | None]:
    """Return a matrix with its columns in the order of its rows, matched by label, and the labels."""
    n, d = table.shape
    if n != d or table.columns is None:
        return table.array, table.labels
    columns = [str(column) for column in table.columns]
    if not table.own_labels or table.labels is None:
        return table.array, columns
    if columns == table.labels:
        return table.array, columns
    order = _matching(table.labels, columns)
    if order is None:
        first = next(i for i, (row, column) in enumerate(zip(table.labels, columns, strict=True)) if row != column)
        lacking = sorted(set(table.labels) - set(columns)) or sorted(set(columns) - set(table.labels))
        which = f"; {reprlib.repr(lacking)} are only on one side" if lacking else "; some label occurs more than once"
        raise InputError(
            f"{name} has different labels for its rows and its columns: number {first} is {table.labels[first]!r} and "
            f"{columns[first]!r}{which}; give both the same labels, in any order, or an array without labels"
        )
    return table.array[:, order], table.labels


def refuse_distances(S: Array, name: str) -> None:
    """Refuse a matrix with zero diagonal and no negative entry, unless all entries are 0."""
    diagonal = _diagonal(S)
    if diagonal.any() or float(namespace(S).min(S)) < 0 or float(namespace(S).max(S)) == 0:
        return
    raise InputError(
        f"{name} has a zero diagonal and no negative entry: it looks like distances; {DISTANCES}. If these are "
        "similarities without their diagonal, put 1 there"
    )


def question_square(rows: RowTable, alone: bool) -> str | None:
    """Refuse a matrix of similarities or distances given as samples; return a warning if that is uncertain.

    A frame whose rows and columns have the same labels is refused. For other square arrays, there is a warning if the
    array is given alone and has the entries of a similarity matrix other than the identity.
    """
    X, labelled = rows.held, False
    if X is None:
        return None
    if isinstance(rows, FrameRows) and rows.own_labels and rows.labels is not None and rows.columns is not None:
        order = _matching(rows.labels, [str(column) for column in rows.columns])
        labelled = order is not None
        X = X if order is None else X[:, order]
    if rows.n < (2 if labelled else LEAST_ROWS):
        return None
    diagonal = _diagonal(X)
    if np.all(np.abs(diagonal - 1) <= ROUNDING) and _is_similarity(to_numpy(X)):
        if labelled:
            raise InputError(f"a similarity matrix was given to {SIMILARITIES}")
        return f"a square, symmetric array with a diagonal of 1 was given to {SIMILARITIES}" if alone else None
    if not diagonal.any() and _is_distance(to_numpy(X)):
        raise InputError(f"a distance matrix was given to complete(), whose rows are samples; {DISTANCES}")
    return None


def _diagonal(X: Array) -> NDArray[Any]:
    return to_numpy(namespace(X).linalg.diagonal(X))


def _is_similarity(X: NDArray[Any]) -> bool:
    """Return whether a matrix with diagonal 1 is symmetric, with entries in [-1, 1] or NaN, and not the identity."""
    beside = False
    for rows in row_blocks(len(X), len(X) * 32):
        block = X[rows]
        known = ~np.isnan(block)
        if np.any(np.abs(block[known]) > 1 + ROUNDING) or not _is_symmetric(X, rows):
            return False
        beside = beside or np.count_nonzero(block[known]) > rows.stop - rows.start
    return bool(beside)


def _is_distance(X: NDArray[Any]) -> bool:
    """Return whether a matrix with zero diagonal is symmetric, non-negative, and obeys the triangle inequality.

    The inequality is tested on square roots, which also accepts squared Euclidean distances. Adjacency matrices of
    graphs and co-occurrence counts are not taken for distances.
    """
    if np.isnan(X).any() or X.min() < 0 or X.max() == 0:
        return False
    if not all(_is_symmetric(X, rows) for rows in row_blocks(len(X), len(X) * 32)):
        return False
    thirds = np.unique(np.linspace(0, len(X) - 1, THIRD_ROWS).astype(int))
    for rows in row_blocks(len(X), len(X) * 32):
        direct = np.sqrt(X[rows])
        for k in thirds:
            if np.any(direct > (np.sqrt(X[rows, k])[:, None] + np.sqrt(X[k])) * (1 + ROUNDING)):
                return False
    return True


def _is_symmetric(X: NDArray[Any], rows: slice) -> bool:
    scale = max(1.0, float(np.nanmax(np.abs(X[rows]), initial=0.0)))
    return np.allclose(X[rows], X[:, rows].T, rtol=0.0, atol=ROUNDING * scale, equal_nan=True)


def _matching(labels: list[str], columns: list[str]) -> list[int] | None:
    """Return the position of each label among the columns; None if these are not the same labels, each once."""
    if labels == columns:
        return list(range(len(labels)))
    place = {column: i for i, column in enumerate(columns)}
    if len(place) != len(labels) or set(labels) != set(place):
        return None
    return [place[label] for label in labels]
