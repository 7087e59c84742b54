"""What the service answers: one fitted model as it is at one moment, which a change replaces as a whole."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._result.frames import Searched, SearchResult
from simcomplete._result.intervals import IntervalModel
from simcomplete._rows.budget import available_bytes
from simcomplete._rows.images import image_shape
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy, top_k
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer
from simcomplete.estimators._ids import RowIds

KEPT_COPIES = 4  # of the candidates: rows, unit rows, those in float32, and what it takes to make them
MOST_MEMORY = 0.5  # of what is free, for them
ALONE = 3  # rows up to which each is searched for by itself: one row reads only the features that it has


@dataclass(frozen=True)
class Served:
    """A fitted model as it is at one moment.

    Attributes
    ----------
    model : PosteriorCompleter or PosteriorImputer
        Without names of features: they are checked where rows are read.
    names : list of str or None
        Names of the features, where there are some.
    shape : tuple (height, width) or None
        Where rows are pictures.
    payloads : dict
        Of candidates, by id.
    """

    model: Any
    names: list[str] | None = None
    shape: tuple[int, int] | None = None
    payloads: dict[Any, Any] = field(default_factory=dict)
    in_store: ClassVar[bool] = False  # whether rows are read from a store, from which they may just have been removed

    @classmethod
    def of(cls, model: Any, shape: Any = None, payloads: dict[Any, Any] | None = None, *, keep: bool = True) -> Served:
        """Take a model that was loaded, with `keep` into memory; candidates without ids get their positions."""
        if not isinstance(model, (PosteriorCompleter, PosteriorImputer)):
            raise InputError(
                f"a {type(model).__name__} cannot be served; save a PosteriorCompleter (search, complete, impute) or a "
                "PosteriorImputer (impute)"
            )
        model = copy.copy(model)
        if isinstance(model, PosteriorCompleter):
            if keep:
                _keep_in_memory(model)
                _prepare(model)
            if model.ids_ is None:
                model.ids_ = RowIds.of(np.arange(len(model.candidates_)), len(model.candidates_))
        names = model.__dict__.pop("feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        given = getattr(model, "shape", None) if shape is None else shape
        sides = None if given is None else image_shape(given, model.n_features_in_)
        return cls(model, names, sides, payloads or {})

    @property
    def searches(self) -> bool:
        """Whether it has candidates."""
        return isinstance(self.model, PosteriorCompleter)

    @property
    def d(self) -> int:
        """How many features."""
        return int(self.model.n_features_in_)

    @property
    def ids(self) -> RowIds:
        """Ids of the candidates."""
        known = self.candidates().ids_
        assert known is not None  # as `of` gives some
        return known

    def describe(self) -> dict[str, Any]:
        """What clients may want to know."""
        about = {"kind": type(self.model).__name__, "n_features": self.d, "features": self.names, "shape": self.shape}
        if not self.searches:
            return about
        return {**about, "n_candidates": len(self.ids), "metric": self.model.metric}

    def search(
        self,
        X: NDArray[np.float64],
        k: int,
        level: float,
        above: float | None = None,
        overlap: bool = False,
        payloads: bool = False,
    ) -> dict[str, Any]:
        """The nearest candidates of rows, with intervals where the model has them, and confidence.

        Parameters
        ----------
        X, k, level : array of shape (m, d), int, float
            Rows with NaN where missing, how many neighbours, and the level of the intervals.
        above : float, optional
            Also the probability that a true similarity is larger than this.
        overlap : bool
            Also the nearest by cosines over the observed features alone.
        payloads : bool
            Also what was put beside the neighbours.
        """
        fitted: Any = self.candidates()
        if 1 < len(X) <= ALONE and not self.in_store:
            each = [self.search(row[None], k, level, above, overlap, payloads) for row in X]
            return {name: np.concatenate([found[name] for found in each]) for name in each[0]}
        if above is not None:
            fitted._with_errors()
        found = fitted._changes.vectors(fitted._model, X)
        n, m = len(fitted.candidates_), len(X)
        k = min(k, n)
        near = fitted._nearest(found.u, fitted.candidates_, k)
        blind: NDArray[np.bool_] = np.asarray(np.isnan(X).all(axis=1))
        answer: dict[str, Any] = {"scores": near.scores}
        model = fitted._model
        if isinstance(model, CandidateModel) and model.trained:
            errors = IntervalModel(found.uncertainty, model.choice.quantiles, model.errors)
            result = SearchResult(near.ids, near.scores, Searched(np.arange(n, n + m), n, n))
            answer["low"], answer["high"] = result.bounds(errors, level)
            if above is not None:
                answer["probability"] = fitted._likely(result, errors, above)
        names = {"ids": near.ids}
        if overlap:
            names["overlap_ids"], answer["overlap_scores"] = top_k(fitted._fitted_extension().overlap(X), k)
        added: dict[str, Any] = {name: np.where(blind[:, None], np.nan, values) for name, values in answer.items()}
        for name, positions in names.items():
            added[name] = np.asarray(self.ids.named(positions), dtype=object)
            added[name][blind] = None
            if payloads:  # of the same moment as the neighbours
                added[name.replace("ids", "payloads")] = self._payloads_of(added[name])
        return {**added, "confidence": np.where(blind, 0.0, np.sqrt(np.sum(found.u**2, axis=1)))}

    def _payloads_of(self, ids: NDArray[Any]) -> NDArray[Any]:
        found = np.empty(ids.shape, dtype=object)
        for place, key in np.ndenumerate(ids):
            found[place] = self.payloads.get(key)
        return found

    def complete(self, X: NDArray[np.float64]) -> dict[str, Any]:
        """Vectors of rows, for any index of inner products."""
        return {"vectors": self.candidates().transform(X)}

    def impute(self, X: NDArray[np.float64]) -> dict[str, Any]:
        """Missing values and their deviations; of a model of similarities, those that it stands on."""
        if not self.searches:
            values, std = self.model.impute(X, return_std=True)
            return {"values": values, "std": std}
        changes, scaling = self.model._changes, self.model.scaling_
        found = changes.model(self.model._model).values(X if scaling is None else scaling(X))
        values = np.where(np.isnan(X), self.in_own_units(found.mean), X)
        return {"values": values, "std": found.std * (1.0 if scaling is None else scaling.divisor)}

    def in_own_units(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows as the model sees them, in the units that they came in."""
        scaling = self.candidates().scaling_
        return rows if scaling is None else rows * scaling.divisor + scaling.offset

    def changed(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> Served:
        """The same with candidates put (those of the same id are replaced) and others removed; all or nothing."""
        fitted = self.candidates()
        known = self.ids
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
        _prepare(model)
        kept = {key: value for key, value in self.payloads.items() if key in names.place and key not in new.place}
        added = {key: value for key, value in zip(ids, payloads, strict=True) if value is not None}
        return replace(self, model=model, payloads=kept | added)

    def settled(self) -> Served:
        """What is served from now on, after a change was recorded."""
        return self

    def check(self) -> None:
        """Raise an error if requests cannot be answered now."""

    def remove(self, gone: list[Any]) -> None:
        """Let go of candidates, once nobody is told of them any more."""

    def candidates(self) -> PosteriorCompleter:
        """The model, if it has candidates."""
        if not self.searches:
            raise InputError("this service has a model of values, without candidates; serve a PosteriorCompleter")
        fitted: PosteriorCompleter = self.model
        return fitted


def _prepare(fitted: Any) -> None:
    """Make what searches for few rows read, before the first of them has to wait for it."""
    model = fitted._model
    kept = model.candidates.kept if isinstance(model, CandidateModel) else None
    if kept is None:
        return
    if kept.has_outline():
        _ = kept.outline
    if kept.many:
        _ = kept.narrow
    elif kept.reads_columns:
        _ = kept.columns


def _keep_in_memory(fitted: Any) -> None:
    """Bring candidates that a fit left where they were into memory, where there is room: they are searched for ever."""
    model = fitted._model
    if not isinstance(model, CandidateModel) or model.in_memory:
        return
    candidates = model.candidates
    if KEPT_COPIES * 8 * candidates.n * candidates.table.d > MOST_MEMORY * available_bytes():
        return
    table = HeldRows(np.asarray(to_numpy(candidates.table.whole()), dtype=np.float64))
    fitted._keep_candidates(replace(model, candidates=replace(candidates, table=table).keep()))
