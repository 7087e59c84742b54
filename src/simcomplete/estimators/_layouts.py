"""How every estimator is saved: what it learnt, part by part, see `_result.layout`.

Parameters are kept where JSON can hold them; a Generator, a callback or the like is not, and becomes the default.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.impute import MissingIndicator

from simcomplete._correlation.repair import Proof, Repair
from simcomplete._posterior.all_rows.layout import STATUS
from simcomplete._posterior.all_rows.split import CompleteRowsModel
from simcomplete._posterior.candidates.layout import in_memory
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.layout import completion_model
from simcomplete._posterior.values.layout import POSTERIOR_MODEL, VALUE_MODEL
from simcomplete._result import store
from simcomplete._result.completion import Completion
from simcomplete._result.layout import Either, Layout, Maybe, Parts, Record, Several, need
from simcomplete._result.layout_values import ArrayOf, Flags, Floats, Plain, TableOf, Value
from simcomplete._rows.scaling import FeatureScaling, scaling_from_dict
from simcomplete._rows.table import RowTable
from simcomplete.errors import FileFormatError, SimcompleteError
from simcomplete.estimators._any import SimilarityCompleter
from simcomplete.estimators._base import Completer
from simcomplete.estimators._changes import RowChanges
from simcomplete.estimators._columns import ValueLimits
from simcomplete.estimators._correlation import NearestCorrelation
from simcomplete.estimators._ids import RowIds
from simcomplete.estimators._imputer import PosteriorImputer
from simcomplete.estimators._kernel import PosteriorKernel
from simcomplete.estimators._paper import SMCNN, SMCNmF
from simcomplete.estimators._posterior import PosteriorCompleter

TEXT, COUNT = Value(str), Value(int, low=0)
# What scikit-learn's contract says of every fitted estimator.
COMMON: dict[str, Layout] = {
    "params": Plain((dict,)),
    "n_features_in_": Value(int, low=1),
    "feature_names_in_": Maybe(Several(TEXT)),
}
DTYPE = Value(str, ("float32", "float64"))


def taken_common(model: Any) -> dict[str, Any]:
    """Parameters that can be kept, and features."""
    names = getattr(model, "feature_names_in_", None)
    params = {name: kept for name, value in model.get_params(deep=False).items() if (kept := _kept(value)) != ()}
    return {"params": params, "n_features_in_": model.n_features_in_, "feature_names_in_": names}


def made_common(kind: type, params: dict[str, Any], n_features_in_: int, feature_names_in_: Any) -> Any:
    """An estimator with parameters and features, to which what it learnt is to be added."""
    known = kind._get_param_names()  # type: ignore[attr-defined]
    unknown = sorted(set(params) - set(known))
    need(not unknown, "params", f"name {', '.join(unknown[:3])}, which {kind.__name__} has not")
    model = kind(**params)
    model.n_features_in_ = n_features_in_
    if feature_names_in_ is not None:
        need(len(feature_names_in_) == n_features_in_, "feature_names_in_", f"are not {n_features_in_} names")
        model.feature_names_in_ = np.asarray(feature_names_in_, dtype=object)
    return model


def _kept(value: Any) -> Any:
    """A parameter as JSON can hold it, or () for one that it cannot."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return ()


