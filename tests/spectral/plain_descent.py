"""Calls of descent for the tests beside it."""

import pytest

import simcomplete as sc

every_solver = pytest.mark.parametrize("solver", ["descent", "lbfgs"])


def run(S0, method="smcnn", *, rank=3, penalty=1e-3, solver="descent", **params):
    return sc.complete_similarity(S0, method=method, rank=rank, penalty=penalty, solver=solver, **params)


def unsettled(S0, **params):
    """A run that is expected to say that it did not converge, and its message."""
    with pytest.warns(sc.errors.NotConvergedWarning) as caught:
        done = run(S0, **params)
    assert not done.status.ok
    assert any(done.status.message in str(warning.message) for warning in caught)
    return done
