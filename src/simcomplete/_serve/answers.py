"""What the service answers: one fitted model as it is at one moment, which a change replaces as a whole."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._result.frames import Searched, SearchResult
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.search import among
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer
from simcomplete.estimators._ids import RowIds


@dataclass(frozen=True)
class Served:
    """A model, and the payloads of its candidates by id."""

    model: Any
    payloads: dict[Any, Any]

    @classmethod
    def of(cls, model: Any) -> Served:
        """Take a model that was loaded; candidates without ids get their positions."""
        if not isinstance(model, (PosteriorCompleter, PosteriorImputer)):
            raise InputError(
                f"a {type(model).__name__} cannot be served; save a PosteriorCompleter (search, complete) or a "
                "PosteriorImputer (impute)"
            )
        model = copy.copy(model)
        if isinstance(model, PosteriorCompleter) and model.ids_ is None:
            model.ids_ = RowIds.of(np.arange(len(model.candidates_)), len(model.candidates_))
        return cls(model, {})

    @property
    def searches(self) -> bool:
        """Whether it has candidates."""
        return isinstance(self.model, PosteriorCompleter)

    @property
    def d(self) -> int:
        """How many features."""
        return int(self.model.n_features_in_)

    @property
    def names(self) -> list[str] | None:
        """Names of the features, where there are some."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def describe(self) -> dict[str, Any]:
        """What clients may want to know."""
        about = {"kind": type(self.model).__name__, "n_features": self.d, "features": self.names}
        if not self.searches:
            return about
        return {**about, "n_candidates": len(self.model.candidates_), "metric": self.model.metric}

    def search(self, X: NDArray[np.float64], k: int, level: float) -> dict[str, Any]:
        """The nearest candidates of rows, with intervals where the model has them, and confidence."""
        fitted: Any = self.candidates()
        found = fitted._changes.vectors(fitted._model, X)
        n, m = len(fitted.candidates_), len(X)
        near = among(found.u, fitted.candidates_, min(k, n))
        blind: NDArray[np.bool_] = np.asarray(np.isnan(X).all(axis=1))
        answer: dict[str, Any] = {"scores": np.where(blind[:, None], np.nan, near.scores)}
        model = fitted._model
        if isinstance(model, CandidateModel) and model.trained:
            errors = IntervalModel(found.uncertainty, model.choice.quantiles, model.errors)
            result = SearchResult(near.ids, near.scores, Searched(np.arange(n, n + m), n, n))
            low, high = result.bounds(errors, level)
            answer["low"], answer["high"] = (np.where(blind[:, None], np.nan, end) for end in (low, high))
        answer["confidence"] = np.where(blind, 0.0, np.sqrt(np.sum(found.u**2, axis=1)))
        names = np.asarray(fitted.ids_.named(near.ids), dtype=object)
        names[blind] = None
        return {"ids": names, **answer}

    def complete(self, X: NDArray[np.float64]) -> dict[str, Any]:
        """Vectors of rows, for any index of inner products."""
        return {"vectors": self.candidates().transform(X)}

    def impute(self, X: NDArray[np.float64]) -> dict[str, Any]:
        """Missing values and their deviations."""
        if self.searches:
            raise InputError("this service has a model of similarities; serve a saved PosteriorImputer to impute")
        values, std = self.model.impute(X, return_std=True)
        return {"values": values, "std": std}

    def changed(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> Served:
        """The same with candidates put (those of the same id are replaced) and others removed; all or nothing."""
        fitted = self.candidates()
        known: RowIds = fitted.ids_  # type: ignore[assignment]
        replaced = [value for value in ids if value in known.place]
        out = np.unique(known.positions([*gone, *replaced]))
        new = RowIds.of(ids, len(ids))
        left = known.without(out) if len(out) else known
        names = left.plus(ids, len(ids)) if ids else left
        if not len(names):
            raise InputError("no candidate would be left; keep at least one")
        model = copy.copy(fitted)
        model.ids_ = None  # by position, so that nothing depends on the order of what is put and removed
        if ids:
            model.partial_fit(rows)
        if len(out):
            model.forget(out)
        model.ids_ = names
        kept = {key: value for key, value in self.payloads.items() if key in names.place and key not in new.place}
        told = {key: value for key, value in zip(ids, payloads, strict=True) if value is not None}
        return Served(model, kept | told)

    def candidates(self) -> PosteriorCompleter:
        """The model, if it has candidates."""
        if not self.searches:
            raise InputError("this service has a model of values, without candidates; serve a PosteriorCompleter")
        fitted: PosteriorCompleter = self.model
        return fitted
