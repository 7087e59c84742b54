"""`posterior` by its name: which model answers, with which settings, and what it puts into the result."""

from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior import incomplete_rows
from simcomplete._posterior.all_rows.select import complete_rows
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.extend import PosteriorExtension
from simcomplete._posterior.similarities.wiener import complete_similarities
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError

POSTERIOR = sc.methods()["posterior"]


def rows_of(n, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return 7 * (rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 1.0 + 0.3 * rng.standard_normal((n, d)))


def hidden(X, seed=1, share=0.4):
    Y = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    Y[:, 0] = X[:, 0]
    return Y


def complete(*args, **params):
    return sc.complete(*args, method="posterior", random_state=3, **params)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("kept", [True, False])
def test_candidates_and_queries(kept, streaming):
    if not kept:
        streaming()
    P, Q = rows_of(45), hidden(rows_of(8, seed=2))
    done = complete(P, Q, effort="fast")
    own = {"effort": "fast", "copies": True}
    model, found = CandidateModel.fit_transform(HeldRows(P), Q, rng=np.random.default_rng(3), **own)
    assert isinstance(done.matrix.factor, np.ndarray) is kept
    np.testing.assert_allclose(done.factor[0:45], unit(P))
    np.testing.assert_allclose(done.factor[45:53], found.u, atol=1e-12)
    np.testing.assert_allclose(done.diagonal[45:], 1 - found.length**2, atol=1e-12)
    assert done.matrix.unit
    assert done.choice == model.choice.as_dict()
    np.testing.assert_allclose(done.interval_model.spread, found.uncertainty)
    assert "your own" in done.status.message
    # New rows, by the model that made it.
    ext = POSTERIOR.extend(done, HeldRows(P), Measure())
    np.testing.assert_allclose(ext.transform(Q), found.u, atol=1e-12)


def test_too_few_candidates_have_no_intervals():
    done = complete(rows_of(39), hidden(rows_of(3, seed=2)))
    assert done.interval_model is None
    assert "no candidates" in done.status.message


def test_rows_that_are_all_incomplete():
    X = hidden(rows_of(60))
    X[:, 0] = np.where(np.arange(60) % 2, X[:, 0], np.nan)
    done = complete(X)
    scale = np.median(np.sqrt(np.nansum(X**2, axis=1)))
    found = incomplete_rows.fit_all_rows(X / scale, np.random.default_rng(3), "full")
    assert found.choice.as_dict()["stack"] > 0
    np.testing.assert_allclose(done.factor, found.U, atol=1e-9)
    assert done.choice == found.choice.as_dict()
    np.testing.assert_allclose(done.interval_model.spread, np.sqrt(1 - np.sum(found.U**2, axis=1)), atol=1e-7)
    assert done.matrix.unit
    ext = POSTERIOR.extend(done, HeldRows(X), Measure())
    np.testing.assert_allclose(ext.transform(X[:4]), found.U[:4], atol=1e-9)
    np.testing.assert_array_equal(ext.factor, done.factor)
    few = complete(X[:12])
    assert few.interval_model is None


def test_fast_tries_one_rank_in_one_space(monkeypatch):
    asked = []
    monkeypatch.setattr(
        incomplete_rows,
        "complete_rows",
        lambda X, rng, **given: asked.append(given) or complete_rows(X, rng, ranks=(2,)),
    )
    X = hidden(rows_of(40))
    for effort in ("fast", "full"):
        complete(X, effort=effort)
    assert (asked[0]["ranks"], asked[0]["spaces"]) == ((20,), ("raw",))
    assert "ranks" not in asked[1]
    incomplete_rows.fit_factors(X, np.random.default_rng(0), "full")
    assert asked[2]["limits"].progress is False
    assert asked[2]["limits"].max_iter == 25


def test_complete_rows_among_others_are_candidates():
    X = hidden(rows_of(130), share=0.6)
    whole = np.arange(130) % 13 != 5  # 120 of them
    X[whole] = rows_of(130)[whole]
    done = complete(X, effort="fast")
    model, found = CandidateModel.fit_transform(
        HeldRows(X[whole]), X[~whole], rng=np.random.default_rng(3), effort="fast", copies=True
    )
    np.testing.assert_allclose(done.factor[whole], unit(X[whole]))
    np.testing.assert_allclose(done.factor[~whole], found.u, atol=1e-12)
    assert not done.interval_model.spread[whole].any()
    np.testing.assert_allclose(done.interval_model.spread[~whole], found.uncertainty)
    assert done.matrix.unit
    assert done.choice == model.choice.as_dict()
    assert "120 complete rows" in done.status.message
    ext = POSTERIOR.extend(done, HeldRows(X), Measure())
    np.testing.assert_allclose(ext.transform(X), done.factor, atol=1e-12)


def test_models_for_estimators():
    X = hidden(rows_of(130), share=0.6)
    whole = np.arange(130) % 13 != 5
    X[whole] = rows_of(130)[whole]
    found = incomplete_rows.fit_rows(X, np.random.default_rng(3), "fast", "error")
    assert found.model.in_memory
    by_masks = CandidateModel.fit(HeldRows(X[whole]), ~np.isnan(X[~whole]), rng=np.random.default_rng(3), effort="fast")
    np.testing.assert_allclose(found.unit, by_masks.vectors(X).u, atol=1e-12)
    few = np.arange(6)[None] < 2
    other = incomplete_rows.fit_rows(X, np.random.default_rng(3), "fast", "error", few)
    by_few = CandidateModel.fit(HeldRows(X[whole]), few, rng=np.random.default_rng(3), effort="fast")
    np.testing.assert_allclose(other.unit, by_few.vectors(X).u, atol=1e-12)
    assert np.abs(other.unit - found.unit).max() > 1e-6
    assert other.choice.error == by_few.choice.error
    none = incomplete_rows.fit_rows(X[~whole], np.random.default_rng(3), "fast", "error")
    assert none.U.shape == (10, 6)


@pytest.mark.parametrize("effort", ["fast", "full", "best"])
def test_similarities_alone(effort):
    X = unit(rows_of(36))
    S = X @ X.T
    rng = np.random.default_rng(0)
    S[:30, 30:] += 0.2 * rng.standard_normal((30, 6))
    S[30:, :30] = S[:30, 30:].T
    overlap = np.full((36, 36), 6)
    np.fill_diagonal(overlap[30:, 30:], [1, 2, 3, 4, 5, 6])
    for counted in (True, False):
        given = {"overlap": overlap} if counted else {}
        done = sc.complete_similarity(S, candidates=30, method="posterior", effort=effort, random_state=3, **given)
        found = complete_similarities(
            S[:30, :30],
            S[:30, 30:],
            np.arange(1, 7) if counted else None,
            6 if counted else None,
            rng=np.random.default_rng(3),
            effort="fast" if effort == "fast" else "full",
            exact=True,
        )
        np.testing.assert_allclose(done.factor, found.factor, atol=1e-12)
        np.testing.assert_allclose(done.diagonal, found.diagonal, atol=1e-12)
        assert done.choice == pytest.approx(found.as_dict(), rel=1e-9)
        expected = np.sqrt(np.maximum(1 - found.lengths**2, 1e-4))
        np.testing.assert_allclose(done.interval_model.spread, expected)
        np.testing.assert_allclose(done.matrix.block(slice(0, 30), slice(0, 30)), S[:30, :30], atol=1e-9)
    assert found.lengths.max() < 1


@pytest.mark.parametrize("candidates", [None, 5])
def test_similarities_without_an_exact_block_or_without_queries_are_refused(candidates):
    given = {} if candidates is None else {"candidates": candidates}
    with pytest.raises(InputError, match="which rows are exact"):
        sc.complete_similarity(np.eye(5), method="posterior", **given)


# New rows


def test_new_rows_are_scaled_and_compared():
    U = np.array([[1.0, 0.0], [0.8, 0.6], [-2.0, 0.0], [0.5, 0.0]])
    seen = []
    model = SimpleNamespace(unit=U, vectors=lambda X: seen.append(X) or SimpleNamespace(u=U))
    X = np.array([[2.0, np.nan], [4.0, 2.0]])
    ext = PosteriorExtension(model, HeldRows(X), 2.0)
    assert ext.factor is U
    np.testing.assert_array_equal(ext.transform(X), U)
    np.testing.assert_array_equal(seen[0], [[1.0, np.nan], [2.0, 1.0]])
    expected = [[1, 0.8, -1, 0.5], [0.8, 1, -1, 0.4], [-1, -1, 1, -1], [0.5, 0.4, -1, 1]]
    np.testing.assert_allclose(ext.among(X), expected)
    assert PosteriorExtension(model, HeldRows(X)).scale == 1.0
    np.testing.assert_allclose(ext.overlap(X), [[1, 1], [1, 1]])


# The row of the registry


@pytest.mark.parametrize(("effort", "share"), [("fast", 0.3), ("full", 1.0), ("best", 5.0)])
def test_work(effort, share):
    """8 n d^2 for the moments and 60 factorisations; of more than 2000 features by 96 directions."""
    sizes = SimpleNamespace(n=10, d=3)
    assert POSTERIOR.work(sizes, {"effort": effort}) == pytest.approx(share * (8 * 10 * 9 + 60 * 27))
    for d, each in ((2000, 2000**3), (2001, 2001 * 96**2)):
        found = POSTERIOR.work(SimpleNamespace(n=10, d=d), {"effort": effort})
        assert found == pytest.approx(share * (80 * d**2 + 60 * each))


def test_what_the_method_promises():
    row = POSTERIOR.row()
    assert (row["psd"], row["low_rank"], row["keeps_candidates"], row["random"]) == (True, False, True, True)
    assert POSTERIOR.out_of_sample
