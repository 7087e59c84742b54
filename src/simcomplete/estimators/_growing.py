"""Candidates of a fitted `PosteriorCompleter` that come and go, by exact updates of what is known of them."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from simcomplete._method.given import generator
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete.errors import InputError
from simcomplete.estimators._changes import patterns_given
from simcomplete.estimators._ids import ids_with, rows_to_forget


class GrowingCandidates:
    """Candidates are added and removed without a new fit."""

    def partial_fit(self: Any, X: Any, y: Any = None, ids: Any = None) -> Any:
        """Add candidates by exact updates; the calibration does not change. The first call is a fit.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Complete candidates to add.
        y : Ignored
            Here by convention.
        ids : sequence of str or int, optional
            Their ids, which must be new; needed if the other candidates have ids.

        Returns
        -------
        self : object
            The estimator.
        """
        if not hasattr(self, "_model"):
            return self.fit(X, ids=ids)
        model = self._growing("partial_fit")
        P = self._changes(self._checked(X, reset=False, complete=True))
        named = ids_with(self.ids_, ids, len(P))
        self._keep_candidates(model.with_rows(P))
        self.ids_ = named
        return self

    def forget(self: Any, rows: Any = None, *, ids: Any = None) -> Any:
        """Remove candidates by exact downdates; the calibration does not change.

        Parameters
        ----------
        rows : array of int
            Positions of the candidates to remove; those behind them move up.
        ids : sequence of str or int
            Their ids instead, where they were given some.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        model = self._growing("forget")
        n = len(self.candidates_)
        gone = rows_to_forget(rows, ids, self.ids_, n)
        if len(gone) == n:
            raise InputError(f"all {n} candidates would be forgotten; keep at least one, or fit again")
        named = None if self.ids_ is None else self.ids_.without(gone)
        self._keep_candidates(model.without(gone))
        self.ids_ = named
        return self

    def recalibrate(self: Any, masks: Any = None) -> Any:
        """Repeat the calibration, for other masks or after many changes of the candidates.

        Parameters
        ----------
        masks : array of shape (n_masks, n_features), optional
            As in `fit`; for example, recent rows that were given to `transform`.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        model = self._growing("recalibrate")
        self._calibrate(model.candidates.table, patterns_given(masks, False), generator(self.random_state))
        return self

    def _growing(self: Any, what: str) -> CandidateModel:
        """The model of complete candidates, which alone can change without a new fit."""
        if not isinstance(self._model, CandidateModel):
            raise InputError(f"{what} needs a model of complete candidates: fit again")
        return self._model
