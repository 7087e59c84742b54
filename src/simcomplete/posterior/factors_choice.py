"""Similarities of rows of which every one may be incomplete: a factor model, chosen on values that were hidden.

A row's vector is u = m / sqrt(|m|^2 + V): m its completion, V the variance of what is missing, scaled by how badly
the model fits what was observed of it. Rank, noise, space and that scaling are those which find known similarities
again after a tenth of the observed values was hidden.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.iterate import Limits, Run
from simcomplete.posterior.factors import ITERATIONS, Factors, Filled, Matrix, Rows, State, fit
from simcomplete.status import Status

RANKS = (5, 10, 20, 40)
NOISES = ("each", "pooled")  # factor analysis, probabilistic PCA
SPACES = ("raw", "unit")
POWERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
SHARE = 0.1  # of the observed values is hidden
TRIAL = 10  # iterations while choosing
FEWEST = 20  # with fewer distinct rows nothing can be chosen
JUDGED, OTHERS = 200, 500  # rows whose vectors are judged, and rows they are compared with
LEAST = 1e-4  # of 1 - |u|^2 in an error's scale
QUANTILES = np.linspace(0.0, 1.0, 1001)
CUT = ("time_limit", "stopped", "interrupted")


@dataclass(frozen=True)
class Scaling:
    """Brings rows to one scale: all by one number, or each by the energy that its observed features usually have."""

    space: str
    largest: float
    energy: Matrix

    @classmethod
    def of(cls, X: Matrix, space: str) -> Scaling:
        """Learn what rows have in common; with unit rows, row scales and feature energies in turn."""
        size = np.abs(np.where(np.isnan(X), 0.0, X))
        known = (~np.isnan(X)).astype(np.float64)
        squares = (size / _positive(size.max(axis=1, initial=0.0))[:, None]) ** 2
        energy = np.full(X.shape[1], 1.0 / X.shape[1])
        for _ in range(10 if space == "unit" else 0):
            scale = _positive(squares.sum(axis=1) / _positive(known @ energy))
            energy = np.sum(squares / scale[:, None], axis=0) / np.maximum(known.sum(axis=0), 1.0)
            energy = energy / _positive(energy.sum())
        return cls(space, float(_positive(size.max(initial=0.0))), energy)

    def apply(self, X: Matrix) -> Matrix:
        """Scaled rows, NaN where missing; each alone."""
        if self.space == "raw":
            return X / self.largest
        size = np.abs(np.where(np.isnan(X), 0.0, X))
        top = X / _positive(size.max(axis=1, initial=0.0))[:, None]
        usual = (~np.isnan(X)).astype(np.float64) @ self.energy
        return top / _positive(np.sqrt(np.nansum(top**2, axis=1) / _positive(usual)))[:, None]


@dataclass(frozen=True)
class RowModel:
    """A fitted model that gives any incomplete row its vector, each row alone.

    The variance of what is missing is taken times ``level * misfit**power``, misfit the squared distance of the
    observed values from the model, per value: rows that vary more than most where they are seen do so elsewhere.
    """

    factors: Factors
    scaling: Scaling
    seen: NDArray[np.bool_]
    power: float = 0.0
    level: float = 1.0

    def transform(self, X: Matrix) -> Matrix:
        """Vectors of rows with NaN where missing, (n, d); unit for complete rows, 0 in features never seen."""
        return self.vectors(self.fill(X))

    def fill(self, X: Matrix) -> Filled:
        """Completed rows, in the model's units."""
        return self.factors.complete(Rows.of(self.scaling.apply(X[:, self.seen])))

    def vectors(self, filled: Filled) -> Matrix:
        """u = m / sqrt(|m|^2 + V)."""
        # In units of the largest value, so that neither tiny nor huge rows leave the range of numbers.
        top = _positive(np.max(np.abs(filled.values), axis=1, initial=0.0))
        m = filled.values / top[:, None]
        rest = np.sqrt(filled.variance.sum(axis=1) * self.level * filled.misfit**self.power) / top
        U = np.zeros((len(m), len(self.seen)))
        U[:, self.seen] = m / _positive(np.hypot(np.sqrt(np.sum(m * m, axis=1)), rest))[:, None]
        return U

    def with_power(self, power: float, filled: Filled) -> RowModel:
        """Scale variances by misfit^power so that their sum over some rows stays what it was."""
        V = filled.variance.sum(axis=1)
        scaled = float(np.sum(V * filled.misfit**power))
        return replace(self, power=power, level=float(V.sum()) / scaled if scaled > 0 else 1.0)


