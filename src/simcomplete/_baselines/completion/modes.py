"""Matrix completion on the samples or on the similarities: what its methods are given, and how they end.

mode "X"   complete the (n, d) table of samples, then compare the filled rows: observed values stay, the result is a
           Gram matrix, exact on complete candidates
mode "S"   take S0 for a fully observed but noisy (n, n) matrix and return the symmetrised *fit*; with every entry
           observed, "fit where missing, input where observed" would only give S0 back

A mask that hides all but the candidate block of S0 is not offered: the rows of queries would have no observation at
all, and low-rank completion fills them with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh

from simcomplete._baselines.imputation.filled import complete_filled, fill_missing
from simcomplete._baselines.similarities import own_similarities
from simcomplete._method.iterate import Facts, Stop
from simcomplete._method.params import Number, Words, parameter
from simcomplete._method.problem import Problem
from simcomplete._method.settings import as_recorded
from simcomplete._method.spec import Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._types import Matrix
from simcomplete.errors import InputError

LARGEST = 1e100  # squares of squares of products have to be finite
EPS = float(np.finfo(np.float64).eps)
MAX = float(np.finfo(np.float64).max)
# The two parameters that every method here has.
MODE = (
    parameter(
        "mode",
        None,
        Words("X", "S"),
        meaning="complete the samples (X) or smooth similarities (S); None: X if it can",
    ),
    parameter("unit", "auto", Words("auto"), Number(above=True), meaning="what values are divided by"),
)


@dataclass(frozen=True)
class MaskedMatrix:
    """A matrix to complete: `values` divided by `unit`, 0 where missing; `mask` 1 where observed, None for everywhere.

    Examples
    --------
    >>> data = MaskedMatrix(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    >>> data.residual(np.array([[0.25, -7.0]]))
    array([[0.75, 0.  ]])
    """

    values: Matrix
    mask: Matrix | None = None
    mode: Literal["X", "S"] = "X"
    unit: float = 1.0

    @property
    def count(self) -> float:
        """How many values are observed, at least 1."""
        return float(self.values.size if self.mask is None else max(self.mask.sum(), 1.0))

    @property
    def mean(self) -> float:
        """The mean of what is observed."""
        return float(self.values.sum()) / self.count

    def residual(self, fit: Matrix) -> Matrix:
        """What a fit leaves of the observed values; 0 where nothing is observed."""
        return self._left(np.array(fit))

    def residual_of(self, left: Matrix, right: Matrix) -> Matrix:
        """The same of the product of two factors, in the place of that product."""
        return self._left(left @ right)

    def _left(self, fit: Matrix) -> Matrix:
        np.subtract(self.values, fit, out=fit)
        if self.mask is not None:
            fit *= self.mask
        return fit


def sum_of_squares(R: Matrix) -> float:
    """|R|_F^2 row by row: no other array of that size, and rounding as small as in a sum over all.

    Examples
    --------
    >>> sum_of_squares(np.array([[1.0, 2.0], [0.0, 2.0]]))
    9.0
    """
    return float(np.sum(np.einsum("ij,ij->i", R, R)))


@dataclass(frozen=True)
class ModeFit:
    """What a method made of a data, how it went, and parameters as used.

    The fit is `values`, or `left` @ `right`, or (mode "S" only, in the data's own units) a symmetric `matrix`.
    """

    status: Status
    history: list[Facts] = field(default_factory=list)
    values: Matrix | None = None
    left: Matrix | None = None
    right: Matrix | None = None
    matrix: SymmetricMatrix | None = None
    used: dict[str, Any] = field(default_factory=dict)

    def dense(self) -> Matrix:
        """The fit as one matrix."""
        if self.values is not None:
            return self.values
        assert self.left is not None and self.right is not None  # one of the two forms is always there
        return self.left @ self.right

    def symmetric(self, unit: float) -> SymmetricMatrix:
        """The symmetrised fit: a factor with signs where it is low-rank, dense where it is not."""
        if self.matrix is not None:
            return self.matrix
        if self.left is None or self.right is None:
            S = self.dense() * unit
            S = S + S.T
            S /= 2
            return SymmetricMatrix(dense=S)
        return symmetrised(self.left * unit, self.right)


def complete_by(
    problem: Problem,
    name: str,
    params: dict[str, Any],
    solve: Callable[[MaskedMatrix], ModeFit],
    unit: Callable[[MaskedMatrix], float],
) -> Completion:
    """Pose the data of the mode asked for, solve it, and end as that mode ends.

    Parameters
    ----------
    problem, name, params : Problem, str, dict
        What every method gets; `params` has "mode" and "unit".
    solve : callable
        The method itself.
    unit : callable
        What ``unit="auto"`` divides the values by.
    """
    data = pose(problem, params["mode"], params["unit"], unit)
    used = {**as_recorded(params), "mode": data.mode, "unit": data.unit}
    if params.get("start") is not None and not isinstance(params["start"], str):
        used["start"] = "given"
    if data.mode == "X" and data.mask is None:
        status = Status("computed", "no value is missing: these are the exact similarities")
        return complete_filled(problem, name, used, problem.table, status=status)
    fit = solve(data) if data.values.any() else nothing(data)
    facts = {"status": fit.status, "history": fit.history}
    used |= fit.used
    if data.mode == "S":
        return problem.result(name, used, fit.symmetric(data.unit), **facts)
    estimate = fit.dense()
    with np.errstate(over="ignore"):  # what is beyond all numbers is clipped to what was observed
        estimate *= data.unit
    del data, fit
    return complete_filled(problem, name, used, fill_missing(problem.table, estimate), **facts)


def nothing(data: MaskedMatrix) -> ModeFit:
    """The fit of zeros, which has no scale and no direction: 0."""
    n1, n2 = data.values.shape
    return ModeFit(Status("computed", "everything observed is 0"), left=np.zeros((n1, 0)), right=np.zeros((0, n2)))


def pose(problem: Problem, mode: Any, unit: Any, auto: Callable[[MaskedMatrix], float]) -> MaskedMatrix:
    """Check `mode` and `unit`, and make the matrix to complete."""
    mode = _mode(problem, mode)
    if mode == "S":
        values, mask = own_similarities(problem), None
    else:
        observed = ~np.isnan(problem.table)
        values = np.where(observed, problem.table, 0.0)
        mask = None if observed.all() else observed.astype(np.float64)
    size = float(max(values.max(), -values.min()))
    if unit == "auto":
        # Divided by their size first, squares neither overflow nor vanish.
        unit = min(size * (auto(MaskedMatrix(values / size, mask)) or 1.0), MAX) if size > 0 else 1.0
    elif size / unit > LARGEST:
        raise InputError(
            f"unit={unit!r} is too small for values up to {size:g}; use 'auto', or 1 for values as they are"
        )
    values /= float(unit)  # in its place: there is no other use for it
    return MaskedMatrix(values, mask, mode, float(unit))


def _mode(problem: Problem, mode: Any) -> Literal["X", "S"]:
    if mode == "X" and not problem.has_rows:
        raise InputError("mode='X' completes samples, and only similarities were given; use mode='S' or complete()")
    return "S" if mode == "S" or not problem.has_rows else "X"


def largest_singular(data: MaskedMatrix) -> float:
    """The largest singular value of the zero-filled matrix, from the Gram matrix of its shorter side."""
    Z = data.values
    G = Z.T @ Z if Z.shape[0] >= Z.shape[1] else Z @ Z.T
    last = len(G) - 1  # the transpose is in Fortran's order, and so decomposed in its place
    return float(max(eigh(G.T, eigvals_only=True, subset_by_index=(last, last), overwrite_a=True)[0], 0.0) ** 0.5)


def leading(Z: Matrix, k: int) -> tuple[Matrix, Matrix, Matrix]:
    """At most k leading singular triples U, s, V^T, without those that are 0 to rounding.

    Examples
    --------
    >>> U, s, Vt = leading(np.diag([3.0, 0.0, 2.0]), 3)
    >>> s
    array([3., 2.])
    """
    if Z.shape[0] < Z.shape[1]:
        return tuple(part.T for part in leading(Z.T, k)[::-1])  # type: ignore[return-value]
    k = min(k, Z.shape[1])
    try:
        _, V = eigh((Z.T @ Z).T, subset_by_index=(Z.shape[1] - k, Z.shape[1] - 1), overwrite_a=True)
    except np.linalg.LinAlgError:  # see `eigenpairs_of`; the Gram matrix was written over
        V = np.linalg.eigh(Z.T @ Z)[1][:, Z.shape[1] - k :]
    # The Gram matrix squares the condition; one small SVD of Z V restores s and U to full accuracy.
    U, s, W = np.linalg.svd(Z @ V[:, ::-1], full_matrices=False)
    keep = s > max(Z.shape) * EPS * max(s[0], 0.0)
    return U[:, keep], s[keep], (W @ V[:, ::-1].T)[keep]


def symmetrised(left: Matrix, right: Matrix) -> SymmetricMatrix:
    """(A B + B^T A^T) / 2 as a factor with signs, from one small eigendecomposition.

    With [A, B^T] = Q [R_A, R_B] it is Q ((R_A R_B^T + R_B R_A^T) / 2) Q^T.

    Examples
    --------
    >>> S = symmetrised(np.array([[2.0], [0.0]]), np.array([[0.0, 1.0]]))
    >>> S.block(slice(0, 2), slice(0, 2)).round(12)
    array([[0., 1.],
           [1., 0.]])
    """
    k = left.shape[1]
    if k == 0:
        return SymmetricMatrix(factor=np.zeros((len(left), 1)))
    Q, R = np.linalg.qr(np.concatenate([left, right.T], axis=1))
    middle = R[:, :k] @ R[:, k:].T
    w, W = np.linalg.eigh((middle + middle.T) / 2)
    return signed(w, Q @ W)


def signed(w: Matrix, U: Matrix) -> SymmetricMatrix:
    """U diag(w) U^T as a factor with signs, without what is 0 to rounding; no signs where none is negative."""
    size = np.abs(w)
    keep = size > len(U) * EPS * size.max()
    if not keep.any():
        return SymmetricMatrix(factor=np.zeros((len(U), 1)))
    signs = np.sign(w[keep])
    factor = U[:, keep]  # a copy, scaled in its place
    factor *= np.sqrt(size[keep])
    return SymmetricMatrix(factor=factor, signs=None if (signs > 0).all() else signs)


def settled(tol: float, of: str = "itself") -> Stop:
    """The stop test of steps that stand for themselves: the measured `change` falls to `tol`."""
    message = f"a step changes the answer by less than {tol:g} of {of}"
    return lambda facts, recent: Status("converged", message) if facts["change"] <= tol else None


def flat(tol: float, over: int = 5) -> Stop:
    """The stop test of steps with momentum or memory: some of them together hardly lower the objective."""

    def stop(facts: Facts, recent: Sequence[float]) -> Status | None:
        if len(recent) > over and recent[-1 - over] - recent[-1] <= over * tol * abs(recent[-1]):
            return Status("converged", f"a step lowers the objective by less than {tol:g} of itself")
        return None

    return stop


def factor_work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """Operations of a method that multiplies a table with its factors in every iteration."""
    return 6.0 * float(params["max_iter"]) * sizes.n * sizes.d * sizes.rank


def given_pair(start: Any, shape: tuple[int, ...]) -> tuple[Matrix, Matrix]:
    """Two factors to start from, checked."""
    need = f"two finite arrays, ({shape[0]}, k) and ({shape[1]}, k)"
    try:
        W, H = (np.array(part, dtype=np.float64) for part in start)
    except (TypeError, ValueError) as error:
        raise InputError(f"start must be {need}; {error}") from error
    fits = W.ndim == H.ndim == 2 and (len(W), len(H)) == shape and W.shape[1] == H.shape[1] > 0
    if not fits or not (np.isfinite(W).all() and np.isfinite(H).all()):
        raise InputError(f"start has shapes {W.shape} and {H.shape}; it must be {need}")
    return W, H
