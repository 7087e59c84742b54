"""NaN inside a given matrix: unknown entries are filled in, known ones stay."""

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._similarity.unknown import diagonal_size, fill_unknown, precision
from simcomplete.errors import InputError


def factor_matrix(n=40, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    V = 0.5 + 0.25 * rng.standard_normal((n, rank))
    V *= np.minimum(0.95 / np.linalg.norm(V, axis=1), 1.0)[:, None]
    S = V @ V.T
    np.fill_diagonal(S, 1.0)
    return S


def with_unknown(S, pairs=60, seed=1):
    i, j = np.triu_indices(len(S), 1)
    gone = np.random.default_rng(seed).permutation(len(i))[:pairs]
    out = S.copy()
    out[i[gone], j[gone]] = out[j[gone], i[gone]] = np.nan
    return out


def test_a_factor_model_finds_its_own_entries_again():
    S = factor_matrix()
    given = with_unknown(S)
    found, unknown = fill_unknown(given), np.isnan(given)
    np.testing.assert_array_equal(found[~unknown], S[~unknown])
    np.testing.assert_array_equal(found, found.T)
    assert np.sqrt(np.mean((found - S)[unknown] ** 2)) < 0.1 * np.sqrt(np.mean(S[unknown] ** 2))


def test_a_block_without_any_common_feature():
    S = factor_matrix()
    given = S.copy()
    given[:6, 6:12] = given[6:12, :6] = np.nan
    found = fill_unknown(given)
    assert np.sqrt(np.mean((found - S)[:6, 6:12] ** 2)) < 0.15 * np.sqrt(np.mean(S[:6, 6:12] ** 2))


def test_units_of_the_diagonal():
    S = factor_matrix()
    size = np.linspace(1.0, 9.0, len(S))
    scaled = S * np.outer(size, size)
    found = fill_unknown(with_unknown(scaled))
    np.testing.assert_allclose(found / np.outer(size, size), fill_unknown(with_unknown(S)), atol=1e-9)


def test_unknown_diagonal_and_one_sided_entries():
    S = factor_matrix()
    S[3, 3] = S[5, 6] = np.nan
    found = fill_unknown(S)
    assert found[3, 3] == 1.0
    assert found[5, 6] == found[6, 5] == S[6, 5]
    np.testing.assert_array_equal(diagonal_size(np.array([[4.0, 0.0], [0.0, np.nan]])), [2.0, 2.0])


def test_a_row_of_which_nothing_is_known_is_an_average_one():
    S = factor_matrix()
    S[0] = S[:, 0] = np.nan
    found = fill_unknown(S)
    others = factor_matrix()[1:, 1:]
    wanted = (others.sum(axis=1) - 1) / (len(others) - 1)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[0, 1:], wanted, atol=0.15)


def test_tiny_and_empty_matrices():
    assert np.isfinite(fill_unknown(np.full((3, 3), np.nan))).all()
    np.testing.assert_array_equal(fill_unknown(np.array([[np.nan]])), [[1.0]])
    found = fill_unknown(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    assert abs(found[0, 1]) <= 1.0


def test_entries_that_stand_on_few_features_count_less():
    """An estimate from n values has a variance of about 1 / (n - 1)."""
    np.testing.assert_allclose(precision(np.array([[101, 2]])), [[0.01 / 0.02, 0.01 / 1.01]])
    S = factor_matrix()
    given, noise = with_unknown(S), np.random.default_rng(4).standard_normal(S.shape)
    counts = np.full(S.shape, 1000)
    counts[:, 20:] = counts[20:, :] = 5
    bad = given + np.where(counts == 5, 0.3 * (noise + noise.T), 0.0)
    np.fill_diagonal(bad, 1.0)
    asked = np.isnan(given) & (counts == 1000)
    errors = [np.mean((fill_unknown(bad, told) - S)[asked] ** 2) for told in (counts, None)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize("method", ["auto", "smcnn", "dmc"])
def test_frames_of_correlations_go_in_as_they_are(method):
    S = factor_matrix(30)
    frame = pd.DataFrame(with_unknown(S, 40), index=[f"s{i}" for i in range(30)])
    frame.iloc[2, 2] = np.nan
    done = sc.complete_similarity(frame, method=method, progress=False)
    found, unknown = done.similarity(), frame.isna().to_numpy()
    assert done.labels[0] == "s0"
    assert np.sqrt(np.mean((found - S)[unknown] ** 2)) < 0.15
    assert np.linalg.eigvalsh(found)[0] > -1e-8


def test_known_entries_are_kept_where_known_says_so():
    S = factor_matrix(30)
    given = with_unknown(S, 40)
    known = ~np.isnan(given)
    done = sc.complete_similarity(given, known=known, method="dmc", variant="fixed", progress=False)
    np.testing.assert_allclose(done.similarity()[known], S[known], atol=1e-6)
    with pytest.raises(InputError, match="known is True where S0 is NaN"):
        sc.complete_similarity(given, known=np.ones_like(known), method="dmc", variant="fixed")


def test_exact_candidates_and_unknown_entries_of_queries():
    S = factor_matrix(60)
    given = S.copy()
    given[:6, 50:] = given[50:, :6] = np.nan
    done = sc.complete_similarity(given, candidates=50, method="posterior", progress=False)
    assert np.sqrt(np.mean((done.similarity() - S)[:6, 50:] ** 2)) < 0.1
    with pytest.raises(InputError, match="NaN within it"):
        sc.complete_similarity(given, candidates=55, method="posterior")


def test_what_is_still_refused():
    S = with_unknown(factor_matrix(10), 5)
    S[1, 2] = S[2, 1] = np.inf
    with pytest.raises(InputError, match="not finite"):
        sc.complete_similarity(S)
    with pytest.raises(InputError, match="square"):
        sc.complete_similarity(np.full((2, 3), np.nan))
    with pytest.raises(InputError, match="overlap has shape"):
        sc.complete_similarity(with_unknown(factor_matrix(10), 5), overlap=np.ones((2, 2)), method="posterior")
