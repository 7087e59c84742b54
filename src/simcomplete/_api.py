"""The two functions most users need: `complete` samples, `complete_similarity` a matrix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from simcomplete._auto import elect
from simcomplete._auto.holdout import run_tuned
from simcomplete._caller import warn_caller
from simcomplete._method.given import notice_of_alike_rows, problem_of_rows, problem_of_similarities, settings_for
from simcomplete._method.names import BESIDE, unknown_parameter, with_own_parameters
from simcomplete._method.problem import Problem
from simcomplete._method.scaled import by_todays_name, changed_problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import SHARED, Method
from simcomplete._registry import REGISTRY, find
from simcomplete._result.completion import Completion
from simcomplete._result.unobserved import unobserved_message
from simcomplete._rows.budget import working_memory
from simcomplete._rows.progress import one_bar
from simcomplete._rows.scaling import SCALES, Center, Scale
from simcomplete._rows.sink import Output
from simcomplete._similarity.measure import Measure, Metric
from simcomplete.errors import InputError, InputWarning, NotConvergedWarning

Runner = Callable[[Problem, Settings], Completion]


def complete(
    candidates: Any,
    queries: Any = None,
    *,
    method: str = "auto",
    rank: int | None = None,
    penalty: float = 1e-3,
    metric: Metric = "cosine",
    center: Center = None,
    scale: Scale = None,
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
    id: Any = None,
    labels: Any = None,
    missing: str | None = None,
    biases: Literal["row", "column", "both"] | None = None,
    **params: Any,
) -> Completion:
    """Complete the similarities of samples with missing values.

    Parameters
    ----------
    candidates : array, frame or source of rows, of shape (n_p, d)
        Complete samples to search among. Without `queries`, samples that may all be incomplete. Rows need not be in
        memory: memory-mapped arrays, zarr and dask arrays, anything with `shape`, `dtype` and row slices, and paths
        of `.npy` and `.zarr` are read block by block. Frames are those of pandas, polars, pyarrow and xarray.
    queries : array or frame of shape (n_q, d), optional
        Samples with NaN where a value is missing. Columns of two frames are matched by name.
    method : str
        A name from `sc.methods()`, or "auto": hide known values of the candidates, compare how well methods recover the
        similarities, and use the best; `done.election` has the table. Where nothing can be hidden, "auto" is
        "posterior". Of rank, penalty, metric, min_overlap, epsilon and positive, one that is set and that the named
        method does not use raises an error.
    rank : int, optional
        Bound on the rank, at most the number of samples; None means min(100, n).
    penalty : float
        Weight of the method's penalty, lambda of the paper.
    metric : {"cosine", "pearson"}
        Similarity over common features; "pearson" is the cosine of rows minus their means, the correlation of rows.
    center : {"mean", "median"}, optional
        Subtract this from every feature first, computed from the observed values of the candidates (without queries, of
        all rows).
    scale : {"sd", "robust"}, optional
        Divide every feature first, by its standard deviation, or by its interquartile range over that of the standard
        normal distribution, so that features in large units do not dominate. Features that are constant or missing
        throughout are divided by 1. `done.scaling` has the numbers; new rows are transformed with the same ones.
    min_overlap : int
        Pairs with fewer common features have similarity 0 and no evidence.
    epsilon, positive : float, bool
        Options of the paper: smooth zero vectors; map scores to (0, 1]. See `sc.overlap_similarity`.
    unit_diagonal, keep_candidates, clip : bool
        Return that view of the result; see `Completion.view`.
    random_state : int, Generator or None
        Seed of random methods; the same seed gives the same answer.
    progress : bool, optional
        None shows progress on a terminal and in a notebook, where it takes more than two seconds; False never.
    memory : int or str, optional
        Memory for a block of rows and its temporaries: a number of bytes, or text such as "2 GiB".
    out : path, optional
        A `.npy` or `.zarr` to write the factor to, block by block if the method computes it so.
    id : optional
        Name of the column of a frame (or level of its index) that has the labels of rows and is not a feature. By
        default a first column of text; False means that no column has labels.
    labels : sequence, or with `queries` a pair of two sequences, optional
        Labels of rows: text or whole numbers, each once. With queries, ``(of candidates, of queries)``.
    missing : {"absent", "zero"}, optional
        Meaning of the cells that a sparse matrix or column does not store; required for sparse input.
    biases : {"row", "column", "both"}, optional
        For ratings, without `queries`: subtract means of rows and columns first, shrunk towards the mean of all values
        (by an amount that is chosen on hidden values). `done.imputed()` adds them again.
    **params
        The method's own parameters, listed in the notes; ``preset="original"`` for those of its authors;
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
    if not (scale is None or (isinstance(scale, str) and scale in SCALES)):  # perhaps by its former meaning
        params, scale = {"scale": scale, **params}, None
    run = _runner(method, params, {"rank": rank, "penalty": penalty, **vars(measure)}, complete)
    problem = problem_of_rows(candidates, queries, measure, progress, id=id, labels=labels, missing=missing)
    settings, restored = settings_for(rank, penalty, random_state, progress, problem.n), None
    with working_memory(memory), _bar(progress):
        if center is not None or scale is not None or biases is not None:
            problem, restored = changed_problem(problem, center, scale, biases)
        notice = notice_of_alike_rows(problem)
        if notice is not None:
            warn_caller(notice, InputWarning)
        done = run(problem, settings) if out is None else _written(run, problem, settings, Output(out))
    done = done if restored is None else restored(done)
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
    id: Any = None,
    labels: Any = None,
    **params: Any,
) -> Completion:
    """Complete or repair a given similarity matrix.

    Parameters
    ----------
    S0 : array or frame of shape (n, n)
        Symmetric similarities. Any diagonal is allowed and kept, except a diagonal of zeros with positive entries
        elsewhere, as distances have. NaN where an entry is unknown: such entries are filled in by a factor model of the
        known ones before the method begins. Columns of a frame are put into the order of its rows.
    candidates : int or array of bool, optional
        How many leading rows have an exact block, or which rows; those move to the front of the result, and
        `done.order` has the original positions.
    known : array of bool, shape (n, n), optional
        True where an entry is exact, for methods that can keep entries fixed.
    overlap : array of int, shape (n, n), optional
        How many features each pair has in common, for methods that use it as a weight, and to fill in NaN.
    method : str
        One that acts on similarities, or "auto": "posterior" with `candidates`, else the nearest valid matrix ("dmc"),
        above 2000 rows the exact low-rank one ("smcnn").
    rank, penalty, unit_diagonal, keep_candidates, clip, random_state, progress, id, labels, **params
        As in `complete`; without `id` and `labels`, rows have the labels of the frame's index or of its columns.

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
    run = _runner(method, params, {"rank": rank, "penalty": penalty}, complete_similarity)
    problem = problem_of_similarities(S0, candidates, known, overlap, progress, id=id, labels=labels)
    settings = settings_for(rank, penalty, random_state, progress, problem.n)
    with _bar(progress):
        done = run(problem, settings)
    views = {"unit_diagonal": unit_diagonal, "keep_candidates": keep_candidates, "clip": clip}
    return done.view(**views) if any(views.values()) else done


def _bar(progress: bool | None) -> AbstractContextManager[None]:
    """One bar for everything that a call does; none where it is to be silent."""
    return nullcontext() if progress is False else one_bar(progress)


def _written(run: Runner, problem: Problem, settings: Settings, out: Output) -> Completion:
    """Run a method with its factor in a file, which is there at the end or not at all."""
    with out:
        done = run(problem, replace(settings, out=out))
        if done.matrix.factor is None:
            raise InputError(f"method {done.method!r} gives no factor to write; leave out= out, or use another method")
        if not out.written:
            out.copy(done.matrix.factor, settings.progress)
    return replace(done, matrix=replace(done.matrix, factor=out.read(out.path)))


def _runner(method: str, params: dict[str, Any], shared: dict[str, Any], function: Callable[..., Any]) -> Runner:
    """Check the method's name and parameters before any work, and return what will do it and warn the caller."""
    if "scale" in params:
        params, notice = by_todays_name(params, () if method == "auto" else find(method, or_auto=True).parameters)
        warn_caller(notice, FutureWarning)
    if method == "auto":
        known = {*elect.OWN, *(name for each in REGISTRY.values() for name in each.parameters)} if params else ()
        for name in params:
            if name not in known:
                raise unknown_parameter(name, known, function, "method 'auto'", elect.OWN)
        return partial(_run_auto, params=dict(params), shared=shared)
    spec, given = find(method, or_auto=True), dict(params)
    for name in given:
        if name not in spec.parameters and name not in BESIDE:
            raise unknown_parameter(name, spec.parameters, function, f"method {method!r}")
    tune = given.pop("tune", False)
    spec.refuse_unused(shared)
    return partial(_run_named, method=spec, own=spec.own(given), tune=bool(tune))


