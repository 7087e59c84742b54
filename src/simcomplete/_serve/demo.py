"""Models to try the page with, fitted on data that scikit-learn brings: pictures, and a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service
from simcomplete._serve.shown import Samples
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorCompleter


def digits_demo() -> Service:
    """1000 handwritten digits to search among, and 797 others to try."""
    from sklearn.datasets import load_digits  # scikit-learn's readers take time to import

    bunch = load_digits()
    model = PosteriorCompleter(shape=(8, 8))
    return _service(model, np.asarray(bunch.data, dtype=np.float64), [str(y) for y in bunch.target], "digit", 1000)


def wine_demo() -> Service:
    """138 wines by 13 measurements to search among, and 40 others to try."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    model = PosteriorCompleter(center="mean", scale="sd")
    kinds = [f"cultivar {y + 1}" for y in bunch.target]
    names = [str(name).replace("/", " / ").replace("_", " ") for name in bunch.feature_names]
    return _service(model, np.asarray(bunch.data, dtype=np.float64), kinds, "wine", 138, names)


DEMOS: dict[str, Callable[[], Service]] = {"digits": digits_demo, "wine": wine_demo}


def demo_service(name: str) -> Service:
    """Fit one of the models."""
    if name not in DEMOS:
        raise InputError(f"there is no demo {name!r}; use {' or '.join(DEMOS)}")
    return DEMOS[name]()


def _service(
    model: PosteriorCompleter,
    X: NDArray[np.float64],
    kinds: list[str],
    word: str,
    n: int,
    names: list[str] | None = None,
) -> Service:
    """Candidates and samples drawn at random, always the same ones."""
    order = np.random.default_rng(0).permutation(len(X))
    own, others = order[:n], order[n:]
    ids = [f"{word} {i}" for i in own]
    model.fit(X[own], ids=ids)
    payloads = {key: {"label": kinds[i]} for key, i in zip(ids, own, strict=True)}
    samples = Samples(X[others], tuple(f"{word} {i}, {kinds[i]}" for i in others))
    return Service(replace(Served.of(model, payloads=payloads), names=names), samples=samples)
