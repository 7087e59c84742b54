"""`SimilarityCompleter`: any method of the registry by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._method.names import with_own_parameters
from simcomplete._registry import REGISTRY
from simcomplete._rows.scaling import Center, Scale
from simcomplete._similarity.measure import Metric
from simcomplete.errors import InputError
from simcomplete.estimators._base import SHARED, Completer

VIEWS = ("unit_diagonal", "keep_candidates", "clip")  # ways to read a result, not to make one


class SimilarityCompleter(Completer):
    """Completed similarities by any method, as a factor where the method has one.

    Parameters
    ----------
    method : str
        A name from `simcomplete.methods()`, or "auto". Methods without an out-of-sample form have no `transform`.
    rank : int, optional
        Bound on the rank, at most the number of samples; None means min(100, n_samples).
    penalty : float
        Weight of the method's penalty, lambda of the paper.
    metric : {"cosine", "pearson"}
        Similarity over common features.
    center, scale : {"mean", "median"}, {"sd", "robust"}, optional
        Subtract this from every feature and divide by that, computed from the fitted rows; new rows are transformed
        with the same numbers.
    min_overlap : int
        Pairs with fewer common features have similarity 0 and no evidence.
    epsilon, positive : float, bool
        Smooth zero vectors; map scores to (0, 1]. See `simcomplete.overlap_similarity`.
    params : dict, optional
        The method's own parameters, such as ``{"solver": "descent", "step": 0.01}``; the notes list all.
    random_state : int, Generator or None
        Seed of random methods.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Attributes
    ----------
    factor_ : array of shape (n_samples, rank) or None
        The completed similarities are ``factor_ @ factor_.T``; None if the result is not such a product.
    completion_ : Completion
        The whole result, in float64.
    rank_ : int
        Numerical rank of the result.
    n_iter_ : int
        Iterations made; 1 for a direct method.
    n_features_in_ : int
        Features seen when fitting.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where a frame had some.

    See Also
    --------
    SMCNN, SMCNmF : The paper's methods, with their parameters spelled out.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import SimilarityCompleter
    >>> X = np.array([[3.0, 4.0], [2.0, np.nan], [np.nan, 1.0]])
    >>> SimilarityCompleter(method="overlap").fit(X).similarity()
    array([[1., 1., 1.],
           [1., 1., 0.],
           [1., 0., 1.]])
    """

    def __init__(
        self,
        *,
        method: str = "smcnn",
        rank: int | None = None,
        penalty: float = 1e-3,
        metric: Metric = "cosine",
        center: Center = None,
        scale: Scale = None,
        min_overlap: int = 1,
        epsilon: float = 0.0,
        positive: bool = False,
        params: Mapping[str, Any] | None = None,
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.method = method
        self.rank = rank
        self.penalty = penalty
        self.metric = metric
        self.center = center
        self.scale = scale
        self.min_overlap = min_overlap
        self.epsilon = epsilon
        self.positive = positive
        self.params = params
        self.random_state = random_state
        self.progress = progress

    def _wiring(self) -> tuple[str, dict[str, Any]]:
        own = {} if self.params is None else self.params
        if not isinstance(own, Mapping):
            raise InputError(f"params={self.params!r} is not a dict; give the method's own parameters by name, or None")
        for name in own:
            if name in ("method", *SHARED):
                raise InputError(f"params holds {name!r}, which is a parameter of SimilarityCompleter; set it there")
            if name == "biases":
                raise InputError("params holds 'biases', and new rows have none; use sc.complete(X, biases=...)")
            if name in VIEWS:
                raise InputError(f"params holds {name!r}; read the result that way with completion_.view({name}=True)")
        return self.method, dict(own)


SimilarityCompleter.__doc__ = with_own_parameters(SimilarityCompleter.__doc__, REGISTRY.values())
