"""Views, validity and summaries of real completions."""

import json
from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError

# Views and validity, on a real completion.


@pytest.fixture(scope="module", params=["partial", "structured"])
def done(request, small):
    P, Q, _ = small
    return sc.complete(P, Q, method="smcnn", rank=8, route=request.param)


def test_validity_of_the_papers_result(done, small):
    S = done.similarity()
    v = done.validity
    exact = sc.overlap_similarity(small[0])
    assert v.symmetric.ok
    assert v.psd.ok
    assert v.psd.value == pytest.approx(np.linalg.eigvalsh(S)[0], abs=1e-10)
    assert not v.unit_diagonal.ok
    assert v.unit_diagonal.value == pytest.approx(np.abs(np.diag(S) - 1).max())
    assert not v.bounded.ok
    assert v.bounded.value == pytest.approx(np.abs(S).max())
    assert not v.candidates_exact.ok
    assert v.candidates_exact.value == pytest.approx(np.abs(S[:60, :60] - exact).max())
    assert v.failures() == ["unit_diagonal", "bounded", "candidates_exact"]
    assert not v.ok
    assert "NO" in str(v)


def test_validity_from_the_form_alone_agrees(done, monkeypatch):
    entry = done.validity
    monkeypatch.setattr("simcomplete._result.validity.DENSE_LIMIT", 0)
    monkeypatch.setattr("simcomplete._result.validity.ENTRY_LIMIT", 0)
    form = replace(done, method="again").validity  # a copy, so that nothing is remembered
    assert form.psd.ok
    assert form.psd.value == 0
    assert form.bounded == entry.bounded
    S = done.similarity()
    exact = done.exact.similarity(slice(0, 60), slice(0, 60))
    assert form.candidates_exact.value == pytest.approx(np.linalg.norm(S[:60, :60] - exact), rel=1e-6)


def test_frobenius_deviation_counts_the_diagonal_too(digits, hide, monkeypatch):
    P, Q = digits[:60].copy(), hide(digits[60:70], 0.5)
    P[4] = 0
    done = sc.complete(P, Q, method="smcnn", rank=8)
    exact = done.exact.similarity(slice(0, 60), slice(0, 60))
    monkeypatch.setattr("simcomplete._result.validity.ENTRY_LIMIT", 0)
    for extra in (done.diagonal, np.linspace(0, 1, 70)):
        changed = replace(done, matrix=replace(done.matrix, diagonal=extra))
        expected = np.linalg.norm(changed.similarity("candidates", "candidates") - exact)
        assert changed.validity.candidates_exact.value == pytest.approx(expected, rel=1e-6)


def test_rank_of_a_signed_factor():
    rng = np.random.default_rng(5)
    P, Q = rng.standard_normal((60, 5)), rng.standard_normal((4, 5))
    done = sc.complete(P, Q, method="smc_nr", rank=5, keep_candidates=True)
    assert done.signs is not None
    assert done.rank == np.linalg.matrix_rank(done.similarity()) == 5


def test_complete_data_are_valid_in_all_five(small):
    P, _, Q = small
    v = sc.complete(P, Q, method="overlap").validity
    assert v.ok, v
    exact = sc.complete(P, Q, method="smc_nr", rank=64)
    assert exact.validity.ok, exact.validity


def test_unit_diagonal_view(done):
    S = done.similarity()
    view = done.view(unit_diagonal=True)
    root = np.sqrt(np.diag(S))
    np.testing.assert_allclose(view.similarity(), S / root[:, None] / root[None, :], atol=1e-12)
    assert view.validity.unit_diagonal.ok
    assert view.validity.bounded.ok
    assert view.validity.psd.ok
    assert view.params["unit_diagonal"] is True
    np.testing.assert_array_equal(done.similarity(unit_diagonal=True), view.similarity())


def test_keep_candidates_view(done, small):
    exact = sc.overlap_similarity(small[0])
    view = done.view(keep_candidates=True)
    S = view.similarity()
    np.testing.assert_allclose(S[:60, :60], exact, atol=1e-12)
    np.testing.assert_allclose(S[60:], done.similarity()[60:], atol=1e-12)
    assert view.validity.candidates_exact.ok
    assert view.validity.psd.value == pytest.approx(np.linalg.eigvalsh(S)[0], abs=1e-9)


def test_keep_candidates_as_a_signed_factor(digits, hide):
    P, Q = digits[:300], hide(digits[300:310], 0.5)
    plain = sc.complete(P, Q, method="smcnn", rank=5)
    view = plain.view(keep_candidates=True)
    assert view.factor.shape == (310, 5 + 64 + 5)  # smaller than 310 x 310
    assert (view.signs == -1).sum() == 5
    np.testing.assert_allclose(view.similarity("candidates", "candidates"), sc.overlap_similarity(P), atol=1e-12)
    np.testing.assert_allclose(view.similarity("queries"), plain.similarity("queries"), atol=1e-12)
    assert view.validity.candidates_exact.ok
    again = view.view(unit_diagonal=True)
    np.testing.assert_allclose(np.diag(again.similarity()), 1)


def test_keep_candidates_with_a_row_without_evidence(digits, hide):
    P, Q = digits[:300].copy(), hide(digits[300:310], 0.5)
    P[2] = 0
    view = sc.complete(P, Q, method="smcnn", rank=5, keep_candidates=True)
    np.testing.assert_allclose(view.similarity("candidates", "candidates"), sc.overlap_similarity(P), atol=1e-12)
    assert view.validity.candidates_exact.ok


