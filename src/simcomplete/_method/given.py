"""Problems from what users give: rows, or a similarity matrix with what is known of it."""

from __future__ import annotations

import reprlib
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import AllRows, CandidatesQueries, Similarities
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.validate import as_rows, as_similarity, same_width
from simcomplete._rows.xp import Array, is_numpy, like, namespace, to_numpy
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.unknown import fill_unknown
from simcomplete.errors import InputError


def problem_of_rows(
    candidates: Any, queries: Any, measure: Measure, progress: bool | None
) -> CandidatesQueries | AllRows:
    """Check rows, and pose the problem they make: with queries apart, or every row for itself."""
    rows = as_rows(candidates, "candidates", complete=queries is not None)
    measure = measure.checked(rows.d)
    if queries is None:
        return AllRows(rows.in_memory(), measure, rows.labels, progress)
    asked = _in_order(as_rows(queries, "queries").in_memory(), _columns(queries), _columns(candidates))
    same_width(rows, asked)
    return CandidatesQueries(rows, asked, measure, _labels(rows, asked), progress)


def problem_of_similarities(S0: Any, candidates: Any, known: Any, overlap: Any, progress: bool | None) -> Similarities:
    """Check a matrix and what is said of it; rows with an exact block move to the front."""
    S, labels = as_similarity(S0, fill=partial(_without_gaps, candidates=candidates, known=known, overlap=overlap))
    n = int(S.shape[0])
    n_exact, order = _candidate_rows(candidates, n)
    if order is not None:
        S = _reordered(S, order)
        labels = None if labels is None else [labels[i] for i in order]
    return Similarities(
        S,
        n_exact,
        known=None if known is None else _square(known, n, "known", bool, order),
        overlap=None if overlap is None else _square(overlap, n, "overlap", np.int64, order),
        labels=labels,
        order=order,
        progress=progress,
    )


def _without_gaps(S: Array, candidates: Any, known: Any, overlap: Any) -> Array:
    """A matrix with expected similarities in the place of NaN; any other as it is."""
    xp = namespace(S)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not bool(xp.any(xp.isnan(S))):
        return S
    n, values = int(S.shape[0]), to_numpy(S).astype(np.float64)
    if known is not None and bool((_square(known, n, "known", bool, None) & np.isnan(values)).any()):
        raise InputError(
            "known is True where S0 is NaN; an exact entry needs its value: give it, or set known to False"
        )
    if bool(np.isinf(values).any()):
        return S  # which is refused, with its place
    n_exact, order = _candidate_rows(candidates, n)
    exact = np.arange(n)[: n_exact or 0] if order is None else order[:n_exact]
    if bool(np.isnan(values[np.ix_(exact, exact)]).any()):
        raise InputError("candidates= says which rows have an exact block, and S0 is NaN within it; name fewer rows")
    counts = None if overlap is None else _square(overlap, n, "overlap", np.int64, None)
    return like(fill_unknown(values, counts), S, dtype=S.dtype)


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
            f"random_state={random_state!r} is no seed; give a whole number, a Generator or None"
        ) from error


def _columns(X: Any) -> list[Any] | None:
    """Names of the columns of a frame; None where there are none, or only their numbers."""
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "to_numpy"):
        return None
    found = list(names)
    return None if found == list(range(len(found))) else found


def _in_order(asked: HeldRows, own: list[Any] | None, wanted: list[Any] | None) -> HeldRows:
    """Queries with their columns in the order of the candidates' columns, matched by name."""
    if own is None or wanted is None or own == wanted:
        return asked
    place = {name: i for i, name in enumerate(own)}
    known = set(wanted)
    missing, extra = [name for name in wanted if name not in place], [name for name in own if name not in known]
    if missing or extra:
        parts = [f"{word} {reprlib.repr(names)}" for word, names in (("lack", missing), ("also have", extra)) if names]
        raise InputError(
            f"columns are matched by name, and queries {' and '.join(parts)}; give both the same columns, in any "
            "order, or arrays without names"
        )
    twice = [name for name, count in (Counter(wanted) | Counter(own)).items() if count > 1]
    if twice:
        raise InputError(f"columns are matched by name, and {reprlib.repr(twice)} stand for several; rename them")
    return HeldRows(asked.array[:, [place[name] for name in wanted]], asked.labels)


def _labels(samples: RowTable, queries: RowTable | None) -> list[str] | None:
    if queries is None:
        return samples.labels
    if samples.labels is None and queries.labels is None:
        return None
    first = samples.labels or [str(i) for i in range(samples.n)]
    return first + (queries.labels or [str(i) for i in range(queries.n)])


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


def _square(values: Any, n: int, name: str, dtype: Any, order: NDArray[np.int64] | None) -> NDArray[Any]:
    """A hint about every entry, in the order of the rows that were moved."""
    array = np.asarray(to_numpy(values) if not isinstance(values, list) else values)
    if array.shape != (n, n):
        raise InputError(f"{name} has shape {array.shape}; it must match S0, {(n, n)}")
    array = array.astype(dtype)
    return array if order is None else array[np.ix_(order, order)]
