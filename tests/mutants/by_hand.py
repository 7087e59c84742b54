"""Mutants written by hand: each survived once, and each takes away something that the package promises.

They are found by their text, not by their line; a test checks that every text is still there, exactly once.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .changes import Mutant

PACKAGE = Path(__file__).parents[2] / "src" / "simcomplete"


class ByHand(NamedTuple):
    """What is taken away, from which file, and how."""

    what: str
    file: str
    old: str
    new: str

    def mutant(self, package: Path = PACKAGE) -> Mutant:
        """The same as a change at its place in the file."""
        path = package / self.file
        return Mutant(path, path.read_text(encoding="utf-8").index(self.old), self.old, self.new)


MUTANTS = [
    ByHand(
        "the certificate accepts residuals as large as the matrix",
        "_result/certificate.py",
        "(self.absolute_residual or 0.0) > 1e-6 * size",
        "(self.absolute_residual or 0.0) > 1 * size",
    ),
    ByHand(
        "the search for larger eigenvalues outside stops after its random vectors",
        "_spectral/certify.py",
        "STEPS = 3",
        "STEPS = 1",
    ),
    ByHand(
        "the safe step ignores how the penalty bends",
        "_spectral/solvers/steps.py",
        "+ bend * self.problem.weight",
        "+ 0 * self.problem.weight",
    ),
    ByHand(
        "rows whose length is certain weigh most when lengths are learnt",
        "_posterior/candidates/grid.py",
        "b**2 * (1 - b**2)",
        "b**2",
    ),
    ByHand(
        "lengths are extrapolated beyond the range that was seen",
        "_posterior/candidates/grid.py",
        "np.clip(y, self.low, self.high)",
        "y",
    ),
    ByHand(
        "ties in recall go to the higher column",
        "metrics.py",
        'np.argsort(-row, kind="stable")',
        'np.argsort(row, kind="stable")[::-1]',
    ),
    ByHand(
        "of settings with the same recall the one with the largest error is taken",
        "_posterior/candidates/grid.py",
        "[choice.error for choice in tried]",
        "[-choice.error for choice in tried]",
    ),
]
