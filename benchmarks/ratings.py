"""Predicted ratings beside scikit-surprise, top-N lists beside EASE, a large table: ``python -m benchmarks.ratings``.

Ratings are those of SIMCOMPLETE_DATA (MovieLens small and Jester). Of each, a fifth is held out at random.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.measure import fresh
from benchmarks.ratings_top import top_lists
from benchmarks.results.data import load, there
from simcomplete._ratings.biases import learn_biases
from simcomplete._types import Matrix, Vector

DATA = ("movielens_small", "jester")
HELD_OUT = 0.2
LARGE = {"n": 6000, "d": 3700, "known": 0.04}


class Cells(NamedTuple):
    """Some ratings of a table."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Vector

    def sparse(self, shape: tuple[int, int]) -> Any:
        """The same as a sparse matrix."""
        return scipy.sparse.csr_array((self.values, (self.rows, self.columns)), shape=shape)


def split(X: Matrix, seed: int) -> tuple[Cells, Cells]:
    """Known ratings, four fifths and one fifth of them."""
    rows, columns = np.nonzero(~np.isnan(X))
    order = np.random.default_rng(seed).permutation(len(rows))
    cut = int(HELD_OUT * len(order))

    def cells(which: NDArray[np.int64]) -> Cells:
        return Cells(rows[which], columns[which], X[rows[which], columns[which]].astype(np.float64))

    return cells(order[cut:]), cells(order[:cut])


def biases_alone(train: Cells, test: Cells, shape: tuple[int, int]) -> Vector:
    """Means of rows and columns."""
    return learn_biases(train.sparse(shape), "both").at(test.rows, test.columns)


def shrunk(train: Cells, test: Cells, shape: tuple[int, int]) -> Vector:
    """Values of method "shrunk"."""
    done = sc.complete(train.sparse(shape), method="shrunk", missing="absent", biases="both", progress=False)
    return np.asarray(done.imputed()[test.rows, test.columns])


def surprise_side(name: str, **settings: Any) -> Callable[..., Vector]:
    """A predictor of scikit-surprise, with the range of the ratings told, as it wants."""

    def predict(train: Cells, test: Cells, shape: tuple[int, int]) -> Vector:
        import surprise

        reader = surprise.Reader(rating_scale=(train.values.min(), train.values.max()))
        raw = [(int(u), int(i), float(r), None) for u, i, r in zip(*train, strict=True)]
        model = getattr(surprise, name)(**settings)
        if name != "SVD":
            model.verbose = False
        model.fit(surprise.Dataset(reader).construct_trainset(raw))
        pairs = zip(test.rows, test.columns, strict=True)
        return np.array([model.predict(int(u), int(i)).est for u, i in pairs])

    return predict


BY_ITEMS = {"name": "pearson_baseline", "user_based": False}
SIDES: dict[str, Callable[..., Vector]] = {
    "means of rows and columns": biases_alone,
    "simcomplete, shrunk": shrunk,
    "surprise, BaselineOnly": surprise_side("BaselineOnly"),
    "surprise, KNNBaseline of items": surprise_side("KNNBaseline", sim_options=BY_ITEMS),
    "surprise, KNNBaseline of users": surprise_side("KNNBaseline"),
    "surprise, SVD": surprise_side("SVD", random_state=0),
}


def predicted(seeds: int) -> list[dict[str, Any]]:
    """Root mean squared error of held-out ratings."""
    rows = []
    for data in filter(there, DATA):
        X = load(data)
        for side, predict in SIDES.items():
            errors, began = [], time.process_time()
            try:
                for seed in range(seeds):
                    train, test = split(X, seed)
                    errors.append(float(np.sqrt(np.mean((predict(train, test, X.shape) - test.values) ** 2))))
            except ImportError:
                rows.append({"data": data, "side": side, "rmse": np.nan, "by_seed": "not installed", "cpu_s": np.nan})
                continue
            told = " ".join(f"{error:.4f}" for error in errors)
            spent = (time.process_time() - began) / seeds
            rows.append({"data": data, "side": side, "rmse": float(np.mean(errors)), "by_seed": told, "cpu_s": spent})
            print(rows[-1], flush=True)
    return rows


def made_ratings(n: int, d: int, known: float, seed: int = 0) -> Any:
    """Ratings from 1 to 5 of six tastes, of people who rate much or little and things that are popular or not."""
    rng = np.random.default_rng(seed)
    size = int(known * n * d)
    people, things = (rng.gamma(shape, 1, count) for shape, count in ((1.0, n), (0.7, d)))
    people, things = people + 0.02, things + 0.02
    drawn = (rng.choice(len(p), size=2 * size, p=p / p.sum()) for p in (people, things))
    cells = np.unique(next(drawn) * d + next(drawn))
    rows, columns = np.divmod(rng.permutation(cells)[:size], d)
    tastes, kinds = 0.4 * rng.standard_normal((n, 6)), 0.4 * rng.standard_normal((d, 6))
    values = 3.5 + 0.4 * rng.standard_normal(n)[rows] + 0.5 * rng.standard_normal(d)[columns]
    values += (tastes[rows] * kinds[columns]).sum(axis=1) + 0.8 * rng.standard_normal(len(rows))
    return scipy.sparse.csr_array((np.clip(np.round(values), 1, 5), (rows, columns)), shape=(n, d))


def large_table(n: int, d: int, known: float) -> Callable[[], dict[str, float]]:
    """Similarities of people, and ratings of a hundred of them, from a table that is never dense."""
    R = made_ratings(n, d, known)

    def solve() -> dict[str, float]:
        done = sc.complete(R, method="shrunk", missing="absent", biases="both", progress=False)
        return {"mean": float(np.mean(done.imputed(np.arange(100))))}

    return solve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratings")
    parser.add_argument("--seeds", type=int, default=3, help="random fifths to hold out (default: 3)")
    parser.add_argument("--only", choices=("predicted", "top", "large"), help="one of the three tables")
    parser.add_argument("--quick", action="store_true", help="a small made table only: a smoke test, no result")
    told = parser.parse_args()
    if told.quick:
        print(fresh("benchmarks.ratings:large_table", {"n": 200, "d": 100, "known": 0.2}, 1, 1))
        return
    if told.only in (None, "predicted"):
        print(table(predicted(told.seeds)))
    if told.only in (None, "top"):
        print(table([row for data in filter(there, DATA) for row in top_lists(data, load(data), split, told.seeds)]))
    if told.only in (None, "large"):
        made = fresh("benchmarks.ratings:large_table", LARGE, 1, 1)
        print({**LARGE, **{name: made[name] for name in ("seconds", "cpu_s", "peak_mib", "before_mib")}})


if __name__ == "__main__":
    main()
