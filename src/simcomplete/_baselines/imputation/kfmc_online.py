"""KFMC column by column: every sample is filled with the atoms as they are, then moves them a little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simcomplete._baselines.imputation.kernels import Kernel
from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._types import Matrix

# From kernel values (n, m) of samples and atoms to codes (n, m).
Encode = Callable[[Matrix], Matrix]
TINY = 1e-300  # a curvature below this has lost its meaning: no step


@dataclass(frozen=True)
class KfmcSettings:
    """What online and offline share.

    Attributes
    ----------
    kernel : Kernel
    alpha, beta : float
        Weights of the atoms' and of the codes' penalty.
    momentum, relax : float
        eta and gamma of the paper.
    inner : int
        Most steps per sample, online.
    tol : float
        Online, when a sample has settled; offline, when all have.
    bounds : (float, float)
        Filled values are kept between these.
    """

    kernel: Kernel
    alpha: float = 0.0
    beta: float = 1e-3
    momentum: float = 0.5
    relax: float = 1.1
    inner: int = 20
    tol: float = 1e-5
    bounds: tuple[float, float] = (-np.inf, np.inf)


@dataclass(frozen=True)
class OnlineKernel:
    """Samples as filled so far (n, d), atoms (m, d), codes (n, m), and how much the samples last changed."""

    X: Matrix
    D: Matrix
    Z: Matrix
    change: float | None = None

    def bases(self, kernel: Kernel) -> tuple[Matrix, Matrix]:
        """The kernel's bases of samples and atoms, and among atoms: what is measured of a state, and the next step."""
        if "_bases" not in self.__dict__:
            self.__dict__["_bases"] = kernel.base(self.X, self.D), kernel.base(self.D, self.D)
        found: tuple[Matrix, Matrix] = self.__dict__["_bases"]
        return found


