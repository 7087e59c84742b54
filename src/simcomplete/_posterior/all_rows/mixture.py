"""The best single model of incomplete rows beside a stack of several, mixed as errors of similarities say.

The single model is drawn to neighbours and does well on pictures; the stack sees rows and features of other kinds, and
values missing because of what they are. Both give expected values and squares of every row in the same features; a
weighted mean of these is again such a row, so the mixture has vectors of the same width.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows.calibrate import QUANTILES, RowModel, drawn_landmarks
from simcomplete._posterior.all_rows.hidden_values import HiddenValues, pairs_stand_for, stands_for
from simcomplete._posterior.all_rows.member_fits import MemberFits, auto_rank
from simcomplete._posterior.all_rows.members import RATIOS, OverRows
from simcomplete._posterior.all_rows.packing import GivenRows
from simcomplete._posterior.all_rows.pair_errors import DIRECTIONS, PairErrors, common_directions
from simcomplete._posterior.all_rows.scored_pairs import (
    HoldoutCallback,
    HoldoutResult,
    RowMoments,
    ScoredPairs,
    drawn_others,
)
from simcomplete._posterior.all_rows.select import CHOSEN_ON, RowsCompletion
from simcomplete._posterior.all_rows.stack import RowStack
from simcomplete._posterior.shared.rows import RowValues, Vectors, row_energies
from simcomplete._result.pair_spread import PairSpread
from simcomplete._types import Mask, Matrix, Vector

HOLDOUT_STEPS, FINAL_STEPS = 12, 5  # iterations without the lost values, and from there on with all
TILT_DOUBT = 0.5  # of the way that the tilt moves similarities is one standard deviation
ONE_DEVIATION = 0.683  # of normal errors lie within it


@dataclass(frozen=True)
class RowsMixture(RowsCompletion):
    """Completed similarities by the single model and the stack together.

    Attributes
    ----------
    stack : RowStack
        Several members, combined.
    weight : float
        Of the stack; the single model has the rest. 1 where values are missing because of what they are.
    names : tuple of str
        Of the members.
    random : tuple of float
        What values that were lost at random are best found by: the weight of the stack, and a level of variances.
    pairs : PairSpread
        How uncertain the similarities of the fitted rows are, pair by pair.
    """

    stack: RowStack = field(kw_only=True, repr=False)
    weight: float = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)
    random: tuple[float, float] = field(kw_only=True)
    pairs: PairSpread = field(kw_only=True, repr=False)

    @property
    def choice(self) -> Any:
        """What was chosen, with the weights of the members and the tilt."""
        return MixtureChoice(self)

    def moments(self, X: Matrix, tilted: bool = True) -> RowMoments:
        """Expected values and squares of any rows, NaN where missing, each alone; 0 in features that nobody has.

        Without the tilt they are those of values that were lost at random.
        """
        known, (w, level) = X[:, self.seen], (self.weight, 1.0) if tilted else self.random
        size, stack = self.stack.scaling.sizes(known), self.stack if tilted else self.stack.at_random()
        found = [RowMoments.of(*stack.values(known)[:2])] if w > 0 else []
        found += [_single(self.model, known, size)] if w < 1 else []
        mean, square = np.zeros(X.shape), np.zeros(X.shape)
        both = found[0] if len(found) == 1 else found[0].mixed(found[1], w)
        mean[:, self.seen], square[:, self.seen] = both if level == 1 else both.at_level(level)
        return RowMoments(mean, square)

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing, each alone; of the fitted rows those in `U`."""
        U = self.moments(X).vectors
        return Vectors(U, np.sqrt(np.sum(U * U, axis=1)))

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows, and their deviations; NaN in features that nobody has."""
        found = self.moments(X)
        size = self.stack.scaling.sizes(X[:, self.seen])[:, None]
        mean, std = found.mean * size, np.sqrt(np.maximum(found.square - found.mean**2, 0.0)) * size
        mean[:, ~self.seen] = std[:, ~self.seen] = np.nan
        return RowValues.around(X, mean, std)


@dataclass(frozen=True)
class MixtureChoice:
    """What was chosen and learnt, as plain values."""

    of: RowsMixture

    def as_dict(self) -> dict[str, Any]:
        """Those of the single model; the weight of the stack, of its members, of neighbours, and the tilt."""
        one, recipe = self.of, self.of.stack.recipe
        tilt = recipe.tilt
        single = RowsCompletion.choice.fget(one)  # type: ignore[attr-defined]
        return {
            **single.as_dict(),
            "stack": one.weight,
            "members": {name: float(w) for name, w in zip(one.names, recipe.weights, strict=False)},
            "neighbours": float(recipe.weights[-1]),
            "beta": tilt.beta,
            "z": tilt.z,
            "tilted": "raw" if tilt.raw else "unit",
        }


def mix_rows(
    X: Matrix | GivenRows,
    single: RowsCompletion,
    rng: np.random.Generator,
    *,
    masks: Mask | None,
    limits: Limits,
    tilt: bool,
    watch: HoldoutCallback | None = None,
) -> RowsCompletion:
    """Put a stack beside a single model of the same rows; the single model alone where there is too little to learn.

    Parameters
    ----------
    X, single : array of shape (n, d), RowsCompletion
        Rows, NaN where missing, and what `complete_rows` made of them.
    rng, masks, limits
        As in `complete_rows`.
    tilt : bool
        Whether values may be missing because of what they are.
    watch : callable, optional
        Called with what was made of the rows that lost values.
    """
    given = GivenRows(X) if isinstance(X, np.ndarray) else X
    some = given.take_by_value(np.sort(rng.permutation(given.shape[0])[:CHOSEN_ON]))
    lost = HiddenValues.of(some, None if masks is None else masks[:, single.seen], rng)
    if lost is None or not single.status.ok:
        return single
    fits = MemberFits(limits, single.setting, auto_rank(some))
    with np.errstate(all="ignore"):  # rows too large or small for squares: what is not finite is not used
        try:
            found = _mixed(given, some, lost, single, fits, rng, tilt, watch)
        except (FloatingPointError, np.linalg.LinAlgError):
            return single
    if fits.cut is not None:
        return replace(single, status=fits.cut)
    return found if np.isfinite(row_energies(found.U)).all() else single


def _mixed(
    given: GivenRows,
    some: Matrix,
    lost: HiddenValues,
    single: RowsCompletion,
    fits: MemberFits,
    rng: np.random.Generator,
    tilt: bool,
    watch: HoldoutCallback | None = None,
) -> RowsCompletion:
    members = fits.fit(lost.X, HOLDOUT_STEPS, None)
    landmarks = drawn_landmarks(len(lost.X), rng)
    first = members[0].model.with_landmarks(lost.X[landmarks])  # type: ignore[attr-defined]
    members[0] = OverRows(first)
    features = stands_for(~np.isnan(some))
    features /= np.sum(features * lost.lost) / lost.lost.sum()
    stack = RowStack.of(lost.X, members).learn(lost, tilt, features)
    scored, others = lost.X[lost.scored], drawn_others(len(some), rng)
    tilted = stack.recipe.tilt
    stack = stack.at_random()  # as what was lost is
    compared, own = stack.values(lost.X[others]), stack.values(scored)
    completed = compared.mean
    every = ScoredPairs.of(lost, others, completed, features)
    by_stack, theirs = RowMoments.of(own.mean, own.variance), RowMoments.of(completed, compared.variance)
    level = HoldoutResult(lost, others, by_stack, theirs).best_level(pairs_stand_for(~np.isnan(some)))
    recipe = replace(stack.recipe, pairs=level)
    by_stack, theirs = by_stack.at_level(level), theirs.at_level(level)
    tuned = first.tuned(single.model.strength, single.model.power, first.fill(scored))
    by_single = _single(tuned, scored, stack.scaling.sizes(scored))
    by_chance = every.best_weight(by_stack, by_single)
    weight = 1.0 if tilted.beta else by_chance
    both = by_stack.mixed(by_single, weight)
    beside = _single(tuned, lost.X[others], stack.scaling.sizes(lost.X[others]))
    result = HoldoutResult(lost, others, by_stack.mixed(by_single, by_chance), theirs.mixed(beside, by_chance))
    random = by_chance, result.best_level()
    if watch is not None:
        watch(result.at_level(random[1]))
    fewer = lost.sparser()
    tuned = tuned.with_landmarks(fewer[landmarks])  # a row's neighbour must not be itself with more values
    more = replace(stack, members=[OverRows(tuned), *members[1:]]).values(fewer[lost.scored])
    beside = _single(tuned, fewer[lost.scored], stack.scaling.sizes(fewer[lost.scored]))
    sparser = RowMoments.of(more.mean, more.variance).at_level(level).mixed(beside, weight)
    errors = PairErrors.of(lost, others, completed, both, common_directions(first.factors), sparser)
    final = [OverRows(single.model.with_local(some, rng)), *fits.fit(some, FINAL_STEPS, members)[1:]]
    whole = RowStack.of(some, final, replace(recipe, tilt=tilted))
    none = np.empty((0, 0))
    found = RowsMixture(
        **{name: getattr(single, name) for name in RowsCompletion.__dataclass_fields__},
        stack=whole,
        weight=weight,
        names=fits.names,
        random=random,
        pairs=PairSpread(none, none, none, errors.weights, none),  # known when the rows are
    )
    U, variances = given.vectors_and_variances(found)
    loadings = np.zeros((given.shape[1], DIRECTIONS))
    loadings[single.seen] = common_directions(single.model.factors)
    doubt = np.zeros(given.shape[0])
    if whole.recipe.tilt.beta:
        doubt = given.per_row(_Doubt.beside(given.take_given(others), whole, errors))
    pairs = PairSpread(U, variances, loadings, errors.weights, doubt)
    return replace(
        found,
        U=U,
        pairs=pairs,
        expected_squared_error=errors.expected(pairs, others),
        quantiles=errors.quantiles,
    )


def _single(model: RowModel, X: Matrix, size: Vector) -> RowMoments:
    """What one model expects of rows, divided by `size`."""
    done = model.fill(X)
    ratio = np.clip(model.scaling.sizes(X) / size, *RATIOS)[:, None]
    return RowMoments.of(model.values(done) * ratio, done.variance * (model.factor(done)[:, None] * ratio**2))


@dataclass(frozen=True)
class _Doubt:
    """What the tilt adds to the variances of a row's pairs: they are as uncertain as a part of what it moves them.

    It moves all missing values of a row the same way, so that this does not average out as other errors do.
    """

    stack: RowStack
    others: tuple[Matrix, Matrix]  # vectors of some rows, with the tilt and without
    usual: float

    @classmethod
    def beside(cls, others: Matrix, stack: RowStack, errors: PairErrors) -> _Doubt:
        """In units of the usual error."""
        usual = float(np.interp(ONE_DEVIATION, QUANTILES, errors.quantiles))
        return cls(stack, _both_ways(stack, others), max(usual, 1e-300))

    def __call__(self, X: Matrix) -> Vector:
        """Of each row."""
        (U, V), (A, B) = _both_ways(self.stack, X), self.others
        return np.asarray(TILT_DOUBT**2 * np.mean((U @ A.T - V @ B.T) ** 2, axis=1) / self.usual**2)


def _both_ways(stack: RowStack, X: Matrix) -> tuple[Matrix, Matrix]:
    done = stack.values(X)
    tilted, as_known = (RowMoments.of(mean, done.variance).vectors for mean in (done.mean, done.mean - done.tilted))
    return tilted, as_known
