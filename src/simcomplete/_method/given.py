"""Turn the user's input, rows or a similarity matrix, into a checked problem."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._caller import warn_caller
from simcomplete._method.problem import AllRows, CandidatesQueries, Similarities
from simcomplete._method.settings import Settings
from simcomplete._rows.doubts import question_columns, question_labels
from simcomplete._rows.frames import FrameRows, frame_library, is_frame, read_frame
from simcomplete._rows.labels import checked_labels, labels_of_both
from simcomplete._rows.matching import in_order_of
from simcomplete._rows.source import read_by_block
from simcomplete._rows.sparse import check_missing, has_sparse_cells
from simcomplete._rows.square import as_similarity, in_row_order, question_square, refuse_distances
from simcomplete._rows.table import RowTable
from simcomplete._rows.validate import as_rows, check_measure, check_number, check_rank, same_width
from simcomplete._rows.xp import Array, is_numpy, like, namespace, to_numpy
from simcomplete._similarity.alike import question_cosines
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.unknown import fill_unknown
from simcomplete.errors import InputError, InputWarning

LEAST_ALIKE = 10  # rows needed for the warning that all rows are nearly equal
ONE_FEATURE = (
    "there is one feature: the cosine of two numbers is 1, or -1 where their signs differ, however far apart they are, "
    "and their correlation does not exist; give more features"
)
NEAR_MEAN = 0.985  # cosine with the mean of rows, of rows that may be; the test proper is in `_similarity/alike.py`


def problem_of_rows(
    candidates: Any,
    queries: Any,
    measure: Measure,
    progress: bool | None,
    *,
    id: Any = None,
    labels: Any = None,
    missing: str | None = None,
) -> CandidatesQueries | AllRows:
    """Check rows and return their problem: `CandidatesQueries` if queries are given, else `AllRows`."""
    if id is not None or labels is not None or missing is not None:
        _check_names(candidates, queries, id, labels, missing)
    rows = as_rows(candidates, "candidates", complete=queries is not None, id=id, missing=missing)
    question_rows(rows, id, alone=queries is None)
    check_measure(measure.metric, measure.min_overlap, measure.epsilon, rows.d)
    if queries is None:
        names = rows.labels if labels is None else checked_labels(labels, rows.n, "labels")
        return AllRows(rows if read_by_block(rows) else rows.in_memory(), measure, names, progress, rows.frame)
    asked = as_rows(queries, "queries", id=id, missing=missing).in_memory()
    if isinstance(asked, FrameRows):
        asked = in_order_of(rows, asked, "queries")
    same_width(rows, asked)
    first, second = rows.labels, asked.labels
    if labels is not None:
        first, second = labels_of_both(labels, rows.n, asked.n)
    return CandidatesQueries(rows, asked, measure, joined_labels(first, second, rows.n, asked.n), progress, rows.frame)


def problem_of_similarities(
    S0: Any, candidates: Any, known: Any, overlap: Any, progress: bool | None, *, id: Any = None, labels: Any = None
) -> Similarities:
    """Check a matrix and the hints about it; rows with exact similarities move to the front."""
    if id is not None or labels is not None:
        _check_names(S0, None, id, labels, None)
    S, names = as_similarity(
        S0, id=id, fill=partial(_without_gaps, candidates=candidates, known=known, overlap=overlap)
    )
    refuse_distances(S, "S0")
    n = int(S.shape[0])
    if labels is not None:
        names = checked_labels(labels, n, "labels")
    n_exact, order = _candidate_rows(candidates, n)
    hints = {
        name: None if values is None else _square(values, n, name, dtype, order, names)
        for name, values, dtype in (("known", known, bool), ("overlap", overlap, np.int64))
    }
    if order is not None:
        S = _reordered(S, order)
        names = None if names is None else [names[i] for i in order]
    library = frame_library(S0)
    return Similarities(
        S,
        n_exact,
        **hints,
        labels=names,
        order=order,
        progress=progress,
        frame=None if library == "xarray" else library,
    )


def notice_of_alike_rows(problem: CandidatesQueries | AllRows) -> str | None:
    """Return a warning if the cosines of all rows are about 1, else None. A sample of rows is examined first."""
    table = problem.rows if isinstance(problem, AllRows) else problem.candidates
    if table.held is None or problem.measure.metric != "cosine" or table.n < LEAST_ALIKE or table.d < 2:
        return None
    few = _spread(table, 50)
    known = ~np.isnan(few)
    few = np.where(known, few, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = few.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        cosines = few @ mean / np.sqrt((few * few).sum(axis=1) * (known @ (mean * mean)))
    cosines = cosines[np.isfinite(cosines)]
    return question_cosines(_spread(table, 200)) if len(cosines) and np.median(cosines) > NEAR_MEAN else None


def _spread(table: RowTable, most: int) -> NDArray[np.float64]:
    """Return at most `most` rows, spread evenly over the table."""
    which = np.linspace(0, table.n - 1, min(table.n, most)).astype(np.int64)
    return to_numpy(table.take(which)).astype(np.float64)


def _check_names(candidates: Any, queries: Any, id: Any, labels: Any, missing: Any) -> None:
    """Refuse `id` together with `labels`, `id` without a frame, and `missing` without sparse data."""
    column = id is not None and id is not False
    if column and labels is not None:
        raise InputError(f"id={id!r} and labels= both name the rows; give one of them")
    if column and not (is_frame(candidates) or is_frame(queries)):
        raise InputError(f"id={id!r} names a column of a frame, but {type(candidates).__name__} has none; give labels=")
    check_missing(missing)
    if missing is not None and not (has_sparse_cells(candidates) or has_sparse_cells(queries)):
        raise InputError(
            f"missing={missing!r} is for sparse matrices, and the table is dense: there, NaN means missing; leave "
            "missing out"
        )


def question_rows(rows: RowTable, id: Any, *, alone: bool) -> None:
    """Warn if the rows seem to be a similarity matrix, or if a column seems to number the rows."""
    notices = []
    if rows.n == rows.d:
        notices.append(question_square(rows, alone))
    if isinstance(rows, FrameRows):
        notices += [question_columns(rows, id), question_labels(rows)]
        notices.append(ONE_FEATURE if rows.d == 1 and rows.n >= LEAST_ALIKE else None)
    for notice in notices:
        if notice is not None:
            warn_caller(notice, InputWarning)


def _without_gaps(S: Array, candidates: Any, known: Any, overlap: Any, names: list[str] | None) -> Array:
    """Replace NaN in a matrix by expected similarities; return a matrix without NaN unchanged."""
    xp = namespace(S)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not bool(xp.any(xp.isnan(S))):
        return S
    n, values = int(S.shape[0]), to_numpy(S).astype(np.float64)
    if known is not None and bool((_square(known, n, "known", bool, None, names) & np.isnan(values)).any()):
        raise InputError(
            "known is True where S0 is NaN; an exact entry needs its value: give it, or set known to False"
        )
    if bool(np.isinf(values).any()):
        return S  # refused below, with its position
    n_exact, order = _candidate_rows(candidates, n)
    exact = np.arange(n)[: n_exact or 0] if order is None else order[:n_exact]
    if bool(np.isnan(values[np.ix_(exact, exact)]).any()):
        raise InputError("candidates= says which rows have an exact block, and S0 is NaN within it; name fewer rows")
    counts = None if overlap is None else _square(overlap, n, "overlap", np.int64, None, names)
    return like(fill_unknown(values, counts), S, dtype=S.dtype)


def settings_for(rank: int | None, penalty: float, random_state: Any, progress: bool | None, n: int) -> Settings:
    """Check the parameters that all methods share, and return the settings."""
    return Settings(
        rank=check_rank(rank, n),
        penalty=check_number(penalty, "penalty"),
        rng=generator(random_state),
        rank_given=rank is not None,
        progress=progress,
    )


def generator(random_state: Any) -> np.random.Generator:
    """Turn a seed, a generator or None into a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state={random_state!r} is not a seed; give a whole number, a Generator or None",
            about=("random_state",),
        ) from error


