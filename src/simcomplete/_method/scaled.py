"""Problems whose features were centred and scaled, and what adds rows to their results."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from simcomplete._method.problem import AllRows, CandidatesQueries
from simcomplete._method.spec import Extension
from simcomplete._result.completion import Completion
from simcomplete._rows.scaling import Center, FeatureScaling, Scale, check_scaling, learn_scaling
from simcomplete._rows.source import read_by_block
from simcomplete._rows.xp import Array
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError

RowProblem = CandidatesQueries | AllRows


def changed_problem(
    given: RowProblem, center: Center, scale: Scale, biases: Any
) -> tuple[RowProblem, Callable[[Completion], Completion]]:
    """The same problem with its values changed as asked for, and what tells the result of it."""
    if biases is None:
        problem, scaling = scaled_problem(given, center, scale)
        return problem, lambda done: with_scaling(done, scaling, given)
    if center is not None or scale is not None:
        raise InputError(
            f"biases={biases!r} cannot be combined with center={center!r} and scale={scale!r}: biases have "
            "the means of columns, so leave center= and scale= out",
            about=("biases", "center", "scale"),
        )
    from simcomplete._method.biased import unbiased_problem, with_biases

    left, fitted = unbiased_problem(given, biases)
    assert isinstance(given, AllRows)  # any other was refused
    return left, lambda done: with_biases(done, fitted, given)


def scaled_problem(problem: RowProblem, center: Center, scale: Scale) -> tuple[RowProblem, FeatureScaling]:
    """The same problem with its features centred and scaled as candidates (or all rows) have them.

    Candidates outside memory stay there, and are changed when they are read.
    """
    if isinstance(problem, AllRows):
        scaling = learn_scaling(problem.rows, center, scale, problem.progress)
        rows = scaling.of(problem.rows)
        return replace(problem, rows=rows if read_by_block(rows) else rows.in_memory()), scaling
    scaling = learn_scaling(problem.candidates, center, scale, problem.progress)
    queries = scaling.of(problem.queries).in_memory()
    return replace(problem, candidates=scaling.of(problem.candidates), queries=queries), scaling


def with_scaling(done: Completion, scaling: FeatureScaling, given: RowProblem) -> Completion:
    """A result that says how its features were changed, and holds the rows as they were given."""
    model = done.model
    if hasattr(model, "tables"):  # for values of rows, which are given in the units they came in
        tables = (given.rows,) if isinstance(given, AllRows) else (given.candidates, given.queries)
        model = model._replace(tables=tables)
    return replace(done, scaling=scaling, params={**done.params, **scaling.asked}, model=model)


def by_todays_name(params: dict[str, Any], known: Collection[str]) -> tuple[dict[str, Any], str]:
    """Parameters with the start of iterative solvers by today's name, and what to warn of.

    Until version 0.1 it was called `scale`; any other value of `scale` is refused.
    """
    value = params["scale"]
    if (isinstance(value, str) and value != "auto") or "start_scale" not in known:
        check_scaling(None, value)
    others = {name: given for name, given in params.items() if name != "scale"}
    return {**others, "start_scale": value}, (
        f"scale={value!r} as the size of a random start is now called start_scale=; scale= will be only for features "
        "('sd' or 'robust')"
    )


@dataclass(frozen=True)
class ScaledExtension:
    """What adds rows to a fit whose features were centred and scaled: new rows are changed in the same way first."""

    inner: Extension
    scaling: FeatureScaling = field(repr=False)

    @property
    def measure(self) -> Measure:
        """How rows are compared."""
        return self.inner.measure

    @property
    def factor(self) -> Array:
        """Rows of the fitted samples."""
        return self.inner.factor

    def prepared(self, X: Array) -> Array:
        """Rows as they are compared: with their features centred and scaled."""
        return self.scaling(X)

    def transform(self, X: Array, progress: bool | None = None) -> Array:
        """Rows of the factor for new samples."""
        return self.inner.transform(self.scaling(X), progress)

    def overlap(self, X: Array, progress: bool | None = None) -> Array:
        """Similarities over common features of new samples with the fitted ones."""
        return self.inner.overlap(self.scaling(X), progress)

    def among(self, X: Array) -> Array:
        """Completed similarities of new samples among each other."""
        return self.inner.among(self.scaling(X))
