"""`SMCNN` and `SMCNmF`, the paper's two methods, with their parameters spelled out."""

from __future__ import annotations

from typing import Any, ClassVar

from simcomplete._rows.scaling import Center, Scale
from simcomplete._similarity.measure import Metric
from simcomplete.estimators._base import Completer

# The method's own parameters, by the same names.
OWN = ("solver", "route", "verify", "step", "max_iter", "tol", "start_scale", "start", "time_limit", "on_interrupt")


class _Paper(Completer):
    _method: ClassVar[str]

    def __init__(
        self,
        *,
        rank: int | None = None,
        penalty: float = 1e-3,
        metric: Metric = "cosine",
        center: Center = None,
        scale: Scale = None,
        min_overlap: int = 1,
        epsilon: float = 0.0,
        positive: bool = False,
        solver: str = "exact",
        route: str = "auto",
        verify: bool | None = None,
        step: float | str | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        start_scale: float | str | None = None,
        start: Any = None,
        time_limit: float | None = None,
        on_interrupt: str | None = None,
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.metric = metric
        self.center = center
        self.scale = scale
        self.min_overlap = min_overlap
        self.epsilon = epsilon
        self.positive = positive
        self.solver = solver
        self.route = route
        self.verify = verify
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.start_scale = start_scale
        self.start = start
        self.time_limit = time_limit
        self.on_interrupt = on_interrupt
        self.random_state = random_state
        self.progress = progress

    def _wiring(self) -> tuple[str, dict[str, Any]]:
        return self._method, {name: getattr(self, name) for name in OWN}


class SMCNN(_Paper):
    """Completed similarities by the nuclear norm, as a factor: the paper's Algorithm 1, solved exactly.

    Minimises ``|V V^T - S0|_F^2 + penalty * |V|_F^2`` over V of shape (n_samples, rank), S0 the similarities over
    common features.

    Parameters
    ----------
    rank : int, optional
        Columns of the factor, at most the number of samples; None means min(100, n_samples).
    penalty : float
        Weight of the penalty, lambda of the paper.
    metric : {"cosine", "pearson"}
        Similarity over common features.
    center, scale : {"mean", "median"}, {"sd", "robust"}, optional
        Subtract this from every feature and divide by that, computed from the fitted rows; new rows are transformed
        with the same numbers.
    min_overlap : int
        Pairs with fewer common features have similarity 0 and no evidence.
    epsilon, positive : float, bool
        Smooth zero vectors; map scores to (0, 1]. See `simcomplete.overlap_similarity`.
    solver : {"exact", "descent", "lbfgs"}
        "exact" takes one eigendecomposition and gives the global optimum; "descent" is the paper's own algorithm.
    route : {"auto", "full", "partial", "iterative", "structured"}
        How the eigenvalues are found.
    verify : bool, optional
        Whether the certificate's products with S0 are computed; None: up to 20,000 rows.
    step : float or {"safe", "backtracking", "paper"}, optional
        Of "descent", gamma of the paper; None means "safe".
    max_iter, tol, start_scale, time_limit : int, float, float or "auto", float, optional
        Of "descent" and "lbfgs": most iterations (None means 10,000), the gradient to stop at (1e-7), the size of the
        random start ("auto"), and seconds (no limit). They raise an error with the exact solver, which does not use
        them.
    start : array of shape (n_samples, rank), optional
        Of "descent" and "lbfgs": where to start, in place of a random start.
    on_interrupt : {"raise", "return"}, optional
        Of "descent" and "lbfgs": what Ctrl-C does, "raise" by default; "return" ends with the best so far.
    random_state : int, Generator or None
        Seed of the iterative solvers' start.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Attributes
    ----------
    factor_ : array of shape (n_samples, rank)
        V; the completed similarities are ``factor_ @ factor_.T``.
    completion_ : Completion
        The whole result, with certificate, status and search, in float64.
    rank_ : int
        Numerical rank of the result.
    n_iter_ : int
        Iterations made; 1 with the exact solver.
    n_features_in_ : int
        Features seen when fitting.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where a frame had some.

    See Also
    --------
    SMCNmF : A penalty that shrinks large eigenvalues less.
    SimilarityCompleter : Any method by name.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import SMCNN
    >>> X = np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    >>> model = SMCNN(rank=2).fit(X)
    >>> model.similarity([[2.0, 0.0, 0.0]]).round(2)  # a row as the first one
    array([[1.  , 0.  , 0.71]])
    >>> model.transform([[2.0, np.nan, 0.0]]).shape
    (1, 2)
    """

    _method = "smcnn"


class SMCNmF(_Paper):
    """Completed similarities by the nuclear minus the Frobenius norm: the paper's Algorithm 2, solved exactly.

    Minimises ``|V V^T - S0|_F^2 + penalty * (|V V^T|_* - |V V^T|_F)`` over V of shape (n_samples, rank), S0 the
    similarities over common features. Parameters and attributes are those of `SMCNN`.

    Parameters
    ----------
    rank, penalty, metric, center, scale, min_overlap, epsilon, positive, solver, route, verify, step, max_iter, tol
        As in `SMCNN`.
    start_scale, start, time_limit, on_interrupt, random_state, progress
        As in `SMCNN`.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import SMCNmF
    >>> X = np.array([[3.0, 4.0, 1.0], [2.0, np.nan, 1.0], [np.nan, 1.0, 5.0]])
    >>> SMCNmF(rank=2).fit_transform(X).shape
    (3, 2)
    """

    _method = "smcnmf"
