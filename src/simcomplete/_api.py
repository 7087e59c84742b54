"""The two functions most users need: `complete` samples, `complete_similarity` a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._auto.elect import complete_auto
from simcomplete._auto.holdout import run_tuned
from simcomplete._method.problem import Task
from simcomplete._registry import find, parameters
from simcomplete._result.completion import Completion
from simcomplete._rows.budget import working_memory
from simcomplete._rows.sink import Output
from simcomplete._rows.table import RowTable
from simcomplete._rows.validate import (
    as_rows,
    as_similarity,
    check_number,
    check_rank,
    same_width,
)
from simcomplete._rows.xp import Array, is_numpy, like, namespace, to_numpy
from simcomplete._similarity.measure import Measure, Metric
from simcomplete.errors import InputError


def complete(
    candidates: Any,
    queries: Any = None,
    *,
    method: str = "auto",
    rank: int | None = None,
    penalty: float = 1e-3,
    metric: Metric = "cosine",
    min_overlap: int = 1,
    epsilon: float = 0.0,
    positive: bool = False,
    unit_diagonal: bool = False,
    keep_candidates: bool = False,
    clip: bool = False,
    random_state: Any = 0,
    progress: bool | None = None,
    memory: int | str | None = None,
    out: str | Path | None = None,
    **params: Any,
) -> Completion:
    """Complete the similarities of samples with missing values.

    Parameters
    ----------
    candidates : array, frame or source of rows, of shape (n_p, d)
        Complete samples to search among. Without `queries`, samples that may all be incomplete. Rows need not be in
        memory: memory-mapped arrays, zarr and dask arrays, anything with `shape`, `dtype` and row slices, and paths
        of `.npy` and `.zarr` are read block by block.
    queries : array or frame of shape (n_q, d), optional
        Samples with NaN where a value is missing.
    method : str
        A name from `sc.methods()`, or "auto": hide known values of the candidates, let methods find them again, and
        take the best; `done.election` shows the table. Where nothing can be hidden, "auto" is "posterior".
    rank : int, optional
        Bound on the rank, for methods that have one, at most the number of samples; None means min(100, n).
    penalty : float
        Weight of the method's penalty, lambda of the paper.
    metric : {"cosine", "pearson"}
        Similarity over common features.
    min_overlap : int
        Pairs with fewer common features count as no evidence.
    epsilon, positive : float, bool
        The paper's remarks: smooth zero vectors; map scores to (0, 1]. See `sc.overlap_similarity`.
    unit_diagonal, keep_candidates, clip : bool
        Return that view of the result; see `Completion.view`.
    random_state : int, Generator or None
        Seed of random methods; the same seed gives the same answer.
    progress : bool, optional
        None shows progress on a terminal, False never.
    memory : int or str, optional
        What a block of rows and its temporaries may take: bytes, or words such as "2 GiB".
    out : path, optional
        A `.npy` or `.zarr` to write the factor to, row by row where the method makes it so.
    **params
        The method's own parameters, such as ``route`` or ``variant``; ``preset="original"`` for those of its authors;
        ``tune=True`` to choose among the method's usual settings by hiding known values of candidates.

    Returns
    -------
    Completion

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> rng = np.random.default_rng(0)
    >>> P = rng.random((50, 20))
    >>> Q = np.where(rng.random((5, 20)) < 0.5, np.nan, rng.random((5, 20)))
    >>> done = sc.complete(P, Q, method="smcnn", rank=10)
    >>> done.similarity("queries", "candidates").shape
    (5, 50)
    >>> done.certificate.optimal
    True
    """
    run = _runner(method, params)
    samples = as_rows(candidates, "candidates", complete=queries is not None)
    if queries is None:
        samples = samples.in_memory()
    asked = None if queries is None else as_rows(queries, "queries").in_memory()
    if asked is not None:
        same_width(samples, asked)
    task = Task(
        rank=check_rank(rank, samples.n + (0 if asked is None else asked.n)),
        penalty=check_number(penalty, "penalty"),
        rank_asked=rank is not None,
        rng=generator(random_state),
        progress=progress,
        measure=Measure(metric, min_overlap, epsilon, positive).checked(samples.d),
        samples=samples,
        queries=asked,
        labels=_labels(samples, asked),
    )
    with working_memory(memory):
        done = run(task) if out is None else _written(run, task, Output(out))
    return done.view(unit_diagonal=unit_diagonal, keep_candidates=keep_candidates, clip=clip)


def complete_similarity(
    S0: Any,
    *,
    candidates: Any = None,
    known: Any = None,
    overlap: Any = None,
    method: str = "auto",
    rank: int | None = None,
    penalty: float = 1e-3,
    unit_diagonal: bool = False,
    keep_candidates: bool = False,
    clip: bool = False,
    random_state: Any = 0,
    progress: bool | None = None,
    **params: Any,
) -> Completion:
    """Complete a similarity matrix that cannot be fully trusted.

    Parameters
    ----------
    S0 : array or frame of shape (n, n)
        Symmetric similarities; 0 where a pair has no evidence. Any diagonal is allowed and kept as it is.
    candidates : int or array of bool, optional
        How many leading rows have an exact block, or which rows; those move to the front of the result, and
        `done.order` tells where each row came from.
    known : array of bool, shape (n, n), optional
        True where an entry is exact, for methods that can hold entries fixed.
    overlap : array of int, shape (n, n), optional
        How many features each pair has in common, for methods that weigh by it.
    method : str
        One that acts on similarities, or "auto": "posterior" with `candidates`, else the nearest valid matrix ("dmc"),
        above 2000 rows the exact low-rank one ("smcnn").
    rank, penalty, unit_diagonal, keep_candidates, clip, random_state, progress, **params
        As in `complete`.

    Returns
    -------
    Completion

    Examples
    --------
    Three similarities that contradict each other; the completion is the nearest that do not.

    >>> import numpy as np, simcomplete as sc
    >>> S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> float(np.linalg.eigvalsh(S0)[0].round(2))
    -0.27
    >>> done = sc.complete_similarity(S0, method="smcnn")
    >>> bool(np.linalg.eigvalsh(done.similarity())[0] > -1e-12)
    True
    """
    _refuse_hints(method, known=known, overlap=overlap)
    run = _runner(method, params)
    S, labels = as_similarity(S0)
    n = int(S.shape[0])
    n_candidates, order = _candidate_rows(candidates, n)
    if order is not None:
        S = _reordered(S, order)
        labels = None if labels is None else [labels[i] for i in order]
    task = Task(
        rank=check_rank(rank, n),
        penalty=check_number(penalty, "penalty"),
        rank_asked=rank is not None,
        rng=generator(random_state),
        progress=progress,
        given=S,
        given_candidates=n_candidates,
        known=None if known is None else _square(known, n, "known", bool, order),
        overlap=None if overlap is None else _square(overlap, n, "overlap", np.int64, order),
        labels=labels,
        order=order,
    )
    done = run(task)
    return done.view(unit_diagonal=unit_diagonal, keep_candidates=keep_candidates, clip=clip)


def _written(run: Callable[[Task], Completion], task: Task, out: Output) -> Completion:
    """Run a method with its factor in a file, which is there at the end or not at all."""
    with out:
        task.out = out
        done = run(task)
        if done.matrix.factor is None:
            raise InputError(f"method {done.method!r} gives no factor to write; leave out= out, or use another method")
        if not out.written:
            out.copy(done.matrix.factor, task.progress)
    return replace(done, matrix=replace(done.matrix, factor=out.read(out.path)))


def _runner(method: str, params: dict[str, Any]) -> Callable[[Task], Completion]:
    """Check the method's name and parameters before any work, and return what will do it."""
    if method == "auto":
        return lambda task: complete_auto(task, dict(params))
    row = find(method)
    given = dict(params)
    tune = given.pop("tune", False)
    own = parameters(row, given)
    return lambda task: run_tuned(row, task, own) if tune else row.run(task, own)


def _refuse_hints(method: str, **hints: Any) -> None:
    """Refuse a matrix alone, or hints about it, where the method cannot use them; `auto` takes what fits."""
    if method == "auto":
        return
    row = find(method)
    if row.acts_on == "samples":
        raise InputError(f"method {method!r} needs the samples themselves; give them to complete()")
    for name, hint in hints.items():
        if hint is not None and name not in row.uses:
            raise InputError(
                f"method {method!r} cannot use {name}=; leave it out (candidates= with keep_candidates=True "
                "keeps an exact block with any method)"
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
            f"random_state={random_state!r} is no seed; give a whole number, a Generator or None"
        ) from error


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
