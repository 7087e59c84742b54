"""posterior through `complete(X)` and the estimator where every row may be incomplete."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete.posterior.fills import unit_rows


@pytest.fixture(scope="module")
def data(digits):
    rng = np.random.default_rng(0)
    X = digits[:400]
    return X, np.where(rng.random(X.shape) < rng.uniform(0.3, 0.7, (400, 1)), np.nan, X)


@pytest.fixture(scope="module")
def done(data):
    return sc.complete(data[1])


def error(S, data):
    X, Y = data
    return sc.metrics.relative_squared_error(S, sc.overlap_similarity(Y), sc.overlap_similarity(X))


def test_auto_is_posterior_here_and_far_better_than_the_paper(done, data):
    assert done.method == "posterior"
    assert done.params["chosen_by"] == "auto"
    assert done.validity.ok, done.validity
    assert done.election == []
    assert {"space", "model", "rank", "expected_squared_error"} <= set(done.choice)
    assert error(done.similarity(), data) < 0.5 * error(sc.complete(data[1], method="smcnn").similarity(), data)


def test_intervals_of_all_pairs(done, data):
    low, high = done.interval(0.9)
    truth, off = sc.overlap_similarity(data[0]), ~np.eye(400, dtype=bool)
    assert low.shape == (400, 400)
    assert 0.84 < np.mean(((low <= truth) & (truth <= high))[off]) < 0.97
    np.testing.assert_array_equal(low, low.T)
    np.testing.assert_array_equal(np.diag(low), np.diag(high))
    part = done.interval(0.9, rows=[3, 5], cols=[5, 7, 9])
    np.testing.assert_allclose(part[0], low[np.ix_([3, 5], [5, 7, 9])], atol=1e-15)
    assert done.confidence.shape == (400,)


def test_it_is_saved_and_loaded_with_its_bars(done, tmp_path):
    done.save(tmp_path / "rows")
    np.testing.assert_array_equal(sc.load(tmp_path / "rows").interval(0.8)[0], done.interval(0.8)[0])


def test_nothing_of_size_n_by_n_is_held(data, monkeypatch):
    monkeypatch.setattr("simcomplete.task.overlap_matrix", lambda *_, **__: pytest.fail("S0 was built"))
    evidence = sc.complete(data[1][:50], effort="fast").evidence
    monkeypatch.undo()
    assert evidence == sc.overlap_similarity(data[1][:50], return_evidence=True)[1]


@pytest.mark.parametrize("effort", ["full", "fast", "best"])
def test_the_estimator_fits_incomplete_rows(data, effort):
    X, Y = data
    model = sc.PosteriorCompleter(effort=effort).fit(Y)
    np.testing.assert_allclose(model.candidates_, sc.complete(Y, method="posterior", effort=effort).factor, atol=1e-12)
    np.testing.assert_allclose(model.transform(Y), model.candidates_, atol=1e-10)
    np.testing.assert_allclose(model.transform(X[:3]), unit_rows(X[:3]), atol=1e-12)
    assert model.choice_["rank"] >= 5
    for change in (lambda: model.partial_fit(X[:2]), lambda: model.forget([0]), model.recalibrate):
        with pytest.raises(sc.errors.InputError, match="fit anew"):
            change()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), d=st.integers(1, 9), scale=st.sampled_from([1e-30, 1.0, 1e30]))
def test_valid_whatever_comes(seed, n, d, scale):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    X[rng.random(X.shape) < 0.4] = np.nan
    done = sc.complete(X, method="posterior", effort="fast")
    S = done.similarity()
    assert (np.diag(S) == 1).all()
    assert done.validity.ok, done.validity
