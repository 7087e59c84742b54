"""`nnfn`: nuclear norm minus Frobenius norm, min 1/2 |M * (X - O)|_F^2 + weight (|X|_* - |X|_F).

Wang, Yao, Kwok, "A scalable, adaptive and sound nonconvex regularizer for low-rank matrix completion", WWW 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import eigh, svd

from simcomplete._baselines.completion.modes import (
    EPS,
    MODE,
    MaskedMatrix,
    ModeFit,
    complete_by,
    largest_singular,
    settled,
    signed,
    sum_of_squares,
)
from simcomplete._baselines.completion.reduced import reduced, table_memory
from simcomplete._baselines.iteration import limits
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._method.memory import mode_memory
from simcomplete._method.params import ITERATION, Flag, Parameters, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.status import Status
from simcomplete._rows.partial_eigen import eigenpairs_of
from simcomplete._types import Matrix

# The shared default penalty, 0.001, then takes one percent of the largest singular value off every other.
UNITS = 10.0
# How precise singular values have to be, as a share of the threshold: from a Gram matrix they are right to eps s_1^2/s.
PRECISION = 2e-8
# Rounding of the squares, as a share of the squared threshold, up to which none that is 0 seems to be above it.
MAX_ROUNDING = 0.1
MAX_KEPT_SHARE = 0.6
# Weights from which a small one is approached: the first as a share of the largest singular value, and each of the one
# before. A stage before the last ends where a step changes X by less than this.
FIRST_SHARE, NEXT_SHARE, STAGE_TOL = 0.1, 0.3, 1e-2
# Steps without momentum never become longer: where all that are left, at this share of the penalty or more each, move X
# by less than that share of itself, they are not made.
FULL_STEP, HOPELESS = 0.1, 0.01
TINY = float(np.finfo(np.float64).tiny)


def prox(y: Matrix, t: float, alpha: float = 1.0) -> Matrix:
    """Minimise 1/2 |x - y|^2 + t (|x|_1 - alpha |x|_2) over x (Lou and Yan 2018); y = 0 gives 0.

    Two branches: where the largest |y| exceeds t the soft threshold is stretched by 1 + alpha t/|z|; below, down to
    (1 - alpha) t, only one largest entry is left. With alpha = 1 an entry always is.

    Examples
    --------
    >>> prox(np.array([3.0, -1.0, 0.5]), 1.0)  # z = (2, 0, 0), times 1 + 1/2
    array([ 3., -0.,  0.])
    >>> prox(np.array([0.5, 0.25]), 1.0)  # nothing above t: the largest stays as it is
    array([0.5, 0. ])
    """
    size = np.abs(y)
    top = float(size.max(initial=0.0))
    z = np.maximum(size - t, 0.0)
    if top > t:
        length = (top - t) * float(np.linalg.norm(z / (top - t)))  # no square vanishes
        return np.asarray(np.sign(y) * z * (1 + alpha * t / length))
    z[:] = 0.0
    if top > 0 and top >= (1 - alpha) * t:
        z[np.argmax(size)] = top + (alpha - 1) * t
    return np.asarray(np.sign(y) * z)


def matrix_prox(Z: Matrix, t: float, precision: float = PRECISION) -> tuple[Matrix, Matrix]:
    """Apply the prox to the singular values; return the matrix and those values."""
    return MatrixProx(t, precision)(Z)


class MatrixProx:
    """The prox of a threshold on singular values, for one matrix after the other.

    Only values above t survive, so the eigenpairs of the Gram matrix above t^2 are enough: X = Z V diag(x/s) V^T. They
    are right to eps s_1^2/s, and must be to `precision` times t; where they are not, a singular value decomposition
    takes their place, for all matrices that follow.
    """

    def __init__(self, t: float, precision: float = PRECISION) -> None:
        self.t, self.precision = t, precision
        self._by_svd = False

    def __call__(self, Z: Matrix) -> tuple[Matrix, Matrix]:
        """Return the matrix after the prox, and its singular values."""
        if Z.shape[0] < Z.shape[1]:
            X, s = self(Z.T)
            return X.T, s
        found = None if self._by_svd else self._by_gram(Z)
        if found is not None:
            return found
        self._by_svd = True
        U, s, Vt = svd(Z, full_matrices=False)
        x = prox(s, self.t)
        return (U * x) @ Vt, x

    def _by_gram(self, Z: Matrix) -> tuple[Matrix, Matrix] | None:
        """The same from the Gram matrix; None where that is not precise enough."""
        t, G = self.t, Z.T @ Z
        w, V = eigenpairs_of(G, value=(t * t, np.inf), check_finite=False)
        if len(w) == 0:  # the second branch of the prox needs the largest
            w, V = eigenpairs_of(G, (len(G) - 1, len(G) - 1), check_finite=False)
        s = np.sqrt(np.maximum(w, 0.0))
        rounding = EPS * float(w[-1])  # of every eigenvalue
        wrong = float(np.sqrt(np.mean((rounding / np.maximum(s, max(t, TINY))) ** 2)))
        if rounding > MAX_ROUNDING * t * t or wrong > self.precision * t:
            return None
        x = prox(s, t)
        share = np.divide(x, s, out=np.zeros_like(x), where=s > 0)
        if len(s) < MAX_KEPT_SHARE * len(V):
            return (Z @ (V * share)) @ V.T, x
        root = V * np.sqrt(share)  # most values survive: one symmetric product first takes fewer operations
        return Z @ (root @ root.T), x


@dataclass(frozen=True)
class ProximalIterate:
    """X, the X before it, the momentum's counter, what is measured, and the weight it was measured with.

    `change` is the length of the step by what the penalty takes off, `share` by the size of X.
    """

    X: Matrix
    before: Matrix
    momentum: float
    objective: float
    change: float
    rank: int
    weight: float
    share: float = 1.0


def proximal_gradient(
    data: MaskedMatrix,
    weight: float,
    within: Limits,
    tol: float = 1e-3,
    *,
    accelerate: bool = True,
    first: float | None = None,
) -> Run[ProximalIterate]:
    """Complete a matrix by proximal gradient with unit step from X = 0.

    X <- prox_weight(X + M * (O - X)); the loss has a 1-Lipschitz gradient, so the objective never rises. With
    `accelerate` the step starts from X + momentum (X - X_before) where that lowers the objective too, and from X
    where it does not (then the momentum starts again): still monotone, several times fewer steps. The end is where a
    step changes X by less than `tol` of what the penalty takes off, weight times the root of the rank: a small weight
    goes a long way in small steps, and neither the size of X nor the objective shows that.

    Large weights converge in a few steps. With `first`, the weight begins there and falls to `weight` by stages, each
    from the X of the one before: several times fewer steps again. A smaller weight lowers the objective of the same X,
    so that the objective, each with the weight of its step, still never rises.

    Examples
    --------
    >>> O = np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    >>> M = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    >>> run = proximal_gradient(MaskedMatrix(O * M, M), 0.1, Limits(500), tol=1e-9)
    >>> run.state.X.round(3)[2]  # rank one costs nothing: |X|_* = |X|_F
    array([3., 3., 6.])
    """

    # Ten times more precise than what the stop test looks at.
    shrink = cache(lambda weight: MatrixProx(weight, max(PRECISION, 0.1 * tol)))

    def point(Y: Matrix, at: ProximalIterate, momentum: float, weight: float) -> ProximalIterate:
        Z = data.residual(Y)
        Z += Y
        X, s = shrink(weight)(Z)
        del Y, Z  # large, and not needed below
        rest = data.residual(X)
        objective = 0.5 * sum_of_squares(rest) + weight * float(s.sum() - np.linalg.norm(s))
        size, rank = float(np.linalg.norm(s)), int(np.count_nonzero(s))
        # The penalty takes `weight` off each of `rank` values: a step much smaller than that is at the end of its way.
        scale = max(min(weight * rank**0.5, size), 1e-9 * size, TINY)
        moved = float(np.linalg.norm(np.subtract(X, at.X, out=rest)))
        return ProximalIterate(X, at.X, momentum, objective, moved / scale, rank, weight, moved / max(size, TINY))

    def step(at: ProximalIterate) -> ProximalIterate:
        if at.weight > weight and at.change <= STAGE_TOL:
            return point(at.X, at, 1.0, max(weight, NEXT_SHARE * at.weight))
        if accelerate:
            momentum = (1 + (1 + 4 * at.momentum**2) ** 0.5) / 2
            ahead = point(extrapolated(at, (at.momentum - 1) / momentum), at, momentum, at.weight)
            if ahead.objective <= at.objective:
                return ahead
        return point(at.X, at, 1.0, at.weight)

    zero = np.zeros_like(data.values)
    begin = weight if first is None else max(weight, first)
    start = ProximalIterate(zero, zero, 1.0, 0.5 * sum_of_squares(data.values), 1.0, 0, begin)

    def measure(at: ProximalIterate) -> dict[str, float]:
        return {"objective": at.objective, "change": at.change, "rank": at.rank, "weight": at.weight, "share": at.share}

    still = settled(tol, "what the penalty takes off")

    def stop(facts: Facts, recent: Sequence[float]) -> Status | None:
        left = within.max_iter - facts["iteration"]
        if not accelerate and tol > 0 and facts["change"] >= FULL_STEP and facts["share"] * left <= HOPELESS and left:
            message = f"the {left:.0f} steps left would change X by less than {HOPELESS:.0%}: use unit='auto'"
            return Status("max_iter", f"{message}, or a larger penalty", ok=False)
        return still(facts, recent) if facts["weight"] == weight else None

    return iterate(start, step, measure=measure, stop=stop, limits=within)


def extrapolated(at: ProximalIterate, ahead: float) -> Matrix:
    """X + ahead (X - before), in one array."""
    Y = at.X - at.before
    Y *= ahead
    Y += at.X
    return Y


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete the table by proximal gradient, or shrink the eigenvalues of S0 once."""
    within, tol = limits(settings, params, "nnfn"), float(params["tol"])
    used = {"penalty": settings.penalty}

    def solve(data: MaskedMatrix) -> ModeFit:
        if data.mode == "S":
            # Fully observed, the prox of S0 is the answer. Eigenvalues keep their signs: it need not be PSD.
            w, U = eigh(data.values.T, overwrite_a=True)  # in its place: nothing needs S0 any more
            matrix = signed(prox(w, settings.penalty) * data.unit, U)
            return ModeFit(Status("optimal", "the global optimum, by one eigendecomposition"), matrix=matrix, used=used)
        small = reduced(data)
        given = data if small is None else small.data
        quick = bool(params["accelerate"])
        first = FIRST_SHARE * largest_singular(given) if quick and settings.penalty > 0 else None
        result = proximal_gradient(given, settings.penalty, within, tol, accelerate=quick, first=first)
        X = result.state.X if small is None else small.restored(result.state.X)
        return ModeFit(result.status, result.history, X, used=used)

    return complete_by(problem, "nnfn", params, solve, lambda data: UNITS * largest_singular(data))


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """X, the one before and the one to come, beside the data; in mode "S" one eigendecomposition."""
    on_table = table_memory(s, 3.5, lambda n: 8.3 * n * s.d + 3 * min(n, s.d) ** 2)
    return mode_memory(s, params, on_table, 3.1 * s.n**2)


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {"unit": 1.0, "accelerate": False}

METHODS = (
    Method(
        name="nnfn",
        family="matrix completion",
        acts_on="both",
        regularizer="nuclear minus Frobenius norm",
        solver="proximal gradient (mode X), exact (mode S)",
        psd=False,
        low_rank=False,
        keeps_candidates=False,
        random=False,
        reference="Wang, Yao, Kwok, WWW 2021",
        parameters=Parameters(
            *MODE,
            parameter("accelerate", True, Flag(), meaning="momentum, and a weight that falls by stages"),
            tol(1e-3, "stop where a step changes X by less than this share of what the penalty subtracts"),
            max_iter(1000),
            *ITERATION,
        ),
        original=ORIGINAL,
        grid=(*({"penalty": weight} for weight in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)), ORIGINAL),
        shared=MEASURE | {"penalty"},
        work=lambda sizes, params: params["max_iter"] * (4.0 * sizes.n * sizes.d**2 + 9.0 * sizes.d**3),
        memory=_memory,
        run=run,
    ),
)
