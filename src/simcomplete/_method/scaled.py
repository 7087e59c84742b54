"""Centre and scale the features of a problem, and add new rows to its result in the same way."""

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
    """Return the problem with changed values, and a function that records the change on its result."""
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
    """Return the problem with its features centred and scaled by statistics of the candidates (or of all rows).

    Candidates outside memory stay there; their blocks are changed as they are read.
    """
    if isinstance(problem, AllRows):
        scaling = learn_scaling(problem.rows, center, scale, problem.progress)
        rows = scaling.of(problem.rows)
        return replace(problem, rows=rows if read_by_block(rows) else rows.in_memory()), scaling
    scaling = learn_scaling(problem.candidates, center, scale, problem.progress)
    queries = scaling.of(problem.queries).in_memory()
    return replace(problem, candidates=scaling.of(problem.candidates), queries=queries), scaling


def with_scaling(done: Completion, scaling: FeatureScaling, given: RowProblem) -> Completion:
    """Return the result with its scaling recorded, and with imputed values in the original units."""
    model = done.model
    if hasattr(model, "tables"):  # imputed values are returned in the original units
        tables = (given.rows,) if isinstance(given, AllRows) else (given.candidates, given.queries)
        model = model._replace(tables=tables)
    return replace(done, scaling=scaling, params={**done.params, **scaling.asked}, model=model)


def by_todays_name(params: dict[str, Any], known: Collection[str]) -> tuple[dict[str, Any], str]:
    """Rename the former parameter `scale` of iterative solvers to `start_scale`; return the warning about it.

    Version 0.1 called it `scale`; any other value of `scale` is refused.
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
    """Adds rows to a fit whose features were centred and scaled; new rows are transformed in the same way first."""

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
        """Return rows with their features centred and scaled."""
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
