"""Other forms of a completed matrix: unit diagonal, exact candidate block, entries clipped.

Each has a price: rescaling to a unit diagonal can raise the error several times over; a matrix with the exact
candidate block put back, or with entries clipped, need not be positive semi-definite. The view's `validity` shows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.budget import require
from simcomplete._rows.derived import scaled
from simcomplete._rows.xp import Array, astype, namespace, set_diagonal, zeros
from simcomplete.errors import InputError

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

ROUNDING = 64  # units in the last place of a sum of squares


def view(
    done: Completion, *, unit_diagonal: bool = False, keep_candidates: bool = False, clip: bool = False
) -> Completion:
    """Return the same result in another form; its `validity` shows which properties that changes.

    Parameters
    ----------
    unit_diagonal : bool
        Rescale rows and columns to a diagonal of 1.
    keep_candidates : bool
        Put the exact candidate block back.
    clip : bool
        Clip entries to [-1, 1] (to [0, 1] where scores were mapped to (0, 1]).
    """
    given = {"unit_diagonal": unit_diagonal, "keep_candidates": keep_candidates, "clip": clip}
    asked = {name: True for name, value in given.items() if value}
    if not asked:
        return done
    S = with_unit_diagonal(done.matrix) if unit_diagonal else done.matrix
    S = with_exact_candidates(S, done.exact) if keep_candidates else S
    S = clipped(S, 0.0 if done.params.get("positive") else -1.0) if clip else S
    model = done.interval_model
    if model is not None and model.ranked is not None and S is not done.matrix:
        columns = None if S.factor is None else int(S.factor.shape[1])
        if columns != model.ranked.residuals.shape[1]:  # these rows are not in the space in which errors were learnt
            model = replace(model, ranked=None)
    return replace(done, matrix=S, params={**done.params, **asked}, interval_model=model)


def with_unit_diagonal(S: SymmetricMatrix) -> SymmetricMatrix:
    """Rescale rows and columns so that the diagonal is 1; a row without any similarity is similar to itself alone."""
    xp = namespace(S.array)
    own = S.diag()
    nonzero = own > 0
    if bool(xp.any(own < 0)) or _is_rounding(S, own):
        raise InputError(
            "the diagonal has negative entries, or zeros in rows that are not zero: they have no unit diagonal; "
            "use a method whose result is positive semi-definite"
        )
    nonzero_or_one = xp.where(nonzero, own, xp.ones_like(own))
    root = xp.sqrt(nonzero_or_one)
    zero_rows = xp.astype(~nonzero, own.dtype)
    if S.factor is None:
        dense: Array = S.dense / (root[:, None] * root[None, :])  # one division: symmetric to the bit
        set_diagonal(dense, xp.ones_like(own))
        return replace(S, dense=dense, unit=S.psd_by_form)
    diagonal = zero_rows if S.diagonal is None else S.diagonal / nonzero_or_one + zero_rows
    keep = S.diagonal is not None or bool(xp.any(~nonzero))
    F = scaled(S.factor, 1 / root)
    return replace(S, factor=F, diagonal=diagonal if keep else None, unit=S.psd_by_form)


def _is_rounding(S: SymmetricMatrix, own: Array) -> bool:
    """Whether a diagonal entry is only the rounding error of squares that cancel, in a factor with signs."""
    if S.signs is None:
        return False
    xp = namespace(own)
    size = replace(S, signs=None).diag()
    return bool(xp.any((size > 0) & (own <= ROUNDING * float(xp.finfo(own.dtype).eps) * size)))


def with_exact_candidates(S: SymmetricMatrix, exact: Any) -> SymmetricMatrix:
    """Put the exact candidate block back in place of the estimated one.

    Where candidates are feature rows P^, the result is again a (signed) factor, because
    ``S_pp - F_p F_p^T + P^ P^^T`` is one: ``[[F_p, P^, F_p], [F_q, 0, 0]]`` with signs +, +, -.
    """
    if exact is None:
        raise InputError(
            "there is no exact candidate block to keep: complete(X) without queries treats every row as "
            "incomplete, and a completion saved with candidates=False does not contain it"
        )
    xp = namespace(S.array)
    n, n_p = S.n, exact.n
    wide = 0 if S.factor is None else 2 * int(S.factor.shape[1]) + getattr(exact, "width", n)
    if S.factor is None or wide >= n:
        dense = S.block(slice(0, n), slice(0, n))
        dense = xp.asarray(dense, copy=True)
        block = astype(exact.similarity(slice(0, n_p), slice(0, n_p)), dense.dtype)
        dense[:n_p, :n_p] = (block + block.T) / 2  # products may differ by rounding
        return SymmetricMatrix(dense=dense, bounds=S.bounds)
    require(
        n * wide * 8,
        f"a signed factor of {n} x {wide}",
        "keep the plain completion, and exact candidates apart",
    )
    F = S.factor
    r = int(F.shape[1])
    factor = zeros(F, (n, wide))
    factor[:, :r] = F
    factor[:n_p, r : wide - r] = astype(exact.rows(slice(0, n_p)), F.dtype)
    factor[:n_p, wide - r :] = F[:n_p, :]
    signs = zeros(F, (wide,)) + 1
    signs[wide - r :] = -1
    if S.signs is not None:
        signs[:r] = S.signs
        signs[wide - r :] = -S.signs
    diagonal, own = S.diagonal, xp.sum(factor[:n_p, r : wide - r] ** 2, axis=1)
    if diagonal is not None or bool(xp.any(own == 0)):  # a zero candidate has similarity 1 with itself, but no unit row
        below = zeros(F, (n - n_p,)) if diagonal is None else diagonal[n_p:]
        diagonal = xp.concat([xp.where(own > 0, 1 - own, xp.ones_like(own)), below])
    return SymmetricMatrix(factor=factor, signs=signs, diagonal=diagonal, bounds=S.bounds)


def clipped(S: SymmetricMatrix, low: float = -1.0, high: float = 1.0) -> SymmetricMatrix:
    """Clip entries to [low, high] whenever they are read."""
    return replace(S, bounds=(low, high))
