"""Proof, in numbers, of how far a spectral completion is from the global optimum."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Certificate:
    """How a factor compares with the global optimum of its problem.

    Attributes
    ----------
    objective : float
        The problem's objective at the factor.
    lower_bound : float
        No feasible factor has a smaller objective than this: the optimum, from the r largest eigenvalues.
    gap : float
        Objective minus bound, 0 where rounding would make it negative.
    scale : float
        |S0|_F^2, the objective of the zero factor; rounding is a fraction of it.
    residual : float or None
        Largest relative eigen-residual |S0 u - w u| / w over the kept eigenvectors; None when not verified.
    absolute_residual : float or None
        Largest |S0 u - w u|: an eigenvalue of S0 lies this close to every w that was used.
    largest_outside : float or None
        Largest eigenvalue found outside the kept ones by a block of extra vectors; None when not verified or when
        nothing is left outside.
    smallest_kept : float
        Smallest of the r eigenvalues of S0 that were used; `largest_outside` must not exceed it.
    rank : int
        Rank of the result.
    rank_below_bound : bool
        The paper's condition rank < r.
    verified : bool
        Whether residual and outside were computed (two more passes over the candidates).
    """

    objective: float
    lower_bound: float
    gap: float
    scale: float
    residual: float | None
    absolute_residual: float | None
    largest_outside: float | None
    smallest_kept: float
    rank: int
    rank_below_bound: bool
    verified: bool

    @property
    def relative_gap(self) -> float:
        """The gap as a fraction of |S0|_F^2."""
        return self.gap / self.scale if self.scale > 0 else 0.0

    @property
    def optimal(self) -> bool:
        """Whether the numbers prove the optimum, up to rounding (1e-8 of the scale)."""
        size = self.scale**0.5
        if self.relative_gap > 1e-8 or (self.absolute_residual or 0.0) > 1e-6 * size:
            return False
        slack = 1e-8 * size
        return self.largest_outside is None or self.largest_outside <= max(self.smallest_kept, 0.0) + slack

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)
