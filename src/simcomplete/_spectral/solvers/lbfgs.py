"""L-BFGS on the factor: SciPy's, the quickest of the iterative routes.

SciPy owns this loop, so the library's driver watches from its callback instead of leading: the same history, stop
test, limits and Ctrl-C, from the same code.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from simcomplete._method.iterate import Run, Watch
from simcomplete._result.status import Status
from simcomplete._rows.xp import Array, is_numpy, namespace
from simcomplete._spectral.penalties import SpectralProblem
from simcomplete._spectral.solvers.descent import DescentSettings, descent_facts, first_point, stop_test
from simcomplete._spectral.solvers.steps import Point, evaluate_point
from simcomplete._types import Vector
from simcomplete.errors import InputError

MEMORY = 20  # pairs of steps and gradients that stand for the curvature


def minimise_by_lbfgs(problem: SpectralProblem, settings: DescentSettings) -> tuple[Array, Run[Point]]:
    """Minimise over V with L-BFGS; NumPy only.

    Parameters
    ----------
    problem : SpectralProblem
        What to minimise.
    settings : DescentSettings
        Where to start and when to stop.

    Returns
    -------
    V, run : array of shape (n, rank) in float64, Run
        The last V where it converged or stands still, the best one otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._method.iterate import Limits
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> S0 = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
    >>> V, run = minimise_by_lbfgs(
    ...     SpectralProblem(DenseSimilarity(S0), Nuclear(), weight=1.0, rank=1), DescentSettings(Limits())
    ... )
    >>> (V @ V.T).round(3), run.status.code  # 3 - 1/2, along (1, 1)/sqrt(2)
    (array([[1.25, 1.25],
           [1.25, 1.25]]), 'converged')
    """
    if not is_numpy(problem.operator.array):
        library = namespace(problem.operator.array).__name__
        raise InputError(
            f"solver='lbfgs' is SciPy's and needs NumPy arrays, but these are {library}'s; "
            "use solver='descent' with step='backtracking', or give NumPy arrays"
        )
    shape = (problem.operator.n, problem.rank)
    latest = start = first_point(problem, settings)

    def at(x: Vector) -> Point:
        # SciPy asks for a point before it reports it; the same one is not computed twice.
        nonlocal latest
        if not np.array_equal(x, latest.V.ravel()):
            latest = evaluate_point(problem, x.reshape(shape).copy())
        return latest

    def value_and_gradient(x: Vector) -> tuple[float, Vector]:
        point = at(x)
        return point.objective, point.gradient.ravel()

    def report(intermediate_result: OptimizeResult) -> None:
        if not watch.sees(at(intermediate_result.x)):
            raise StopIteration

    # SciPy's own tests are switched off: the driver's decide.
    options = {"maxiter": settings.limits.max_iter, "maxfun": np.inf, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    with Watch(descent_facts, stop_test(problem, settings), settings.limits) as watch:
        if watch.sees(start):
            result = minimize(
                value_and_gradient,
                start.V.ravel(),
                method="L-BFGS-B",
                jac=True,
                callback=report,
                options=options,
            )
            message = f"L-BFGS finds nothing lower (SciPy: {str(result.message).strip(': ').lower()})"
            watch.status = watch.status or Status("stalled", message, ok=False)
    run = watch.run()
    ended = run.status.code in ("converged", "stalled")
    return (run.state if ended else run.best).V, run
