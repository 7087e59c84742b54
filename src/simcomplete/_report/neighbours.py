"""Single queries of the demonstration: their pixels, and the nearest candidates before and after completion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._report.demo import Demo
from simcomplete._report.figures import picture
from simcomplete._result.search import Neighbours
from simcomplete._rows.xp import top_k

MAX_QUERIES = 6
N_NEAREST = 5
N_TRUE = 10


@dataclass(frozen=True)
class Candidate:
    """A candidate near a query: its picture, its digit, its similarity, and whether it is truly among the nearest."""

    picture: str
    digit: str
    score: float
    true: bool


@dataclass(frozen=True)
class NearestByMethod:
    """The candidates that a method finds nearest to a query, the most similar first."""

    method: str
    candidates: list[Candidate]


@dataclass(frozen=True)
class Query:
    """A query: its picture with and without hidden pixels, its digit, and its nearest candidates by two methods."""

    number: int
    seen: str
    complete: str
    n_hidden: int
    n_pixels: int
    digit: str
    nearest: list[NearestByMethod]


def first_queries(demo: Demo) -> list[Query]:
    """Return the first queries with the nearest candidates by S0 and by the completion."""
    count = min(MAX_QUERIES, demo.queries)
    true = top_k(demo.query_block(demo.truth)[:count], n_true(demo))[0]
    methods = {"S0": demo.before, demo.featured: demo.after}
    top = {
        name: Neighbours(*top_k(demo.query_block(S)[:count], min(N_NEAREST, demo.candidates)))
        for name, S in methods.items()
    }
    return [
        _query(
            demo,
            i,
            [_nearest(demo, name, ids[i], scores[i], set(true[i].tolist())) for name, (ids, scores) in top.items()],
        )
        for i in range(count)
    ]


def n_true(demo: Demo) -> int:
    """Return how many candidates count as a query's true nearest."""
    return min(N_TRUE, demo.candidates)


def _query(demo: Demo, i: int, nearest: list[NearestByMethod]) -> Query:
    row = demo.candidates + i
    values, seen = demo.X[row].reshape(demo.image_shape), demo.observed[i].reshape(demo.image_shape)
    return Query(
        number=i + 1,
        seen=picture(values, seen),
        complete=picture(values),
        n_hidden=int((~seen).sum()),
        n_pixels=seen.size,
        digit=str(demo.y[row]),
        nearest=nearest,
    )


def _nearest(
    demo: Demo, name: str, ids: NDArray[np.int64], scores: NDArray[np.floating], true: set[int]
) -> NearestByMethod:
    candidates = [
        Candidate(picture(demo.X[j].reshape(demo.image_shape)), str(demo.y[j]), score, j in true)
        for j, score in zip(ids.tolist(), scores.tolist(), strict=True)
    ]
    return NearestByMethod(name, candidates)
