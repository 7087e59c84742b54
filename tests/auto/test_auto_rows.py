"""auto where every row may be incomplete: posterior is taken unless doing nothing is better on the data given."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._auto.all_rows import ScoredRows
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.all_rows.scored_pairs import HoldoutResult, RowMoments


@pytest.fixture(scope="module")
def rows(digits, hide):
    return hide(digits[:120], 0.4)


def errors(done):
    return {row["method"]: row["error"] for row in done.election}


def test_posterior_is_compared_with_doing_nothing_and_runs_once(rows, monkeypatch):
    runs = []
    fit = sc._posterior.method.fit_all_rows
    monkeypatch.setattr("simcomplete._posterior.method.fit_all_rows", lambda *a, **k: runs.append(1) or fit(*a, **k))
    done = sc.complete(rows)
    assert done.method == "posterior" and done.params["chosen_by"] == "auto" and len(runs) == 1
    assert [row["method"] for row in done.election] == ["overlap", "smcnn", "posterior"]
    assert errors(done)["overlap"] == pytest.approx(1.0) and errors(done)["posterior"] < 0.5
    assert [row["note"] for row in done.election] == ["", "", "chosen"]
    np.testing.assert_array_equal(done.factor, sc.complete(rows, method="posterior").factor)


@pytest.mark.parametrize(("off", "winner"), [(0.0, "posterior"), (10.0, "smcnn")])
def test_the_least_error_wins(rows, monkeypatch, off, winner):
    right = HoldoutResult.restricted
    monkeypatch.setattr(HoldoutResult, "restricted", lambda self: right(self) + off)
    done = sc.complete(rows)
    assert done.method == winner
    assert min(errors(done), key=errors(done).get) == winner
    if winner != "posterior":  # exactly what the method itself gives
        np.testing.assert_allclose(done.similarity(), sc.complete(rows, method=winner).similarity())


@pytest.mark.parametrize(("off", "winner"), [(0.0, "posterior"), (10.0, "smcnn")])
def test_tables_with_few_features_are_judged_too(monkeypatch, off, winner):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 6)) + 0.1 * rng.standard_normal((80, 6))
    X[rng.random(X.shape) < 0.3] = np.nan
    X = X[(~np.isnan(X)).sum(axis=1) > 1]
    right = HoldoutResult.restricted
    monkeypatch.setattr(HoldoutResult, "restricted", lambda self: right(self) + off)
    done = sc.complete(X)
    assert done.method == winner and set(errors(done)) == {"overlap", "smcnn", "posterior"}


def test_overlap_is_taken_where_it_is_better_than_both(rows, monkeypatch):
    monkeypatch.setattr(
        HoldoutResult, "restricted", lambda self: np.ones((len(self.lost.scored), len(self.others))) * 9
    )
    done = sc.complete(rows, elect=["overlap", "posterior"])
    assert done.method == "overlap" and errors(done)["posterior"] > 1
    np.testing.assert_allclose(done.similarity(), sc.overlap_similarity(rows))


def test_restricted_cosines_of_judged_rows_one_at_a_time(rows):
    lost = HiddenValues.of(rows / 16, None, np.random.default_rng(0))
    others = np.array([5, 40, int(lost.scored[3])])
    rng = np.random.default_rng(1)
    scored, compared = (
        RowMoments.of(rng.random((k, rows.shape[1])), rng.random((k, rows.shape[1]))) for k in (len(lost.scored), 3)
    )
    found = HoldoutResult(lost, others, scored, compared).restricted()
    for i, row in enumerate(lost.scored):
        for j, other in enumerate(others):
            K = ~np.isnan(rows[row]) & ~np.isnan(rows[other])
            expected = scored.mean[i, K] @ compared.mean[j, K]
            expected /= np.sqrt(scored.square[i, K].sum() * compared.square[j, K].sum())
            assert found[i, j] == pytest.approx(expected)


def test_the_truth_is_what_rows_had_in_common_before_the_loss(rows):
    lost = HiddenValues.of(rows, None, np.random.default_rng(0))
    others = np.arange(0, 120, 7)
    scored = ScoredRows(lost, others)
    whole = sc.overlap_similarity(rows)[np.ix_(lost.scored, others)]
    np.testing.assert_allclose(scored.truth, np.where(scored.pairs, whole, 0.0))
    assert scored.score(whole)[0] == pytest.approx(0.0, abs=1e-20)
    known = ~np.isnan(rows)
    for i, row in enumerate(lost.scored):
        for j, other in enumerate(others):
            assert scored.pairs[i, j] == (row != other and (known[row] & known[other]).sum() >= 10)


def test_methods_without_posterior_are_compared_too(rows):
    done = sc.complete(rows, elect=["overlap", "mean", "smcnn"])
    assert set(errors(done)) == {"overlap", "mean", "smcnn"}
    assert done.method == min(errors(done), key=errors(done).get)


def test_complete_rows_lose_values_where_they_are_candidates(digits, hide):
    X = np.vstack([digits[:150], hide(digits[150:200], 0.5)])
    done = sc.complete(X)
    assert done.method == "posterior" and errors(done)["posterior"] < errors(done)["smcnn"]
    np.testing.assert_array_equal(done.factor, sc.complete(X, method="posterior").factor)


def test_too_little_in_common_is_no_table(digits, hide):
    done = sc.complete(hide(digits[:100], 0.9))
    assert (done.method, done.election) == ("posterior", [])