def test_clip_view(done):
    view = done.view(clip=True)
    np.testing.assert_allclose(view.similarity(), np.clip(done.similarity(), -1, 1), atol=1e-14)
    assert view.validity.bounded.ok
    assert view.search(k=3).scores.max() <= 1
    positive = sc.complete(np.eye(3), -np.eye(3), method="smcnn", positive=True, clip=True)
    assert positive.similarity().min() >= 0


def test_views_together_and_from_complete(small):
    P, Q, _ = small
    asked = sc.complete(P, Q, method="smcnn", rank=8, unit_diagonal=True, keep_candidates=True, clip=True)
    v = asked.validity
    assert v.unit_diagonal.ok
    assert v.bounded.ok
    assert v.candidates_exact.ok


def test_nothing_to_keep(small):
    with pytest.raises(InputError, match="no exact candidate block"):
        sc.complete(small[0], method="smcnn", keep_candidates=True)


def test_positive_scores_end_to_end(small):
    P, Q, _ = small
    dense, structured = (
        sc.complete(P, Q, method="smcnn", rank=20, positive=True, route=r) for r in ("full", "structured")
    )
    np.testing.assert_allclose(dense.similarity(), structured.similarity(), atol=1e-8)
    S0 = (1 + sc.overlap_similarity(np.vstack([P, Q]))) / 2
    np.testing.assert_allclose(sc.complete(P, Q, method="overlap", positive=True).similarity(), S0, atol=1e-12)


def test_a_given_matrix_with_candidates_in_any_order():
    X = np.random.default_rng(5).standard_normal((12, 5))
    S0 = sc.overlap_similarity(X)
    which = np.arange(12) % 3 != 0
    done = sc.complete_similarity(S0, method="smcnn", candidates=which, rank=3)
    assert done.n_candidates == 8
    assert done.order.tolist() == [1, 2, 4, 5, 7, 8, 10, 11, 0, 3, 6, 9]
    plain = sc.complete_similarity(S0, method="smcnn", rank=3).similarity()
    np.testing.assert_allclose(done.similarity(), plain[np.ix_(done.order, done.order)], atol=1e-10)
    kept = done.view(keep_candidates=True)
    np.testing.assert_allclose(kept.similarity("candidates", "candidates"), S0[which][:, which], atol=1e-12)


def test_hints_move_with_the_rows():
    rng = np.random.default_rng(0)
    truth = sc.overlap_similarity(rng.standard_normal((12, 20)))
    noise = 0.5 * rng.standard_normal((12, 12))
    known = np.eye(12, dtype=bool)
    known[3, 8] = known[8, 3] = True
    which = np.arange(12) % 3 != 0
    S0 = np.where(known | np.outer(which, which), truth, truth + (noise + noise.T) / 2)
    moved = sc.complete_similarity(S0, method="dmc").similarity()[3, 8]
    assert abs(moved - S0[3, 8]) > 0.01  # without the hint it does not stay
    done = sc.complete_similarity(S0, candidates=which, known=known, method="dmc", variant="fixed")
    place = {row: i for i, row in enumerate(done.order)}
    assert done.similarity()[place[3], place[8]] == pytest.approx(S0[3, 8], abs=1e-4)


def test_a_given_diagonal_is_kept():
    S0 = np.diag([4.0, 2.0, 0.0])
    np.testing.assert_allclose(sc.complete_similarity(S0, method="smc_nr").similarity(), S0, atol=1e-12)
    np.testing.assert_array_equal(sc.complete_similarity(S0, method="overlap").similarity(), S0)


def test_overlap_as_a_signed_factor_is_exact(digits, hide, monkeypatch):
    P, Q = digits[:300].copy(), hide(digits[300:310], 0.6)
    P[2], Q[3] = 0, np.nan
    dense = sc.complete(P, Q, method="overlap")
    assert dense.factor is None
    monkeypatch.setattr("simcomplete._baselines.overlap.SMALL", 0)
    factored = sc.complete(P, Q, method="overlap")
    assert factored.factor.shape == (310, 84)
    np.testing.assert_allclose(factored.similarity(), dense.similarity(), atol=1e-12)
    np.testing.assert_allclose(dense.similarity(), sc.overlap_similarity(np.vstack([P, Q])), atol=1e-14)
    monkeypatch.setattr("simcomplete._result.validity.DENSE_LIMIT", 0)
    assert factored.validity.psd.value == pytest.approx(np.linalg.eigvalsh(dense.similarity())[0], abs=1e-8)


def test_summary_and_repr(done):
    facts = json.loads(json.dumps(done.summary(), allow_nan=False))
    assert facts["method"] == "smcnn"
    assert facts["validity"]["psd"]["ok"] is True
    assert repr(done) == "Completion(method='smcnn', candidates=60, queries=20, rank=8, status='optimal')"


def test_same_seed_same_bits(small):
    P, Q, _ = small
    for route in ("partial", "iterative", "structured"):
        a, b = (sc.complete(P, Q, method="smcnn", rank=6, route=route, random_state=3) for _ in range(2))
        np.testing.assert_array_equal(a.factor, b.factor)


def test_repr_computes_no_rank_that_takes_long(small, monkeypatch):
    P, Q, _ = small
    done = sc.complete(P, Q, method="smcnn", rank=5)
    monkeypatch.setattr("simcomplete._result.summary.CHEAP_WORK", 1)
    assert "rank=<=5" in repr(done)
    assert done.rank == 5
    assert "rank=5" in repr(done)
