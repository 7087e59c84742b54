"""What a fitted posterior estimator says about new rows: similarities, error bars and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.rows import diagonal_deficit
from simcomplete._result.completion import Completion
from simcomplete._result.frames import Searched, SearchResult
from simcomplete._result.intervals import IntervalModel, Match
from simcomplete._result.matrix import SymmetricMatrix, take
from simcomplete._result.pairs import sampled
from simcomplete._result.probabilities import check_threshold
from simcomplete._result.search import Neighbours, among, check_k
from simcomplete._result.searching import found_probability
from simcomplete._result.thresholds import known_correction
from simcomplete._result.unobserved import unanswered, without_certainty
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError

NOTHING_MORE = {"std": False, "quantile": None, "top": None}


class PosteriorAnswers:
    """Similarities of new rows with the fitted candidates, and how sure they are."""

    def search(
        self: Any,
        X: Any,
        k: int = 10,
        *,
        above: float | None = None,
        std: bool = False,
        quantile: float | None = None,
        top: int | None = None,
    ) -> Neighbours:
        """Find the `k` most similar candidates of rows with missing values.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        k : int
            How many; more than there are candidates gives all of them.
        above : float, optional
            A similarity: the probability that the true one is larger is computed as well.
        std, quantile, top
            Further numbers about every neighbour, as in `Completion.search`.

        Returns
        -------
        Neighbours
            `ids` and `scores`, both (n_new, k), best first: the ids that candidates were given, or their positions.
            If more was asked for also `numbers`, by name and of the same shape, and `to_frame()`. A row of which
            nothing is observed has no neighbours: id -1, or None where ids are text, and score NaN.
        """
        check_is_fitted(self)
        k, more = check_k(k), {"std": std, "quantile": quantile, "top": top}
        if above is not None or more != NOTHING_MORE:
            likely: SearchResult = self._search_above(X, min(k, len(self.candidates_)), above, more)
            return likely if self.ids_ is None else likely.named(self.ids_.named(likely.ids))
        Q = self._checked(X, reset=False)
        found: Neighbours = self._nearest(self._transformed(Q), self.candidates_, min(k, len(self.candidates_)))
        blind = np.isnan(Q).all(axis=1)
        if blind.any():
            found = Neighbours(*unanswered(*found, blind))
        return found if self.ids_ is None else found._replace(ids=self.ids_.named(found.ids))

    def similarity(self: Any, X: Any) -> NDArray[Any]:
        """Return expected similarities of new rows with the candidates.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        array of shape (n_new, n_samples)
        """
        u = self.transform(X)
        if isinstance(self.candidates_, np.ndarray):
            return np.asarray(np.clip(u @ self.candidates_.T, -1.0, 1.0))
        return np.asarray(self._answer(X).similarity("queries", "candidates"))

    def interval(self: Any, X: Any, level: float = 0.9) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return intervals for the similarities of new rows with the candidates.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        level : float
            Share of the true similarities that should lie inside.

        Returns
        -------
        low, high : array of shape (n_new, n_samples)

        Examples
        --------
        >>> import numpy as np
        >>> from simcomplete.estimators import PosteriorCompleter
        >>> P = np.random.default_rng(0).random((60, 4))
        >>> model = PosteriorCompleter(effort="fast").fit(P)
        >>> low, high = model.interval([[0.9, np.nan, 0.1, np.nan]])
        >>> low.shape, bool((low < high).all())
        ((1, 60), True)
        """
        return self._answer(X).interval(level)  # type: ignore[no-any-return]

    def probability(self: Any, X: Any, above: float) -> NDArray[np.float64]:
        """Return the probability that true similarities of new rows with the candidates are larger than a number.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        above : float
            The number, such as 0.9.

        Returns
        -------
        array of shape (n_new, n_samples)
        """
        return self._answer(X).probability(above)  # type: ignore[no-any-return]

    def quantile(self: Any, X: Any, p: float) -> NDArray[Any]:
        """Return the `p` quantile of the true similarities of new rows with the candidates.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        p : float
            Between 0 and 1.

        Returns
        -------
        array of shape (n_new, n_samples)
        """
        return np.asarray(self._answer(X).quantile(p))

    def std(self: Any, X: Any) -> NDArray[np.float64]:
        """Return the standard deviation of true similarities around their expectation.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        array of shape (n_new, n_samples)
        """
        return self._answer(X).std()  # type: ignore[no-any-return]

    def top_probability(self: Any, X: Any, k: int = 10) -> NDArray[np.float64]:
        """Return the probability that candidates are truly among the `k` most similar of new rows.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        k : int
            How many count.

        Returns
        -------
        array of shape (n_new, n_samples)
            As `Completion.top_probability`.
        """
        return self._answer(X).top_probability(k)  # type: ignore[no-any-return]

    def sample(self: Any, X: Any, n: int, *, random_state: Any = 0) -> NDArray[np.float64]:
        """Draw random values of the true similarities of new rows with the candidates.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        n : int
            How many draws.
        random_state : int, Generator or None
            Seed.

        Returns
        -------
        array of shape (n, n_new, n_samples)
            As `Completion.sample`.
        """
        return self._answer(X).sample(n, random_state=random_state)  # type: ignore[no-any-return]

    def match(self: Any, X: Any) -> Match:
        """Return the candidate that each new row may be a copy of, and how likely it is.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        Match
            `ids`, those that candidates were given, or their positions; `probabilities` of an exact, a near and a rough
            copy; their sum `copy`; and `kinds` in words.

        Examples
        --------
        >>> import numpy as np
        >>> from simcomplete.estimators import PosteriorCompleter
        >>> P = np.random.default_rng(0).random((80, 8))
        >>> model = PosteriorCompleter(effort="fast").fit(P)
        >>> found = model.match(np.where(np.arange(8) < 6, P[7], np.nan)[None])
        >>> int(found.ids[0]), found.kinds
        (7, ['exact'])
        """
        found: Match = self._answer(X).match
        return found if self.ids_ is None else found._replace(ids=self.ids_.named(found.ids))

    def _answer(self: Any, X: Any) -> Completion:
        """The fitted candidates and new rows as a result of their own."""
        check_is_fitted(self)
        Q = self._checked(X, reset=False)
        model = self._with_errors()
        found = self._changes.vectors(model, Q)
        table, n = model.candidates.table, model.candidates.n
        factor: Any = (
            np.concatenate([self._changes.model(model).unit, found.u])
            if model.in_memory
            else UnitRows(table, table.like(found.u, table.dtype))
        )
        deficit = np.concatenate([model.candidates.diagonal_deficit, diagonal_deficit(found.u)])
        errors = IntervalModel(found.uncertainty, model.choice.quantiles, model.errors, found.match)
        facts: dict[str, Any] = {"interval_model": errors}
        blind = np.flatnonzero(np.isnan(Q).all(axis=1))
        if len(blind):
            facts = without_certainty(facts, n + blind, n)
        done = Completion(SymmetricMatrix(factor=factor, diagonal=deficit, unit=True), n, "posterior", **facts)
        return done._with_corrections(model.corrections)

    def _nearest(
        self: Any, u: NDArray[Any], unit: Any, k: int, bounds: tuple[float, float] | None = None
    ) -> Neighbours:
        """The unit candidates with the largest products with vectors: of many, those that float32 does not rule out."""
        kept = self._model.candidates.kept if isinstance(self._model, CandidateModel) else None
        found = None
        if kept is not None and unit is kept.unit and u.dtype == unit.dtype:
            found = kept.nearest(u, k, bounds or (-np.inf, np.inf))
        return among(u, unit, k, bounds=bounds) if found is None else Neighbours(*found)

    def _with_errors(self: Any) -> CandidateModel:
        """The model, if it has intervals."""
        model = self._model
        if not isinstance(model, CandidateModel) or not model.trained:
            raise InputError(
                "intervals of new rows need a model of at least 40 complete candidates; fit complete rows, or use "
                "simcomplete.complete"
            )
        return model

    def _search_above(self: Any, X: Any, k: int, above: float | None, more: dict[str, Any]) -> SearchResult:
        """The nearest candidates with numbers. For probabilities alone rows in memory are not copied."""
        model = self._with_errors()
        if not model.in_memory or above is None or more != NOTHING_MORE:
            return self._answer(X).search(k, above=above, **more)  # type: ignore[no-any-return]
        above = check_threshold(above)
        Q = self._checked(X, reset=False)
        found, n = self._changes.vectors(model, Q), model.candidates.n
        near: Neighbours = self._nearest(found.u, self._changes.model(model).unit, k, bounds=(-1.0, 1.0))
        errors = IntervalModel(found.uncertainty, model.choice.quantiles, model.errors, found.match)
        blind = np.isnan(Q).all(axis=1)
        if blind.any():
            near = Neighbours(*unanswered(*near, blind))
            errors = without_certainty({"interval_model": errors}, np.flatnonzero(blind), 0)["interval_model"]
        result = SearchResult(*near, Searched(np.arange(n, n + len(Q)), n, n, interval_model=errors))
        return result.with_numbers(probability=self._likely(result, errors, above))

    def _likely(self: Any, found: SearchResult, errors: IntervalModel, above: float) -> NDArray[np.float64]:
        """P(true similarity > above) of neighbours, by a model of complete candidates."""

        def unit() -> NDArray[np.float64]:
            rows = self._changes.model(self._model).unit
            return to_numpy(take(rows, sampled(rows.shape[0])))

        correction = known_correction(self._model.corrections, errors, unit)
        return found_probability(errors, found, above, correction)
