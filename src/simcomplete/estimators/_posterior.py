"""`PosteriorCompleter`: incomplete rows to complete vectors, fitted once, streamed for ever."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from simcomplete._api import complete
from simcomplete._method.given import generator
from simcomplete._method.spec import Extension
from simcomplete._posterior.all_rows.split import candidates_among
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.incomplete_rows import fit_rows
from simcomplete._posterior.shared.copy_classes import Prior, check_prior, looks_for_copies
from simcomplete._posterior.shared.rows import (
    Effort,
    Objective,
    PosteriorModel,
    check_settings,
    in_units_of,
    typical_length,
)
from simcomplete._result.completion import Completion
from simcomplete._rows.images import image_shape
from simcomplete._rows.scaling import Center, Scale
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.validate import as_array, as_rows, is_out_of_core
from simcomplete._rows.xp import is_array, is_numpy, on_accelerator, to_numpy
from simcomplete._similarity.measure import Metric
from simcomplete.estimators._answers import PosteriorAnswers
from simcomplete.estimators._attach import Attachable
from simcomplete.estimators._base import finite_vectors
from simcomplete.estimators._changes import RowChanges, masks_to_show, patterns_given
from simcomplete.estimators._frames import frame_rows
from simcomplete.estimators._growing import GrowingCandidates
from simcomplete.estimators._ids import RowIds
from simcomplete.estimators._parameters import NamedParameters
from simcomplete.estimators._save import Saved

FEW_ROWS = 64  # rows whose checks are worth shortening


class PosteriorCompleter(
    NamedParameters,
    PosteriorAnswers,
    GrowingCandidates,
    Attachable,
    Saved,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Expected similarities with complete candidates, one vector per incomplete row.

    ``transform`` turns a row with missing values into a complete vector whose products with the candidates' unit rows
    are the best estimates of their cosines; any inner-product index can search with it.

    Parameters
    ----------
    metric : {"cosine", "pearson"}
        Cosine, or correlation of rows: the cosine of rows minus the mean of their observed values.
    center, scale : {"mean", "median"}, {"sd", "robust"}, optional
        Subtract this from every feature and divide by that, computed from the fitted rows; new rows are transformed
        with the same numbers.
    effort : {"full", "fast", "best"}
        Amount of calibration: "fast" learns only lengths, "full" also searches a grid, "best" combines several models.
    objective : {"error", "recall"}
        What the calibration minimises: the squared error, or the number of missed neighbours among the ten nearest.
    mechanism : {"auto", "random"}
        If every row is incomplete: whether values may be missing because of their size, which is tested on the data.
    copies : bool, optional
        Whether rows may be copies of candidates; when left out they may, unless ``metric="pearson"``.
    prior : float or three floats, optional
        Share of rows that are copies, or of exact, near and rough copies; few when left out.
    random_state : int, Generator or None
        Seed of the simulated queries.
    shape : tuple (height, width), optional
        Rows are images of this size; the page of `simcomplete serve` then shows them as images. It has no other effect.

    Attributes
    ----------
    candidates_ : array of shape (n_samples, n_features)
        Unit rows of the candidates (shorter where they are incomplete); products with transformed rows are
        similarities.
    scaling_ : FeatureScaling or None
        What is subtracted from every feature and what it is divided by, if `center` or `scale` is set; learnt by `fit`
        and kept by `partial_fit`.
    ids_ : RowIds or None
        Ids of the candidates, where they were given some; ``ids_.values`` is an array of them.
    choice_ : dict
        The settings chosen by the calibration, and their error on simulated queries.
    n_features_in_ : int
        Features seen when fitting.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where a frame had some.

    See Also
    --------
    simcomplete.complete : The same for given queries, calibrated on their own masks, with intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import PosteriorCompleter
    >>> P = np.random.default_rng(0).random((60, 4))
    >>> model = PosteriorCompleter(effort="fast").fit(P)
    >>> u = model.transform([[0.9, np.nan, 0.1, np.nan]])
    >>> u.shape, model.search([[0.9, np.nan, 0.1, np.nan]], k=3).ids.shape
    ((1, 4), (1, 3))
    """

    def __init__(
        self,
        *,
        metric: Metric = "cosine",
        center: Center = None,
        scale: Scale = None,
        effort: Effort = "full",
        objective: Objective = "error",
        mechanism: str = "auto",
        copies: bool | None = None,
        prior: Prior = None,
        random_state: Any = 0,
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.metric = metric
        self.center = center
        self.scale = scale
        self.effort = effort
        self.objective = objective
        self.mechanism = mechanism
        self.copies = copies
        self.prior = prior
        self.random_state = random_state
        self.shape = shape

    def fit(self, X: Any, y: Any = None, masks: Any = None, ids: Any = None) -> Self:
        """Store the candidates and calibrate on them.

        Parameters
        ----------
        X : array, frame or source of rows, of shape (n_samples, n_features)
            Candidates. Where some values are missing, the model is that of the complete rows if they have enough of the
            observed values, otherwise a factor model of all rows; it has `transform` and `search`, but not
            `partial_fit` and `forget`. Many candidates (33 million values and more) and rows outside memory are read
            block by block.
        y : Ignored
            Here by convention.
        masks : "observed" or array of bool, shape (n_masks, n_features), optional
            Patterns to calibrate for, True where observed; or rows whose gaps are such patterns. When left out, those
            of the incomplete rows ("observed", which needs some), or random ones with rates from .1 to .95 where all
            are complete.
        ids : sequence of str or int, optional
            An id for every candidate, each once: `search` returns them, and `forget` takes them. Without, candidates
            are known by their position.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        table = self._candidates(X)
        named = None if ids is None else RowIds.of(ids, table.n)
        check_settings(self.effort, self.objective)
        if self.shape is not None:
            image_shape(self.shape, table.d)
        copies, prior = looks_for_copies(self.copies, self.metric == "pearson"), check_prior(self.prior)
        self._dtype = to_numpy(table[:1, :]).dtype
        self._changes, table = RowChanges.learn(table, self.metric, self.center, self.scale)
        self.scaling_ = self._changes.scaling
        rng = generator(self.random_state)
        incomplete = table.held is not None and is_numpy(table.held) and bool(np.isnan(table.held).any())
        masks = patterns_given(masks, incomplete)
        if incomplete:
            shown = None if masks is None else masks_to_show(masks, table.d, rng)
            X64, centred = np.asarray(table.held, dtype=np.float64), self._changes.centred
            own = (self.effort, self.objective, shown, self.mechanism)
            if candidates_among(X64) is None:
                length = typical_length(np.nan_to_num(X64))
                self._changes, X64 = replace(self._changes, length=length), in_units_of(length, X64)
            self._keep(fit_rows(X64, rng, *own, centred=centred, copies=copies, prior=prior), table)
        else:
            self._calibrate(table, masks, rng)
        self.ids_ = named
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Turn rows with missing values into complete vectors, each row separately, without calibrating again.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing; complete ones come back with unit length.

        Returns
        -------
        array of shape (n_new, n_features)
            Of length at most 1; the less is known of a row, the shorter.
        """
        check_is_fitted(self)
        return self._transformed(self._checked(X, reset=False))

    def _transformed(self, Q: NDArray[Any]) -> NDArray[Any]:
        """Vectors of rows that were checked."""
        u = self._changes.vectors(self._model, Q).u.astype(Q.dtype, copy=False)
        return finite_vectors(u, "posterior")

    def complete(self, P: Any, Q: Any = None, *, memory: Any = None, out: Any = None, **named: Any) -> Completion:
        """Complete candidates and queries, calibrated on the queries' own masks; changes nothing that was fitted.

        Parameters
        ----------
        P, Q, memory, out, **named
            As in `simcomplete.complete`, with `id`, `labels` and `missing`.

        Returns
        -------
        Completion
        """
        shared: dict[str, Any] = {"metric": self.metric, "center": self.center, "scale": self.scale}
        names = ("effort", "objective", "mechanism", "copies", "prior")
        own: dict[str, Any] = {**{name: getattr(self, name) for name in names}, "memory": memory, "out": out}
        return complete(P, Q, method="posterior", random_state=self.random_state, **shared, **own, **named)

    def _candidates(self, X: Any) -> RowTable:
        """Candidates as they are read: from where they lie, or checked as scikit-learn does."""
        if not (is_out_of_core(X) or (is_array(X) and on_accelerator(X))):
            return HeldRows(self._checked(X, reset=True))
        rows = as_rows(X, "candidates", complete=True)
        self.n_features_in_ = rows.d
        self.__dict__.pop("feature_names_in_", None)
        return rows

    def _calibrate(self, table: RowTable, masks: Any, rng: np.random.Generator) -> None:
        shown = masks_to_show(masks, table.d, rng)
        own: dict[str, Any] = {"effort": self.effort, "objective": self.objective, "growing": True}
        own |= {"copies": looks_for_copies(self.copies, self._changes.centred), "prior": check_prior(self.prior)}
        own |= {"centred": self._changes.centred}
        self._keep_candidates(CandidateModel.fit(table, shown, rng=rng, **own))

    def _keep_candidates(self, model: CandidateModel) -> None:
        self._keep(model, model.candidates.table)

    def _keep(self, model: PosteriorModel, rows: RowTable) -> None:
        self._model, self._rows = model, rows
        unit = self._changes.model(model).unit
        self.candidates_ = unit if isinstance(unit, RowTable) else unit.astype(self._dtype, copy=False)
        self.choice_ = model.choice.as_dict()
        self._n_features_out = model.unit.shape[1]

    def _fitted_extension(self) -> Extension:
        """What scorers ask for: vectors and overlap similarities of new rows."""
        check_is_fitted(self)
        return self._changes.extension(self._model, self._rows)

    def _checked(self, X: Any, *, reset: bool, complete: bool = False) -> NDArray[Any]:
        if not reset and not complete and self._is_plain(X):
            return X  # type: ignore[no-any-return]
        frame = frame_rows(self, X, reset=reset)
        if isinstance(X, np.ma.MaskedArray):  # whose mask would be lost without a word
            X = as_array(X)
        rules: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        rows = validate_data(self, X, reset=reset, **rules) if frame is None else frame.array
        if complete:
            as_rows(rows, "candidates", complete=True)
        return np.asarray(rows)

    def _is_plain(self, X: Any) -> bool:
        """Whether rows are just what scikit-learn's checks would return: those take longer than one query."""
        return (
            type(X) is np.ndarray
            and X.dtype in (np.float64, np.float32)
            and X.ndim == 2
            and 0 < len(X) <= FEW_ROWS
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and not bool(np.isinf(X).any())
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