def joined_labels(first: list[str] | None, second: list[str] | None, n_p: int, n_q: int) -> list[str] | None:
    """Labels of candidates and queries together; rows of the side that has none are numbered."""
    if first is None and second is None:
        return None
    return (first or [str(i) for i in range(n_p)]) + (second or [str(i) for i in range(n_q)])


def _candidate_rows(candidates: Any, n: int) -> tuple[int | None, NDArray[np.int64] | None]:
    if candidates is None:
        return None, None
    if isinstance(candidates, (int, np.integer)) and not isinstance(candidates, bool):
        if not 1 <= candidates <= n:
            raise InputError(f"candidates={candidates} must be from 1 to the {n} rows of S0")
        return int(candidates), None
    which = np.asarray(candidates)
    if which.dtype != bool or which.shape != (n,) or not which.any():
        raise InputError(
            f"candidates must be a number of leading rows or {n} booleans, at least one of them True; "
            f"got {which.dtype} of shape {which.shape}"
        )
    order = np.concatenate([np.flatnonzero(which), np.flatnonzero(~which)])
    return int(which.sum()), None if np.array_equal(order, np.arange(n)) else order


def _reordered(S: Array, order: NDArray[np.int64]) -> Array:
    if is_numpy(S):
        return S[np.ix_(order, order)]
    xp = namespace(S)
    index = like(order, S)
    return xp.take(xp.take(S, index, axis=0), index, axis=1)


def _square(
    values: Any, n: int, name: str, dtype: Any, order: NDArray[np.int64] | None, labels: list[str] | None
) -> NDArray[Any]:
    """Return a hint about every entry with rows and columns in the order of S0, of a frame by its labels."""
    if is_frame(values):
        array, own = in_row_order(read_frame(values, name), name)
        if labels is not None and own is not None and own != labels and sorted(own) == sorted(labels):
            place = {label: i for i, label in enumerate(own)}
            moved = [place[label] for label in labels]
            array = array[np.ix_(moved, moved)]
    else:
        array = np.asarray(to_numpy(values) if not isinstance(values, list) else values)
    if array.shape != (n, n):
        raise InputError(f"{name} has shape {array.shape}; it must match S0, {(n, n)}")
    array = array.astype(dtype)
    return array if order is None else array[np.ix_(order, order)]
