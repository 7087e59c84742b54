"""Quantiles, probabilities and random draws of true similarities, from the errors of simulated queries."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import FINE, Match, check_level, moved, required
from simcomplete._result.matrix import take
from simcomplete._result.pairs import LEVELS_KEPT, Pairs, joint_levels, pair_blocks, sampled, share_beyond
from simcomplete._result.recalibration import logistic
from simcomplete._result.rows import positions_of
from simcomplete._result.search import nearest
from simcomplete._result.thresholds import Correction, known_correction
from simcomplete._result.top import BEST_AT_LEAST, BEST_PER_K, TopDraws
from simcomplete._rows.budget import require
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

MIDDLES = (np.arange(LEVELS_KEPT - 1) + 0.5) / (LEVELS_KEPT - 1)  # levels that stand for equal parts of a distribution


class Probabilities:
    """Methods of a `Completion` about the errors of its similarities."""

    @cached_property
    def _corrections(self) -> list[Correction | None]:
        """Learnt corrections of probabilities, cached because learning takes longer than a search."""
        return []

    def _with_corrections(self, known: list[Correction | None]) -> Self:
        """Return this object with the cached corrections of a result or model with the same candidates and errors."""
        self.__dict__["_corrections"] = known
        return self

    def interval_between(self: Any, level: float, rows: Any, cols: Any) -> tuple[Any, Any]:
        """Return two quantiles of each pair, with probability `level` between them; rows and columns are positions."""
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        both = [
            [_shifted(pairs, z[:, 0]), _shifted(pairs, z[:, 1])] for pairs, z in pair_blocks(self, rows, cols, ends)
        ]
        return np.concatenate([b[0] for b in both]), np.concatenate([b[1] for b in both])

    @property
    def match(self: Any) -> Match:
        """The candidate that each query may be a copy of, with P(exact), P(near) and P(rough) copy.

        A copy has the same values, exactly or with noise; proportional rows are not copies.
        """
        found = None if self.interval_model is None else self.interval_model.match
        if found is None:
            raise InputError(
                f"this {self.method!r} result has no matches; sc.complete(P, Q, method='posterior') has them, from 40 "
                "complete candidates on, unless copies=False or metric='pearson'"
            )
        return found  # type: ignore[no-any-return]

    def quantile(self: Any, p: float, rows: Any = None, cols: Any = None) -> Any:
        """Return the `p` quantile of every true similarity.

        Parameters
        ----------
        p : float
            Between 0 and 1; 0.5 is the median, which may differ from the estimate: estimates of the nearest candidates
            tend to be too large, because these were selected for large estimates.
        rows, cols : optional
            As in `similarity`; the queries and the candidates when left out.

        Returns
        -------
        array of shape (rows, cols)
            Of a row of which nothing was observed -1 below the median and 1 above.
        """
        picked, among = _picked(self, rows, cols)
        level = np.array([check_level(p, "p")])
        return np.concatenate([_shifted(pairs, z[:, 0]) for pairs, z in pair_blocks(self, picked, among, level)])

    def probability(self: Any, above: float, rows: Any = None, cols: Any = None) -> NDArray[np.float64]:
        """Return the probability that true similarities are larger than a number.

        Parameters
        ----------
        above : float
            The number, such as 0.9.
        rows, cols : optional
            As in `similarity`; the queries and the candidates when left out.

        Returns
        -------
        array of shape (rows, cols)
            Pairs of complete rows are known: 0 or 1. 0.5 for a row of which nothing was observed. Never larger for a
            larger number.

        Examples
        --------
        >>> import numpy as np, simcomplete as sc
        >>> P = np.random.default_rng(0).random((60, 6))
        >>> Q = np.where(np.arange(6) < 3, P[:2] + 0.01, np.nan)
        >>> done = sc.complete(P, Q, method="posterior", effort="fast")
        >>> p = done.probability(above=0.8)
        >>> p.shape, bool(((p >= 0) & (p <= 1)).all())
        ((2, 60), True)
        """
        t = check_threshold(above)
        picked, among = _picked(self, rows, cols)
        levels = np.linspace(0, 1, LEVELS_KEPT)
        correction = correction_of(self)
        blocks = pair_blocks(self, picked, among, levels)
        return np.concatenate([set_right(pairs, t, z, levels, correction) for pairs, z in blocks])

    def std(self: Any, rows: Any = None, cols: Any = None) -> NDArray[np.float64]:
        """Return the standard deviation of true similarities around their expectation.

        Parameters
        ----------
        rows, cols : optional
            As in `similarity`; the queries and the candidates when left out.

        Returns
        -------
        array of shape (rows, cols)
        """
        picked, among = _picked(self, rows, cols)
        found = pair_blocks(self, picked, among, MIDDLES)
        widths = [pairs.spread * z.std(axis=1)[pairs.kind] for pairs, z in found]
        return np.asarray(np.minimum(np.concatenate(widths), 1.0))  # at most 1 between -1 and 1

    def sample(self: Any, n: int, rows: Any = None, cols: Any = None, *, random_state: Any = 0) -> NDArray[np.float64]:
        """Draw random values of the true similarities; errors of one query with similar candidates are correlated.

        Parameters
        ----------
        n : int
            How many draws.
        rows, cols : optional
            As in `similarity`; the queries and the candidates when left out.
        random_state : int, Generator or None
            Seed.

        Returns
        -------
        array of shape (n, rows, cols)
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"n={n!r} must be a whole number of at least 1")
        picked, among = (positions_of(some) for some in _picked(self, rows, cols))
        require(8 * 3 * int(n) * len(picked) * len(among), f"{n} draws", "draw fewer, or of fewer rows and cols")
        try:
            rng = np.random.default_rng(random_state)
        except (TypeError, ValueError) as error:
            raise InputError(f"random_state={random_state!r} is not a seed; give a whole number or None") from error
        model = required(self.interval_model, self.method)
        if model.ranked is None or self.matrix.factor is None:
            levels = rng.random((int(n), len(picked), len(among)))
        else:
            order = joint_levels(self.matrix, model.ranked, among)  # (cols, simulated)
            drawn = rng.integers(order.shape[1], size=(int(n), len(picked)))
            levels = np.moveaxis(order[:, drawn], 0, -1)
        out = np.empty(levels.shape)
        grid, start = np.linspace(0, 1, LEVELS_KEPT), 0
        for pairs, z in pair_blocks(self, picked, among, grid):
            stop = start + len(pairs.estimate)
            place = levels[:, start:stop] * (LEVELS_KEPT - 1)
            below = np.minimum(place.astype(np.int64), LEVELS_KEPT - 2)
            left, right = z[pairs.kind, below], z[pairs.kind, below + 1]
            out[:, start:stop] = pairs.estimate + pairs.spread * (left + (place - below) * (right - left))
            start = stop
        return np.clip(out, -1.0, 1.0)

    def top_probability(self: Any, k: int = 10, rows: Any = None) -> NDArray[np.float64]:
        """Return the probability that candidates are truly among the `k` most similar of a query.

        Parameters
        ----------
        k : int
            How many count.
        rows : optional
            Queries, as in `similarity`; all when left out.

        Returns
        -------
        array of shape (rows, candidates)
            0 beyond the 200 (or 20 k) largest estimates; k / candidates for a query of which nothing was observed.
        """
        model = required(self.interval_model, self.method)
        if model.ranked is None or self.all_rows_are_queries or self.matrix.factor is None:
            raise InputError("top_probability needs complete candidates apart from queries: sc.complete(P, Q)")
        picked = positions_of(self._resolve("queries" if rows is None else rows, "rows"))
        check_top(k, self.n_candidates)
        if (picked < self.n_candidates).any():
            raise InputError("top_probability is for queries; give rows='queries' or some of them")
        require(8 * len(picked) * self.n_candidates, "probabilities of all candidates", "ask for fewer rows")
        out = np.zeros((len(picked), self.n_candidates))
        most = min(self.n_candidates, max(BEST_AT_LEAST, BEST_PER_K * int(k)))
        draws_of_top = TopDraws(self, model, int(k), most)
        b = draws_of_top.regression()
        ids = nearest(self.matrix, picked, slice(0, self.n_candidates), most, exclude_self=False).ids
        blind = np.zeros(0, dtype=np.int64) if self.unobserved is None else self.unobserved
        spread = model.spread_of(picked, np.zeros(1, dtype=np.int64), self.n - self.n_queries)[:, 0]
        for row, mine in enumerate(ids):
            S = to_numpy(self.matrix.block(picked[row : row + 1], mine))[0]
            if np.isin(picked[row], blind):  # nothing is known: all candidates are equally likely
                out[row] = int(k) / self.n_candidates
                continue
            if spread[row] == 0:  # known
                out[row, mine[: int(k)]] = 1.0
                continue
            X = draws_of_top.features(S, mine, spread[row], None)
            out[row, mine] = logistic(X @ b)
        return out


