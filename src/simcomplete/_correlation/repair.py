"""What every repair returns: the matrix in the kind that came in, what moved, and the proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from simcomplete._result.plain import plain
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

MOVES = 10  # entries that are listed
ROUNDING = 1e-8  # changes that are smaller, as a share of the largest entry, are not listed
UNMOVED = 1e-14  # of the sum of squares: a squared distance that is smaller is that of rounding
TIED = 12  # digits to which changes are compared: what differs by rounding alone keeps its order


class Move(NamedTuple):
    """An entry that moved."""

    row: str | int
    column: str | int
    before: float
    after: float
    change: float


@dataclass(frozen=True)
class Proof:
    """How far a repaired matrix is from the nearest one at most.

    Attributes
    ----------
    objective : float
        What was minimised: the squared distance over all entries, weighted where weights were given.
    lower_bound : float
        No valid matrix that meets the constraints has a smaller one.
    kind : str
        Where the bound comes from.
    starts, agreed : int, optional
        For problems that are not convex: from how many starts it was solved, and how many ended in the same value.
    """

    objective: float
    lower_bound: float
    kind: str
    starts: int | None = None
    agreed: int | None = None

    @classmethod
    def of(
        cls,
        objective: float,
        lower: float,
        kind: str,
        given: Matrix,
        starts: int | None = None,
        agreed: int | None = None,
    ) -> Proof:
        """Objective and bound, of which the rounding of a matrix that did not move is 0."""
        objective = objective if cls.moves(objective, given) else 0.0
        return cls(objective, min(max(lower, 0.0), objective), kind, starts, agreed)

    @staticmethod
    def moves(objective: float, given: Matrix) -> bool:
        """Whether a squared distance from a matrix is more than rounding."""
        return bool(objective > UNMOVED * float(np.sum(np.square(given))))

    @property
    def gap(self) -> float:
        """Objective minus bound, 0 where rounding would make it negative."""
        return max(self.objective - self.lower_bound, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.gap / self.objective if self.objective > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "gap": self.gap, "relative_gap": self.relative_gap}


@dataclass(frozen=True)
class Repair:
    """A repaired matrix.

    Attributes
    ----------
    values : array of shape (n, n)
        The repaired matrix.
    given : array of shape (n, n)
        The matrix it is compared with, NaN where an entry was unknown.
    status : Status
        How the run ended.
    certificate : Proof
        A bound on the distance from the nearest matrix.
    notes : tuple of str
        All corrections of the input: symmetrised, reordered, rescaled, unknown entries.
    labels : list of str, optional
        Names of the variables, of a frame.
    n_iter : int
        Iterations made.
    alpha : float, optional
        Of `shrink_to_valid`: the share of the target.
    factors : array of shape (n, k), optional
        Of a repair with a rank or of `factor_correlation`.
    dual : array, optional
        Multipliers, from which a similar problem starts: ``nearest_correlation(B, start=repair)``.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> repair = sc.nearest_correlation([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> repair.matrix.round(4)
    array([[1.    , 0.7607, 0.1573],
           [0.7607, 1.    , 0.7607],
           [0.1573, 0.7607, 1.    ]])
    >>> round(repair.distance, 4), round(repair.moved[0].change, 4)
    (0.5278, -0.2393)
    >>> repair.status.code, repair.certificate.relative_gap < 1e-8
    ('optimal', True)
    """

    values: Matrix
    given: Matrix
    status: Status
    certificate: Proof
    notes: tuple[str, ...] = ()
    labels: list[str] | None = None
    n_iter: int = 0
    alpha: float | None = None
    factors: Matrix | None = None
    dual: Vector | None = field(default=None, repr=False)
    wrap: Callable[[Matrix], Any] = field(default=np.asarray, repr=False)

    @cached_property
    def matrix(self) -> Any:
        """The repaired matrix in the kind that was given: an array, or a frame with the same labels."""
        return self.wrap(self.values)

    @property
    def change(self) -> Matrix:
        """Repaired minus given, NaN where an entry was unknown."""
        return self.values - self.given

    @cached_property
    def distance(self) -> float:
        """Frobenius norm of the change over all known entries."""
        return float(np.sqrt(np.nansum(np.square(self.change))))

    @cached_property
    def distance_off_diagonal(self) -> float:
        """The same without the diagonal."""
        change = self.change
        np.fill_diagonal(change, 0.0)
        return float(np.sqrt(np.nansum(np.square(change))))

    @property
    def relative_change(self) -> float:
        """The distance as a share of the Frobenius norm of what was given."""
        size = float(np.sqrt(np.nansum(np.square(self.given))))
        return self.distance / size if size > 0 else 0.0

    @property
    def moved(self) -> list[Move]:
        """The entries that moved most, largest first, by label; at most ten."""
        rows, cols = np.triu_indices(len(self.values))
        change = np.nan_to_num(self.change[rows, cols])
        most = np.argsort(-np.abs(change).round(TIED), kind="stable")[:MOVES]
        names: Any = self.labels or range(len(self.values))
        small = ROUNDING * float(np.nanmax(np.abs(self.given), initial=0.0))
        return [
            Move(names[i], names[j], float(self.given[i, j]), float(self.values[i, j]), float(d))
            for i, j, d in zip(rows[most], cols[most], change[most], strict=True)
            if abs(d) > small
        ]

    @cached_property
    def min_eigenvalue_before(self) -> float:
        """Smallest eigenvalue of what was given, unknown entries taken as 0."""
        return float(eigvalsh(np.nan_to_num(self.given), subset_by_index=(0, 0))[0])

    @cached_property
    def min_eigenvalue_after(self) -> float:
        """Smallest eigenvalue of the repaired matrix."""
        return float(eigvalsh(self.values, subset_by_index=(0, 0))[0])

    def cholesky(self) -> Matrix:
        """Lower triangular L with L L^T = matrix, for simulations; needs a positive `min_eigenvalue`."""
        try:
            return np.asarray(np.linalg.cholesky(self.values), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise InputError(
                f"the smallest eigenvalue is {self.min_eigenvalue_after:.1e}, and a Cholesky factor needs a positive "
                "one; repair with min_eigenvalue=1e-8"
            ) from error

    def summary(self) -> dict[str, Any]:
        """A summary, as plain values for JSON."""
        return {
            "n": len(self.values),
            "distance": self.distance,
            "distance_off_diagonal": self.distance_off_diagonal,
            "relative_change": self.relative_change,
            "min_eigenvalue_before": self.min_eigenvalue_before,
            "min_eigenvalue_after": self.min_eigenvalue_after,
            "status": self.status.as_dict(),
            "certificate": plain(self.certificate.as_dict()),
            "alpha": self.alpha,
            "moved": [move._asdict() for move in self.moved],
            "notes": list(self.notes),
        }

    def plot(self) -> Any:
        """Heat maps of the matrix before and after, and of the change; returns a matplotlib Figure."""
        from simcomplete._correlation.plot import heat_maps

        return heat_maps(self)

    def __repr__(self) -> str:
        return f"Repair(n={len(self.values)}, distance={self.distance:.6g}, status={self.status.code!r})"

    def _repr_html_(self) -> str:
        lines: dict[str, Any] = {
            "distance": f"{self.distance:.6g} ({self.relative_change:.2%} of the norm)",
            "smallest eigenvalue": f"{self.min_eigenvalue_before:.3g} before, {self.min_eigenvalue_after:.3g} after",
            "status": self.status,
            "moved most": "; ".join(f"{m.row}, {m.column}: {m.before:.3f} to {m.after:.3f}" for m in self.moved[:5]),
            "notes": "; ".join(self.notes) or "nothing was mended",
        }
        cells = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in lines.items())
        return f"<table><caption>Repair</caption><tbody>{''.join(cells)}</tbody></table>"
