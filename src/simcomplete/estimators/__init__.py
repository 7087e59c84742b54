"""scikit-learn estimators: `PosteriorCompleter`, `SMCNN`, `SMCNmF`, and `SimilarityCompleter` for any method by name.

``fit(X)`` completes samples that may all be incomplete, ``fit_transform(X)`` gives the factor whose products are the
completed similarities, ``transform(X_new)`` the same for new samples without fitting again, and
``similarity(X_new)`` the similarities themselves, for ``kernel="precomputed"`` and the like. `NearestCorrelation`
estimates a valid covariance matrix, in the manner of sklearn.covariance.
"""

from simcomplete.estimators._any import SimilarityCompleter
from simcomplete.estimators._correlation import NearestCorrelation
from simcomplete.estimators._imputer import PosteriorImputer
from simcomplete.estimators._kernel import PosteriorKernel
from simcomplete.estimators._paper import SMCNN, SMCNmF
from simcomplete.estimators._posterior import PosteriorCompleter

__all__ = [
    "SMCNN",
    "NearestCorrelation",
    "PosteriorCompleter",
    "PosteriorImputer",
    "PosteriorKernel",
    "SMCNmF",
    "SimilarityCompleter",
]