def _run_named(problem: Problem, settings: Settings, *, method: Method, own: dict[str, Any], tune: bool) -> Completion:
    method.check_memory(problem, settings, own)
    problem = method.takes(problem)
    done = run_tuned(method, problem, settings, own) if tune else method.run(problem, settings, own)
    return _recorded(done, [])


def _run_auto(problem: Problem, settings: Settings, *, params: dict[str, Any], shared: dict[str, Any]) -> Completion:
    return _recorded(*elect.complete_auto(problem, settings, params, shared))


def _recorded(done: Completion, notices: list[str]) -> Completion:
    """Warn the caller of what did not go as asked, and record only parameters that were used."""
    if not done.status.ok:
        notices = [*notices, f"{done.method}: {done.status}"]
    for notice in notices:
        warn_caller(notice, NotConvergedWarning)
    if done.unobserved is not None:
        first = 0 if done.all_rows_are_queries else done.n_candidates
        warn_caller(unobserved_message(done.unobserved, done.labels, first), InputWarning)
    unused = set(SHARED) - find(done.method).shared - {"metric"}
    return replace(done, params={name: value for name, value in done.params.items() if name not in unused})


def _refuse_hints(method: str, **hints: Any) -> None:
    """Refuse a matrix alone, or hints about it, where the method cannot use them; `auto` takes what fits."""
    if method == "auto":
        return
    spec = find(method)
    if spec.acts_on == "samples":
        raise InputError(f"method {method!r} needs the samples themselves; give them to complete()")
    for name, hint in hints.items():
        if hint is not None and name not in spec.uses:
            raise InputError(
                f"method {method!r} cannot use {name}=; leave it out (candidates= with keep_candidates=True "
                "keeps an exact block with any method)"
            )


complete.__doc__ = with_own_parameters(complete.__doc__, REGISTRY.values())
complete_similarity.__doc__ = with_own_parameters(
    complete_similarity.__doc__, [method for method in REGISTRY.values() if method.acts_on != "samples"]
)
