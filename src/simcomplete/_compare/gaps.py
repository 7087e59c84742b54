"""A trial on data that have missing values of their own: hide some of what is known, and compare what comes back.

What is missing is known to nobody, so there is no true similarity of complete rows. What can be checked is the
similarity over the features that both rows had before some were hidden. It is the similarity of a part of the
features, so only pairs with many of them count.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simcomplete import metrics
from simcomplete._api import complete
from simcomplete._result.completion import Completion
from simcomplete._rows.scaling import Center, Scale, learn_scaling
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.overlap import overlap_counts, overlap_similarity
from simcomplete.errors import InputError

MOST_ROWS = 400  # by default: every row is candidate and query, and all pairs are compared
SHARE = 0.2  # of what is known, hidden by default
NEIGHBOURS = 10
NEVER = -2.0  # below every similarity
FEWEST_COMMON = 10  # features, where few pairs share half of them
ENOUGH_PAIRS = 0.1  # share of the pairs that must have half of the features in common, to count only those


@dataclass(frozen=True)
class GappedRows:
    """Rows with gaps, before and after more of their values were hidden.

    Attributes
    ----------
    X, X_known : ndarray, shape (n, d)
        The rows with values hidden, and as they were.
    seed : int
        What the hidden values were drawn with.
    measure : dict
        What their similarity is: `metric` and the other arguments of `overlap_similarity`.
    """

    X: NDArray[np.float64]
    X_known: NDArray[np.float64]
    seed: int
    measure: dict[str, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, Any]:
        """How many candidates and queries there are, all rows both, and which pairs count; for the row of a trial."""
        pairs = len(self.X) * (len(self.X) - 1)
        return {
            "candidates": len(self.X),
            "queries": len(self.X),
            "known": float(np.mean(~np.isnan(self.X_known))),
            "common": self.common,
            "counted": float(self.counted.sum() / max(pairs, 1)),
        }

    @cached_property
    def S0(self) -> NDArray[np.float64]:
        """Similarities over common features, after hiding."""
        return np.asarray(overlap_similarity(self.X, progress=False, **self.measure))

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """Similarities over the features that both rows had before hiding."""
        return np.asarray(overlap_similarity(self.X_known, progress=False, **self.measure))

    @cached_property
    def _shared(self) -> NDArray[np.int64]:
        shared = np.array(overlap_counts(self.X_known), dtype=np.int64)
        np.fill_diagonal(shared, 0)
        return shared

    @cached_property
    def common(self) -> int:
        """How many features a pair must have in common to count: half, or 10 where few pairs have half of them."""
        d = int(self.X.shape[1])
        half = max(2, -(-d // 2))
        return half if np.mean(self._shared >= half) >= ENOUGH_PAIRS else min(FEWEST_COMMON, half)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Which pairs count; no row with itself."""
        counted = self._shared >= self.common
        if not counted.any():
            raise InputError(
                f"no two of the {len(self.X)} rows have {self.common} known values in common, so that no similarity "
                "can be checked; give rows or columns with fewer gaps"
            )
        return counted

    def scaled(self, center: Center, scale: Scale) -> Self:
        """The same with features scaled as the values that were not hidden say."""
        change = learn_scaling(HeldRows(self.X), center, scale)
        return replace(self, X=change(self.X), X_known=change(self.X_known))

    def solve(self, method: str, **given: Any) -> Completion:
        """Complete the rows by one method."""
        return complete(self.X, method=method, random_state=self.seed, progress=False, **given)

    def measures(self, done: Completion) -> dict[str, Any]:
        """Return the measures that gaps allow, as plain values."""
        S, S0, truth = (np.where(self.counted, m, NEVER) for m in (np.asarray(done.similarity()), self.S0, self.truth))
        ranked = np.flatnonzero(self.counted.sum(axis=1) > NEIGHBOURS)
        return {
            "error": metrics.relative_squared_error(S, S0, truth),
            "recall_ten": metrics.recall_at(S[ranked], truth[ranked], k=NEIGHBOURS) if ranked.size else None,
            "rank": done.rank,
            "valid": done.validity.ok,
            "fails": done.validity.failures(),
        }


def hide_known(
    X: NDArray[np.float64], *, missing: float | None = None, rows: int | None = None, seed: int = 0
) -> GappedRows:
    """Shuffle rows with gaps, take some, and hide a share of what each has, leaving it at least one value.

    Every second row that is complete stays so: some methods learn from complete rows, and would have them.

    Examples
    --------
    >>> X = np.where(np.eye(6) > 0, np.nan, np.arange(1.0, 37.0).reshape(6, 6))
    >>> part = hide_known(X, missing=0.4)
    >>> np.isnan(part.X).sum(axis=1).tolist(), part.common
    ([3, 3, 3, 3, 3, 3], 3)
    """
    share = SHARE if missing is None else missing
    if not 0 < share < 1:
        raise InputError(f"missing={missing!r} must be a share between 0 and 1, such as 0.2", about=("missing",))
    rng = np.random.default_rng(seed)
    taken = X[rng.permutation(len(X))]
    taken = taken[np.nan_to_num(taken).any(axis=1)][: MOST_ROWS if rows is None else rows]
    if len(taken) < 3:
        raise InputError(f"{len(taken)} of {len(X)} rows have a value other than zero; at least 3 are needed")
    hidden = taken.copy()
    kept = np.flatnonzero(~np.isnan(taken).any(axis=1))[::2]
    for row in np.delete(np.arange(len(hidden)), kept):
        known = np.flatnonzero(~np.isnan(hidden[row]))
        hidden[row, rng.choice(known, min(round(share * len(known)), len(known) - 1), replace=False)] = np.nan
    return GappedRows(hidden, taken, seed)
