"""The result of `duplicates`: pairs of equal or nearly equal rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.frames import COLUMN_FRAMES, kind_of_frame
from simcomplete._result.intervals import Match


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Pairs of rows of a table that are equal or nearly equal, likeliest first.

    Attributes
    ----------
    pairs : array of int, shape (m, 2)
        Positions of the two rows, the lower first. Rows with the same values and the same gaps are paired only with the
        first of them.
    probabilities : array of shape (m, 3)
        Probabilities that the two are equal, that one is a near copy of the other (noise up to a tenth of each
        feature's standard deviation), or a rough copy (up to a half).
    common : array of int, shape (m,)
        How many features both rows have.
    distances : array of shape (m,)
        Root mean squared difference over these, in standard deviations of the features.
    n : int
        How many rows the table has.
    labels, frame : list of str or None, str or None
        Labels of the rows, and the kind of frame in which they were given.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> X[90] = X[4]
    >>> found = sc.duplicates(X)
    >>> found.pairs, len(found)
    (array([[ 4, 90]]), 1)
    """

    pairs: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    common: NDArray[np.int64]
    distances: NDArray[np.float64]
    n: int
    labels: list[str] | None = field(default=None, repr=False)
    frame: str | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"Duplicates({len(self)} pairs among {self.n} rows)"

    @property
    def probability(self) -> NDArray[np.float64]:
        """The probability that the rows of each pair are the same: the sum of the three."""
        return np.asarray(self.probabilities.sum(axis=1))

    @property
    def kinds(self) -> list[str]:
        """The likeliest of "fresh", "exact", "near" and "rough", pair by pair."""
        return Match(self.pairs[:, 0], self.probabilities).kinds

    @property
    def groups(self) -> list[list[int]]:
        """Groups of two or more rows that are the same, directly or through other rows, in the order of the table."""
        import scipy.sparse.csgraph

        ones, shape = np.ones(len(self.pairs)), (self.n, self.n)
        graph = scipy.sparse.coo_array((ones, (self.pairs[:, 0], self.pairs[:, 1])), shape=shape)
        _, which = scipy.sparse.csgraph.connected_components(graph, directed=False)
        members: dict[int, list[int]] = {}
        for row in np.unique(self.pairs).tolist():
            members.setdefault(int(which[row]), []).append(row)
        return sorted(members.values())

    def columns(self) -> dict[str, Any]:
        """The columns of the frame, by name."""
        names = list(range(self.n)) if self.labels is None else self.labels
        exact, near, rough = self.probabilities.T
        return {
            "first": [names[row] for row in self.pairs[:, 0].tolist()],
            "second": [names[row] for row in self.pairs[:, 1].tolist()],
            "same": self.probability,
            "exact": exact,
            "near": near,
            "rough": rough,
            "kind": self.kinds,
            "common": self.common,
            "distance": self.distances,
        }

    def to_frame(self) -> Any:
        """Return one line for every pair, in a frame of the kind that the rows came in; of pandas where in none.

        Returns
        -------
        frame
            Columns `first` and `second` (labels, or positions where rows have none), `same` (the probability), `exact`,
            `near`, `rough`, `kind`, `common` and `distance`.
        """
        return COLUMN_FRAMES[kind_of_frame(self.frame)](self.columns())