def online(X: Matrix, mask: NDArray[np.bool_], D: Matrix, settings: KfmcSettings, limits: Limits) -> Run[OnlineKernel]:
    """Pass over the samples, `limits.max_iter` times.

    Parameters
    ----------
    X, mask : array of shape (n, d)
        Samples with a first guess where `mask` is False.
    D : array of shape (m, d)
        First atoms.

    Examples
    --------
    >>> from simcomplete._baselines.imputation.kernels import Rbf
    >>> X = np.array([[1.0, 1.0], [2.0, 2.0], [2.0, 0.0]])
    >>> mask = np.array([[True, True], [True, True], [True, False]])
    >>> run = online(X, mask, X[:2], KfmcSettings(Rbf(1.0), inner=100), Limits(1, progress=False))
    >>> run.state.X[2].round(1)
    array([2., 2.])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # atoms that run away end the run, by the driver's own check
        return iterate(
            OnlineKernel(X, D, np.zeros((len(X), len(D)))),
            lambda state: _one_pass(state, mask, settings),
            measure=lambda state: facts(state, settings),
            limits=limits,
        )


def refine(
    X: Matrix, mask: NDArray[np.bool_], Z: Matrix, D: Matrix, settings: KfmcSettings, encode: Encode
) -> tuple[Matrix, Matrix]:
    """Fill samples while the atoms stay: codes z = (K_DD + beta I)^-1 k(D, x), then x a step downhill, until settled.

    Samples do not see each other, so all that have not settled move at once.
    """
    kernel = settings.kernel
    X, Z, V = X.copy(), Z.copy(), np.zeros_like(X)
    busy = np.arange(len(X))
    for _ in range(settings.inner):
        x = X[busy]
        base = kernel.base(x, D)
        z = encode(kernel.value(base))
        V[busy] = settings.momentum * V[busy] + step(*kernel.pull(x, D, base, z), settings.relax)
        moved = np.where(mask[busy], x, np.clip(x - V[busy], *settings.bounds))
        change = np.maximum(np.abs(z - Z[busy]).max(axis=1), np.abs(moved - x).max(axis=1))
        X[busy], Z[busy] = moved, z
        busy = busy[change >= settings.tol]
        if not len(busy):
            break
    return X, Z


def extend(X: Matrix, mask: NDArray[np.bool_], D: Matrix, settings: KfmcSettings) -> tuple[Matrix, Matrix]:
    """Fill samples that the atoms have never seen; returns them and their codes."""
    encode = encoder(settings.kernel.value(settings.kernel.base(D, D)), settings.beta)
    return refine(X, mask, np.zeros((len(X), len(D))), D, settings, encode)


def _one_pass(state: OnlineKernel, mask: NDArray[np.bool_], settings: KfmcSettings) -> OnlineKernel:
    kernel = settings.kernel
    X, D, Z, V = state.X.copy(), state.D, state.Z.copy(), np.zeros_like(state.D)
    whole: NDArray[np.bool_] = np.all(mask, axis=1)
    for i in range(len(X)):
        x, z = X[i : i + 1], Z[i : i + 1]
        among = kernel.base(D, D)
        K = kernel.value(among)
        if not np.isfinite(K).all():
            return _ran_away(state)
        encode = encoder(K, settings.beta)
        if not whole[i]:
            x[:], z[:] = refine(x, mask[i : i + 1], z, D, settings, encode)
        to_atoms = kernel.base(x, D)
        if whole[i]:  # nothing to move, so the first codes are the last
            z[:] = encode(kernel.value(to_atoms))
        gradient, H = kernel.atoms(x, D, (to_atoms, among), z, settings.alpha, size=True)
        if not np.isfinite(H).all():
            return _ran_away(state)
        size = settings.relax * float(np.abs(np.linalg.eigvalsh(H)[[0, -1]]).max())
        V = settings.momentum * V + (gradient / size if size > TINY else 0.0)
        D = D - V
    return OnlineKernel(X, D, Z, change(state.X, X))


def _ran_away(state: OnlineKernel) -> OnlineKernel:
    """What follows where numbers of the atoms are not finite: a state that ends the run."""
    return replace(state, D=np.full_like(state.D, np.nan))


def encoder(K: Matrix, beta: float) -> Encode:
    """Return what makes codes (n, m) of kernel rows (n, m): by Cholesky, or where K is huge and singular, cut."""
    S = K + beta * np.eye(len(K))
    try:
        factor = scipy.linalg.cho_factor(S)
    except np.linalg.LinAlgError:
        w, U = np.linalg.eigh(S)
        keep = w > 1e-12 * max(w[-1], 0.0)
        pseudo = (U[:, keep] / w[keep]) @ U[:, keep].T
        return lambda k: np.asarray(k @ pseudo)
    return lambda k: np.asarray(scipy.linalg.cho_solve(factor, k.T, check_finite=False).T)


def step(gradient: Matrix, curvature: Matrix, relax: float) -> Matrix:
    """A gradient (n, d) over its curvature (n,); no step where there is no curvature to speak of."""
    size = relax * np.abs(curvature)
    return np.asarray(gradient / np.where(size > TINY, size, np.inf)[:, None])


def change(before: Matrix, after: Matrix) -> float:
    """|after - before| / |before|."""
    size = float(np.linalg.norm(before))
    return float(np.linalg.norm(after - before)) / (size if size > 0 else 1.0)


def facts(state: OnlineKernel, settings: KfmcSettings) -> dict[str, float]:
    """The objective, and how much the samples changed."""
    kernel, Z = settings.kernel, state.Z
    K, among = map(kernel.value, state.bases(kernel))
    fit = np.sum(kernel.own(state.X)) - 2 * np.sum(K * Z) + np.sum((Z @ among) * Z)
    value = (fit + settings.alpha * np.trace(among) + settings.beta * np.sum(Z * Z)) / 2
    return {"objective": float(value), **({} if state.change is None else {"change": state.change})}
