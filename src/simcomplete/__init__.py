"""simcomplete: the similarity matrix you would have had on complete data.

>>> import numpy as np, simcomplete as sc
>>> done = sc.complete(np.eye(3), np.array([[1.0, np.nan, 0.0]]), method="smcnn")
>>> done.search(k=1).ids
array([[0]])
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from simcomplete import datasets, errors, masks, metrics, theory
from simcomplete._api import complete, complete_similarity
from simcomplete._correlation.covariance import nearest_covariance
from simcomplete._correlation.estimate import Estimate
from simcomplete._correlation.factors import factor_correlation
from simcomplete._correlation.nearest import nearest_correlation
from simcomplete._correlation.repair import Repair
from simcomplete._correlation.samples import correlation, covariance
from simcomplete._correlation.shrink import shrink_to_valid
from simcomplete._load import load
from simcomplete._posterior.same_rows.duplicates import duplicates
from simcomplete._posterior.values.pooling import pool
from simcomplete._registry import methods
from simcomplete._result.completion import Completion
from simcomplete._similarity.overlap import overlap_counts, overlap_similarity
from simcomplete._version import __version__

if _TYPE_CHECKING:
    from simcomplete import estimators, scorers
    from simcomplete.estimators import (
        SMCNN,
        NearestCorrelation,
        PosteriorCompleter,
        PosteriorImputer,
        PosteriorKernel,
        SimilarityCompleter,
        SMCNmF,
    )

# scikit-learn takes a second to import, so what stands on it waits until it is asked for.
_ESTIMATORS = (
    "NearestCorrelation",
    "PosteriorCompleter",
    "PosteriorImputer",
    "PosteriorKernel",
    "SMCNN",
    "SMCNmF",
    "SimilarityCompleter",
)
_MODULES = ("estimators", "scorers")

__all__ = [
    "SMCNN",
    "Completion",
    "Estimate",
    "NearestCorrelation",
    "PosteriorCompleter",
    "PosteriorImputer",
    "PosteriorKernel",
    "Repair",
    "SMCNmF",
    "SimilarityCompleter",
    "__version__",
    "complete",
    "complete_similarity",
    "correlation",
    "covariance",
    "datasets",
    "duplicates",
    "errors",
    "estimators",
    "factor_correlation",
    "load",
    "masks",
    "methods",
    "metrics",
    "nearest_correlation",
    "nearest_covariance",
    "overlap_counts",
    "overlap_similarity",
    "pool",
    "scorers",
    "shrink_to_valid",
    "theory",
]


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return _import_module(f"simcomplete.{name}")
    if name in _ESTIMATORS:
        return getattr(_import_module("simcomplete.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
