"""Plain cosines of complete rows with incomplete queries, over the queries' features: two products and a few steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcomplete._rows.xp import Array, count_true, namespace, ordinary
from simcomplete._similarity.products import NO_PART, PreparedRows


class Cosines(NamedTuple):
    """Cosines of rows with queries.

    Attributes
    ----------
    B, something : array of shape (n, n_q)
        The cosines, 0 without evidence; where a row is more than nothing on a query's features.
    own : array of shape (n, 1)
        Lengths of the rows.
    beside : array of shape (n, k)
        Products of the rows with other columns.
    """

    B: Array
    something: Array
    own: Array
    beside: Array


class PlainSides(NamedTuple):
    """What rows are multiplied with.

    Attributes
    ----------
    masks : array of shape (d, n_q + 1)
        The queries' masks, and a column of ones: it gives the whole length of a row along with its lengths on the
        queries' features.
    values : array of shape (d, n_q)
        The queries as unit vectors, 0 where missing.
    fit : array of bool, shape (n_q,)
        Queries that have evidence.
    """

    masks: Array
    values: Array
    fit: Array

    @classmethod
    def of(cls, queries: PreparedRows, min_overlap: int) -> PlainSides:
        """Take prepared queries."""
        Z, M = queries
        assert M is not None  # queries are prepared with their mask
        xp = namespace(Z)
        norm = xp.sqrt(xp.sum(Z * Z, axis=1))
        count = xp.sum(M, axis=1)
        fit = (norm > 0) & (count >= min_overlap)
        unit = xp.where(fit, 1 / xp.where(norm > 0, norm, xp.ones_like(norm)), xp.zeros_like(norm))
        return cls(xp.concat([M, xp.ones_like(M[:1, :])], axis=0).T, (Z * unit[:, None]).T, fit)

    def values_beside(self, more: Array) -> Array:
        """The values, and other columns to be multiplied with in the same product."""
        return namespace(more).concat([self.values, more], axis=1)

    def cosines(self, Z: Array, joined: Array) -> Cosines | None:
        """Cosines of float64 rows, or None where squares leave the range of numbers.

        `joined` are the values, or what `values_beside` made of them.

        Examples
        --------
        >>> queries = PreparedRows(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]))
        >>> found = PlainSides.of(queries, 1).cosines(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[1.0], [0.0]]))
        >>> found.B.ravel(), found.own.ravel(), found.something.ravel()
        (array([1., 0.]), array([5., 1.]), array([ True, False]))
        """
        xp = namespace(Z)
        with np.errstate(over="ignore", invalid="ignore"):  # such rows are read again, scaled
            energy = (Z * Z) @ self.masks
        own = energy[:, -1:]
        if not ordinary(own):
            return None
        energy = energy[:, :-1]
        something = energy > NO_PART * own
        products, n_q = Z @ joined, int(self.values.shape[1])
        B = products[:, :n_q]
        if count_true(something) < int(np.prod(something.shape)):
            energy = xp.where(something, energy, xp.full_like(energy, np.inf))  # no evidence: 0
        B /= xp.sqrt(energy)
        return Cosines(xp.clip(B, -1.0, 1.0), something, xp.sqrt(own), products[:, n_q:])
