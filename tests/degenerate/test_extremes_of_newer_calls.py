"""Repairs, estimates, imputers and models at the ends of the range of numbers, and calls with what cannot be."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError

RNG = np.random.default_rng(0)
P = RNG.random((60, 5))
Q = np.where(RNG.random((6, 5)) < 0.4, np.nan, P[:6])


def gaps(X, share=0.3):
    return np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_matrices_whose_squares_leave_the_range_are_refused_and_others_scale(size):
    A = np.array([[4.0, 3.8, 0.0], [3.8, 4.0, 1.9], [0.0, 1.9, 1.0]])
    with pytest.raises(InputError, match="other units"):
        sc.nearest_covariance(A * size)
    part = 2.0**400 if size > 1 else 2.0**-400
    np.testing.assert_allclose(sc.nearest_covariance(A * part).values, sc.nearest_covariance(A).values * part)


def test_a_rank_is_kept_where_leading_eigenvectors_leave_rows_without_a_direction():
    repair = sc.nearest_correlation(np.eye(10), rank=9)
    assert np.linalg.matrix_rank(repair.values, tol=1e-8) <= 9
    np.testing.assert_array_equal(np.diag(repair.values), 1.0)
    assert repair.certificate.objective == pytest.approx(repair.distance**2)


def test_a_precision_is_the_inverse_whatever_the_units():
    X = np.random.default_rng(3).standard_normal((50, 3)) @ [[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]] * [1e-9, 1.0, 1e6]
    model = sc.NearestCorrelation().fit(X)
    unit = np.sqrt(np.diag(model.covariance_))
    inverse = np.linalg.inv(model.covariance_ / np.outer(unit, unit)) / np.outer(unit, unit)
    np.testing.assert_allclose(model.precision_, inverse, rtol=1e-6)
    with pytest.raises(InputError, match="column 1"):
        sc.NearestCorrelation().fit(X * [1.0, 1e-160, 1.0])


def test_a_covariance_drawn_to_the_identity_has_no_unit():
    X = np.random.default_rng(4).standard_normal((30, 4))
    one, other = (sc.covariance(X * size, shrinkage="ledoit_wolf") for size in (1.0, 2.0**300))
    assert other.shrinkage == pytest.approx(one.shrinkage)
    np.testing.assert_allclose(other.values, one.values * 2.0**600)


@pytest.mark.parametrize("size", [2.0**900, 2.0**-900])
def test_imputed_values_scale_with_the_table(size):
    X = gaps(RNG.standard_normal((80, 1)) * [1.0, 2.0, 3.0] + 0.1 * RNG.standard_normal((80, 3)))
    one, other = (sc.PosteriorImputer(effort="fast").fit(X * s).impute(X * s, return_std=True) for s in (1.0, size))
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(theirs / size, ours, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e5, 1e200, 1e-200])
def test_a_model_of_incomplete_rows_is_that_of_complete_whatever_their_size(size):
    X = gaps(P)
    model = sc.PosteriorCompleter(effort="fast").fit(X * size)
    done = sc.complete(X * size, method="posterior", effort="fast")
    np.testing.assert_allclose(model.transform(X * size), done.factor, atol=1e-6)
    far = model.transform(np.array([[1e300, 2e300, np.nan, 0.0, 0.0]]))
    assert np.isfinite(far).all()


def test_beyond_all_cosines_probabilities_are_sure():
    done = sc.complete(P, Q, method="posterior", effort="fast")
    assert (done.probability(-1.5) == 1).all() and not done.probability(1.0).any()
    S = sc.complete_similarity(np.asarray(done.similarity()), candidates=60, method="posterior")
    assert (S.probability(-1.5) == 1).all()


def test_a_balanced_search_has_no_score_without_a_neighbour():
    found = sc.complete([[1.0], [np.nan]], method="smcnn").search(k=1, order="balanced")
    assert (found.ids == -1).all() and np.isnan(found.scores).all()


def test_values_of_nothing_are_nothing():
    for method in ("posterior", "shrunk"):
        with pytest.warns(sc.errors.InputWarning):
            done = sc.complete(np.full((3, 2), np.nan), method=method)
        assert np.isnan(done.imputed()).all()


def test_biases_are_refused_where_new_rows_have_none():
    with pytest.raises(InputError, match="biases"):
        sc.SimilarityCompleter(method="posterior", params={"biases": "both"}).fit(gaps(P))


@pytest.mark.parametrize("lie", [np.asfortranarray, np.ascontiguousarray])
def test_how_a_table_lies_in_memory_does_not_matter(lie):
    X = gaps(P)
    found = sc.complete(lie(X), method="posterior").similarity()
    np.testing.assert_array_equal(found, sc.complete(X.copy(), method="posterior").similarity())


@pytest.mark.parametrize(
    "call",
    [
        lambda: sc.load(None),
        lambda: sc.load("a\0b"),
        lambda: sc.complete(P, Q, method="smcnn").save(5),
        lambda: sc.complete(P, Q, method="smcnn", out=[]),
        lambda: sc.nearest_correlation(np.eye(3), lower="x"),
        lambda: sc.nearest_covariance(np.eye(3), upper="x"),
        lambda: sc.nearest_correlation(np.eye(3), weights="x"),
        lambda: sc.correlation(gaps(P), random_state="x"),
        lambda: sc.pool("x", "x"),
        lambda: sc.pool([1.0, 2.0], [1.0, 1.0], df="x"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize("value", [1e200, 1e307, -1e307])
def test_a_value_beyond_all_others_in_a_row_to_impute(value):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 6)) < 0.3, np.nan, rng.random((60, 6)))
    Z = X[:3].copy()
    Z[0, :2] = value, np.nan
    values, std = sc.PosteriorImputer().fit(X).impute(Z, return_std=True)
    assert np.isfinite(values).all() and np.isfinite(std).all() and values[0, 0] == value
