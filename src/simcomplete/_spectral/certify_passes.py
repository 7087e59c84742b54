"""The certificate of a structured solution in two more passes: nothing of length n is held, and none is sent about.

Rows of the eigenvectors U are made again from the candidates. The first pass sums U^T U and H^T U, and S0 U follows
row by row; the second sums what S0 U and U diag(w) differ by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simcomplete._result.certificate import Certificate
from simcomplete._rows.xp import Array, like, namespace, to_numpy
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.certify import build_certificate, largest_outside, numerical_rank
from simcomplete._spectral.eigen.reduced import FactorOf, Reduced
from simcomplete._spectral.penalties import SpectralProblem
from simcomplete._types import Vector


class CertificateSums(NamedTuple):
    """Two arrays that are added over blocks."""

    first: Array
    second: Array


def added(a: CertificateSums, b: CertificateSums) -> CertificateSums:
    """Add two pairs."""
    return CertificateSums(a.first + b.first, a.second + b.second)


@dataclass(frozen=True)
class InnerOf:
    """What the first of the two passes does with a block: H^T U and U^T U."""

    rows: FactorOf

    def __call__(self, X: Array, start: int) -> CertificateSums:
        """Return the sums over one block."""
        H = self.rows.reader(X, start).H
        U = self.rows.of(H)
        return CertificateSums(H.T @ U, U.T @ U)


@dataclass(frozen=True)
class ResidualOf:
    """What the second does: sums over rows of (S0 U - U diag(w))^2 and of U * (S0 U), where S0 U = H right."""

    rows: FactorOf
    right: Array
    w: Array

    def __call__(self, X: Array, start: int) -> CertificateSums:
        """Return the sums over one block."""
        H = self.rows.reader(X, start).H
        return compared(self.rows.of(H), H @ self.right, self.w)


def compared(U: Array, SU: Array, w: Array) -> CertificateSums:
    """Return sums over rows, one number for every vector."""
    xp = namespace(U)
    return CertificateSums(xp.sum((SU - U * w) ** 2, axis=0), xp.sum(U * SU, axis=0))


def certify_passes(problem: SpectralProblem, reduced: Reduced, w: Vector, seed: int = 0) -> Certificate:
    """Judge the exact structured solution; see `certify`, which holds the whole factor and asks the same.

    That the w are the largest is asked of the small problem, which has all eigenvalues of S0 that are not 0.
    """
    operator = reduced.operator
    s = problem.penalty.shrink(w, problem.weight)
    rank = numerical_rank(s, operator.n)
    outside = None
    if rank < int(reduced.small.shape[0]):
        outside = largest_outside(DenseSimilarity(reduced.small), reduced.Y[:, :rank], seed)
    if rank == 0:
        return build_certificate(problem, w, problem.scale, 0, (0.0, 0.0, outside), True)
    keep = np.zeros(int(reduced.lift.shape[1]))
    keep[:rank] = 1.0
    rows, below = reduced.factor(keep)
    rows, below = FactorOf(rows.reader, rows.reflector, rows.lift[:, :rank]), below[:, :rank]
    numbers, width = like(w[:rank], below), operator.candidates.width
    room = operator.bytes_per_row + 8 * 5 * rank
    source, shown = operator.candidates.source, operator.progress
    inner = source.fold(InnerOf(rows), added, bytes_per_row=room, label="check, inner", progress=shown)
    right = namespace(below).concat([inner.first[:width, :], below], axis=0)
    work = ResidualOf(rows, right, numbers)
    outer = source.fold(work, added, bytes_per_row=room, label="check, outer", progress=shown)
    outer = added(outer, compared(below, inner.first[width:, :] + operator.C @ below, numbers))
    gram, products = to_numpy(inner.second + below.T @ below), to_numpy(outer.second)
    # V = U diag(sqrt(s)) as it was found, not as it should be: lengths and angles of U are those measured.
    root = np.sqrt(s[:rank])
    gram_v = root[:, None] * gram * root[None, :]
    objective = float(np.sum(gram_v**2)) - 2 * float(np.sum(s[:rank] * products)) + problem.scale
    objective += problem.weight * problem.penalty.value(np.maximum(np.linalg.eigvalsh((gram_v + gram_v.T) / 2), 0.0))
    error = np.sqrt(to_numpy(outer.first) / np.diag(gram))
    return build_certificate(
        problem, w, objective, rank, (float(np.max(error / w[:rank])), float(np.max(error)), outside), True
    )
