"""The figures of the methods' pages: digits of the demonstration, one line for every setting that a page names.

python -m benchmarks.method_pages                    # every method; slow ones take some minutes
python -m benchmarks.method_pages dmc fmc            # these alone
python -m benchmarks.method_pages lr --centred       # minus the mean candidate
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete._compare.trial import measure

LINE = "{:<10} {:<44} {:>7} {:>9} {:>11} {:>7} {:>7} {:>6} {:>9} {:>7}"
MEASURES = ("error", "error_queries_candidates", "off", "recall_fifth", "recall_ten")
ORIGINAL = {"preset": "original"}
TUNED = {"tune": True}
X_AND_S: list[dict[str, Any]] = [{}, {"mode": "S"}, ORIGINAL]
# The settings that the pages name; every other method has its default alone.
NAMED: dict[str, list[dict[str, Any]]] = {
    "bpmf": [{}, {"beta": 100}, {"beta": 2}, TUNED, ORIGINAL, {"mode": "S"}],
    "cmc": [{}, {"project": True}],
    "dmc": [{}, {"variant": "fixed"}, {"variant": "reference"}],
    "facnnfn": [*X_AND_S, {"solver": "descent"}, {**ORIGINAL, "tol": 1e-9, "max_iter": 4000}],
    "fgsr": [*X_AND_S, {"variant": "1/2"}, {"variant": "admm"}, {"variant": "p"}],
    "fmc": [{}, {"variant": "sequential"}, {"variant": "onmc-b"}],
    "gr": [{}, {"rank": 10}, {"start": "random", "step": 10, "max_iter": 50}, ORIGINAL],
    "kfmc": [
        {},
        {"inner": 20},
        {"variant": "extend"},
        {"variant": "offline"},
        {"kernel": "poly"},
        {"variant": "offline", "kernel": "poly"},
        ORIGINAL,
    ],
    "lr": [{}, {"eps": 0}, {"variant": "sample"}, {"variant": "sample-basic"}],
    "mc_fon": [{}, TUNED, {**ORIGINAL, "step": 0.0002, "max_iter": 1400}],
    "mc_on": [{}, TUNED, {"psd": False}, ORIGINAL],
    "nnfn": [{}, {"mode": "S"}, {"mode": "S", "penalty": 0.0003}, {**ORIGINAL, "mode": "S"}, ORIGINAL],
    "smc_gd": [{}, TUNED, {**ORIGINAL, "step": 0.0002, "max_iter": 350}],
}


def data(name: str, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The candidates, queries and complete rows, of digits those of `simcomplete demo`."""
    X = np.asarray(sc.datasets.load(name).X, float)
    X = X[np.random.default_rng(0).permutation(len(X))][:1200]
    if centred:
        X = X - X[:1000].mean(axis=0)
    return X[:1000], sc.masks.apply(X[1000:], sc.masks.random(X[1000:], missing=0.8)), X


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.method_pages", description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="all by default")
    parser.add_argument("--data", default="digits", metavar="NAME", help="a name from sc.datasets.names()")
    parser.add_argument("--default", action="store_true", help="the default settings alone")
    parser.add_argument("--centred", action="store_true", help="subtract the mean candidate first")
    told = parser.parse_args()
    P, Q, X = data(told.data, told.centred)
    truth, before = sc.overlap_similarity(X), sc.overlap_similarity(np.concatenate([P, Q]))
    print(
        LINE.format("method", "setting", "error", "q. x c.", "off block", "r@20%", "r@10", "rank", "smallest", "CPU s")
    )
    for name in told.methods or [method.name for method in sc.methods()]:
        for setting in [{}] if told.default else NAMED.get(name, [{}]):
            started = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sc.errors.NotConvergedWarning)
                done = sc.complete(P, Q, method=name, random_state=0, progress=False, **setting)
            took = time.process_time() - started
            S = done.similarity()
            found = measure(done, S, before, truth, len(P))
            # Over everything but the block of candidates.
            found["off"] = sc.metrics.relative_squared_error(
                S, before, truth, n_candidates=len(P), block="off_candidates"
            )
            numbers = [
                *(f"{found[key]:.3f}" for key in MEASURES),
                found["rank"],
                f"{np.linalg.eigvalsh(S)[0]:.2f}",
                f"{took:.2f}",
            ]
            shown = ", ".join(f"{key}={value!r}" for key, value in setting.items())
            tuned = f" -> {done.choice['tuned']}" if setting == TUNED else ""
            print(LINE.format(name, (shown or "default") + tuned, *numbers), flush=True)


if __name__ == "__main__":
    main()
