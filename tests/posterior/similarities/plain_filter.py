"""Calls of the filter and what must hold for its results, for the tests beside it."""

import numpy as np
import pytest

from simcomplete._posterior.similarities.wiener import complete_similarities


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def run(S, s0, *args, seed=0, **settings):
    return complete_similarities(S, s0, *args, rng=np.random.default_rng(seed), **settings)


def whole(done):
    return done.factor @ done.factor.T + np.diag(done.diagonal)


def valid(done, diagonal=None):
    """Finite, the diagonal asked for, no vector longer than 1, and positive semi-definite."""
    S = whole(done)
    n = len(S)
    wanted = np.ones(n) if diagonal is None else np.asarray(diagonal, dtype=float)
    assert np.isfinite(S).all() and np.isfinite(done.choice.quantiles).all() and np.isfinite(done.deviation)
    assert np.isfinite(done.choice.error) and done.choice.quantiles.shape == (1001,)
    assert (np.diff(done.choice.quantiles) >= 0).all()
    assert np.diag(S) == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    assert (done.diagonal >= 0).all() and (done.lengths <= 1).all()
    scale = np.where(wanted > 0, np.sqrt(wanted), 1.0)
    assert np.linalg.eigvalsh(S / scale[:, None] / scale).min() > -1e-9
    return S


def error(S, S0, T):
    return np.sum((S - T) ** 2) / np.sum((S0 - T) ** 2)
