"""The specification of a method: its name, properties, parameters, memory, and the function that runs it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from simcomplete._method.params import Parameters
from simcomplete._method.problem import AllRows, CandidatesQueries, Problem, Similarities
from simcomplete._method.settings import Settings
from simcomplete._result.completion import Completion
from simcomplete._rows.budget import require
from simcomplete._rows.source import read_by_block
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, is_dask, on_accelerator, to_numpy
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError

# Parameters of `complete` that only some methods use, and their defaults.
SHARED: dict[str, Any] = {
    "rank": None,
    "penalty": 1e-3,
    "metric": "cosine",
    "min_overlap": 1,
    "epsilon": 0.0,
    "positive": False,
}
# Parameters of the similarity, for methods that act on similarities over common features.
MEASURE = frozenset({"metric", "min_overlap", "epsilon", "positive"})
# The same for methods that fill in missing values first: filled rows have every feature in common.
FILLED_MEASURE = frozenset({"metric", "epsilon", "positive"})

COLUMNS = (
    "name",
    "family",
    "acts_on",
    "regularizer",
    "solver",
    "psd",
    "low_rank",
    "keeps_candidates",
    "random",
    "out_of_sample",
    "reference",
)


@dataclass(frozen=True)
class Sizes:
    """The sizes that a method's time and memory depend on.

    `form` is the form of the problem: candidates and queries, rows of which every one may be incomplete (the complete
    ones count as candidates), or similarities (then `d` is 0). `missing` is the share of values that are missing in
    incomplete rows, `written` says whether the factor goes to a file, `rank_given` whether the caller set the rank,
    `by_block` whether the rows stay outside memory, and `n` is the number of all rows.
    """

    n_candidates: int
    n_queries: int
    d: int
    rank: int
    form: Literal["candidates", "rows", "similarities"] = "candidates"
    missing: float = 0.5
    written: bool = False
    rank_given: bool = True
    by_block: bool = False
    n: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", self.n_candidates + self.n_queries)

    @classmethod
    def of(cls, problem: Problem, settings: Settings) -> Sizes:
        """The sizes of a problem."""
        n, n_p, rank, given = problem.n, problem.n_candidates, settings.rank, settings.rank_given
        if isinstance(problem, CandidatesQueries):
            hidden = np.isnan(to_numpy(problem.queries.array))
            written = settings.out is not None or is_dask(problem.candidates.array_like)
            return cls(n_p, n - n_p, hidden.shape[1], rank, "candidates", float(hidden.mean()), written, given)
        if isinstance(problem, AllRows):
            known, d = problem.rows.known_counts(), problem.rows.d
            whole = int(np.sum(known == d))
            missing = (n * d - int(known.sum())) / max((n - whole) * d, 1)
            return cls(
                whole, n - whole, d, rank, "rows", missing, rank_given=given, by_block=read_by_block(problem.rows)
            )
        return cls(n_p, n - n_p, 0, rank, "similarities", rank_given=given)

    def rank_or(self, default: int) -> int:
        """The rank the caller set, or a method's own default."""
        return self.rank if self.rank_given else default


class Extension(Protocol):
    """Computes rows of a fitted factor for new rows."""

    @property
    def measure(self) -> Measure:
        """How rows are compared."""

    @property
    def factor(self) -> Array:
        """Rows of the fitted samples; their products with rows of new samples are completed similarities."""

    def transform(self, X: Array, progress: bool | None = None) -> Array:
        """Rows of the factor for new samples, each by itself."""

    def overlap(self, X: Array, progress: bool | None = None) -> Array:
        """Similarities over common features of new samples with the fitted ones, not completed."""

    def among(self, X: Array) -> Array:
        """Completed similarities of new samples among each other."""


RunMethod = Callable[[Problem, Settings, dict[str, Any]], Completion]
Extend = Callable[[Completion, RowTable, Measure], Extension]


def no_work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """Return the work of a method that takes next to none."""
    return 10.0 * sizes.n * sizes.d


