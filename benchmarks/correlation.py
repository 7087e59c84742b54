"""Repair of a correlation matrix of returns with gaps, beside other programs and in decompositions."""

from __future__ import annotations

import importlib
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

import simcomplete as sc
from benchmarks.measure import Settings, timed

TITLE = "nearest correlation matrix: variants in units of the plain one, and other programs"
NOTE = "decompositions: CPU time over one eigendecomposition of the same matrix; slower: over the plain repair"

STATSMODELS = 100  # rows up to which its corr_nearest ends within a minute


def returns_with_gaps(n: int, seed: int, missing: float = 0.3) -> Any:
    """Pairwise correlations of n returns of five common factors, over n / 2 days with gaps."""
    rng = np.random.default_rng(seed)
    days = n // 2
    X = rng.standard_normal((days, 5)) @ (0.5 * rng.standard_normal((5, n)) + 0.3) + rng.standard_normal((days, n))
    seen = rng.random(X.shape) >= missing
    M, Z = seen.astype(float), np.where(seen, X, 0.0)
    counts = M.T @ M
    sums = Z.T @ M / counts
    C = Z.T @ Z / counts - sums * sums.T
    V = (Z * Z).T @ M / counts - sums**2
    A = C / np.sqrt(V * V.T)
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1.0)
    return A


def higham_dykstra(A: Any, tol: float = 1e-8, most: int = 2000) -> Any:
    """Higham's alternating projections with Dykstra's increment for the cone, as nearcorr does it."""
    Y, increment = A.copy(), np.zeros_like(A)
    for _ in range(most):
        R = Y - increment
        w, U = eigh(R, check_finite=False)
        X = (U * np.maximum(w, 0.0)) @ U.T
        increment = X - R
        last, Y = Y, X.copy()
        np.fill_diagonal(Y, 1.0)
        if max(np.linalg.norm(Y - last), np.linalg.norm(Y - X)) <= tol * np.linalg.norm(Y):
            break
    return Y


def variants(A: Any, seed: int) -> dict[str, Callable[[], Any]]:
    """Repairs of A by what is asked for."""
    n, rng = len(A), np.random.default_rng(seed)
    k = n // 10
    block = A.copy()
    block[:k, :k] = sc.nearest_correlation(A[:k, :k], min_eigenvalue=0.01).matrix
    valid = sc.nearest_correlation(A, min_eigenvalue=0.05).matrix
    some = rng.random((n, n)) < 0.02
    some |= some.T
    H = rng.uniform(0.1, 1.0, (n, n))
    H = np.triu(H, 1) + np.triu(H, 1).T
    gaps = np.where(some, np.nan, A)
    np.fill_diagonal(gaps, 1.0)
    before = sc.nearest_correlation(A)
    changed = A + 0.01 * np.triu(A * rng.standard_normal((n, n)), 1)
    changed = np.triu(changed, 1) + np.triu(changed, 1).T + np.eye(n)
    return {
        "plain": lambda: sc.nearest_correlation(A, progress=False),
        "floor 1e-8": lambda: sc.nearest_correlation(A, min_eigenvalue=1e-8, progress=False),
        "changed by 1 %, cold": lambda: sc.nearest_correlation(changed, progress=False),
        "changed by 1 %, start=": lambda: sc.nearest_correlation(changed, start=before, progress=False),
        "block of n / 10 fixed": lambda: sc.nearest_correlation(block, block=k, progress=False),
        "2 % of entries fixed": lambda: sc.nearest_correlation(A, fixed=np.where(some, valid, np.nan), progress=False),
        "bounds -0.5 to 0.8": lambda: sc.nearest_correlation(A, lower=-0.5, upper=0.8, progress=False),
        "bounds -0.1 to 0.6 (15 % active)": lambda: sc.nearest_correlation(A, lower=-0.1, upper=0.6, progress=False),
        "element weights 0.1 to 1": lambda: sc.nearest_correlation(A, weights=H, progress=False),
        "2 % unknown": lambda: sc.nearest_correlation(gaps, progress=False),
        "shrinking": lambda: sc.shrink_to_valid(A),
    }


def others(A: Any) -> dict[str, Callable[[], Any]]:
    """Other programs that are installed, and plain Higham-Dykstra."""
    found: dict[str, Callable[[], Any]] = {"Higham-Dykstra, 1e-8": lambda: higham_dykstra(A)}
    try:
        tools = importlib.import_module("statsmodels.stats.correlation_tools")
        if len(A) <= STATSMODELS:
            found["statsmodels corr_nearest"] = lambda: tools.corr_nearest(A, threshold=1e-15, n_fact=100)
        found["statsmodels corr_clipped (not nearest)"] = lambda: tools.corr_clipped(A, threshold=0.0)
    except ImportError:
        pass
    try:
        stats = importlib.import_module("skfolio.utils.stats")
        found["skfolio cov_nearest, Higham"] = lambda: stats.cov_nearest(A, higham=True, higham_max_iteration=5000)
    except ImportError:
        pass
    return found


def run(settings: Settings) -> list[dict[str, Any]]:
    sizes = [100] if settings.quick else [300, 1000]
    return [row for n in sizes for row in _rows(n, settings)]


def _rows(n: int, settings: Settings) -> list[dict[str, Any]]:
    A = returns_with_gaps(n, settings.seed)
    rows, plain_s = [], 0.0
    one = statistics.median(
        timed(lambda: eigh(A, driver="evd", check_finite=False), 1, settings.threads).cpu_s for _ in range(5)
    )
    own = variants(A, settings.seed)
    for name, solve in {**own, **others(A)}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # others say that they used all their iterations
            took = timed(solve, 3 if name in own and n < 1000 else 1, settings.threads)
        plain_s = plain_s or took.cpu_s
        mine = isinstance(took.result, sc.Repair)
        X = took.result.values if mine else np.asarray(took.result)
        rows.append(
            {
                "what": name,
                "n": n,
                "cpu_s": took.cpu_s,
                "decompositions": took.cpu_s / one,
                "slower": took.cpu_s / plain_s,
                "distance": float(np.linalg.norm(X - A)),
                "gap": took.result.certificate.relative_gap if mine else float("nan"),
                "times": took.times,
            }
        )
    return rows