@dataclass(frozen=True)
class RowsCompletion:
    """Completed similarities S = U U^T with diagonal 1, and how they were found.

    Attributes
    ----------
    U : array of shape (n, d)
        Vectors; unit for complete rows, shorter the more stays unknown.
    model : RowModel
        Gives vectors to new rows; to the rows it was fitted to it gives those in `U`.
    table : list of dict
        What was tried: space, noise, rank, power, and the mean squared error of hidden similarities.
    expected_squared_error : float or None
        Of one similarity; None where there was too little to hide.
    quantiles : array of shape (1001,) or None
        Of |error| / sqrt(1 - |u|^2) over hidden similarities, at ``np.linspace(0, 1, 1001)``. The error of s_ij is
        of the size of ``sqrt(1 - |u_i|^2 |u_j|^2)`` times these.
    history, status
        Of the final fit.
    """

    U: Matrix
    model: RowModel
    table: list[dict[str, Any]]
    expected_squared_error: float | None
    quantiles: Matrix | None
    history: list[dict[str, float]]
    status: Status
    noise: str = "each"

    @property
    def diagonal(self) -> Matrix:
        """What U U^T lacks to a diagonal of 1."""
        return np.maximum(1.0 - np.sum(self.U**2, axis=1), 0.0)

    @property
    def rank(self) -> int:
        """Number of factors."""
        return self.model.factors.rank

    def choice(self) -> dict[str, Any]:
        """What was chosen, as plain values."""
        space, power = self.model.scaling.space, self.model.power
        told = {"space": space, "noise": self.noise, "rank": self.rank, "power": power}
        return {**told, "expected_squared_error": self.expected_squared_error}


@dataclass(frozen=True)
class Trial:
    """One setting, fitted without the hidden values, and how well it finds them."""

    space: str
    noise: str
    rank: int
    model: RowModel
    error: float
    ratios: Matrix
    run: Run[State] = field(repr=False)

    def row(self) -> dict[str, Any]:
        """For the table."""
        return {
            "space": self.space,
            "noise": self.noise,
            "rank": self.rank,
            "power": self.model.power,
            "squared_error": self.error,
        }