@dataclass(frozen=True)
class Method:
    """One row of the registry.

    Attributes
    ----------
    name, family : str
        Its name, and the family it belongs to.
    acts_on : {"similarities", "samples", "both"}
        Whether the similarity matrix is enough for it, or it needs the samples, or can take either.
    regularizer, solver : str
        What it penalises and how it finds its answer; "none" where there is nothing.
    psd, low_rank, keeps_candidates : bool
        Whether its result is positive semi-definite, of bounded rank, exact on candidates.
    random : bool
        Whether `random_state` changes the answer.
    reference : str
        Where the method was published.
    run : callable
        Takes a problem, the settings and the method's own parameters; returns a Completion.
    memory : callable
        Peak memory for given sizes and parameters, in numbers of eight bytes, without the input and with the result.
        A method that needs more than is available is refused before it runs.
    parameters : Parameters
        Its own parameters: name, what is accepted, default, meaning. Printing it shows a table.
    shared : frozenset of str
        Which of the parameters rank, penalty, metric, min_overlap, epsilon and positive it uses. One that it does not
        use and that was set is refused.
    original : mapping
        The parameters of the method's own authors, where they do not fit cosines: ``preset="original"``.
    grid : tuple of mapping
        Settings that ``tune=True`` tries.
    uses : frozenset of str
        Which of the hints `known` and `overlap` it can use.
    factor : bool
        Whether its result on rows is a factor, and not only a dense matrix.
    by_block : bool
        Whether it can complete incomplete rows block by block; for other methods they are read into memory first.
    extend : callable or None
        Makes the `Extension` that adds new rows to a completion; None if there is no out-of-sample form.
    work : callable
        Estimated floating-point operations for given sizes and parameters, by which "auto" plans its budget.
    """

    name: str
    family: str
    acts_on: Literal["similarities", "samples", "both"]
    regularizer: str
    solver: str
    psd: bool
    low_rank: bool
    keeps_candidates: bool
    random: bool
    reference: str
    run: RunMethod = field(repr=False, compare=False)
    memory: Callable[[Sizes, Mapping[str, Any]], float] = field(repr=False, compare=False)
    parameters: Parameters = field(default_factory=Parameters, repr=False)
    shared: frozenset[str] = field(default=MEASURE, repr=False)
    original: Mapping[str, Any] = field(default_factory=dict, repr=False)
    grid: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    uses: frozenset[str] = field(default=frozenset(), repr=False)
    factor: bool = field(default=True, repr=False)
    by_block: bool = field(default=False, repr=False)
    extend: Extend | None = field(default=None, repr=False, compare=False)
    work: Callable[[Sizes, Mapping[str, Any]], float] = field(default=no_work, repr=False, compare=False)

    @property
    def out_of_sample(self) -> bool:
        """Whether new rows can be added after fitting."""
        return self.extend is not None

    def row(self) -> dict[str, Any]:
        """Return the public columns as plain values."""
        return {name: getattr(self, name) for name in COLUMNS}

    def own(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return its parameters: the defaults or a preset, updated by the given values; unknown names are refused."""
        given = dict(given)
        preset = given.pop("preset", "default")
        if preset not in ("default", "original"):
            raise InputError(f"preset={preset!r} is unknown; use 'default' or 'original'", about=("preset",))
        for name in given:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none of its own"
                raise InputError(f"method {self.name!r} has no parameter {name!r}; its parameters are {known}")
        chosen = {**(self.original if preset == "original" else {}), **given}
        return {**self.parameters.defaults, **(self.parameters.checked(chosen) if chosen else {})}

    def refuse_unused(self, shared: Mapping[str, Any]) -> None:
        """Refuse shared parameters that were set and that this method does not use."""
        unused = self.unused(shared)
        if unused:
            used = ", ".join(name for name in SHARED if name in self.shared) or "none of them"
            raise InputError(
                f"method {self.name!r} does not use {', '.join(unused)}; leave it out, or choose a method that does "
                f"(of the shared parameters {self.name!r} uses {used})",
                about=(*unused, *self.shared),
            )

    def unused(self, shared: Mapping[str, Any]) -> list[str]:
        """Return the shared parameters that were set and that this method does not use."""
        return [name for name, value in shared.items() if name not in self.shared and value != SHARED[name]]

    def takes(self, problem: Problem) -> Problem:
        """Return the problem with its rows in memory, unless this method reads them by block."""
        return problem if self.by_block else with_rows_in_memory(problem)

    def peak_bytes(self, sizes: Sizes, params: Mapping[str, Any]) -> int:
        """Return its peak memory in bytes, without the input."""
        return int(8 * self.memory(sizes, params))

    def check_memory(self, problem: Problem, settings: Settings, params: Mapping[str, Any]) -> None:
        """Raise MemoryLimitError if it would take more memory than is available."""
        if on_device(problem):
            return
        s = Sizes.of(problem, settings)
        others = [repr(name) for name in ("fmc", "smcnn", "posterior") if name != self.name]
        given, instead = {
            "candidates": (
                f"{s.n_candidates} candidates and {s.n_queries} queries of {s.d} features",
                f"use method={' or '.join(others)}, which hold no n x n matrix, and out= for a large factor",
            ),
            "rows": (
                f"{s.n} rows of {s.d} features",
                "give complete rows as candidates and the others as queries, a form that needs no n x n matrix",
            ),
            "similarities": (f"a matrix of {s.n} x {s.n}", "use method='smcnn' with a small rank"),
        }[s.form]
        what, instead = f"method {self.name!r}, for {given},", f"complete fewer rows, or {instead}"
        require(self.peak_bytes(s, params), what, instead)


def with_rows_in_memory(problem: Problem) -> Problem:
    """Return the problem with its rows (without separate queries) read into memory, if they fit."""
    return replace(problem, rows=problem.rows.in_memory()) if isinstance(problem, AllRows) else problem


def on_device(problem: Problem) -> bool:
    """Whether a problem's data are on an accelerator, which has its own memory."""
    given = getattr(problem, {CandidatesQueries: "candidates", AllRows: "rows", Similarities: "S0"}[type(problem)])
    array = getattr(given, "held", given)  # None where rows are read by block
    return array is not None and on_accelerator(array)


class Registry(dict[str, Method]):
    """Methods by name."""

    def find(self, name: str, or_auto: bool = False) -> Method:
        """Return the method of a name, or suggest the nearest one, "auto" among them where that is allowed, too."""
        if isinstance(name, str) and name in self:
            return self[name]
        names = ["auto", *self] if or_auto else [*self]
        near = difflib.get_close_matches(str(name), names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"method={name!r} is unknown; {hint}use one of {', '.join(names)}", about=("method",))