def check_threshold(above: Any) -> float:
    """Return a finite number."""
    if isinstance(above, bool) or not isinstance(above, (int, float, np.floating)) or not np.isfinite(above):
        raise InputError(f"above={above!r} must be a number, such as 0.9", about=("above",))
    return float(above)


def check_top(k: Any, n_candidates: int, name: str = "k") -> None:
    """Refuse what is not a whole number from 1 to the number of candidates."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n_candidates:
        raise InputError(f"{name}={k!r} must be a whole number from 1 to the {n_candidates} candidates", about=(name,))


def set_right(
    pairs: Pairs,
    t: float,
    z: NDArray[np.float64],
    levels: NDArray[np.float64],
    correction: Correction | None,
) -> NDArray[np.float64]:
    """Return P(true similarity > t) by the table of errors, recalibrated on simulated pairs."""
    if not -1 <= t < 1:  # cosines are always between -1 and 1
        return np.full(pairs.estimate.shape, float(t < -1))
    p = share_beyond(pairs, t, z, levels)
    if correction is not None:
        ranked = (pairs.kind < FINE) & (pairs.spread > 0) & (p > 0) & (p < 1)
        mine = pairs.some(ranked)
        p[ranked] = correction.corrected(mine, p[ranked], t, z, levels)
    return p


def correction_of(done: Completion) -> Correction | None:
    """Return the correction of the probabilities of a completion, learnt once."""
    model = required(done.interval_model, done.method)
    if done.all_rows_are_queries or done.matrix.factor is None:
        return None

    def unit() -> NDArray[np.float64]:
        return to_numpy(take(done.matrix.factor, sampled(done.n_candidates)))

    return known_correction(done._corrections, model, unit)


def _picked(done: Completion, rows: Any, cols: Any) -> tuple[Any, Any]:
    picked = done._resolve("queries" if rows is None else rows, "rows")
    return picked, done._resolve("candidates" if cols is None else cols, "cols")


def _shifted(pairs: Pairs, z: NDArray[np.float64]) -> NDArray[Any]:
    return moved(pairs.estimate, pairs.spread * z[pairs.kind])
