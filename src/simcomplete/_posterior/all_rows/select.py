"""Similarities of rows of which every one may be incomplete: a factor model, chosen on values that were hidden.

Rank, noise (one per feature, or pooled) and space (raw rows, or rows of a common length) are those that find a
twentieth of the observed values again. Then lengths and errors are learnt, and the model is fitted to all values.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.iterate import Limits, Run
from simcomplete._posterior.all_rows.calibrate import Calibration, RowModel, RowsHoldout, drawn_landmarks
from simcomplete._posterior.all_rows.em import ITERATIONS, EmIterate, fit
from simcomplete._posterior.all_rows.packing import GivenRows, IncompleteRows, Scaling, group_numbers, keys
from simcomplete._posterior.shared.rows import RowValues, Vectors, nonzero_or_one
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Vector

RANKS = (5, 10, 20, 40)
MODELS = ("fa", "ppca")
SPACES = ("raw", "unit")
HIDDEN_SHARE = 0.05  # of the observed values is hidden
TRIAL = 10  # iterations while choosing
CHOSEN_ON = 3000  # rows at most; all rows in the final fit
MIN_DISTINCT_ROWS = 20  # distinct rows, and hidden values, to choose anything by
LARGEST_SCALE = 1e200  # of a row beside its own values; no more than this, so that zeros stay zeros
LARGEST_COMPARED_ERROR = 1e6  # an error above this is not distinguished from others
ENDED_EARLY = ("time_limit", "stopped", "interrupted")  # how a run ends that must not be followed by another


class RowsSetting(NamedTuple):
    """What is chosen."""

    space: str
    model: str
    rank: int

    def fit(self, X: Matrix, averaged: bool, limits: Limits) -> tuple[RowModel, Run[EmIterate]]:
        """Fit a model with it."""
        scaling = Scaling.of(X, self.space)
        rows = IncompleteRows.of(X / scaling.sizes(X)[:, None])
        factors, run = fit(rows, self.rank, pooled=self.model == "ppca", averaged=averaged, limits=limits)
        return RowModel(factors, scaling), run


class RowsChoice(NamedTuple):
    """What was chosen and learnt."""

    space: str
    model: str
    rank: int
    strength: float
    power: float
    expected_squared_error: float | None

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return self._asdict()


@dataclass(frozen=True)
class RowsCompletion:
    """Completed similarities S = U U^T with diagonal 1, and how they were found.

    Attributes
    ----------
    U : array of shape (n, d)
        Vectors: unit for complete rows, shorter the more stays unknown, 0 in features that nobody has.
    setting : Setting
        Space, model ("fa" or "ppca") and rank.
    model, seen
        What `vectors` uses: the fitted model, and which features somebody has.
    table : list of dict
        What was tried, and the error of the hidden values relative to the energy of their rows.
    expected_squared_error : float or None
        Of one similarity; None where there was too little to learn it from.
    quantiles : array of shape (1001,) or None
        At ``np.linspace(0, 1, 1001)``: the error of s_ij is below ``sqrt(1 - |u_i|^2 |u_j|^2)`` times these.
    history, status
        Of the final fit.
    """

    U: Matrix
    setting: RowsSetting
    model: RowModel = field(repr=False)
    seen: NDArray[np.bool_] = field(repr=False)
    table: list[dict[str, Any]]
    expected_squared_error: float | None
    quantiles: Matrix | None = field(repr=False)
    history: list[dict[str, float]] = field(repr=False)
    status: Status

    @property
    def unit(self) -> Matrix:
        """The vectors of the fitted rows, by the name they have in a model of complete candidates."""
        return self.U

    @property
    def diagonal(self) -> Matrix:
        """What U U^T lacks to a diagonal of 1."""
        return np.asarray(np.maximum(1.0 - np.sum(self.U**2, axis=1), 0.0))

    @property
    def choice(self) -> RowsChoice:
        """What was chosen."""
        return RowsChoice(*self.setting, self.model.strength, self.model.power, self.expected_squared_error)

    def spread(self, deficit: Vector) -> Vector:
        """What intervals of the fitted rows grow with, given what their squared lengths lack to 1."""
        return np.sqrt(deficit)

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing, each alone; of the fitted rows those in `U`."""
        U = np.zeros(X.shape)
        U[:, self.seen] = self.model.vectors(self.model.fill(X[:, self.seen]))
        return Vectors(U, np.sqrt(np.sum(U * U, axis=1)))

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows, and their deviations; NaN in features that nobody has."""
        mean, std = np.full(X.shape, np.nan), np.full(X.shape, np.nan)
        known = X[:, self.seen]
        size, done = self.model.scaling.sizes(known)[:, None], self.model.fill(known)
        mean[:, self.seen] = self.model.values(done) * size
        std[:, self.seen] = np.sqrt(np.maximum(done.variance * self.model.factor(done)[:, None], 0.0)) * size
        return RowValues.around(X, mean, std)


def complete_rows(
    X: Matrix | GivenRows,
    rng: np.random.Generator,
    *,
    ranks: tuple[int, ...] = RANKS,
    models: tuple[str, ...] = MODELS,
    spaces: tuple[str, ...] = SPACES,
    masks: NDArray[np.bool_] | None = None,
    averaged: bool = True,
    limits: Limits | None = None,
) -> RowsCompletion:
    """Complete the similarities of rows of which every one may be incomplete.

    Parameters
    ----------
    X : array of shape (n, d), or GivenRows
        Rows, NaN where missing; those of a table outside memory are read by block.
    rng : Generator
        Chooses what is hidden; the order of the rows does not matter to it.
    ranks, models, spaces : tuple
        What to choose from. Ranks must lie below d/2 and n; where none does, one that does is taken. "fa" has a noise
        for every feature, "ppca" one for all; "unit" gives rows a common length first.
    masks : array of bool, shape (m, d), optional
        Which values new rows will have, to learn lengths and errors for; those of the incomplete rows unless given.
    averaged : bool
        Average over the loadings, see `simcomplete._posterior.all_rows.em.fit`.
    limits : Limits, optional
        For all of it together; `max_iter` is that of the final fit, 25 unless given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12))
    >>> X[rng.random(X.shape) < 0.4] = np.nan
    >>> done = complete_rows(X, np.random.default_rng(1))
    >>> done.U.shape, done.setting.rank, bool(np.allclose(done.vectors(X[:1]).u, done.U[:1]))
    ((60, 12), 5, True)
    """
    given = GivenRows(X) if isinstance(X, np.ndarray) else X
    n, seen = given.shape[0], given.seen
    clock = _Clock(limits or Limits(ITERATIONS, label="posterior"), averaged)
    some = given.take(np.sort(rng.permutation(n)[:CHOSEN_ON]))
    setting, table, fitted = _choose(some, rng, _allowed(ranks, *some.shape), models, spaces, clock)
    calibration: Calibration | None = None
    holdout = None if clock.cut else RowsHoldout.of(some, None if masks is None else masks[:, seen], rng)
    if holdout is not None:
        fitted = clock.fit(setting, holdout.X, TRIAL)
        calibration = holdout.calibrate(fitted[0].with_local(holdout.X, rng))
    if fitted is None or not clock.cut:
        fitted = clock.fit(setting, given, clock.limits.max_iter)
    model, run = fitted
    if calibration is not None and calibration.strength > 0:
        model = model.with_landmarks(given.take(drawn_landmarks(n, rng)))
    model, U = given.completed(model, None if calibration is None else (calibration.strength, calibration.power))
    return RowsCompletion(
        U,
        setting,
        model,
        seen,
        table,
        None if calibration is None else calibration.expected(U),
        None if calibration is None else calibration.quantiles,
        run.history,
        clock.cut or run.status,
    )


class _Clock:
    """Fits models within limits that hold for all of them together."""

    def __init__(self, limits: Limits, averaged: bool) -> None:
        self.limits, self.averaged = limits, averaged
        self.cut: Status | None = None  # how it ended, when it must not go on
        self._began = time.monotonic()

    def fit(self, setting: RowsSetting, X: Matrix | GivenRows, most: int) -> tuple[RowModel, Run[EmIterate]]:
        limits = replace(self.limits, max_iter=min(most, self.limits.max_iter))
        if limits.time_limit is not None:
            limits = replace(limits, time_limit=max(limits.time_limit - (time.monotonic() - self._began), 0.0))
        fitted = (
            X.fit(setting, self.averaged, limits) if isinstance(X, GivenRows) else setting.fit(X, self.averaged, limits)
        )
        model, run = fitted
        if run.status.code in ENDED_EARLY:
            note = {
                "time_limit": f"time_limit={self.limits.time_limit} s was over: allow more time",
                "stopped": "the callback stopped the run",
                "interrupted": "interrupted",
            }[run.status.code]
            self.cut = Status(run.status.code, f"{note}; this is the best so far", ok=False)
        return model, run


def _choose(
    X: Matrix,
    rng: np.random.Generator,
    ranks: tuple[int, ...],
    models: tuple[str, ...],
    spaces: tuple[str, ...],
    clock: _Clock,
) -> tuple[RowsSetting, list[dict[str, Any]], tuple[RowModel, Run[EmIterate]] | None]:
    """Try every space and model at a middle rank, then climb from there with the two best.

    Returns the best setting, what was tried, and what was fitted with it, without the hidden values.
    """
    known = ~np.isnan(X)
    # Copies of a row lose the same values, or they would tell them.
    copies = group_numbers(keys(X))
    hidden = (rng.random((int(copies.max()) + 1, X.shape[1])) < HIDDEN_SHARE)[copies] & known
    hidden[(known & ~hidden).sum(axis=1) == 0] = False
    if copies.max() + 1 < MIN_DISTINCT_ROWS or hidden.sum() < MIN_DISTINCT_ROWS:
        return RowsSetting(spaces[-1], models[-1], ranks[0]), [], None
    left = np.where(hidden, np.nan, X)
    errors: dict[RowsSetting, float] = {}
    best: tuple[RowModel, Run[EmIterate]] | None = None

    def attempt(setting: RowsSetting) -> float:
        nonlocal best
        if not clock.cut and setting not in errors:
            fitted = clock.fit(setting, left, TRIAL)
            errors[setting] = _error(fitted[0], X, left, hidden)
            if errors[setting] <= min(errors.values()):
                best = fitted
        return errors.get(setting, np.inf)

    middle = len(ranks) // 2
    for space, model in product(spaces, models):
        attempt(RowsSetting(space, model, ranks[middle]))
    for first in sorted(errors, key=errors.__getitem__)[:2]:
        for way in (1, -1):
            at, least = middle + way, errors[first]
            while 0 <= at < len(ranks) and attempt(first._replace(rank=ranks[at])) < least:
                least = errors[first._replace(rank=ranks[at])]
                at += way
            if least < errors[first]:
                break
    chosen = min(errors, key=errors.__getitem__)
    return chosen, [{**setting._asdict(), "error": error} for setting, error in errors.items()], best


def _error(model: RowModel, X: Matrix, left: Matrix, hidden: NDArray[np.bool_]) -> float:
    """Squared error of hidden values over the energy of their row, in the mean over rows: no row counts for more."""
    rows = np.flatnonzero(hidden.any(axis=1))
    whole, some, gone = np.nan_to_num(X[rows]), left[rows], hidden[rows]
    top = nonzero_or_one(np.max(np.abs(whole), axis=1))
    with np.errstate(over="ignore"):  # rows that are nothing beside others, in raw space: as bad as can be
        scale = np.minimum(model.scaling.sizes(some) / top, LARGEST_SCALE)
        gap = np.where(gone, model.fill(some).values * scale[:, None] - whole / top[:, None], 0.0)
        squares = np.minimum(np.sum(gap * gap, axis=1), LARGEST_COMPARED_ERROR)
    return float(np.mean(squares / nonzero_or_one(np.sum((whole / top[:, None]) ** 2, axis=1))))


def _allowed(ranks: tuple[int, ...], n: int, d: int) -> tuple[int, ...]:
    inside = tuple(sorted({r for r in ranks if r < d / 2 and r < n}))
    return inside or (max(1, (min(n, d) - 1) // 2),)
