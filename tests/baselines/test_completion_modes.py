"""Modes X and S: what a method is given in each, how each ends, and what is refused."""

import warnings

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._baselines.completion.modes import (
    MaskedMatrix,
    flat,
    largest_singular,
    leading,
    settled,
    signed,
    symmetrised,
)
from simcomplete.errors import InputError

NAMES = ["bpmf", "fgsr", "nnfn", "facnnfn"]
every_method = pytest.mark.parametrize("method", NAMES)


def quick(method):
    return {"max_iter": 12, "burn_in": 4} if method == "bpmf" else {}


def whole(S):
    return S.block(slice(0, S.n), slice(0, S.n))


@every_method
def test_default_mode_is_x_for_samples_and_s_for_similarities(method, small):
    P, Q, _ = small
    done = sc.complete(P, Q, method=method, **quick(method))
    assert done.params["mode"] == "X"
    same = sc.complete(P, Q, method=method, mode="X", **quick(method))
    np.testing.assert_array_equal(done.similarity(), same.similarity())
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    given = sc.complete_similarity(S0, candidates=60, method=method, **quick(method))
    assert given.params["mode"] == "S"
    asked = sc.complete(P, Q, method=method, mode="S", **quick(method))
    np.testing.assert_allclose(given.similarity(), asked.similarity(), atol=1e-7)


@every_method
def test_mode_x_keeps_what_is_observed_and_is_a_gram_matrix(method, small):
    P, Q, _ = small
    done = sc.complete(P, Q, method=method, **quick(method))
    assert done.validity.ok, done.validity
    np.testing.assert_allclose(np.diag(done.similarity()), 1)
    # The filled rows are the factor, up to their lengths: what was observed is still there.
    observed = ~np.isnan(Q)
    length = np.linalg.norm(np.where(observed, Q, 0), axis=1) / np.linalg.norm(done.factor[60:] * observed, axis=1)
    np.testing.assert_allclose((done.factor[60:] * length[:, None])[observed], Q[observed], atol=1e-12)


@every_method
def test_filled_values_stay_within_the_observed_range(method, small):
    P, Q, _ = small
    observed = ~np.isnan(Q)
    done = sc.complete(P, Q, method=method, **quick(method))
    length = np.linalg.norm(np.where(observed, Q, 0), axis=1) / np.linalg.norm(done.factor[60:] * observed, axis=1)
    filled = done.factor[60:] * length[:, None]
    assert filled.min() >= -1e-9
    assert filled.max() <= P.max() + 1e-9


@every_method
def test_mode_s_returns_the_fit_and_not_its_input(method, small):
    """Programs that put the input back where it is observed give S0 back: with a full mask, relative error 1."""
    P, Q, truth = small
    S0, true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    S = sc.complete(P, Q, method=method, mode="S", **quick(method)).similarity()
    assert np.abs(S - S0).max() > 0.01
    assert 0.1 < sc.metrics.relative_squared_error(S, S0, true) < 0.95


@every_method
def test_units_make_the_answer_scale_free(method, small):
    P, Q, _ = small
    a, b = (sc.complete(c * P, c * Q, method=method, **quick(method)) for c in (1.0, 1e-25))
    np.testing.assert_allclose(a.similarity(), b.similarity(), atol=1e-9)
    assert b.params["unit"] == pytest.approx(1e-25 * a.params["unit"])
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    c, d = (sc.complete_similarity(x * S0, method=method, **quick(method)).similarity() for x in (1.0, 1e25))
    np.testing.assert_allclose(d, 1e25 * c, atol=1e16)


@every_method
def test_every_row_may_be_incomplete(method, digits, hide):
    X = hide(digits[:60], 0.3)
    S0, true = sc.overlap_similarity(X), sc.overlap_similarity(digits[:60])
    S = sc.complete(X, method=method, **quick(method)).similarity()
    assert sc.metrics.relative_squared_error(S, S0, true) < 0.8


@every_method
def test_nothing_missing_is_exact(method, digits):
    done = sc.complete(digits[:20], digits[20:24], method=method)
    assert "no value is missing" in done.status.message
    np.testing.assert_allclose(done.similarity(), sc.overlap_similarity(digits[:24]), atol=1e-12)


@every_method
def test_zeros_are_completed_by_zeros(method):
    S = sc.complete_similarity(np.zeros((4, 4)), method=method)
    assert not S.similarity().any()
    assert S.status.message == "everything observed is 0"
    P, Q = np.zeros((5, 3)), np.array([[0.0, np.nan, 0.0]])
    np.testing.assert_array_equal(sc.complete(P, Q, method=method).similarity(), np.eye(6))


