"""What similarities stand on, counted without the similarities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._rows.progress import one_bar
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, count_true
from simcomplete._similarity.candidate_pass import Reader
from simcomplete._similarity.measure import Evidence, Measure
from simcomplete._similarity.overlap import overlap_evidence
from simcomplete._similarity.products import prepare_rows

Count = tuple[int, tuple[int, ...]]  # pairs without evidence, and candidates that are zero


@dataclass
class LazyEvidence:
    """Evidence that is counted when somebody asks, or along with the similarities where they are computed.

    A method that works on samples has no use for it.
    """

    samples: RowTable
    queries: RowTable | None
    measure: Measure
    progress: bool | None = None
    known: Evidence | None = None

    def __call__(self) -> Evidence:
        """Count, unless it was done."""
        if self.known is None:
            with one_bar(self.progress):
                self.known = self._count()
        return self.known

    def _count(self) -> Evidence:
        if self.queries is None:
            return overlap_evidence(self.samples, self.measure, progress=self.progress)
        xp = self.queries.xp
        reader = Reader(prepare_rows(xp.astype(self.queries.whole(), xp.float64), self.measure), self.measure)
        without, zero = self.samples.fold(
            CountOf(reader),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
            bytes_per_row=8 * (3 * self.samples.d + 5 * self.queries.n),
            label="evidence",
            progress=self.progress,
        )
        among = overlap_evidence(self.queries, self.measure, progress=self.progress)
        return Evidence.combined(self.samples.n, without, zero, among, self.measure)


@dataclass(frozen=True)
class CountOf:
    """What a pass over candidates does with a block, to count."""

    reader: Reader

    def __call__(self, X: Array, start: int) -> Count:
        """Count pairs without evidence, and name candidates that are zero."""
        _, supported, zero = self.reader(X)
        assert supported is not None  # nothing is kept here
        return int(np.prod(supported.shape)) - count_true(supported), tuple(int(k) + start for k in zero)
