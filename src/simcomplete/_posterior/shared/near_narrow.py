"""Neighbours of incomplete rows among many candidates: narrowed down in float32, decided in float64.

The overlap cosine of a unit row v, 0 where missing, and a candidate p is N / sqrt(E), N the sum of v_j p_j and E that
of p_j^2 over what is observed. Both err relatively to sqrt(E) and E, so their quotient errs by a known amount wherever
no square vanishes; candidates of which that is not sure are always among those that float64 decides on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.shared.neighbours import Nearest, Probes, exact_cosines
from simcomplete._posterior.shared.rows import RESOLUTION
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.narrow import BLOCK, NarrowRows, Single, close, slack
from simcomplete._types import Matrix

FEW_MASKS = 16  # up to which the features that each has are read by themselves; else all of them, for all masks at once
SHARE = 8  # the share of the candidates, 1 / SHARE, that float64 decides on one by one; if there are more, on all


def nearest_narrow(probes: Probes, rows: NarrowRows, most: int) -> tuple[Nearest, NDArray[np.int64]]:
    """The candidates with the largest overlap cosine, as `Probes.nearest` finds them.

    Returns
    -------
    near : Nearest
        Of every probe.
    open : array of int
        Probes of which float32 says too little, because very many candidates are about equally near: their lines in
        `near` have no meaning.
    """
    n = rows.shape[0]
    m, left = len(probes.values), []
    ids = np.zeros((m, most), dtype=np.int64)
    cosines, energies = np.zeros((m, most)), np.zeros((m, most))
    for part in row_blocks(m, 16 * n):
        rough = _rough(probes, part, rows)
        for i, line in enumerate(rough, start=part.start):
            mask = probes.masks[probes.which[i]]
            if not probes.values[i].any():  # equally far from all
                ids[i] = np.arange(most)
                energies[i] = exact_cosines(probes.values[i], mask, rows.exact[:most])[1]
                continue
            gap = 4 * slack(int(np.count_nonzero(mask))) + 4 / RESOLUTION
            some = close(line, most, gap)
            if len(rows.frail):
                some = np.union1d(some, rows.frail)
            if len(some) * SHARE > n:
                left.append(i)
                continue
            cosine, energy = exact_cosines(probes.values[i], mask, rows.exact[some])
            steps = np.rint(cosine * RESOLUTION)
            best = np.argsort(-steps, kind="stable")[:most]
            ids[i], cosines[i], energies[i] = some[best], steps[best] / RESOLUTION, energy[best]
    return Nearest(ids, cosines, energies), np.array(left, dtype=np.int64)


def _rough(probes: Probes, part: slice, rows: NarrowRows) -> Single:
    """Overlap cosines in float32, 0 without evidence."""
    values, which = probes.values[part].astype(np.float32), probes.which[part]
    masks, which = np.unique(which, return_inverse=True)
    found = np.empty((len(values), rows.shape[0]), dtype=np.float32)
    seen = [np.flatnonzero(probes.masks[mask]) for mask in masks]
    if len(masks) <= FEW_MASKS or max(map(len, seen)) * SHARE <= rows.shape[1]:
        _by_mask(values, which, seen, rows, found)
        return found
    for i, block in enumerate(rows.blocks):
        out = found[:, i * BLOCK : i * BLOCK + block.shape[1]]
        np.matmul(values, block, out=out)
        out /= _root(probes.masks[masks].astype(np.float32) @ (block * block))[which]
    return found


def _by_mask(
    values: Single, which: NDArray[np.int64], seen: list[NDArray[np.int64]], rows: NarrowRows, found: Single
) -> None:
    """Fill in the cosines mask by mask, reading only the features that a mask has."""
    room = np.empty(max(map(len, seen)) * BLOCK, dtype=np.float32)  # one for all: new memory costs as much as reading
    parts = []
    for mask, own in enumerate(seen):
        of = np.flatnonzero(which == mask)
        # Features that are 0 in all rows of the mask come last: they count in the energies of candidates alone.
        some = values[of][:, own].any(axis=0)
        parts.append((of, np.concatenate([own[some], own[~some]]), values[of][:, own[some]]))
    for i, block in enumerate(rows.blocks):
        width = block.shape[1]
        for of, own, probes in parts:
            read = np.take(block, own, axis=0, out=room[: len(own) * width].reshape(len(own), width), mode="clip")
            product = probes @ read[: probes.shape[1]]
            np.multiply(read, read, out=read)
            product /= _root(np.ones(len(own), dtype=np.float32) @ read)
            found[of, i * BLOCK : i * BLOCK + width] = product


def _root(energy: Matrix | Single) -> Single:
    root = np.sqrt(energy)
    root[root == 0] = np.inf
    return root
