"""What posterior promises, as properties: PSD, unit diagonal, exact candidates, equivariance, the same bits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import zoom

import simcomplete as sc
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._rows.table import HeldRows

EFFORTS = ["full", "fast", "best"]
every_effort = pytest.mark.parametrize("effort", EFFORTS)


def rows(seed, n_p=60, n_q=8, d=7, missing=0.5):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((n_p + n_q, 3)) @ rng.standard_normal((3, d))) + 0.1 * rng.random((n_p + n_q, d))
    P, Q = X[:n_p], X[n_p:].copy()
    Q[rng.random(Q.shape) < missing] = np.nan
    return P, Q


@pytest.mark.filterwarnings("ignore:all rows are nearly equal")  # as some of two features are
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n_p=st.integers(2, 70), n_q=st.integers(1, 6), d=st.integers(1, 9), data=st.data())
def test_valid_in_all_five_senses_whatever_comes(seed, n_p, n_q, d, data):
    effort = data.draw(st.sampled_from(EFFORTS))
    P, Q = rows(seed, n_p, n_q, d)
    done = sc.complete(P, Q, method="posterior", effort=effort)
    S = done.similarity()
    assert (S == S.T).all()
    assert (np.diag(S) == 1).all()
    assert (np.abs(S) <= 1).all()
    assert np.linalg.eigvalsh(S)[0] > -1e-10 * len(S)
    np.testing.assert_allclose(done.factor[:n_p], unit_rows(P), atol=1e-15)
    assert done.validity.ok, done.validity


@every_effort
def test_complete_queries_give_exact_cosines(effort):
    P, _ = rows(0)
    Q, _ = rows(1)
    done = sc.complete(P, Q[:5], method="posterior", effort=effort)
    np.testing.assert_allclose(done.similarity(), sc.overlap_similarity(np.vstack([P, Q[:5]])), atol=1e-12)
    assert (done.confidence == 1).all()
    low, high = done.interval()
    np.testing.assert_allclose(high - low, 0, atol=1e-12)


def fixed(P, effort="full", seed=0):
    """A model whose choice does not change any more."""
    masks = np.random.default_rng(1).random((30, P.shape[1])) < 0.5
    return CandidateModel.fit(HeldRows(P), masks, rng=np.random.default_rng(seed), effort=effort)


@every_effort
def test_a_query_does_not_depend_on_its_neighbours_in_the_batch(effort):
    P, Q = rows(2)
    model = fixed(P, effort)
    whole = model.vectors(Q).u
    for i in range(len(Q)):
        np.testing.assert_allclose(model.vectors(Q[i : i + 1]).u[0], whole[i], atol=1e-12)
    np.testing.assert_allclose(model.vectors(Q[::-1]).u[::-1], whole, atol=1e-12)


def test_permuting_features_permutes_the_answer():
    P, Q = rows(3)
    order = np.random.default_rng(0).permutation(P.shape[1])
    first = fixed(P)
    u = first.vectors(Q).u
    v = replace(fixed(P[:, order]), choice=first.choice).vectors(Q[:, order]).u
    np.testing.assert_allclose(u[:, order], v, atol=1e-9)


def test_permuting_candidates_leaves_queries_alone():
    P, Q = rows(4)
    order = np.random.default_rng(0).permutation(len(P))
    u = fixed(P).vectors(Q).u
    v = replace(fixed(P[order]), choice=fixed(P).choice).vectors(Q).u
    np.testing.assert_allclose(u, v, atol=1e-9)
    # and the choice itself is drawn from the sorted candidates
    first, second = fixed(P).choice.as_dict(), fixed(P[order]).choice.as_dict()
    assert first.pop("expected_squared_error") == pytest.approx(second.pop("expected_squared_error"), rel=1e-6)
    assert first == second


def test_scaling_a_row_leaves_the_answer_in_unit_space():
    P, Q = rows(5)
    rng = np.random.default_rng(0)
    scaled_p, scaled_q = P * rng.uniform(0.1, 10, (len(P), 1)), Q * rng.uniform(0.1, 10, (len(Q), 1))
    u = fixed(P, "fast").vectors(Q).u
    v = fixed(scaled_p, "fast").vectors(scaled_q).u
    np.testing.assert_allclose(u, v, atol=1e-9)


@every_effort
def test_single_and_double_precision_agree(effort):
    P, Q = (x.astype(np.float32) for x in rows(6))
    single = sc.complete(P, Q, method="posterior", effort=effort)
    double = sc.complete(P.astype(float), Q.astype(float), method="posterior", effort=effort)
    assert single.factor.dtype == np.float32
    np.testing.assert_allclose(single.similarity(), double.similarity(), atol=1e-5)


@every_effort
def test_same_seed_same_bits(effort):
    P, Q = rows(7)
    a, b = (sc.complete(P, Q, method="posterior", effort=effort, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(a.factor, b.factor)
    assert a.choice == b.choice


@every_effort
def test_duplicated_candidates_do_not_spoil_calibration(effort, digits, hide):
    P = np.vstack([digits[:150]] * 2)
    Q_true = digits[150:200]
    Q = hide(Q_true, 0.7)
    done = sc.complete(P, Q, method="posterior", effort=effort)
    truth = unit_rows(Q_true) @ unit_rows(P).T
    low, high = done.interval(0.9)
    assert np.mean((truth >= low) & (truth <= high)) > 0.8


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1e30])
@every_effort
def test_the_scale_of_everything_does_not_matter(effort, size):
    P, Q = rows(8)
    a = sc.complete(P, Q, method="posterior", effort=effort)
    b = sc.complete(P * size, Q * size, method="posterior", effort=effort)
    np.testing.assert_allclose(a.similarity(), b.similarity(), atol=1e-8)


def test_many_features_by_low_rank_plus_diagonal(monkeypatch, digits, hide):
    P, Q = digits[:200], hide(digits[200:230], 0.7)
    truth = sc.overlap_similarity(np.vstack([P, digits[200:230]]))
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    dense = sc.complete(P, Q, method="posterior")
    monkeypatch.setattr("simcomplete._posterior.candidates.moments.WIDE", 10)
    wide = sc.complete(P, Q, method="posterior")
    assert wide.validity.ok
    error = [sc.metrics.relative_squared_error(done.similarity(), S0, truth) for done in (dense, wide)]
    assert error[1] < 1.1 * error[0]


def test_error_bars_are_refused_where_there_are_none():
    P, Q = rows(9, n_p=20)
    for done in (sc.complete(P, Q, method="posterior"), sc.complete(P, Q, method="smcnn")):
        with pytest.raises(sc.errors.InputError, match="use method='posterior'"):
            done.interval()
        with pytest.raises(sc.errors.InputError, match="has no intervals"):
            _ = done.confidence


def test_error_bars_by_rows_and_level(tmp_path):
    P, Q = rows(10)
    done = sc.complete(P, Q, method="posterior")
    low, high = done.interval(0.9)
    assert low.shape == (8, 60)
    middle = done.similarity("queries", "candidates")
    assert ((low <= middle) & (middle <= high)).all()
    wide = done.interval(0.99)
    assert (wide[0] <= low).all()
    assert (wide[1] >= high).all()
    some = done.interval(0.9, rows=("queries", [2, 3]), cols=slice(0, 4))
    np.testing.assert_array_equal(some[0], low[[2, 3], :4])
    for level in (0, 1, 1.5, "x", True):
        with pytest.raises(sc.errors.InputError, match="level"):
            done.interval(level)
    done.save(tmp_path / "a")
    np.testing.assert_array_equal(sc.load(tmp_path / "a").interval(0.9)[0], low)


@every_effort
def test_the_objective_can_be_recall(effort, digits, hide):
    P, Q = digits[:300], hide(digits[300:340], 0.7)
    error, recall = (
        sc.complete(P, Q, method="posterior", effort=effort, objective=o).choice for o in ("error", "recall")
    )
    assert recall["expected_recall"] >= error["expected_recall"]
    assert recall["expected_squared_error"] >= error["expected_squared_error"] - 1e-12


def test_settings_that_cannot_be_used():
    P, Q = rows(11)
    with pytest.raises(sc.errors.InputError, match="objective='speed' is unknown"):
        sc.complete(P, Q, method="posterior", objective="speed")
    with pytest.raises(sc.errors.InputError, match="effort='huge' is unknown"):
        sc.complete(P, Q, method="posterior", effort="huge")
    for extra in ({"min_overlap": 3}, {"positive": True}):
        with pytest.raises(sc.errors.InputError, match="does not use"):
            sc.complete(P, Q, method="posterior", **extra)


def test_similarities_alone(digits, hide, tmp_path):
    P, Q_true = digits[:200], digits[200:240]
    Q = hide(Q_true, 0.7)
    S0, truth = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, Q_true]))
    counts = sc.overlap_counts(np.vstack([P, Q]))
    plain = sc.complete_similarity(S0, candidates=200, method="posterior")
    told = sc.complete_similarity(S0, candidates=200, overlap=counts, method="posterior")
    for done in (plain, told):
        assert done.validity.ok, done.validity
        assert sc.metrics.relative_squared_error(done.similarity(), S0, truth) < 0.35
        low, high = done.interval(0.9)
        inside = (truth[200:, :200] >= low) & (truth[200:, :200] <= high)
        assert inside.mean() > 0.8
    with pytest.raises(sc.errors.InputError, match="give candidates="):
        sc.complete_similarity(S0, method="posterior")


@pytest.fixture(scope="module")
def pictures(digits):
    """Digits as pictures of 20 x 20: 400 features, four times as many as candidates."""
    return np.stack([zoom(row.reshape(8, 8), 2.5, order=1, grid_mode=True, mode="nearest").ravel() for row in digits])


@every_effort
@pytest.mark.parametrize("pattern", ["square", "stripes"])
@pytest.mark.parametrize("missing", [0.3, 0.8])
def test_few_candidates_and_whole_regions_missing_do_no_harm(pictures, effort, pattern, missing):
    # Plain Gaussian conditioning loses to the overlap similarity here.
    P, whole = pictures[:100], pictures[100:160]
    Q = sc.masks.apply(whole, getattr(sc.masks, pattern)(whole, missing=missing, shape=(20, 20)))
    S0, truth = (sc.overlap_similarity(np.vstack([P, rest]))[100:, :100] for rest in (Q, whole))
    S = sc.complete(P, Q, method="posterior", effort=effort).similarity("queries", "candidates")
    assert sc.metrics.relative_squared_error(S, S0, truth) < 1
    assert sc.metrics.recall_at(S, truth, k=10) >= sc.metrics.recall_at(S0, truth, k=10) - 0.01
