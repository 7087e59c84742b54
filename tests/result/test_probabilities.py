"""Quantiles, probabilities and draws of completed similarities."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

import simcomplete as sc
from simcomplete._posterior.candidates import fitting
from simcomplete._posterior.candidates.ranked_errors import LEVELS, rank_table
from simcomplete._result.fits import RANKED
from simcomplete._result.intervals import FINE, RankedErrors
from simcomplete._result.recalibration import regress
from simcomplete.errors import InputError


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def digits():
    rng = np.random.default_rng(10)
    X = load_digits().data[rng.permutation(1797)]
    P, T = X[:400], X[400:520]
    Q = np.where(rng.random(T.shape) < 0.7, np.nan, T)
    done = sc.complete(P, Q, method="posterior", effort="fast")
    return done, unit(T) @ unit(P).T


def test_coverage_overall_and_of_what_is_predicted_first(digits):
    done, truth = digits
    low, high = done.interval(0.9)
    inside = (truth >= low) & (truth <= high)
    first = np.argsort(-done.similarity("queries", "candidates"), axis=1)[:, :10]
    assert 0.86 < inside.mean() < 0.94
    assert 0.86 < np.take_along_axis(inside, first, axis=1).mean() < 0.94


@pytest.fixture(scope="module")
def cells():
    """Few candidates of equally scaled features: 427 rows, 24 of 30 values missing in each of 142 queries."""
    rng = np.random.default_rng(11)
    X = load_breast_cancer().data
    X = (X / X.std(axis=0))[rng.permutation(len(X))]
    P, T = X[:427], X[427:]
    hidden = np.argsort(np.argsort(rng.random(T.shape), axis=1), axis=1) < 24
    done = sc.complete(P, np.where(hidden, np.nan, T), method="posterior", random_state=11)
    return done, unit(T) @ unit(P).T


def test_coverage_where_features_vary_equally(cells):
    done, truth = cells
    low, high = done.interval(0.9)
    inside = (truth >= low) & (truth <= high)
    first = np.argsort(-done.similarity("queries", "candidates"), axis=1)[:, :10]
    assert 0.85 < inside.mean() < 0.95
    assert 0.85 < np.take_along_axis(inside, first, axis=1).mean() < 0.95
    assert (done.interval_model.spread > 0).all()  # no query is complete


def test_probabilities_where_features_vary_equally(cells):
    done, truth = cells
    t = np.quantile(truth, 0.95)
    p, y = done.probability(above=t), truth > t
    for low in np.arange(0, 1, 0.2):
        some = (p >= low) & (p < low + 0.2)
        assert some.sum() < 300 or abs(p[some].mean() - y[some].mean()) < 0.12


def test_found_neighbours_have_the_intervals_of_their_pairs(digits):
    done, _ = digits
    found = done.search(25)
    table = found.columns(0.8)
    for name, every in zip(("low", "high"), done.interval(0.8), strict=True):
        np.testing.assert_allclose(table[name], np.take_along_axis(every, found.ids, axis=1).ravel(), atol=1e-12)


@pytest.mark.filterwarnings("ignore:nothing is observed")
def test_of_a_row_of_which_nothing_was_observed_nothing_is_claimed():
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 6)), rng.random((3, 6))
    Q[0], Q[1:, :3] = np.nan, np.nan
    done = sc.complete(P, Q, method="posterior", effort="fast")
    blind = ("queries", [0])
    assert (done.interval(0.1, blind)[0] == -1).all() and (done.interval(0.1, blind)[1] == 1).all()
    assert (done.quantile(0.4, blind) == -1).all() and (done.quantile(0.6, blind) == 1).all()
    assert (done.probability(0.99, blind) == 0.5).all() and (done.probability(1.0, blind) == 0).all()
    assert (done.probability(-1.01, blind) == 1).all()
    np.testing.assert_allclose(done.std(blind), 1)
    drawn = done.sample(40, blind, [0, 1])
    assert (drawn == -1).mean() > 0.3 and (drawn == 1).mean() > 0.3  # -1 or 1, but for draws near the median
    np.testing.assert_allclose(done.top_probability(3, blind), 3 / 60)
    others = ("queries", [1, 2])
    assert (done.std(others) < 0.5).all() and (done.interval(0.9, others)[0] > -1).all()
    with_itself = done.interval(0.9, blind, blind)
    np.testing.assert_allclose(with_itself, 1, atol=1e-12)


def test_quantiles_probabilities_and_intervals_agree(digits):
    done, _ = digits
    low, high = done.interval(0.8)
    np.testing.assert_allclose(done.quantile(0.1), low, atol=1e-12)
    np.testing.assert_allclose(done.quantile(0.9), high, atol=1e-12)
    assert (done.quantile(0.5) <= high).all() and (done.std() > 0).all()
    p = np.stack([done.probability(above=t, rows=("queries", [0, 1])) for t in (-1.1, 0.3, 0.6, 0.9, 1.1)])
    assert (p[0] == 1).all() and (p[-1] == 0).all() and (np.diff(p, axis=0) <= 1e-9).all()


def test_probabilities_are_reliable(digits):
    done, truth = digits
    t = np.quantile(truth, 0.8)
    p, y = done.probability(above=t), truth > t
    for low in np.arange(0, 1, 0.2):
        some = (p >= low) & (p < low + 0.2)
        assert abs(p[some].mean() - y[some].mean()) < 0.1
    top = done.top_probability(10)
    np.testing.assert_allclose(top.sum(axis=1).mean(), 10, atol=1)
    real = np.argsort(-truth, axis=1)[:, :10]
    assert np.take_along_axis(top, real, axis=1).mean() > 0.3 > 10 * np.median(top)


def test_draws_have_the_marginals_and_go_together(digits):
    done, _ = digits
    draws = done.sample(400, rows=("queries", [3]), cols=("candidates", range(30)), random_state=0)[:, 0]
    assert draws.shape == (400, 30)
    below = (draws <= done.quantile(0.25, rows=("queries", [3]), cols=("candidates", range(30)))).mean(axis=0)
    np.testing.assert_allclose(below, 0.25, atol=0.1)
    P = done.factor[:30]
    similar = np.argmax(P @ P.T - 2 * np.eye(30), axis=1)
    together = np.corrcoef(draws.T)
    assert np.mean(together[np.arange(30), similar]) > np.mean(together) + 0.1
    again = done.sample(400, rows=("queries", [3]), random_state=0)[:, 0, :30]
    np.testing.assert_allclose(draws, again, atol=1e-12)


def test_a_block_is_the_same_as_a_part_of_all(digits):
    done, _ = digits
    rows, cols = ("queries", [5, 2]), ("candidates", [7, 300, 0])
    for ask in (lambda **some: done.quantile(0.3, **some), lambda **some: done.probability(0.7, **some), done.std):
        np.testing.assert_allclose(ask(rows=rows, cols=cols), ask()[[5, 2]][:, [7, 300, 0]], atol=1e-12)
        np.testing.assert_allclose(ask(rows=cols, cols=rows).T, ask(rows=rows, cols=cols), atol=1e-12)


def test_pairs_that_are_exact_and_pairs_of_queries(digits):
    done, _ = digits
    S = done.similarity([0], [1])[0, 0]
    assert done.probability(S - 1e-9, [0], [1]) == 1 and done.probability(S + 1e-9, [0], [1]) == 0
    assert done.std([0], [1]) == 0 and done.quantile(0.01, [0], [0]) == pytest.approx(1)
    both = done.interval(0.9, "queries", "queries")
    assert (both[0][~np.eye(120, dtype=bool)] < both[1][~np.eye(120, dtype=bool)]).all()


def test_saved_and_loaded(digits, tmp_path):
    done, _ = digits
    done.save(tmp_path / "saved")
    after = sc.load(tmp_path / "saved")
    np.testing.assert_allclose(after.probability(0.8), done.probability(0.8), atol=1e-12)
    np.testing.assert_array_equal(after.interval(0.9)[0], done.interval(0.9)[0])
    np.testing.assert_allclose(after.top_probability(3), done.top_probability(3), atol=1e-12)


def test_folders_without_errors_by_rank_still_work(digits, tmp_path):
    done, _ = digits
    plain = replace(done, interval_model=replace(done.interval_model, ranked=None))
    plain.save(tmp_path / "old")
    assert not {f"{name}.npy" for name in RANKED} & {file.name for file in (tmp_path / "old").iterdir()}
    after = sc.load(tmp_path / "old")
    assert after.interval_model.ranked is None
    low, high = after.interval(0.9)
    width = done.interval_model.half_width(0.9, np.arange(400, 520), np.arange(400), 400)
    S = after.similarity("queries", "candidates")
    np.testing.assert_allclose(low, np.clip(S - width, -1, 1), atol=1e-12)
    np.testing.assert_allclose(high, np.clip(S + width, -1, 1), atol=1e-12)
    assert after.probability(0.5).shape == (120, 400)
    with pytest.raises(InputError, match="complete candidates apart"):
        after.top_probability(3)


def test_streamed_candidates_have_the_same_intervals(monkeypatch):
    rng = np.random.default_rng(0)
    P, Q = rng.random((200, 8)) ** 2, rng.random((10, 8))
    Q[:, ::2] = np.nan
    kept = sc.complete(P, Q, method="posterior", effort="fast")
    monkeypatch.setattr(fitting, "STREAM_ABOVE_VALUES", 0)
    streamed = sc.complete(P, Q, method="posterior", effort="fast")
    np.testing.assert_allclose(streamed.interval(0.9), kept.interval(0.9), atol=1e-10)
    np.testing.assert_allclose(streamed.probability(0.9), kept.probability(0.9), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda d: d.quantile(1.5), "p=1.5"),
        (lambda d: d.probability(above="x"), "above='x'"),
        (lambda d: d.sample(0), "n=0"),
        (lambda d: d.top_probability(0), "k=0"),
        (lambda d: d.top_probability(3, rows="candidates"), "is for queries"),
    ],
)
def test_what_is_refused(digits, call, says):
    with pytest.raises(InputError, match=says):
        call(digits[0])


def test_rank_table_of_known_errors():
    # Estimates fall from 1; errors are -1 for the first 40 ranks, and spread evenly over [0, 1] for the others.
    rng = np.random.default_rng(0)
    S = np.tile(np.linspace(1, 0, 400), (30, 1))
    T = S + 0.5 * np.where(np.arange(400) < 39, -1.0, rng.random((30, 400)))
    shares, table = rank_table(S, T, np.full(30, 0.5), np.ones_like(S))
    assert (np.diff(shares) > 0).all() and table.shape == (len(shares), len(LEVELS))
    lack = 1 + 3.6 * (1 / np.sqrt(30) - 1 / np.sqrt(50)) * np.abs(2 * LEVELS - 1)
    np.testing.assert_allclose(table[0], -1.0)
    np.testing.assert_allclose(table[-1], 0.5 + (LEVELS - 0.5) * lack, atol=0.05)


def test_weights_stand_for_candidates():
    S = np.array([[0.9, 0.8, 0.1]] * 200)
    T = S + np.array([0.1, 0.2, 0.3])
    shares, table = rank_table(S, T, np.ones(200), np.array([[1.0, 1.0, 98.0]] * 200))
    np.testing.assert_allclose(shares, [0.005, 0.015, 0.51])
    np.testing.assert_allclose(table[:, 100], [0.1, 0.2, 0.3])


def test_edges_and_fine_ranks_fit():
    edges = RankedErrors.edges(1000)
    assert len(edges) == FINE - 1 and edges[0] == 1 and (np.diff(edges) >= 0).all() and edges[-1] < 1000


def test_regression_cannot_diverge():
    x = np.concatenate([np.full(500, -9.2), np.linspace(-9, 9, 100)])
    y = (x > 0).astype(float)
    b = regress(np.column_stack([x, np.ones_like(x), x**2]), y)
    p = 1 / (1 + np.exp(-np.column_stack([x, np.ones_like(x), x**2]) @ b))
    assert np.abs(p - y).mean() < 0.05