class _Scaling:
    """Offsets and divisors of features."""

    def write(self, value: FeatureScaling, at: str, parts: Parts) -> Any:
        return value.as_dict()

    def read(self, stored: Any, at: str, parts: Parts) -> FeatureScaling:
        try:
            return scaling_from_dict(stored)
        except (SimcompleteError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{at} is not a scaling of features: {error}") from error


class _StoredCompletion:
    """A completion within a model; its factor comes back in memory, by rows or by columns as it was."""

    def write(self, value: Completion, at: str, parts: Parts) -> Any:
        arrays, facts = store.to_arrays_and_metadata(value)
        F = value.matrix.factor
        columns = isinstance(F, np.ndarray) and F.flags.f_contiguous and not F.flags.c_contiguous
        named = {name: parts.put(f"{at}.{name}", array) for name, array in arrays.items()}
        return {"arrays": named, "facts": facts, "order": "F" if columns else "C"}

    def read(self, stored: Any, at: str, parts: Parts) -> Completion:
        fits = isinstance(stored, dict) and set(stored) == {"arrays", "facts", "order"}
        need(
            fits and isinstance(stored["arrays"], dict) and isinstance(stored["facts"], dict), at, "is not a completion"
        )
        arrays: dict[str, Any] = {name: parts.get(at, given) for name, given in stored["arrays"].items()}
        if "factor" in arrays:
            F = arrays["factor"]
            F = np.asarray(F.whole() if isinstance(F, RowTable) else F)
            arrays["factor"] = np.asfortranarray(F) if stored["order"] == "F" else F
        return Completion(**store.made_of(arrays, stored["facts"], completion_model))


def _posterior_completer(
    model: Any,
    rows: RowTable,
    scaling: FeatureScaling | None,
    length: float | None,
    dtype: str,
    ids: RowIds | None,
    **common: Any,
) -> PosteriorCompleter:
    made: PosteriorCompleter = made_common(PosteriorCompleter, **common)
    d = made.n_features_in_
    need(rows.d == d and model.unit.shape[1] == d, "rows", f"have {rows.d} features, and {d} were fitted")
    need(len(model.unit) == rows.n, "rows", f"are {rows.n}, and the model has vectors of {len(model.unit)}")
    need(scaling is None or len(scaling.offset) == d, "scaling", f"is not that of {d} features")
    need(ids is None or len(ids) == len(model.unit), "ids", f"are not {len(model.unit)}")
    made._dtype, made.scaling_, made.ids_ = np.dtype(dtype), scaling, ids
    made._changes = RowChanges(made.metric, scaling, length)
    if isinstance(model, CandidateModel):
        made._keep_candidates(in_memory(model))
    elif isinstance(model, CompleteRowsModel):
        made._keep(replace(model, model=in_memory(model.model)), rows.in_memory())
    else:
        made._keep(model, rows.in_memory())
    return made


def _taken_posterior(made: PosteriorCompleter) -> dict[str, Any]:
    own = {"model": made._model, "rows": made._rows, "scaling": made.scaling_, "dtype": str(made._dtype)}
    return {**taken_common(made), **own, "ids": made.ids_, "length": made._changes.length}


class _Ids:
    """Ids of rows: text or whole numbers, each once."""

    def write(self, value: RowIds, at: str, parts: Parts) -> Any:
        return value.as_list()

    def read(self, stored: Any, at: str, parts: Parts) -> RowIds:
        need(isinstance(stored, list), at, "are not a list")
        try:
            return RowIds.of(stored, len(stored))
        except SimcompleteError as error:
            raise FileFormatError(f"{at}: {error}") from error


POSTERIOR = Record(
    PosteriorCompleter,
    {
        **COMMON,
        "model": POSTERIOR_MODEL,
        "rows": TableOf(("rows", "d")),
        "scaling": Maybe(_Scaling()),
        "length": Maybe(Value(float, low=float(np.finfo(np.float64).tiny))),
        "dtype": DTYPE,
        "ids": Maybe(_Ids()),
    },
    _posterior_completer,
    _taken_posterior,
)


def _kernel(completer_: PosteriorCompleter, vectors_: Any, **common: Any) -> PosteriorKernel:
    made: PosteriorKernel = made_common(PosteriorKernel, **common)
    d, fitted = made.n_features_in_, completer_.candidates_.shape
    need(completer_.n_features_in_ == d, "completer_", f"has other features than the {d} that were fitted")
    need(vectors_.shape == fitted, "vectors_", f"are not {fitted[0]} of {fitted[1]} features")
    made.completer_, made.vectors_, made._n_features_out = completer_, vectors_, len(vectors_)
    return made


KERNEL = Record(
    PosteriorKernel,
    {**COMMON, "completer_": POSTERIOR, "vectors_": Floats("kernel rows", "kernel columns")},
    _kernel,
    lambda made: {**vars(made), **taken_common(made)},
)


def _taken_completer(made: Completer) -> dict[str, Any]:
    own = {"completion": made.completion_, "rows": made._fitted_rows, "dtype": str(np.dtype(made._fit_dtype))}
    return {**taken_common(made), **own, "rank_": made.rank_, "n_iter_": made.n_iter_}


def completer_record(kind: type[Completer]) -> Record:
    """The layout of one of the estimators that complete fitted rows."""

    def made(completion: Completion, rows: Any, dtype: str, rank_: int, n_iter_: int, **common: Any) -> Completer:
        model: Completer = made_common(kind, **common)
        d = model.n_features_in_
        need(rows is None or rows.shape == (completion.n, d), "rows", f"are not {completion.n} of {d} features")
        model.rank_, model.n_iter_ = rank_, n_iter_
        model._keep_fit(completion, rows, np.dtype(dtype))
        return model

    fields: dict[str, Layout] = {
        **COMMON,
        "completion": _StoredCompletion(),
        "rows": Maybe(Floats("rows", "d")),
        "dtype": DTYPE,
        "rank_": COUNT,
        "n_iter_": COUNT,
    }
    return Record(kind, fields, made, _taken_completer)


LIMITS = Record(ValueLimits, {name: Floats("all") for name in ("digits", "low", "high")})


def _imputer(limits: ValueLimits, with_values: Any, model: Any, indicated: Any, **common: Any) -> PosteriorImputer:
    made: PosteriorImputer = made_common(PosteriorImputer, **common)
    d, kept = made.n_features_in_, int(with_values.sum())
    need(len(with_values) == d, "with_values", f"has {len(with_values)} of {d} features")
    need(kept == (0 if model is None else len(model.level)), "model", f"is not of the {kept} features with values")
    made._limits, made._with_values, made._model = limits, with_values, model
    made.indicator_ = None
    if indicated is not None:  # fitted to rows in which these features, and no others, have gaps
        rows = np.zeros((2, d))
        rows[0, indicated] = np.nan
        made.indicator_ = MissingIndicator(error_on_new=False).fit(rows)
    return made


def _taken_imputer(made: PosteriorImputer) -> dict[str, Any]:
    indicated = None if made.indicator_ is None else np.asarray(made.indicator_.features_, dtype=np.int64)
    own = {"limits": made._limits, "with_values": made._with_values, "model": made._model, "indicated": indicated}
    return {**taken_common(made), **own}


IMPUTER = Record(
    PosteriorImputer,
    {
        **COMMON,
        "limits": LIMITS,
        "with_values": Flags("all"),
        "model": Maybe(VALUE_MODEL),
        "indicated": Maybe(ArrayOf("whole numbers", ("indicated",), below="all")),
    },
    _imputer,
    _taken_imputer,
)
PROOF = Record(
    Proof,
    {
        "objective": Value(float),
        "lower_bound": Value(float),
        "kind": TEXT,
        "starts": Maybe(COUNT),
        "agreed": Maybe(COUNT),
    },
)
REPAIR = Record(
    Repair,
    {
        "values": Floats("d", "d"),
        "given": Floats("d", "d"),
        "status": STATUS,
        "certificate": PROOF,
        "notes": Several(TEXT),
        "n_iter": COUNT,
        "dual": Maybe(Floats("multipliers")),
    },
)
FITTED_MATRICES = ("correlation_", "covariance_", "precision_")


def _correlation(location_: Any, repair_: Repair, **parts: Any) -> NearestCorrelation:
    matrices = {name: parts.pop(name) for name in FITTED_MATRICES}
    made: NearestCorrelation = made_common(NearestCorrelation, **parts)
    need(len(location_) == made.n_features_in_, "location_", f"is not that of {made.n_features_in_} features")
    made.location_, made.repair_ = location_, repair_
    for name, matrix in matrices.items():
        setattr(made, name, matrix)
    return made


CORRELATION = Record(
    NearestCorrelation,
    {**COMMON, "location_": Floats("d"), "repair_": REPAIR, **{name: Floats("d", "d") for name in FITTED_MATRICES}},
    _correlation,
    lambda made: {**vars(made), **taken_common(made)},
)
COMPLETERS = tuple(completer_record(kind) for kind in (SMCNN, SMCNmF, SimilarityCompleter))
ESTIMATOR = Either(lambda: (POSTERIOR, KERNEL, *COMPLETERS, IMPUTER, CORRELATION))
