"""The posterior model over candidates that are read block by block: one pass, then everything small.

The pass sums what the Gaussian needs and keeps the nearest candidates of every query, real and simulated, by running
selection. What comes after looks only at those neighbours' rows, with the same code as in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.candidate_pass import PassOf, Seen
from simcomplete._posterior.candidates.conditional import Queries, Space, unit_rows
from simcomplete._posterior.candidates.grid import Choice, Objective
from simcomplete._posterior.candidates.model import LEARN, SIMULATED, Effort, Vectors, check_settings, finished
from simcomplete._posterior.candidates.moments import WIDE, Matrix, Statistics, WideStatistics
from simcomplete._posterior.shared.holdout import COPY, OTHERS, Rehearsal
from simcomplete._posterior.shared.neighbours import MOST, Nearest, distinct
from simcomplete._result.matrix import take
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.table import as_table
from simcomplete._rows.xp import Array, like, namespace, to_numpy
from simcomplete.errors import InputError

LARGE = 2**25  # values; from here on candidates are read by block
SAMPLE = 2000  # rows that tell a typical length (and, of wide rows, the covariance)
BATCH = 1024  # queries in one pass
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Streamed:
    """Candidates that are not held, and what was learnt from them.

    `spaces` have statistics and ranges of features; their rows are those of the moment.
    """

    source: Array
    scale: float
    spaces: dict[str, Space]
    choice: Choice
    progress: bool | None = None

    @property
    def unit(self) -> UnitRows:
        """Unit rows of the candidates, made when they are asked for."""
        return UnitRows(self.source)

    @classmethod
    def fit(
        cls,
        source: Array,
        masks: Mask,
        *,
        rng: np.random.Generator,
        effort: Effort = "full",
        objective: Objective = "error",
        queries: Matrix | None = None,
        progress: bool | None = None,
    ) -> tuple[Streamed, Vectors | None]:
        """Calibrate on candidates that lose what `masks` (True = observed) lack, and complete `queries` on the way."""
        check_settings(effort, objective)
        if effort == "best":
            raise InputError(
                "effort='best' looks at all candidates again and again and needs them in memory, at most "
                f"{LARGE:,} values; use effort='full' for these"
            )
        n = int(source.shape[0])
        sample = _rows(source, rng.choice(n, min(SAMPLE, n), replace=False))
        length = np.sqrt(np.sum(sample * sample, axis=1))
        scale = float(np.median(length[length > 0])) if length.any() else 1.0
        names = ("unit",) if effort == "fast" else ("raw", "unit")
        held = _distinct_rows(source, rng, min(SIMULATED[effort], n // 4)) / scale
        shown = masks[rng.integers(len(masks), size=len(held))]
        others = unit_rows(_rows(source, rng.choice(n, min(OTHERS, n), replace=False)))
        first = np.zeros((0, held.shape[1])) if queries is None else queries[:BATCH] / scale
        probes = np.concatenate([first, np.where(shown, held, np.nan)])
        seen = _gather(source, scale, names, probes, unit_rows(held), len(first), progress)
        spaces = {name: _space(name, seen, sample / scale) for name in names}
        model = cls(source, scale, spaces, None, progress)  # type: ignore[arg-type]  # learnt next
        around = Around.of(source, scale, names, seen)
        found = len(first)
        rehearsal = Rehearsal(
            {name: around.space(space, _left(name, seen, sample / scale, held)) for name, space in spaces.items()},
            around.forms["unit"],
            Queries(np.where(shown, held, 0.0), shown, _allowed(around.near.some(slice(found, None)))),
            others,
            unit_rows(held) @ others.T,
        )
        learnt = LEARN[effort](rehearsal, objective)
        assert isinstance(learnt, Choice)  # only "best" stacks
        model = replace(model, choice=learnt)
        if queries is None:
            return model, None
        begun = model._vectors(first, replace(around, near=around.near.some(slice(0, found))))
        rest = model.vectors(queries[BATCH:])
        return model, Vectors(np.concatenate([begun.u, rest.u]), np.concatenate([begun.length, rest.length]))

    def vectors(self, Q: Matrix) -> Vectors:
        """Turn rows with NaN into vectors; one pass over the candidates for every batch of them."""
        parts = []
        for start in range(0, len(Q), BATCH):
            some = Q[start : start + BATCH] / self.scale
            seen = _gather(self.source, self.scale, (), some, None, len(some), self.progress)
            parts.append(self._vectors(some, Around.of(self.source, self.scale, tuple(self.spaces), seen)))
        if not parts:
            return Vectors(np.zeros(Q.shape), np.zeros(len(Q)))
        return Vectors(np.concatenate([p.u for p in parts]), np.concatenate([p.length for p in parts]))

    def _vectors(self, Q: Matrix, around: Around) -> Vectors:
        observed = ~np.isnan(Q)
        values = np.where(observed, Q, 0.0)
        spaces = {name: around.space(space, space.statistics) for name, space in self.spaces.items()}
        u, length = self.choice.vectors(spaces, around.forms["unit"], Queries(values, observed, around.near))
        return finished(u, length, values, observed)


@dataclass(frozen=True)
class Around:
    """The rows of everybody's neighbours in every form, their squares, and who is near whom among them."""

    forms: dict[str, Matrix]
    squares: dict[str, Matrix]
    near: Nearest

    @classmethod
    def of(cls, source: Array, scale: float, names: tuple[str, ...], seen: Seen) -> Around:
        """Bring the neighbours here."""
        ids, place = np.unique(seen.best.ids, return_inverse=True)
        place = place.reshape(seen.best.ids.shape)
        rows = _rows(source, ids) / scale
        forms = {"unit": unit_rows(rows)} | ({"raw": rows} if "raw" in names else {})
        squares = {name: form * form for name, form in forms.items()}
        energies = np.stack([squares["unit"][own] @ mask for own, mask in zip(place, seen.masks, strict=True)])
        return cls(forms, squares, Nearest(place, np.asarray(seen.best.scores, dtype=np.float64), energies))

    def space(self, space: Space, known: Statistics | WideStatistics) -> Space:
        """A space with these rows to be neighbours."""
        return space.over(self.forms[space.name], self.squares[space.name], known)