@every_method
def test_a_query_with_nothing_observed_ends_like_the_fit(method, small):
    P, Q, _ = small
    Q = Q.copy()
    Q[3] = np.nan
    S = sc.complete(P, Q, method=method, **quick(method)).similarity()
    assert S[63, 63] == pytest.approx(1)
    assert np.isfinite(S).all()


@every_method
def test_wrong_modes_and_units_are_refused(method, small):
    P, Q, _ = small
    with pytest.raises(InputError, match=r"mode='Y' is unknown; use 'X'"):
        sc.complete(P, Q, method=method, mode="Y")
    with pytest.raises(InputError, match=r"mode='X' completes samples, and only similarities"):
        sc.complete_similarity(np.eye(3), method=method, mode="X")
    with pytest.raises(InputError, match="unit=0 is not 'auto' or a number above 0"):
        sc.complete(P, Q, method=method, unit=0)
    with pytest.raises(InputError, match="unit='metre' is unknown; use 'auto' or a number above 0"):
        sc.complete(P, Q, method=method, unit="metre")
    with pytest.raises(InputError, match=r"unit=1e-200 is too small for values up to 16; use 'auto'"):
        sc.complete(P, Q, method=method, unit=1e-200)


@every_method
def test_callback_and_history(method, small):
    P, Q, _ = small
    seen = []
    with pytest.warns(sc.errors.NotConvergedWarning, match="the callback stopped the run after 2"):
        done = sc.complete(P, Q, method=method, callback=lambda i, facts: seen.append(i) or i == 2)
    assert seen == [1, 2]
    assert [facts["iteration"] for facts in done.history] == [0, 1, 2]
    assert done.params["callback"] == "given"
    assert done.validity.psd.ok


@every_method
def test_defaults_end_well_on_real_data(method, small):
    P, Q, _ = small
    for mode in ("X", "S"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert sc.complete(P, Q, method=method, mode=mode).status.ok


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (4, 4), (6, 1)])
def test_leading_triples(shape):
    Z = np.random.default_rng(0).standard_normal(shape)
    U, s, Vt = leading(Z, 3)
    want = np.linalg.svd(Z, compute_uv=False)[: min(3, *shape)]
    np.testing.assert_allclose(s, want, atol=1e-13)
    np.testing.assert_allclose(Z @ Vt.T, U * s, atol=1e-13)
    np.testing.assert_allclose(Z.T @ U, Vt.T * s, atol=1e-13)
    assert largest_singular(MaskedMatrix(Z)) == pytest.approx(want[0], rel=1e-13)


def test_leading_triples_of_a_singular_matrix():
    Z = np.outer(np.arange(1.0, 6), np.arange(1.0, 5))
    U, s, Vt = leading(Z, 4)
    assert len(s) == 1
    np.testing.assert_allclose((U * s) @ Vt, Z, atol=1e-12)
    assert leading(np.zeros((3, 2)), 2)[0].shape == (3, 0)


@pytest.mark.parametrize("k", [1, 2, 9])
def test_symmetrised_fit(k):
    """Also where the two factors have more columns than rows between them."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((6, k)), rng.standard_normal((k, 6))
    S = symmetrised(A, B)
    np.testing.assert_allclose(whole(S), (A @ B + (A @ B).T) / 2, atol=1e-12)
    assert S.factor.shape[1] <= min(2 * k, 6)
    assert set(S.signs) == {-1.0, 1.0}


def test_a_symmetric_fit_has_no_more_columns_than_its_rank_and_signs_only_when_needed():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 2))
    S = symmetrised(A, A.T)
    assert S.factor.shape == (6, 2)
    assert S.signs is None
    assert symmetrised(A[:, :0], A.T[:0]).factor.shape == (6, 1)
    assert not whole(signed(np.zeros(3), np.eye(3))).any()


def test_stop_tests():
    assert settled(0.1)({"change": 0.2}, []) is None
    assert settled(0.1)({"change": 0.1}, []).code == "converged"
    falling = [10.0, 8.0, 7.9, 7.89, 7.888, 7.887, 7.8869]  # the last five steps: 8 to 7.8869, 0.3 percent each
    assert flat(1e-3)({}, falling) is None
    assert flat(5e-3)({}, falling).code == "converged"
    assert flat(5e-3)({}, falling[2:]) is None
