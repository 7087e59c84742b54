"""posterior through `complete(X)` and the estimator where every row may be incomplete."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._posterior.shared.rows import unit_rows


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
    assert [row["method"] for row in done.election if row["note"] == "chosen"] == ["posterior"]
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
    monkeypatch.setattr("simcomplete._similarity.operator.overlap_matrix", lambda *_, **__: pytest.fail("S0 was built"))
    evidence = sc.complete(data[1][:50], effort="fast").evidence
    monkeypatch.undo()
    assert evidence == sc.overlap_similarity(data[1][:50], return_evidence=True)[1]


@pytest.mark.parametrize("effort", ["full", "fast", "best"])
def test_the_estimator_fits_incomplete_rows(data, effort):
    X, Y = (rows[:150] for rows in data)
    model = sc.PosteriorCompleter(effort=effort).fit(Y)
    np.testing.assert_allclose(model.candidates_, sc.complete(Y, method="posterior", effort=effort).factor, atol=1e-12)
    np.testing.assert_allclose(model.transform(Y), model.candidates_, atol=1e-10)
    np.testing.assert_allclose(model.transform(X[:3]), unit_rows(X[:3]), atol=1e-12)
    assert model.choice_["rank"] >= 5
    for change in (lambda: model.partial_fit(X[:2]), lambda: model.forget([0]), model.recalibrate):
        with pytest.raises(sc.errors.InputError, match="fit again"):
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


@pytest.fixture(scope="module")
def some(digits):
    """Half of the rows complete, scattered among the others."""
    rng = np.random.default_rng(1)
    X = digits[400:800]
    hidden = (rng.random(X.shape) < 0.7) & (rng.permutation(400) < 200)[:, None]
    return X, np.where(hidden, np.nan, X)


def test_complete_rows_are_the_candidates_of_the_others(some):
    Y = some[1]
    whole = ~np.isnan(Y).any(axis=1)
    done = sc.complete(Y)
    apart = sc.complete(Y[whole], Y[~whole], method="posterior").similarity()
    order = np.concatenate([np.flatnonzero(whole), np.flatnonzero(~whole)])
    np.testing.assert_allclose(done.similarity()[np.ix_(order, order)], apart, atol=1e-12)
    assert f"{whole.sum()} complete rows" in done.status.message
    assert done.validity.ok


def test_complete_rows_lead_to_less_error_than_a_model_of_all(some, monkeypatch):
    by_rows = error(sc.complete(some[1]).similarity(), some)
    monkeypatch.setattr("simcomplete._posterior.all_rows.split.MIN_COMPLETE_ROWS", 10**6)
    assert by_rows < 0.95 * error(sc.complete(some[1]).similarity(), some)


def test_error_bars_are_zero_between_complete_rows(some):
    X, Y = some
    whole = ~np.isnan(Y).any(axis=1)
    low, high = sc.complete(Y).interval(0.9)
    truth = sc.overlap_similarity(X)
    np.testing.assert_allclose((high - low)[np.ix_(whole, whole)], 0, atol=1e-12)
    assert 0.84 < np.mean(((low <= truth) & (truth <= high))[np.ix_(~whole, whole)]) < 0.97


def test_complete_rows_are_streamed_where_there_are_many(some, streaming):
    usual = sc.complete(some[1], effort="fast")
    streaming()
    done = sc.complete(some[1], effort="fast")
    np.testing.assert_allclose(done.factor, usual.factor, rtol=0, atol=1e-10)
    np.testing.assert_allclose(done.interval(0.9), usual.interval(0.9), rtol=0, atol=1e-10)
    assert done.validity.ok


def test_the_estimator_takes_complete_rows_for_candidates_too(some):
    Y = some[1]
    model = sc.estimators.PosteriorCompleter().fit(Y)
    np.testing.assert_allclose(model.candidates_, model.transform(Y), atol=1e-12)
    np.testing.assert_allclose(model.candidates_ @ model.candidates_.T, _off(sc.complete(Y), Y), atol=1e-9)
    with pytest.raises(sc.errors.InputError, match="partial_fit needs a model of complete candidates"):
        model.partial_fit(Y[:3])


def test_the_estimator_takes_many_values_with_holes(some, streaming):
    usual = sc.estimators.PosteriorCompleter(effort="fast").fit(some[1]).candidates_
    streaming()
    streamed = sc.estimators.PosteriorCompleter(effort="fast").fit(some[1]).candidates_
    np.testing.assert_allclose(streamed, usual, rtol=0, atol=1e-10)


def _off(done, Y):
    """Similarities with what the vectors themselves have on the diagonal."""
    S = done.similarity()
    u = done.factor
    S[np.diag_indices(len(S))] = np.sum(u * u, axis=1)
    return S
