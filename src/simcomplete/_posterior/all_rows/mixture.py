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
from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.em import Factors, fit
from simcomplete._posterior.all_rows.judged import JudgedPairs, PairErrors, RowMoments, drawn_others
from simcomplete._posterior.all_rows.lost import LostValues, distinct_by_value
from simcomplete._posterior.all_rows.members import RATIOS, FeatureUnits, OverFeatures, OverRows, RowMember
from simcomplete._posterior.all_rows.packing import IncompleteRows, Scaling
from simcomplete._posterior.all_rows.select import CHOSEN_ON, ENDED_EARLY, RowsCompletion, RowsSetting
from simcomplete._posterior.all_rows.stack import RowStack
from simcomplete._posterior.shared.rows import RowValues, Vectors
from simcomplete._result.status import Status
from simcomplete._types import Mask, Matrix, Vector

REHEARSED, REFINED = 12, 5  # iterations without the lost values, and from there on with all
RANK_SHARE, SMALLEST_RANK, LARGEST_RANK = 0.25, 5, 40  # of the known values of a row or a feature


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
    growth : float
        Errors of similarities over a share s of the features are larger by ``s ** (-growth / 2)``.
    doubt : array of shape (n,)
        Squared distance that the tilt moved each vector: it is known no better than this.
    """

    stack: RowStack = field(kw_only=True, repr=False)
    weight: float = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)
    growth: float = field(kw_only=True)
    doubt: Vector = field(kw_only=True, repr=False)

    @property
    def choice(self) -> Any:
        """What was chosen, with the weights of the members and the tilt."""
        return MixtureChoice(self)

    def moments(self, X: Matrix) -> RowMoments:
        """Expected values and squares of any rows, NaN where missing, each alone; 0 in features that nobody has."""
        known, w = X[:, self.seen], self.weight
        size = self.stack.scaling.sizes(known)
        found = [RowMoments.of(*self.stack.values(known)[:2])] if w > 0 else []
        found += [_single(self.model, known, size)] if w < 1 else []
        mean, square = np.zeros(X.shape), np.zeros(X.shape)
        mean[:, self.seen], square[:, self.seen] = found[0] if len(found) == 1 else found[0].mixed(found[1], w)
        return RowMoments(mean, square)

    def spread(self, deficit: Vector) -> Vector:
        """What intervals of the fitted rows grow with: the way of the tilt counts as unknown too."""
        return np.sqrt(np.minimum(deficit + self.doubt, 1.0))

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing, each alone; of the fitted rows those in `U`."""
        U = self.moments(X).vectors
        return Vectors(U, np.sqrt(np.sum(U * U, axis=1)))

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows, and their variances; NaN in features that nobody has."""
        found = self.moments(X)
        size = self.stack.scaling.sizes(X[:, self.seen])[:, None]
        mean, variance = found.mean * size, np.maximum(found.square - found.mean**2, 0.0) * size**2
        mean[:, ~self.seen] = variance[:, ~self.seen] = np.nan
        return RowValues.around(X, mean, variance)


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
    X: Matrix, single: RowsCompletion, rng: np.random.Generator, *, masks: Mask | None, limits: Limits, tilt: bool
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
    """
    order = np.argsort(distinct_by_value(X)[1], kind="stable")
    rows = X[order][:, single.seen]
    some = rows[np.sort(rng.permutation(len(rows))[:CHOSEN_ON])]
    lost = LostValues.of(some, None if masks is None else masks[:, single.seen], rng)
    if lost is None or not single.status.ok:
        return single
    fits = MemberFits(limits, single.setting, auto_rank(some))
    with np.errstate(all="ignore"):  # rows too large or small for squares: what is not finite is not used
        try:
            found = _mixed(X, some, lost, single, fits, rng, tilt)
        except (FloatingPointError, np.linalg.LinAlgError):
            return single
    if fits.cut is not None:
        return replace(single, status=fits.cut)
    return found if np.isfinite(found.U).all() else single


