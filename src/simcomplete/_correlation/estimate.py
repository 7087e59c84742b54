"""A correlation or covariance matrix estimated from samples with gaps: the matrix, intervals, and the baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from simcomplete._correlation.covariance import nearest_covariance
from simcomplete._correlation.nearest import nearest_correlation
from simcomplete._correlation.repair import Repair
from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix, Vector


@dataclass(frozen=True)
class Estimate:
    """Estimate of a correlation or covariance matrix from samples with missing values.

    Attributes
    ----------
    values : array of shape (d, d)
        The estimate, positive semi-definite.
    kind : {"correlation", "covariance"}
        What it is.
    sample : array of shape (d, d)
        The expected matrix of the same samples without gaps, which the intervals are for. Equal to `values` unless
        these were shrunk or have a bound on eigenvalues.
    deviation : array of shape (d, d)
        Standard deviation of the error of `sample` due to missing values, by the model.
    errors : function
        Maps a share to a number of deviations that this share of the errors does not exceed, learnt by hiding values.
    location : array of shape (d,)
        Means of the variables.
    common : array of shape (d, d)
        Samples that have both variables.
    pairwise : array of shape (d, d)
        pandas' estimate: every pair over the samples that have both, NaN where fewer than two do. It need not be valid.
    shrinkage : float
        The share of the target in `values`, 0 where nothing was shrunk.
    notes : tuple of str
        Remarks on the data: constant variables, samples without a value.
    labels : list of str, optional
        Names of the variables, of a frame.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) + rng.standard_normal((200, 4))
    >>> estimate = sc.correlation(np.where(rng.random(X.shape) < 0.2, np.nan, X))
    >>> low, high = estimate.interval(0.9)
    >>> bool(low[0, 1] <= np.corrcoef(X.T)[0, 1] <= high[0, 1])
    True
    """

    values: Matrix
    kind: str
    sample: Matrix = field(repr=False)
    deviation: Matrix = field(repr=False)
    errors: Callable[[float], float] = field(repr=False)
    location: Vector = field(repr=False)
    common: Matrix = field(repr=False)
    pairwise: Matrix = field(repr=False)
    shrinkage: float = 0.0
    notes: tuple[str, ...] = ()
    labels: list[str] | None = field(default=None, repr=False)
    wrap: Callable[[Matrix], Any] = field(default=np.asarray, repr=False)

    @cached_property
    def matrix(self) -> Any:
        """The estimate as a frame with labels on both sides where a frame was given, else an array."""
        return self.wrap(self.values)

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """Lower and upper ends, entry by entry, in the kind of `matrix`.

        They are for the matrix of the same samples without gaps, and do not include sampling error. Entries without
        missing values have intervals of length 0.

        Parameters
        ----------
        level : float
            The share of entries that should be inside, between 0 and 1.
        """
        half = self.errors(check_number(level, "level", 0.0, 1.0)) * self.deviation
        low, high = self.sample - half, self.sample + half
        if self.kind == "correlation":
            low, high = np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)
        else:
            d = np.diag_indices(len(low))
            low[d] = np.maximum(low[d], 0.0)
        return self.wrap(low), self.wrap(high)

    def repaired_pairwise(self) -> Repair:
        """The valid matrix nearest to pandas' estimate, for comparison."""
        if self.kind == "correlation":
            return nearest_correlation(self.pairwise, progress=False)
        return nearest_covariance(self.pairwise, progress=False)

    @cached_property
    def min_eigenvalue(self) -> float:
        """Smallest eigenvalue of the estimate."""
        return float(eigvalsh(self.values, subset_by_index=(0, 0))[0])

    def summary(self) -> dict[str, Any]:
        """A summary, as plain values for JSON."""
        upper = np.triu_indices(len(self.values), 1)
        few = self.common[upper]
        half = self.errors(0.9) * self.deviation[upper]
        return {
            "kind": self.kind,
            "n": len(self.values),
            "min_eigenvalue": self.min_eigenvalue,
            "pairs": len(few),
            "pairs_without_common_samples": int(np.sum(few == 0)),
            "median_half_width_90": float(np.median(half)) if len(half) else 0.0,
            "shrinkage": self.shrinkage,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Estimate(kind={self.kind!r}, n={len(self.values)}, min_eigenvalue={self.min_eigenvalue:.3g})"

    def _repr_html_(self) -> str:
        facts = self.summary()
        lines = {
            "variables": facts["n"],
            "pairs without a common sample": f"{facts['pairs_without_common_samples']} of {facts['pairs']}",
            "90 % intervals": f"± {facts['median_half_width_90']:.3g} (median)",
            "smallest eigenvalue": f"{self.min_eigenvalue:.3g}",
            "notes": "; ".join(self.notes) or "none",
        }
        cells = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in lines.items())
        return f"<table><caption>{escape(self.kind)}</caption><tbody>{''.join(cells)}</tbody></table>"