@dataclass(frozen=True)
class Rehearsal:
    """Rows with some values hidden, and similarities of some of them that should be found again.

    A judged row's truth is its direction over the features observed of it, before hiding; it is compared with the
    observed values of other rows there. Nothing that is compared was ever guessed.
    """

    X: Matrix
    judged: NDArray[np.int64]
    known: NDArray[np.bool_]  # of the judged rows, before hiding
    others: Matrix
    scale: Matrix  # length of the others on the judged rows' features
    truth: Matrix
    pairs: NDArray[np.bool_]

    @classmethod
    def of(cls, X: Matrix, rng: np.random.Generator) -> Rehearsal | None:
        """Hide values of rows in a fixed order; None where there is too little to hide."""
        copies = _distinct(X)
        count = int(copies.max()) + 1
        if count < FEWEST:
            return None
        known = ~np.isnan(X)
        # Copies of a row lose the same values, or they would tell them.
        hidden = (rng.random((count, X.shape[1])) < SHARE)[copies] & known
        hidden[(known & ~hidden).sum(axis=1) == 0] = False
        unit = _unit(np.where(known, X, 0.0))
        first = np.unique(copies, return_index=True)[1]
        fit_for = first[hidden[first].any(axis=1) & (unit[first] != 0).any(axis=1)]
        if len(fit_for) < FEWEST // 2:
            return None
        judged = rng.permutation(fit_for)[:JUDGED]
        other = rng.permutation(first)[:OTHERS]
        scale = np.sqrt(known[judged].astype(np.float64) @ (unit[other] ** 2).T)
        pairs = (scale > 0) & (judged[:, None] != other)
        truth = unit[judged] @ unit[other].T / _positive(scale)
        return cls(np.where(hidden, np.nan, X), judged, known[judged], unit[other], scale, truth, pairs)

    def judge(self, model: RowModel) -> tuple[RowModel, float, Matrix]:
        """Choose how misfit scales variances; return the model with it, its squared error and error ratios."""
        seen = model.seen
        filled = model.fill(self.X[self.judged])
        m = np.where(self.known[:, seen], filled.values, 0.0)
        size = np.sum(m * m, axis=1)
        V = np.sum(np.where(self.known[:, seen], filled.variance, 0.0), axis=1)
        products = m @ self.others[:, seen].T / _positive(self.scale)
        best: tuple[RowModel, float, Matrix] | None = None
        for power in POWERS:
            tried = model.with_power(float(power), filled)
            whole = _positive(size + V * tried.level * filled.misfit**power)
            errors = np.abs(products / np.sqrt(whole)[:, None] - self.truth)
            error = float(np.mean(errors[self.pairs] ** 2)) if self.pairs.any() else 0.0
            if best is None or error < best[1]:
                open_ = np.sqrt(np.maximum(1.0 - size / whole, LEAST))
                best = tried, error, (errors / open_[:, None])[self.pairs]
        assert best is not None  # there is at least one power
        return best


def complete_rows(
    X: Matrix,
    rng: np.random.Generator,
    *,
    ranks: tuple[int, ...] = RANKS,
    noises: tuple[str, ...] = NOISES,
    spaces: tuple[str, ...] = SPACES,
    averaged: bool = True,
    limits: Limits | None = None,
) -> RowsCompletion:
    """Complete the similarities of rows of which every one may be incomplete.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, NaN where missing.
    rng : Generator
        Chooses what is hidden. The order of the rows does not matter.
    ranks, noises, spaces : tuple
        What to choose from. Ranks must lie below d/2 and n; where none does, the largest that does is taken. Noise
        "each" is factor analysis, "pooled" probabilistic PCA. Space "unit" gives rows a common length first.
    averaged : bool
        Average over the loadings, as in `simcomplete.posterior.factors.fit`.
    limits : Limits, optional
        For all of it together; `max_iter` is that of the final fit, 25 unless told.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8))
    >>> X[rng.random(X.shape) < 0.4] = np.nan
    >>> done = complete_rows(X, np.random.default_rng(1))
    >>> done.U.shape, done.rank, bool(np.allclose(done.model.transform(X[:1]), done.U[:1]))
    ((60, 8), 3, True)
    """
    limits = limits or Limits(ITERATIONS, label="posterior")
    began = time.monotonic()
    order = np.argsort(_keys(X), kind="stable")
    sorted_rows = X[order]
    seen = ~np.isnan(X).all(axis=0)
    allowed = _allowed(ranks, *X.shape)
    rehearsal = Rehearsal.of(sorted_rows, rng)
    trials = [] if rehearsal is None else _choose(rehearsal, seen, allowed, noises, spaces, averaged, limits)
    best = min(trials, key=lambda trial: trial.error, default=None)
    space, noise, rank = (spaces[-1], noises[-1], allowed[0]) if best is None else (best.space, best.noise, best.rank)
    if best is not None and trials[-1].run.status.code in CUT:
        # No time left for a fit to all values: what was fitted without the hidden ones is the best so far.
        model, run, status = best.model, best.run, trials[-1].run.status
        filled = model.fill(sorted_rows)
    else:
        model, run = _fit(sorted_rows, seen, space, noise, rank, averaged, _remaining(limits, began))
        status = run.status
        filled = model.fill(sorted_rows)
        model = model.with_power(0.0 if best is None else best.model.power, filled)
    U = np.empty_like(X)
    U[order] = model.vectors(filled)
    expected = quantiles = None
    if best is not None and len(best.ratios):
        quantiles = np.quantile(best.ratios, QUANTILES)
        b2 = np.sum(U * U, axis=1)
        pairs = (b2.sum() ** 2 - np.sum(b2 * b2)) / max(len(X) * (len(X) - 1), 1)
        expected = float(np.mean(best.ratios**2) * (1.0 - pairs))
    return RowsCompletion(U, model, [t.row() for t in trials], expected, quantiles, run.history, status, noise)


