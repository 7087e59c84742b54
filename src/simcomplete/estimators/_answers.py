"""What a fitted posterior estimator says about new rows: similarities, error bars and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.rows import diagonal_deficit
from simcomplete._result.completion import Completion
from simcomplete._result.frames import SearchResult
from simcomplete._result.intervals import IntervalModel, Match
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.search import Neighbours, among, check_k
from simcomplete._result.unobserved import unanswered, without_certainty
from simcomplete._rows.derived import UnitRows
from simcomplete.errors import InputError


class PosteriorAnswers:
    """Similarities of new rows with the fitted candidates, and how sure they are."""

    def search(self: Any, X: Any, k: int = 10, *, above: float | None = None) -> Neighbours:
        """Find the `k` most similar candidates of rows with missing values.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        k : int
            How many; more than there are candidates gives all of them.
        above : float, optional
            A similarity: the probability that the true one is larger is computed as well.

        Returns
        -------
        Neighbours
            `ids` and `scores`, both (n_new, k), best first: the ids that candidates were given, or their positions.
            With `above` also `probability`, of the same shape, and `to_frame()`. A row of which nothing is observed
            has no neighbours: id -1, or None where ids are text, and score NaN.
        """
        k = check_k(k)
        if above is not None:
            likely: SearchResult = self._answer(X).search(min(k, len(self.candidates_)), above=above)
            return likely if self.ids_ is None else likely.named(self.ids_.named(likely.ids))
        Q = self._checked(X, reset=False)
        found = among(self.transform(X), self.candidates_, min(k, len(self.candidates_)))
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
        """Return error bars of the similarities of new rows with the candidates.

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
        >>> model = PosteriorCompleter(effort="fast").fit(np.random.default_rng(0).random((60, 4)))
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

    def match(self: Any, X: Any) -> Match:
        """Return the candidate that each new row may be a copy of, and how likely it is.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        Match
            `ids`, positions among the candidates; `probabilities` of an exact, a near and a rough copy; their sum
            `copy`; and `kinds` in words.

        Examples
        --------
        >>> import numpy as np
        >>> from simcomplete.estimators import PosteriorCompleter
        >>> P = np.random.default_rng(0).random((80, 8))
        >>> model = PosteriorCompleter(effort="fast", copies=True).fit(P)
        >>> found = model.match(np.where(np.arange(8) < 6, P[7], np.nan)[None])
        >>> int(found.ids[0]), found.kinds
        (7, ['exact'])
        """
        return self._answer(X).match  # type: ignore[no-any-return]

    def _answer(self: Any, X: Any) -> Completion:
        """The fitted candidates and new rows as a result of their own."""
        Q = self._checked(X, reset=False)
        model = self._model
        if not isinstance(model, CandidateModel) or not model.trained:
            raise InputError(
                "error bars of new rows need a model of at least 40 complete candidates; fit complete rows, or use "
                "simcomplete.complete"
            )
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
        return Completion(SymmetricMatrix(factor=factor, diagonal=deficit, unit=True), n, "posterior", **facts)
