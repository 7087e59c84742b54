"""`nearest_covariance`: the valid covariance matrix nearest to one that is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete._caller import warn_caller
from simcomplete._correlation.given import read_symmetric
from simcomplete._correlation.labels import Labelled
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import with_diagonal
from simcomplete._correlation.repair import Proof, Repair
from simcomplete._method.iterate import Limits
from simcomplete._result.status import Status
from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError, NotConvergedWarning


def nearest_covariance(
    A: Any,
    *,
    keep: str = "diagonal",
    through: str = "covariance",
    min_eigenvalue: float = 0.0,
    tol: float = 1e-10,
    max_iter: int = 100,
    progress: bool | None = None,
) -> Repair:
    """The covariance matrix nearest to A: positive semi-definite, with the same variances.

    Parameters
    ----------
    A : array or frame of shape (n, n)
        Symmetric up to rounding, without NaN.
    keep : {"diagonal", "nothing"}
        Whether the variances stay. With "nothing", eigenvalues below `min_eigenvalue` are raised to it.
    through : {"covariance", "correlation"}
        What the distance is measured in: covariances, where large variances count most, or correlations, where every
        pair counts alike.
    min_eigenvalue : float
        The smallest eigenvalue to have, of the matrix that the distance is measured in: of the covariance matrix, or
        of the correlation matrix.
    tol : float
        Stop where no variance is missed by more than this share.
    max_iter : int
        Most iterations.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Repair
        Distances are those of covariances.

    Raises
    ------
    InputError
        A variance is negative, which the message names.

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
    b = _variances(source, S)
    alive = b > 0
    part = np.ix_(alive, alive)
    if not alive.all():
        names = [str(i) if source.labels is None else repr(source.labels[i]) for i in np.flatnonzero(~alive)[:3]]
        notes.append(f"{int(np.sum(~alive))} variances are 0 ({', '.join(names)}): their covariances become 0")
    largest = float(b.max()) or 1.0
    scale = np.sqrt(b[alive]) if through == "correlation" else np.full(int(alive.sum()), np.sqrt(largest))
    size = np.outer(scale, scale)
    floor = check_number(min_eigenvalue, "min_eigenvalue") / (1.0 if through == "correlation" else largest)
    G, target = S[part] / size, b[alive] / scale**2
    if keep == "diagonal" and floor > 0 and (not alive.all() or floor >= target.min(initial=1.0)):
        raise InputError(
            f"min_eigenvalue={min_eigenvalue:g} is not below the smallest variance, and no matrix with these variances "
            "has it; give a smaller one, or keep='nothing'"
        )
    limits = Limits(max_iter=max_iter, progress=progress, label="nearest covariance")
    Y, proof, status, made = _kept(G, target, floor, tol, limits) if keep == "diagonal" else _clipped(G, floor)
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
    return Repair(X, S, status, proof, tuple(notes), source.labels, made, wrap=source.wrap)


def _kept(G: Matrix, b: Vector, a: float, tol: float, limits: Limits) -> tuple[Matrix, Proof, Status, int]:
    if not len(b):
        return G, Proof(0.0, 0.0, "dual"), Status("optimal", "all variances are 0"), 0
    shift = a * np.eye(len(b))
    Y, run = newton(G - shift, b - a, tol, limits)
    Y = with_diagonal(Y, b - a) + shift
    np.fill_diagonal(Y, b)
    objective = float(np.sum(np.square(Y - G)))
    proof = Proof.of(objective, run.best_facts["lower_bound"], "dual", G)
    told = f"{run.status.message}; the squared distance is within {proof.relative_gap:.0e} of the smallest possible"
    return Y, proof, Status("optimal" if run.status.ok else run.status.code, told, run.status.ok), run.n_iter


def _clipped(G: Matrix, a: float) -> tuple[Matrix, Proof, Status, int]:
    w, U = np.linalg.eigh(G)
    up = np.maximum(w, a)
    F = U * np.sqrt(up)
    distance = float(np.sum(np.square(up - w)))
    return F @ F.T, Proof(distance, distance, "eigenvalues"), Status("optimal", "eigenvalues below the floor raised"), 1


def _variances(source: Labelled, S: Matrix) -> Vector:
    unknown = np.argwhere(np.isnan(S))
    if len(unknown):
        i, j = map(int, unknown[0])
        raise InputError(
            f"{source.place(i, j)} is unknown, and a covariance is needed; estimate it, or repair the correlations "
            "with nearest_correlation, which takes unknown entries"
        )
    b: Vector = np.diag(S).copy()
    if b.min() < 0:
        i = int(b.argmin())
        raise InputError(f"{source.place(i, i)} = {b[i]:.6g} is a negative variance; give one that is at least 0")
    return b