def _choose(
    rehearsal: Rehearsal,
    seen: NDArray[np.bool_],
    ranks: tuple[int, ...],
    noises: tuple[str, ...],
    spaces: tuple[str, ...],
    averaged: bool,
    limits: Limits,
) -> list[Trial]:
    """Try every space and noise at a middle rank, then climb from there with the two best."""
    began = time.monotonic()
    trials: list[Trial] = []

    def attempt(space: str, noise: str, rank: int) -> Trial | None:
        if trials and trials[-1].run.status.code in CUT:
            return None
        left = replace(_remaining(limits, began), max_iter=min(TRIAL, limits.max_iter))
        model, run = _fit(rehearsal.X, seen, space, noise, rank, averaged, left)
        trials.append(Trial(space, noise, rank, *rehearsal.judge(model), run))
        return trials[-1]

    middle = len(ranks) // 2
    for space, noise in product(spaces, noises):
        attempt(space, noise, ranks[middle])
    for first in sorted(trials, key=lambda trial: trial.error)[:2]:
        for way in (1, -1):
            at, best = middle + way, first.error
            while 0 <= at < len(ranks):
                tried = attempt(first.space, first.noise, ranks[at])
                if tried is None or tried.error >= best:
                    break
                at, best = at + way, tried.error
            if best < first.error:
                break
    return trials


def _fit(
    X: Matrix, seen: NDArray[np.bool_], space: str, noise: str, rank: int, averaged: bool, limits: Limits
) -> tuple[RowModel, Run[State]]:
    scaling = Scaling.of(X[:, seen], space)
    factors, run = fit(
        Rows.of(scaling.apply(X[:, seen])), rank, pooled=noise == "pooled", averaged=averaged, limits=limits
    )
    return RowModel(factors, scaling, seen), run


def _allowed(ranks: tuple[int, ...], n: int, d: int) -> tuple[int, ...]:
    inside = tuple(sorted({r for r in ranks if r < d / 2 and r < n}))
    return inside or (max(1, (min(n, d) - 1) // 2),)


def _remaining(limits: Limits, began: float) -> Limits:
    if limits.time_limit is None:
        return limits
    return replace(limits, time_limit=max(limits.time_limit - (time.monotonic() - began), 0.0))


def _keys(X: Matrix) -> NDArray[np.void]:
    """Rows as bytes, to sort and compare; adding 0 makes -0 and 0 the same."""
    flat = np.ascontiguousarray(np.where(np.isnan(X), np.inf, X) + 0.0)
    return flat.view(np.dtype((np.void, flat.itemsize * flat.shape[1]))).ravel()


def _distinct(X: Matrix) -> NDArray[np.int64]:
    """A number per row, the same for copies."""
    return np.unique(_keys(X), return_inverse=True)[1].astype(np.int64).ravel()


def _unit(X: Matrix) -> Matrix:
    top = X / _positive(np.max(np.abs(X), axis=1, initial=0.0))[:, None]
    return top / _positive(np.sqrt(np.sum(top * top, axis=1)))[:, None]


def _positive(x: Any) -> Any:
    """What one can divide by: 1 in the place of 0."""
    return np.where(x > 0, x, 1.0)
