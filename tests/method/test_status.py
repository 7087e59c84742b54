"""A run that did all it was meant to do does not have the name of a limit."""

import warnings

import numpy as np
import pytest

import simcomplete as sc

rng = np.random.default_rng(0)
P, Q = rng.random((30, 6)), np.where(rng.random((5, 6)) < 0.4, np.nan, rng.random((5, 6)))
Q[:, 0] = 0.5

CASES = [
    ("cmc", {"max_iter": 3}),
    ("gr", {"max_iter": 3}),
    ("kfmc", {"variant": "online", "max_iter": 1, "atoms": 8}),
    ("kfmc", {"variant": "offline", "max_iter": 3, "tol": 0, "atoms": 8}),
    ("dmc", {"variant": "reference", "max_iter": 2}),
    ("bpmf", {"max_iter": 4, "burn_in": 1}),
    ("mc_fon", {"variant": "paper", "tol": 0, "max_iter": 5}),
    ("smc_gd", {"variant": "paper", "tol": 0, "max_iter": 5}),
]


@pytest.mark.parametrize(("method", "params"), CASES)
def test_all_that_was_asked_for(method, params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = sc.complete(P, Q, method=method, progress=False, **params)
    assert done.status.ok
    assert done.status.code in ("computed", "sampled", "converged")


def test_rows_that_are_all_incomplete():
    X = np.where(rng.random((40, 8)) < 0.3, np.nan, rng.random((40, 8)))
    assert sc.complete(X, method="posterior", progress=False).status.code == "computed"


def test_a_limit_keeps_its_name():
    with pytest.warns(sc.errors.NotConvergedWarning, match="max_iter: all 2 iterations made and the stop test"):
        done = sc.complete(P, Q, method="nnfn", max_iter=2, tol=1e-12, progress=False)
    assert (done.status.code, done.status.ok) == ("max_iter", False)
