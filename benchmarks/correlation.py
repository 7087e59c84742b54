"""Repair of a correlation matrix of returns with gaps, beside other programs and in decompositions."""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import statistics
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
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


def higham_dykstra(A: Any, most: int = 3000) -> Any:
    """Higham's alternating projections with Dykstra's increment for the cone, with the stop test of nearcorr.

    Its tolerance is n times the rounding, for changes as shares of the norms.
    """
    X, Y, increment = A, A, np.zeros_like(A)
    for _ in range(most):
        R = Y - increment
        w, U = eigh(R, driver="evd", check_finite=False)
        before, last = X, Y
        X = (U * np.maximum(w, 0.0)) @ U.T
        increment = X - R
        Y = X.copy()
        np.fill_diagonal(Y, 1.0)
        size = np.linalg.norm(Y)
        changes = np.linalg.norm(X - before) / np.linalg.norm(X), np.linalg.norm(Y - last) / size
        if max(*changes, np.linalg.norm(Y - X) / size) <= len(A) * np.finfo(np.float64).eps:
            break
    return Y


NEAR_PD = """library(Matrix); a <- commandArgs(TRUE); n <- as.integer(a[1])
A <- matrix(readBin(a[2], "double", n * n), n, n)
t <- system.time(r <- nearPD(A, corr = TRUE, conv.tol = 1e-10, maxit = 3000, posd.tol = 1e-12, do2eigen = FALSE))
writeBin(as.double(as.matrix(r$mat)), a[2]); cat(t[["user.self"]] + t[["sys.self"]])"""


def near_pd(A: Any) -> tuple[Any, float]:
    """R's nearPD, and the CPU time that R says it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix"
        A.tofile(path)
        command = ["Rscript", "-e", NEAR_PD, str(len(A)), str(path)]
        seconds = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return np.fromfile(path).reshape(A.shape), seconds


def has_near_pd() -> bool:
    """Whether R and its package Matrix are installed."""
    return (
        shutil.which("Rscript") is not None
        and subprocess.run(["Rscript", "-e", "library(Matrix)"], capture_output=True, check=False).returncode == 0
    )


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
    found: dict[str, Callable[[], Any]] = {"Higham-Dykstra as nearcorr": lambda: higham_dykstra(A)}
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
    if has_near_pd():
        found["R nearPD, 1e-10"] = lambda: near_pd(A)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.correlation", description=f"{TITLE}; {NOTE}")
    parser.add_argument("--size", type=int, action="append", help="rows of the matrix (default: 500 and 1000)")
    parser.add_argument("--what", default="", help="regular expression of what to run beside the plain repair")
    parser.add_argument("--seed", type=int, default=0, help="of the data (default: 0)")
    asked = parser.parse_args()
    for n in asked.size or [500, 1000]:
        print(table(_rows(n, Settings(seed=asked.seed), what=asked.what)), flush=True)


def run(settings: Settings) -> list[dict[str, Any]]:
    sizes = [100] if settings.quick else [500, 1000]
    return [row for n in sizes for row in _rows(n, settings)] + (
        [] if settings.quick else _rows(2000, settings, plain=True)
    )


def quick(name: str) -> bool:
    """Whether a repair takes a few decompositions, so that one more or less shows."""
    return name.startswith(("plain", "floor", "changed"))


def _rows(n: int, settings: Settings, *, plain: bool = False, what: str = "") -> list[dict[str, Any]]:
    A = returns_with_gaps(n, settings.seed)
    rows, plain_s = [], 0.0
    one = statistics.median(
        timed(lambda: eigh(A, driver="evd", check_finite=False), 1, settings.threads).cpu_s for _ in range(5)
    )
    own = variants(A, settings.seed) if not plain else {"plain": lambda: sc.nearest_correlation(A, progress=False)}
    for name, solve in {**own, **({} if plain else others(A))}.items():
        if name != "plain" and not re.search(what, name):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # others say that they used all their iterations
            took = timed(solve, 3 if name in own and (n < 1000 or quick(name)) else 1, settings.threads)
        found, cpu_s = took.result if isinstance(took.result, tuple) else (took.result, took.cpu_s)
        plain_s = plain_s or cpu_s
        mine = isinstance(found, sc.Repair)
        X = found.values if mine else np.asarray(found)
        rows.append(
            {
                "what": name,
                "n": n,
                "cpu_s": cpu_s,
                "decompositions": cpu_s / one,
                "slower": cpu_s / plain_s,
                "distance": float(np.linalg.norm(X - A)),
                "gap": found.certificate.relative_gap if mine else float("nan"),
                "times": took.times,
            }
        )
    return rows


if __name__ == "__main__":
    from benchmarks.__main__ import table

    main()