def _mixed(
    X: Matrix,
    some: Matrix,
    lost: LostValues,
    single: RowsCompletion,
    fits: MemberFits,
    rng: np.random.Generator,
    tilt: bool,
) -> RowsCompletion:
    members = fits.fit(lost.X, REHEARSED, None)
    first = members[0].model.with_local(lost.X, rng)  # type: ignore[attr-defined]
    members[0] = OverRows(first)
    stack = RowStack.of(lost.X, members).learn(lost, tilt)
    judged, others = lost.X[lost.judged], drawn_others(len(some), rng)
    tilted = stack.recipe.tilt
    stack = replace(stack, recipe=replace(stack.recipe, tilt=tilted._replace(beta=0.0)))  # lost at random
    completed, own = stack.values(lost.X[others]).mean, stack.values(judged)
    every = JudgedPairs.of(lost, others, completed, np.ones(some.shape[1]))
    level = every.best_level(own.mean, own.variance)
    recipe = replace(stack.recipe, pairs=level)
    by_stack = RowMoments.of(own.mean, own.variance * level)
    tuned = first.tuned(single.model.strength, single.model.power, first.fill(judged))
    by_single = _single(tuned, judged, stack.scaling.sizes(judged))
    weight = 1.0 if tilted.beta else every.best_weight(by_stack, by_single)
    both = by_stack.mixed(by_single, weight)
    features = np.zeros(some.shape[1])
    features[rng.permutation(len(features))[: len(features) // 2]] = 1.0
    halved = JudgedPairs.of(lost, others, completed, features).ratios(both)
    errors = PairErrors.of(every.ratios(both), halved, lost.known.mean(axis=1), every.pairs)
    final = [OverRows(single.model.with_local(some, rng)), *fits.fit(some, REFINED, members)[1:]]
    whole = RowStack.of(some, final, replace(recipe, tilt=tilted))
    found = RowsMixture(
        **{name: getattr(single, name) for name in RowsCompletion.__dataclass_fields__},
        stack=whole,
        weight=weight,
        names=fits.names,
        growth=errors.exponent,
        doubt=np.zeros(len(X)),
    )
    U = found.moments(X).vectors
    return replace(
        found,
        U=U,
        doubt=_doubt(whole, X[:, single.seen]),
        expected_squared_error=errors.expected(U),
        quantiles=errors.quantiles,
    )


def _single(model: RowModel, X: Matrix, size: Vector) -> RowMoments:
    """What one model expects of rows, divided by `size`."""
    done = model.fill(X)
    ratio = np.clip(model.scaling.sizes(X) / size, *RATIOS)[:, None]
    return RowMoments.of(model.values(done) * ratio, done.variance * (model.factor(done)[:, None] * ratio**2))


def _doubt(stack: RowStack, X: Matrix) -> Vector:
    if stack.recipe.tilt.beta == 0:
        return np.zeros(len(X))
    done = stack.values(X)
    whole = np.sum(done.mean**2 + done.variance, axis=1)
    return np.asarray(np.sum(done.tilted**2, axis=1) / np.maximum(whole, 1e-300))


class MemberFits:
    """Fits the members: the single model's setting, others over rows, and two over features."""

    def __init__(self, limits: Limits, setting: RowsSetting, rank: int) -> None:
        self.limits = limits
        self.cut: Status | None = None
        self.rank = rank
        # A second model with a noise per feature in the same space says the same again.
        more = [RowsSetting(space, "fa", rank) for space in ("unit", "raw") if setting[:2] != (space, "fa")]
        self.settings = [setting, *more]
        self.names = ("single", *(one.space for one in more), "dual", "std")

    def fit(self, X: Matrix, most: int, starts: list[RowMember] | None) -> list[RowMember]:
        """Fit every member to rows; from earlier fits on, all but the first."""
        limits = replace(self.limits, max_iter=most)
        members: list[RowMember] = []
        for k, setting in enumerate(self.settings):
            if starts is not None and k == 0:
                members.append(starts[0])
                continue
            scaling = Scaling.of(X, setting.space)
            rows = IncompleteRows.of(X / scaling.sizes(X)[:, None])
            start = None if starts is None else starts[k].model.factors  # type: ignore[attr-defined]
            members.append(OverRows(RowModel(self._fit(rows, setting.rank, setting.model, limits, start), scaling)))
        size = Scaling.of(X, "unit").sizes(X)
        Y = X / size[:, None]
        for units in (None, FeatureUnits.of(Y)):
            before = None if starts is None else starts[len(members)].factors  # type: ignore[attr-defined]
            rows = OverFeatures.rows(Y, units)
            members.append(OverFeatures.of(rows, units, self._fit(rows, self.rank, "fa", limits, before)))
        return members

    def _fit(self, rows: IncompleteRows, rank: int, model: str, limits: Limits, start: Factors | None) -> Factors:
        if self.cut is not None:
            limits = replace(limits, max_iter=1)
        found, run = fit(rows, rank, pooled=model == "ppca", limits=limits, start=start)
        if run.status.code in ENDED_EARLY:
            self.cut = Status(run.status.code, f"{run.status.message}; this is the best so far", ok=False)
        return found


def auto_rank(X: Matrix) -> int:
    """A rank for rows: a quarter of the known values of a row or a feature, whichever has fewer; 5 to 40."""
    known, (n, d) = float((~np.isnan(X)).sum()), X.shape
    rank = int(np.clip(RANK_SHARE * known / max(n, d), SMALLEST_RANK, LARGEST_RANK))
    return int(max(1, min(rank, (min(n, d) - 1) // 2)))
