"""What the checks accept, and how much rounding they forgive."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._rows.square import as_similarity
from simcomplete._rows.validate import check_number
from simcomplete._rows.xp import is_array, to_numpy
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import Nuclear, SpectralProblem
from simcomplete._types import Matrix
from simcomplete.errors import InputError

# Share of a statement's own scale by which rounding may break it.
SLACK = 1e-9


def symmetric(S: Any, name: str) -> Matrix:
    """A finite symmetric matrix in float64."""
    return np.asarray(to_numpy(as_similarity(S, name)[0]), dtype=np.float64)


def factor(V: Any, name: str = "V", n: int | None = None) -> Matrix:
    """A finite factor of shape (n, r) in float64."""
    try:
        values = np.asarray(to_numpy(V) if is_array(V) else V, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a table of numbers: {error}; give a factor of shape (n, r)") from error
    if values.ndim != 2 or 0 in values.shape:
        raise InputError(f"{name} has shape {values.shape}; a factor of shape (n, r) is needed")
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds values that are not finite; give a factor of finite numbers")
    if n is not None and len(values) != n:
        raise InputError(f"{name} has {len(values)} rows and S0 has {n}; both need one row per sample")
    return values


def smcnn(S0: Matrix, weight: Any, rank: int) -> SpectralProblem:
    """F_1 of the paper: |V V^T - S0|_F^2 + weight |V|_F^2, the objective all the theorems are about."""
    return SpectralProblem(DenseSimilarity(S0), Nuclear(), check_number(weight, "weight"), rank)


def extremes(S0: Matrix) -> tuple[float, float]:
    """Smallest and largest eigenvalue."""
    w = np.linalg.eigvalsh(S0)
    return float(w[0]), float(w[-1])
