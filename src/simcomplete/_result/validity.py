"""Five checks of a completed similarity matrix, each with its number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from simcomplete._result.html import html_table
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.budget import block_bytes, row_blocks
from simcomplete._rows.table import as_row_table
from simcomplete._rows.xp import Array, device, namespace, to_numpy
from simcomplete._similarity.exact import CandidateBlock, CandidateRows

# Up to so many rows the smallest eigenvalue is computed from the whole matrix; beyond, from the factor.
DENSE_LIMIT = 2000
# Up to so many candidates their block is compared entry by entry; beyond, by its Frobenius norm.
ENTRY_LIMIT = 10_000


ExactCandidates = CandidateRows | CandidateBlock


@dataclass(frozen=True)
class Check:
    """One of the five checks: whether it holds, its number, and what the number is."""

    ok: bool
    value: float
    meaning: str


@dataclass(frozen=True)
class Validity:
    """Whether a matrix is a valid similarity matrix, by five checks.

    Attributes
    ----------
    symmetric : Check
        Largest difference to the transpose.
    psd : Check
        Smallest eigenvalue (for large factors a lower bound that the form guarantees).
    unit_diagonal : Check
        Largest deviation of the diagonal from 1.
    bounded : Check
        Largest magnitude of an entry; [-1, 1] allows 1.
    candidates_exact : Check
        Largest deviation of the candidate block from the exact one.
    """

    symmetric: Check
    psd: Check
    unit_diagonal: Check
    bounded: Check
    candidates_exact: Check

    @property
    def ok(self) -> bool:
        """Whether all five checks hold."""
        return not self.failures()

    def failures(self) -> list[str]:
        """Names of the checks that do not hold."""
        return [name for name, check in vars(self).items() if not check.ok]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        lines = ((name.replace("_", " "), c.ok, c.value, c.meaning) for name, c in vars(self).items())
        return html_table("Validity", lines, ("check", "holds", "value", "what the value is"))

    def __str__(self) -> str:
        return "\n".join(
            f"{name.replace('_', ' '):16}  {'yes' if check.ok else 'NO ':3}  {check.value:10.3g}  {check.meaning}"
            for name, check in vars(self).items()
        )


def validate(S: SymmetricMatrix, exact: ExactCandidates | None) -> Validity:
    """Make all five checks; of a factor that is not in memory, block by block.

    Parameters
    ----------
    S : SymmetricMatrix
        The matrix.
    exact : CandidateRows or CandidateBlock, optional
        Candidates whose similarities are known; without them, that check always holds.
    """
    if S.dense is not None:
        S = replace(S, dense=as_row_table(S.dense).whole())
    xp = namespace(S.array)
    tol = 1e-4 if S.array.dtype == xp.float32 else 1e-8
    diag = to_numpy(S.diag())
    scale = max(1.0, float(np.max(np.abs(diag))))
    smallest, how = _smallest_eigenvalue(S)
    psd = Check(smallest >= -0.01 * tol * scale * S.n, smallest, how)
    off_one = float(np.max(np.abs(diag - 1)))
    largest = float(np.max(np.abs(diag))) if psd.ok and S.bounds is None else _largest_entry(S)
    asymmetry = 0.0 if S.dense is None else _asymmetry(S.dense)
    deviation, what = (0.0, "no exact block was given") if exact is None else _deviation(S, exact)
    return Validity(
        symmetric=Check(asymmetry == 0.0, asymmetry, "largest difference to the transpose"),
        psd=psd,
        unit_diagonal=Check(off_one <= tol, off_one, "largest deviation of the diagonal from 1"),
        bounded=Check(largest <= 1 + tol, largest, "largest magnitude of an entry"),
        candidates_exact=Check(deviation <= tol, deviation, what),
    )


def validation_work(S: SymmetricMatrix, exact: ExactCandidates | None) -> int:
    """Return the estimated number of multiplications that `validate` takes."""
    n, r = (int(size) for size in S.array.shape)
    small = n <= DENSE_LIMIT or S.dense is not None or S.bounds is not None
    work = n**3 if small else n * r
    work += 0 if S.psd_by_form else n * n * r
    if exact is None:
        return work
    width = getattr(exact, "width", 0)
    return work + (exact.n**2 * (r + width) if exact.n <= ENTRY_LIMIT else exact.n * (r + width) ** 2)


def checks_by_form(S: SymmetricMatrix, exact: ExactCandidates | None) -> dict[str, Check]:
    """Return those of the five checks that follow from the form, without reading any row."""
    known: dict[str, Check] = {}
    if S.dense is None:
        known["symmetric"] = Check(True, 0.0, "from the form: a product with its own transpose")
    if S.psd_by_form:
        known["psd"] = _psd_by_form(S)
    if S.unit:
        known["unit_diagonal"] = Check(True, 0.0, "from the form: unit rows, with the rest added to the diagonal")
        known["bounded"] = Check(True, 1.0, "from the form: products of unit rows")
    if exact is None:
        known["candidates_exact"] = Check(True, 0.0, "no exact block was given")
    elif S.unit and S.psd_by_form and exact.are_first_rows_of(S.factor):
        known["candidates_exact"] = Check(True, 0.0, "from the form: the factor is made of the candidates")
    return known


def _psd_by_form(S: SymmetricMatrix) -> Check:
    # F F^T has n - r eigenvalues 0, and adding a non-negative diagonal lowers none of them.
    floor = 0.0 if S.diagonal is None else min(0.0, float(namespace(S.diagonal).min(S.diagonal)))
    return Check(
        floor >= -1e-10, floor, "smallest eigenvalue, from the form: a Gram matrix plus a non-negative diagonal"
    )


def _smallest_eigenvalue(S: SymmetricMatrix) -> tuple[float, str]:
    xp = namespace(S.array)
    if S.n <= DENSE_LIMIT or S.factor is None or S.bounds is not None:
        whole = xp.astype(S.block(slice(0, S.n), slice(0, S.n)), xp.float64)
        return float(xp.linalg.eigvalsh(whole)[0]), "smallest eigenvalue"
    if S.signs is None:
        check = _psd_by_form(S)
        return check.value, check.meaning
    return min(0.0, float(S.factor_eigenvalues()[0])), "smallest eigenvalue, from the signed factor"


def _tiles(n: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Return tiles of the upper triangle of an n x n matrix, each of which is computed within a block's memory."""
    budget = block_bytes()
    side = max(1, min(isqrt(budget // 32), budget // (32 * max(1, width))))
    parts = [slice(start, min(start + side, n)) for start in range(0, n, side)]
    return ((rows, cols) for i, rows in enumerate(parts) for cols in parts[i:])


def _largest_entry(S: SymmetricMatrix) -> float:
    # A PSD matrix has its largest entry on the diagonal (Cauchy-Schwarz), so this is for other matrices.
    xp = namespace(S.array)
    every = slice(0, S.n)
    tiles = _tiles(S.n, int(S.array.shape[1])) if S.dense is None else ((r, every) for r in row_blocks(S.n, 16 * S.n))
    return max(float(xp.max(xp.abs(S.block(*tile)))) for tile in tiles)


def _asymmetry(dense: Array) -> float:
    xp = namespace(dense)
    return max(
        float(xp.max(xp.abs(dense[rows, :] - dense[:, rows].T)))
        for rows in row_blocks(int(dense.shape[0]), int(dense.shape[0]) * 8)
    )


def _deviation(S: SymmetricMatrix, exact: ExactCandidates) -> tuple[float, str]:
    xp = namespace(S.array)
    if exact.n <= ENTRY_LIMIT or S.factor is None or isinstance(exact, CandidateBlock):
        worst = 0.0
        for rows, cols in _tiles(exact.n, int(S.array.shape[1])):
            block = xp.astype(S.block(rows, cols), xp.float64)
            worst = max(worst, float(xp.max(xp.abs(block - exact.similarity(rows, cols)))))
        return worst, "largest deviation of the candidate block from the exact one"
    return _frobenius(S, exact), "Frobenius norm of the candidate block's deviation, which bounds every entry's"


def _frobenius(S: SymmetricMatrix, exact: CandidateRows) -> float:
    """|F_p sgn F_p^T + diag(a) - P^ P^^T - diag(b)|_F without the n_p x n_p matrix.

    With J = [F_p, P^], D = diag(sgn, -1) and e = a - b, its square is tr(D G D G) + 2 e.diag(J D J^T) + e.e, where
    G = J^T J. b is the diagonal deficit of rows without evidence: 1 minus their squared length.
    """
    xp = namespace(S.array)
    F: Array = S.factor
    r = int(F.shape[1])
    signs = xp.ones_like(F[0, :], dtype=xp.float64) if S.signs is None else xp.astype(S.signs, xp.float64)
    D = xp.concat([signs, -xp.ones((exact.width,), dtype=xp.float64, device=device(F))])
    G: Array = 0.0
    rest = 0.0
    for rows in row_blocks(exact.n, 8 * 8 * (exact.width + r)):
        P = exact.rows(rows)
        J = xp.concat([xp.astype(F[rows, :], xp.float64), P], axis=1)
        G = G + J.T @ J
        own = xp.sum(P * P, axis=1)
        deficit = xp.where(own < 0.75, 1 - own, xp.zeros_like(own))
        e = (0.0 if S.diagonal is None else xp.astype(S.diagonal[rows], xp.float64)) - deficit
        rest += float(xp.sum(e * (2 * xp.sum(J * J * D, axis=1) + e)))
    M = D[:, None] * G
    return float(np.sqrt(max(0.0, float(xp.sum(M * M.T)) + rest)))