def _gather(
    source: Array,
    scale: float,
    names: tuple[str, ...],
    probes: Matrix,
    held: Matrix | None,
    real: int,
    progress: bool | None,
) -> Seen:
    """One pass: moments of the candidates in some spaces, and the nearest of every probe."""
    observed = ~np.isnan(probes)
    values = unit_rows(np.where(observed, probes, 0.0))
    first, which = distinct(observed)
    model = source[:1, :]
    double = namespace(model).float64
    work = PassOf(
        like(values, model, dtype=double),
        like(observed[first].astype(np.float64), model, dtype=double),
        which,
        None if held is None else like(held, model, dtype=double),
        real,
        names if probes.shape[1] <= WIDE else (),
        1 / scale,
        min(MOST, max(int(source.shape[0]) - 1, 1)),
        observed.astype(np.float64),
    )
    width = 8 * (4 * probes.shape[1] + 4 * len(probes))
    return as_table(source).fold(work, work.merge, bytes_per_row=width, label="candidates", progress=progress)


def _space(name: str, seen: Seen, sample: Matrix) -> Space:
    """A space whose rows are yet to come."""
    if name not in seen.moments:  # too wide for a matrix: a sample tells
        return Space.of(name, sample)
    moments = seen.moments[name]
    return Space(name, np.zeros((0, sample.shape[1])), moments.statistics, moments.lowest, moments.highest, 1.0)


def _left(name: str, seen: Seen, sample: Matrix, held: Matrix) -> Statistics | WideStatistics:
    """Statistics without those who play queries, and without their copies."""
    if name in seen.moments:
        return seen.moments[name].without(seen.copies[name])
    same = (unit_rows(sample) @ unit_rows(held).T > COPY).any(axis=1)
    return Space.of(name, sample[~same] if not same.all() else sample).statistics


def _allowed(near: Nearest) -> Nearest:
    """Neighbours without those that were forbidden: the same number for everybody, at least one."""
    least = int(np.isfinite(near.cosines).sum(axis=1).min(initial=near.cosines.shape[1]))
    near = near.some(slice(None), max(least, 1))
    return near._replace(cosines=np.where(np.isfinite(near.cosines), near.cosines, 0.0))


def _rows(source: Array, positions: NDArray[np.int64]) -> Matrix:
    return np.asarray(to_numpy(take(source, positions)), dtype=np.float64)


def _distinct_rows(source: Array, rng: np.random.Generator, count: int) -> Matrix:
    """Some rows, none of them zero or twice."""
    rows = _rows(source, rng.choice(int(source.shape[0]), min(2 * count, int(source.shape[0])), replace=False))
    rows = rows[rows.any(axis=1)]
    first = np.sort(np.unique(unit_rows(rows), axis=0, return_index=True)[1])[:count]
    return rows[first]
