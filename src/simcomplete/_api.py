"""The two functions most users need: `complete` samples, `complete_similarity` a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from simcomplete._auto.elect import complete_auto
from simcomplete._auto.holdout import run_tuned
from simcomplete._caller import warn_caller
from simcomplete._method.given import generator, problem_of_rows, problem_of_similarities
from simcomplete._method.memory import check_memory
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import SHARED, Method
from simcomplete._registry import find
from simcomplete._result.completion import Completion
from simcomplete._rows.budget import working_memory
from simcomplete._rows.sink import Output
from simcomplete._rows.validate import (
    check_number,
    check_rank,
)
from simcomplete._similarity.measure import Measure, Metric
from simcomplete.errors import InputError, NotConvergedWarning

Runner = Callable[[Problem, Settings], Completion]


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
        Of the next six parameters, one that the named method does not use is refused when it is set.
    rank : int, optional
        Bound on the rank, at most the number of samples; None means min(100, n).
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
    measure = Measure(metric, min_overlap, epsilon, positive)
    run = _runner(method, params, {"rank": rank, "penalty": penalty, **vars(measure)})
    problem = problem_of_rows(candidates, queries, measure, progress)
    settings = _settings(rank, penalty, random_state, progress, problem.n)
    with working_memory(memory):
        done = run(problem, settings) if out is None else _written(run, problem, settings, Output(out))
    views = {"unit_diagonal": unit_diagonal, "keep_candidates": keep_candidates, "clip": clip}
    return done.view(**views) if any(views.values()) else done


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
        Symmetric similarities. Any diagonal is allowed and kept as it is. NaN where an entry is unknown: such entries
        are filled in by a factor model of the known ones before the method begins.
    candidates : int or array of bool, optional
        How many leading rows have an exact block, or which rows; those move to the front of the result, and
        `done.order` tells where each row came from.
    known : array of bool, shape (n, n), optional
        True where an entry is exact, for methods that can hold entries fixed.
    overlap : array of int, shape (n, n), optional
        How many features each pair has in common, for methods that weigh by it, and to fill in NaN.
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
    run = _runner(method, params, {"rank": rank, "penalty": penalty})
    problem = problem_of_similarities(S0, candidates, known, overlap, progress)
    settings = _settings(rank, penalty, random_state, progress, problem.n)
    done = run(problem, settings)
    views = {"unit_diagonal": unit_diagonal, "keep_candidates": keep_candidates, "clip": clip}
    return done.view(**views) if any(views.values()) else done


def _settings(rank: int | None, penalty: float, random_state: Any, progress: bool | None, n: int) -> Settings:
    """Check what every method shares."""
    return Settings(
        rank=check_rank(rank, n),
        penalty=check_number(penalty, "penalty"),
        rng=generator(random_state),
        rank_given=rank is not None,
        progress=progress,
    )


def _written(run: Runner, problem: Problem, settings: Settings, out: Output) -> Completion:
    """Run a method with its factor in a file, which is there at the end or not at all."""
    with out:
        done = run(problem, replace(settings, out=out))
        if done.matrix.factor is None:
            raise InputError(f"method {done.method!r} gives no factor to write; leave out= out, or use another method")
        if not out.written:
            out.copy(done.matrix.factor, settings.progress)
    return replace(done, matrix=replace(done.matrix, factor=out.read(out.path)))


def _runner(method: str, params: dict[str, Any], shared: dict[str, Any]) -> Runner:
    """Check the method's name and parameters before any work, and return what will do it and warn the caller."""
    if method == "auto":
        return partial(_run_auto, params=dict(params), shared=shared)
    found, given = find(method), dict(params)
    tune = given.pop("tune", False)
    found.refuse_unused(shared)
    return partial(_run_named, method=found, own=found.own(given), tune=bool(tune))


def _run_named(problem: Problem, settings: Settings, *, method: Method, own: dict[str, Any], tune: bool) -> Completion:
    check_memory(method, problem, settings, own)
    done = run_tuned(method, problem, settings, own) if tune else method.run(problem, settings, own)
    return _recorded(done, [])


def _run_auto(problem: Problem, settings: Settings, *, params: dict[str, Any], shared: dict[str, Any]) -> Completion:
    return _recorded(*complete_auto(problem, settings, params, shared))


def _recorded(done: Completion, notices: list[str]) -> Completion:
    """Warn the caller of what did not go as asked, and record only parameters that were used."""
    if not done.status.ok:
        notices = [*notices, f"{done.method}: {done.status}"]
    for notice in notices:
        warn_caller(notice, NotConvergedWarning)
    unused = set(SHARED) - find(done.method).shared - {"metric"}
    return replace(done, params={name: value for name, value in done.params.items() if name not in unused})


def _refuse_hints(method: str, **hints: Any) -> None:
    """Refuse a matrix alone, or hints about it, where the method cannot use them; `auto` takes what fits."""
    if method == "auto":
        return
    found = find(method)
    if found.acts_on == "samples":
        raise InputError(f"method {method!r} needs the samples themselves; give them to complete()")
    for name, hint in hints.items():
        if hint is not None and name not in found.uses:
            raise InputError(
                f"method {method!r} cannot use {name}=; leave it out (candidates= with keep_candidates=True "
                "keeps an exact block with any method)"
            )
