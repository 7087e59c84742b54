"""Method shrunk, and the ratings that it predicts."""

import numpy as np
import pytest
import scipy.sparse

import simcomplete as sc
from simcomplete._ratings.biases import learn_biases
from simcomplete._ratings.factors import factorised, on_features
from simcomplete._ratings.model import RatingModel
from simcomplete._ratings.neighbours import by_neighbours, neighbour_weights, neighbours_at, pair_sums
from simcomplete._rows.sparse import known_cells
from simcomplete._rows.table import HeldRows


def tastes(n=150, d=60, known=0.3, seed=0):
    """Ratings of two tastes, in which rows and columns differ."""
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.3 * rng.standard_normal((n, d))
    whole += 3 + rng.standard_normal((n, 1)) + rng.standard_normal(d)
    return whole, np.where(rng.random((n, d)) < known, whole, np.nan)


def cells(X):
    return known_cells(HeldRows(X))


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
@pytest.mark.parametrize("known", [0.05, 0.5])  # products of sparse matrices, and of dense ones
def test_it_is_s0_times_a_share_of_the_overlap(metric, known):
    _, X = tastes(40, 30, known)
    done = sc.complete(X, method="shrunk", shrinkage=7, metric=metric)
    n = sc.overlap_counts(X)
    expected = sc.overlap_similarity(X, metric=metric) * n / (n + 7)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(done.similarity(), expected, atol=1e-12)
    assert done.choice == {"shrinkage": 7.0, "by": "the caller"}


def test_two_who_rated_one_thing_alike():
    S = sc.complete(np.array([[5.0, np.nan], [5.0, 1.0]]), method="shrunk", shrinkage=30).similarity()
    np.testing.assert_allclose(S, [[1, 1 / 31], [1 / 31, 1]])


def test_it_is_not_psd_and_validity_says_so():
    _, X = tastes(40, 8, 0.5)
    done = sc.complete(X, method="shrunk", shrinkage=0)
    assert not done.validity.psd.ok
    assert np.linalg.eigvalsh(done.similarity())[0] == pytest.approx(done.validity.psd.value)
    assert done.validity.unit_diagonal.ok
    assert done.validity.bounded.ok


def test_the_shrinkage_is_larger_where_there_is_more_noise():
    rng = np.random.default_rng(0)
    few = np.where(rng.random((300, 40)) < 0.15, rng.standard_normal((300, 40)), np.nan)
    assert sc.complete(few, method="shrunk").choice == {"shrinkage": 300.0, "by": "hidden values"}
    clear = np.where(np.isnan(few), np.nan, np.sign(rng.standard_normal((300, 1)) * rng.standard_normal(40)))
    assert sc.complete(clear, method="shrunk").choice["shrinkage"] <= 3


def test_people_and_things():
    _, X = tastes()
    R = cells(X)
    done = sc.complete(R.T, method="shrunk", shrinkage=10, missing="absent")
    np.testing.assert_allclose(done.similarity(), sc.complete(X.T, method="shrunk", shrinkage=10).similarity())
    assert done.n == 60


def test_pairs_and_neighbours_by_two_routes():
    _, X = tastes(30, 20, 0.4)
    Z = cells(X - 3)
    sums = pair_sums(Z)
    np.testing.assert_array_equal(sums.counts, sc.overlap_counts(X))
    np.testing.assert_allclose(sums.cosines, sc.overlap_similarity(X - 3), atol=1e-12)
    weights = neighbour_weights(sums.shrunk(5.0), 2.0)
    whole = by_neighbours(weights, np.arange(30), Z)
    rows, columns = np.divmod(np.arange(600), 20)
    np.testing.assert_allclose(neighbours_at(weights, Z.T.tocsr(), rows, columns), whole.ravel(), atol=1e-12)
    u, i = 4, 7  # and by hand
    has = ~np.isnan(X[:, i])
    w = np.maximum(sums.shrunk(5.0)[u], 0) ** 2
    w[u] = 0
    assert whole[u, i] == pytest.approx(w[has] @ (X[has, i] - 3) / (w[has].sum() + weights.base), rel=1e-6)


def test_factors_find_the_values_they_were_made_of():
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 50))
    seen = rng.random(whole.shape) < 0.5
    found = factorised(cells(np.where(seen, whole, np.nan)), 4, rng).of(np.arange(80))
    assert np.sqrt(np.mean((found - whole)[~seen] ** 2)) < 0.05 * whole.std()


def test_coefficients_are_those_of_a_ridge_where_the_noise_is_known():
    rng = np.random.default_rng(0)
    F, B = rng.standard_normal((50, 3)), rng.standard_normal((200, 3))
    whole = B @ F.T + 0.1 * rng.standard_normal((200, 50))
    found = on_features(cells(np.where(rng.random(whole.shape) < 0.6, whole, np.nan)), F)
    np.testing.assert_allclose(found.rows, B, atol=0.15)


def test_predicted_ratings_beat_means_and_say_how_sure_they_are():
    whole, X = tastes(400, 80, 0.3)
    done = sc.complete(cells(X), method="shrunk", missing="absent", biases="both", progress=False)
    values, std = done.imputed(return_std=True)
    missing = np.isnan(X)
    np.testing.assert_array_equal(values[~missing], X[~missing])
    assert not std[~missing].any()
    error = (values - whole)[missing]
    alone = learn_biases(cells(X), "both").of_rows(np.arange(400))
    assert np.mean(error**2) < 0.4 * np.mean((alone - whole)[missing] ** 2)
    assert 0.85 < np.mean(np.abs(error) <= 1.645 * std[missing]) < 0.95
    assert np.nanmin(X) <= values.min()
    assert values.max() <= np.nanmax(X)
    np.testing.assert_allclose(done.imputed([7, 2]), values[[7, 2]])


def test_people_of_whom_nothing_is_known_get_the_means():
    _, X = tastes()
    X[5], X[:, 3] = np.nan, np.nan
    with pytest.warns(sc.errors.InputWarning, match="nothing is observed of 1 row"):
        done = sc.complete(cells(X), method="shrunk", missing="absent", biases="both", progress=False)
    values = done.imputed()
    assert np.isfinite(values).all()
    known = np.arange(60) != 3
    assert np.corrcoef(values[5, known], np.nanmean(X[:, known], axis=0))[0, 1] > 0.9


def test_candidates_and_queries_and_few_values():
    whole, X = tastes(40, 12)
    done = sc.complete(whole, X[:5], method="shrunk", progress=False)
    assert done.imputed("queries").shape == (5, 12)
    np.testing.assert_array_equal(done.imputed("candidates"), whole)
    few = RatingModel.fit(cells(X[:3, :4]), learn_biases(cells(X[:3, :4]), "both"))
    assert np.isfinite(few.values(np.arange(3))[0]).all()
    assert scipy.sparse.issparse(few.members.Z)
