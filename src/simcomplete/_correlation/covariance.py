"""`nearest_covariance`: the valid covariance matrix nearest to one that is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete._caller import warn_caller
from simcomplete._correlation.bound import row_tol, sharper
from simcomplete._correlation.constrained import Asked, constrained_covariance
from simcomplete._correlation.constraints import count_up_to
from simcomplete._correlation.given import Given, read_symmetric, unknown_note
from simcomplete._correlation.held import Held
from simcomplete._correlation.labels import Labelled
from simcomplete._correlation.nearest import check_max_iter, check_start, repaired
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import is_positive_definite, with_diagonal
from simcomplete._correlation.repair import Proof, Repair
from simcomplete._correlation.solve import concluded, shown_nearest, with_entries
from simcomplete._method.iterate import Limits
from simcomplete._result.status import Status
from simcomplete._rows.validate import check_number
from simcomplete._types import Mask, Matrix, Vector
from simcomplete.errors import InputError, NotConvergedWarning


def nearest_covariance(
    A: Any,
    *,
    keep: str = "diagonal",
    through: str = "covariance",
    weights: Any = None,
    fixed: Any = None,
    lower: Any = None,
    upper: Any = None,
    block: int | None = None,
    min_eigenvalue: float = 0.0,
    rank: int | None = None,
    tol: float = 1e-10,
    start: Repair | None = None,
    max_iter: int | None = None,
    progress: bool | None = None,
) -> Repair:
    """Find the covariance matrix nearest to A: positive semi-definite, with the same variances.

    Parameters
    ----------
    A : array or frame of shape (n, n)
        Symmetric up to rounding. NaN is an unknown covariance; variances are needed.
    keep : {"diagonal", "nothing"}
        Whether the variances stay. With "nothing", eigenvalues below `min_eigenvalue` are raised to it.
    through : {"covariance", "correlation"}
        The distance is measured in covariances, where pairs with large variances have the largest weights, or in
        correlations, where all pairs have equal weights.
    weights : array of shape (n,) or (n, n), optional
        By row or by element, as for `nearest_correlation`; in addition to `through`.
    fixed : array or frame of shape (n, n), optional
        Covariances that must not change: True where one of A is fixed, or the fixed values with NaN elsewhere.
    lower, upper : float or array of shape (n, n), optional
        Bounds for covariances of different variables, NaN where there is none.
    block : int, optional
        Number of leading rows and columns whose block must not change.
    min_eigenvalue : float
        The smallest eigenvalue to have, of the matrix that the distance is measured in: of the covariance matrix, or
        of the correlation matrix.
    rank : int, optional
        The largest rank to have; if the variances are kept, this problem is not convex, and the certificate bounds the
        distance from the optimum.
    tol : float
        Stop when the relative error of every variance is below this; 1e-8 at least with bounds, unknown entries or
        weights by element.
    start : Repair, optional
        The repair of a similar matrix, such as yesterday's, to start from.
    max_iter : int, optional
        Maximum number of iterations, 600 by default.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Repair
        Distances are those of covariances.

    Raises
    ------
    InputError
        A variance is negative or unknown, or constraints contradict each other, which the message names.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> A = np.array([[4.0, 3.8, 0.0], [3.8, 4.0, 1.9], [0.0, 1.9, 1.0]])
    >>> sc.nearest_covariance(A).matrix.round(3)
    array([[4.   , 3.419, 0.403],
           [3.419, 4.   , 1.361],
           [0.403, 1.361, 1.   ]])
    """
    if keep not in ("diagonal", "nothing"):
        raise InputError(f"keep={keep!r} is unknown; use 'diagonal' or 'nothing'")
    if through not in ("covariance", "correlation"):
        raise InputError(f"through={through!r} is unknown; use 'covariance' or 'correlation'")
    source, S, notes = read_symmetric(A)
    rank = None if rank is None or count_up_to(rank, "rank", len(S), "rank") == len(S) else int(rank)
    asked = Asked(weights, fixed, lower, upper, block, rank if keep == "diagonal" else None)
    b = _variances(source, S)
    unknown = int(np.sum(np.isnan(S))) // 2
    if unknown:
        notes.append(unknown_note(unknown))
    special = asked.anything or unknown > 0
    alive = b > 0
    part = np.ix_(alive, alive)
    if not alive.all():
        names = [str(i) if source.labels is None else repr(source.labels[i]) for i in np.flatnonzero(~alive)[:3]]
        count = int(np.sum(~alive))
        what, their = ("1 variance is", "its") if count == 1 else (f"{count} variances are", "their")
        notes.append(f"{what} 0 ({', '.join(names)}): {their} covariances become 0")
    largest = float(b.max()) or 1.0
    scale = np.sqrt(b[alive]) if through == "correlation" else np.full(int(alive.sum()), np.sqrt(largest))
    size = np.outer(scale, scale)
    min_eigenvalue, tol = check_number(min_eigenvalue, "min_eigenvalue"), check_number(tol, "tol")
    floor = min_eigenvalue / (1.0 if through == "correlation" else largest)
    G, target = S[part] / size, b[alive] / scale**2
    if keep == "diagonal" and floor > 0 and (not alive.all() or floor >= target.min(initial=1.0)):
        raise InputError(
            f"min_eigenvalue={min_eigenvalue:g} is not below the smallest variance, and no matrix with these variances "
            "has it; give a smaller one, or keep='nothing'"
        )
    limits = Limits(max_iter=check_max_iter(max_iter), progress=progress, label="nearest covariance")
    multipliers = check_start(start, len(S))
    if special:
        _refuse_special(keep, alive, source, notes)
        done, factors = constrained_covariance(
            source,
            S,
            b,
            asked,
            by_covariance=through == "covariance",
            floor=min_eigenvalue,
            tol=tol,
            limits=limits,
            start=multipliers,
        )
        return repaired(Given(source, S, ~np.isnan(S), S, tuple(notes)), done, factors=factors)
    if rank is None and alive.all() and is_positive_definite(G - floor * np.eye(len(G))):
        proof, status = Proof(0.0, 0.0, "the matrix itself"), Status("optimal", "the matrix is valid as it is")
        return Repair(S.copy(), S, status, proof, tuple(notes), source.labels, dual=np.zeros(len(S)), wrap=source.wrap)
    Y, proof, status, made, dual = (
        _kept(G, target, floor, tol, limits, multipliers) if keep == "diagonal" else _clipped(G, floor, rank)
    )
    if through == "covariance":
        unit = largest**2
        proof = replace(proof, objective=proof.objective * unit, lower_bound=proof.lower_bound * unit)
    X = np.zeros_like(S)
    X[part] = Y * size
    if keep == "diagonal":
        np.fill_diagonal(X, b)
    elif not alive.all():
        X[~alive, ~alive] = min_eigenvalue if through == "covariance" else 0.0
    if not status.ok:
        warn_caller(str(status), NotConvergedWarning)
    return Repair(X, S, status, proof, tuple(notes), source.labels, made, dual=dual, wrap=source.wrap)


Ended = tuple[Matrix, Proof, Status, int, Vector | None]


def _kept(G: Matrix, b: Vector, a: float, tol: float, limits: Limits, start: Vector | None) -> Ended:
    if not len(b):
        return G, Proof(0.0, 0.0, "dual"), Status("optimal", "all variances are 0"), 0, None
    shift = a * np.eye(len(b))
    usable = start is not None and len(start) == len(b)
    G, b = G - shift, b - a
    Y, run = newton(G, b, row_tol(tol, b), limits, start=start if usable else None)
    Y = with_diagonal(Y, b)
    objective, lower = float(np.sum(np.square(Y - G))), float(run.best_facts["lower_bound"])
    compared = with_entries(G.copy(), b.min())
    if run.status.ok and Proof.moves(objective, compared):
        lower = sharper(lower, objective, Y, G, run.best.y, Held.diagonal(b))
    done = shown_nearest(concluded(compared, Y + shift, objective, lower, run, run.best.y), tol, b, 1.0)
    return done.X, done.proof, done.status, done.n_iter, done.dual


def _clipped(G: Matrix, a: float, rank: int | None) -> Ended:
    if rank is not None and a > 0:
        raise InputError("rank cannot be combined with min_eigenvalue; leave one out")
    w, U = np.linalg.eigh(G)
    up = np.maximum(w, a)
    if rank is not None:
        up[: max(len(w) - rank, 0)] = 0.0
    F = U * np.sqrt(up)
    distance = float(np.sum(np.square(up - w)))
    status = Status("optimal", "eigenvalues below the floor raised" if rank is None else "largest eigenvalues kept")
    return F @ F.T, Proof(distance, distance, "eigenvalues"), status, 1, None


def _refuse_special(keep: str, alive: Mask, source: Labelled, notes: list[str]) -> None:
    if keep == "nothing":
        raise InputError(
            "keep='nothing' cannot be combined with weights, fixed, lower, upper, block or unknown entries; "
            "use keep='diagonal'"
        )
    if not alive.all():
        i = int(np.argmin(alive))
        raise InputError(
            f"{source.place(i, i)} = 0: a variable without variance cannot be combined with weights, fixed, lower, "
            "upper, block or unknown entries; leave it out"
        )


def _variances(source: Labelled, S: Matrix) -> Vector:
    b: Vector = np.diag(S).copy()
    unknown = np.flatnonzero(np.isnan(b))
    if len(unknown):
        i = int(unknown[0])
        raise InputError(f"{source.place(i, i)} is unknown, and a variance is needed; estimate it, or leave it out")
    if b.min() < 0:
        i = int(b.argmin())
        raise InputError(f"{source.place(i, i)} = {b[i]:.6g} is a negative variance; give one that is at least 0")
    return b
