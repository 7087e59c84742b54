"""The systems of all queries at once, on the device that the candidates are on.

One Cholesky factorisation for a stack of matrices, one for each mask, and triangular solves of all rows together: a GPU
that is given them one after the other waits for each. Matrices of masks with fewer features are filled up with rows of
the identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import SMALLEST_VARIANCE, Dense
from simcomplete._posterior.shared.rows import distinct_masks
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.xp import Array, like, namespace, solve_triangular, to_numpy
from simcomplete._types import Mask, Matrix


class Systems(NamedTuple):
    """Factorised systems of some masks, and which of them every row has.

    Attributes
    ----------
    order : array of int, shape (masks, k)
        The observed features of every mask, first, and others up to as many as the longest has.
    real : array of bool, shape (masks, k)
        Which of these are observed.
    which : array of int, shape (rows,)
        The mask of every row.
    L : array of shape (masks, k, k)
        Lower triangular factors.
    """

    order: NDArray[np.int64]
    real: Mask
    which: NDArray[np.int64]
    L: Array

    def weigh(self, sides: Matrix) -> Matrix:
        """C_oo^-1 r_o for right-hand sides of shape (sides, rows, d), 0 where missing."""
        out, xp, k = np.zeros_like(sides), namespace(self.L), self.order.shape[1]
        for rows in row_blocks(sides.shape[1], 8 * (2 * k * k + 4 * k * len(sides)), like=self.L):
            which = self.which[rows]
            columns = np.broadcast_to(self.order[which], (len(sides), len(which), k))
            B = np.take_along_axis(sides[:, rows], columns, axis=2) * self.real[which]
            L = xp.take(self.L, like(which, self.L), axis=0)
            y = solve_triangular(L, like(np.ascontiguousarray(B.transpose(1, 2, 0)), L), lower=True)
            x = to_numpy(solve_triangular(xp.matrix_transpose(L), y))
            np.put_along_axis(out[:, rows], columns, x.transpose(2, 0, 1) * self.real[which], axis=2)
        return out


@dataclass(frozen=True)
class BatchedDense(Dense):
    """A covariance matrix that is factorised on a device, for many masks at a time.

    Attributes
    ----------
    place : array
        An array on the device.
    """

    place: Array = field(default=None, repr=False, compare=False)

    def of(self, C: Matrix) -> BatchedDense:
        """Another matrix, factorised there, too."""
        return BatchedDense(C, place=self.place)

    @cached_property
    def _there(self) -> Array:
        return like(self.C, self.place)

    def times(self, A: Matrix) -> Matrix:
        """Return A C."""
        return to_numpy(like(A, self.place) @ self._there)

    def systems(self, observed: Mask) -> Systems | None:
        """Factorise the systems of all masks; None where one is singular: then each is factorised by itself."""
        first, which = distinct_masks(observed)
        masks = observed[first]
        count, d = masks.sum(axis=1), masks.shape[1]
        k = int(count.max(initial=0))
        if len(observed) == 1 or k == 0 or not self.variances.min() > SMALLEST_VARIANCE:
            return None
        order = np.argsort(~masks, axis=1, kind="stable")[:, :k]
        real = np.arange(k) < count[:, None]
        C, xp = self._there, namespace(self._there)
        flat, parts = xp.reshape(C, (d * d,)), []
        for some in row_blocks(len(masks), 8 * 4 * k * k, like=C):
            here, both = order[some], real[some][:, :, None] & real[some][:, None, :]
            entries = xp.take(flat, like((here[:, :, None] * d + here[:, None, :]).ravel(), C))
            G = xp.where(like(both, C), xp.reshape(entries, both.shape), like(np.eye(k), C))
            try:
                parts.append(xp.linalg.cholesky(G))
            except (np.linalg.LinAlgError, RuntimeError):  # the second is torch's
                return None
        return Systems(order, real, which, xp.concat(parts, axis=0))
