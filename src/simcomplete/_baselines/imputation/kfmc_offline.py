"""KFMC in one batch: codes, atoms and samples in turn, all samples at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._baselines.imputation.kernels import Rbf
from simcomplete._baselines.imputation.kfmc_online import TINY, KfmcSettings, OnlineKernel, change, encoder, facts
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._result.status import Status
from simcomplete._types import Matrix

WORST = 1e12  # condition of the atoms' curvature beyond which its inverse is not used


@dataclass(frozen=True)
class Batch(OnlineKernel):
    """A state with the velocities of samples and atoms."""

    VX: Matrix | float = 0.0
    VD: Matrix | float = 0.0


def offline(X: Matrix, mask: NDArray[np.bool_], D: Matrix, settings: KfmcSettings, limits: Limits) -> Run[Batch]:
    """Alternate until the samples change by less than `settings.tol`, relative to their norm; 0 makes all iterations.

    Parameters
    ----------
    X, mask : array of shape (n, d)
        Samples with a first guess where `mask` is False.
    D : array of shape (m, d)
        First atoms.

    Examples
    --------
    >>> from simcomplete._baselines.imputation.kernels import Polynomial
    >>> X = np.array([[1.0, 1.0], [2.0, 2.0], [1.5, 0.0]])
    >>> mask = np.array([[True, True], [True, True], [True, False]])
    >>> run = offline(X, mask, X[:1], KfmcSettings(Polynomial(0.0, 2)), Limits(progress=False))
    >>> run.state.X[2].round(1), run.status.code
    (array([1.5, 1.5]), 'converged')
    """

    def stop(now: Facts, recent: Sequence[float]) -> Status | None:
        if now.get("change", np.inf) < settings.tol:
            return Status("converged", f"the samples changed by less than tol={settings.tol:g}")
        return None

    with np.errstate(over="ignore", invalid="ignore"):  # atoms that run away end the run, by the driver's own check
        return iterate(
            Batch(X, D, np.zeros((len(X), len(D)))),
            lambda state: _alternate(state, mask, settings),
            measure=lambda state: facts(state, settings),
            stop=stop if settings.tol > 0 else None,
            limits=limits,
        )


def _alternate(state: Batch, mask: NDArray[np.bool_], settings: KfmcSettings) -> Batch:
    kernel, X, D = settings.kernel, state.X, state.D
    to_atoms, among = state.bases(kernel)
    Z = encoder(kernel.value(among), settings.beta)(kernel.value(to_atoms))
    VD = settings.momentum * state.VD + _divided(
        *kernel.atoms(X, D, (to_atoms, among), Z, settings.alpha, size=False), settings.relax
    )
    moved = D - VD
    # The public program multiplies the polynomial's weights at the new atoms with the old ones; so does this.
    pulled_by = moved if isinstance(kernel, Rbf) else D
    gradient, curvature = kernel.pull(X, pulled_by, kernel.base(X, moved), Z)
    safe = np.where(np.abs(curvature) > TINY, settings.relax * curvature, np.inf)
    VX = settings.momentum * state.VX + gradient / safe[:, None]
    filled = np.where(mask, X, np.clip(X - VX, *settings.bounds))
    return Batch(filled, moved, Z, change(X, filled), VX, VD)


def _divided(gradient: Matrix, H: Matrix, relax: float) -> Matrix:
    """Newton's step (relax H)^-1 gradient; where H is nearly singular, over the largest curvature instead."""
    if not np.isfinite(H).all():
        return np.full_like(gradient, np.nan)
    w, U = np.linalg.eigh(H)
    size = np.abs(w)
    if size.min() * WORST > size.max():
        return np.asarray(U @ ((U.T @ gradient) / (relax * w[:, None])))
    return gradient / (relax * size.max()) if size.max() > TINY else np.zeros_like(gradient)
