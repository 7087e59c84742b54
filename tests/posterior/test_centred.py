"""metric="pearson": correlations of rows by posterior, with a unit diagonal and intervals."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._posterior.candidates import fitting
from simcomplete._posterior.candidates.fitting import SimulatedQueries
from simcomplete._posterior.candidates.source import Pool
from simcomplete._posterior.centred import CentredModel, centred_rows, without_constant_part
from simcomplete._posterior.shared.rows import RowValues, Vectors
from simcomplete._rows.table import HeldRows


def correlated(seed, n=160, d=24, missing=0.3):
    """Rows with a common part and a mean of their own, and the same with values hidden."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.4 * rng.normal(size=(n, d)) + 5 * rng.normal(size=(n, 1))
    return X, np.where(rng.random(X.shape) < missing, np.nan, X)


def error(S, T):
    return np.sqrt(np.mean((S - T) ** 2))


@settings(deadline=None, max_examples=30, derandomize=True)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-300, 1.0, 1e300]), shift=st.sampled_from([0.0, 1e3]))
def test_rows_add_up_to_nothing(seed, size, shift):
    X = correlated(seed, n=8)[1] + shift
    Z = centred_rows(X * size) / size
    np.testing.assert_array_equal(np.isnan(Z), np.isnan(X))
    np.testing.assert_allclose(Z, X - np.nanmean(X, axis=1, keepdims=True), atol=1e-10)
    assert np.abs(np.nansum(Z, axis=1)).max() < 1e-13 * (1 + np.nanmax(np.abs(Z))) * X.shape[1]


def test_constant_rows_become_exactly_nothing():
    X = np.array([[0.1] * 7, [1e300] * 7, [np.nan] * 6 + [3.0], [np.nan] * 7])
    Z = centred_rows(X)
    assert not Z[:2].any() and Z[2, 6] == 0 and np.isnan(Z[3]).all()


@pytest.mark.parametrize(("d", "steps", "constant"), [(4, 20, True), (4, 24, False), (16, 32, True), (16, 36, False)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_rounding_leaves_of_a_constant_row(d, steps, constant, dtype):
    """One of d values is so many times the precision larger than 1: (d - 1) / d of that remains. 8 sqrt(d) times the
    precision may be rounding: 16 of 4 values (15 and 18 remain here), 32 of 16 (30 and 33.75)."""
    X = np.ones((1, d), dtype=dtype)
    X[0, 0] += dtype(steps * np.finfo(dtype).eps)
    assert centred_rows(X).any() == (not constant)


@pytest.mark.parametrize("effort", ["fast", "full", "best"])
def test_candidates_and_queries(effort):
    X, hidden = correlated(0)
    truth = np.corrcoef(X)
    done = sc.complete(X[:130], hidden[130:], method="posterior", metric="pearson", effort=effort, progress=False)
    S = done.similarity()
    np.testing.assert_allclose(S[:130, :130], truth[:130, :130], atol=1e-9)  # candidates are exact
    np.testing.assert_allclose(S.diagonal(), 1.0, atol=1e-12)
    overlap = sc.overlap_similarity(np.vstack([X[:130], hidden[130:]]), metric="pearson")
    assert error(S[130:, :130], truth[130:, :130]) < 0.7 * error(overlap[130:, :130], truth[130:, :130])
    assert done.params["metric"] == "pearson" and done.validity.ok


def test_intervals_cover():
    inside = []
    for seed in range(4):
        X, hidden = correlated(seed)
        truth = np.corrcoef(X)[130:, :130]
        own = {"method": "posterior", "metric": "pearson", "effort": "fast", "progress": False}
        low, high = sc.complete(X[:130], hidden[130:], **own).interval(0.9)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.8 < np.mean(inside) < 0.99


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_a_mean_of_a_row_does_not_matter(shift):
    X, hidden = correlated(1)
    own = {"method": "posterior", "metric": "pearson", "effort": "fast", "progress": False}
    S = sc.complete(X[:130], hidden[130:], **own).similarity()
    moved = np.linspace(-1, 1, 160)[:, None] * shift + 2.0
    np.testing.assert_allclose(
        sc.complete(X[:130] + moved[:130], hidden[130:] + moved[130:], **own).similarity(), S, atol=1e-7
    )


@pytest.mark.parametrize("effort", ["fast", "full"])
def test_all_rows_incomplete(effort):
    X, hidden = correlated(2)
    truth, apart = np.corrcoef(X), ~np.eye(160, dtype=bool)
    done = sc.complete(hidden, method="posterior", metric="pearson", effort=effort, progress=False)
    S = done.similarity()
    np.testing.assert_allclose(S.diagonal(), 1.0, atol=1e-12)
    assert np.linalg.eigvalsh(S)[0] > -1e-10
    overlap = sc.overlap_similarity(hidden, metric="pearson")
    assert error(S[apart], truth[apart]) < 0.7 * error(overlap[apart], truth[apart])
    low, high = done.interval(0.9)
    assert 0.75 < np.mean(((low <= truth) & (truth <= high))[apart]) <= 1


def test_complete_rows_among_incomplete_ones():
    X, hidden = correlated(3)
    hidden[:130] = X[:130]
    done = sc.complete(hidden, method="posterior", metric="pearson", progress=False)
    np.testing.assert_allclose(done.similarity()[:130, :130], np.corrcoef(X[:130]), atol=1e-9)
    apart = sc.complete(X[:130], hidden[130:], method="posterior", metric="pearson", progress=False)
    np.testing.assert_allclose(done.similarity(), apart.similarity(), atol=1e-9)


def test_streamed_candidates(tmp_path, monkeypatch):
    X, hidden = correlated(4)
    own = {"method": "posterior", "metric": "pearson", "progress": False}
    kept = sc.complete(X[:130], hidden[130:], **own)
    monkeypatch.setattr(fitting, "STREAM_ABOVE_VALUES", 1000)
    np.save(tmp_path / "p.npy", X[:130])
    streamed = sc.complete(tmp_path / "p.npy", hidden[130:], memory="30 KB", **own)
    np.testing.assert_allclose(streamed.similarity(), kept.similarity(), atol=1e-9)
    streamed.save(tmp_path / "saved")
    np.testing.assert_allclose(sc.load(tmp_path / "saved").similarity(), kept.similarity(), atol=1e-9)


def test_simulated_queries_lose_the_mean_of_what_is_left():
    X, hidden = correlated(5, n=60)
    pool = Pool.draw(HeldRows(np.asarray(centred_rows(X))), np.random.default_rng(0))
    made = SimulatedQueries.draw(pool, ~np.isnan(hidden), 20, np.random.default_rng(0), centred=True)
    np.testing.assert_allclose(made.values.sum(axis=1), 0.0, atol=1e-12)
    assert not made.values[~made.observed].any()


def test_estimators_agree_with_complete():
    X, hidden = correlated(6)
    fitted = sc.SimilarityCompleter(method="posterior", metric="pearson").fit(hidden)
    np.testing.assert_allclose(fitted.transform(hidden), fitted.factor_, atol=1e-8)
    done = sc.complete(hidden, method="posterior", metric="pearson", progress=False)
    np.testing.assert_allclose(fitted.similarity(), done.similarity(), atol=1e-12)
    model = sc.PosteriorCompleter(metric="pearson").fit(X[:130])
    found = model.transform(X[130:]) @ model.candidates_.T
    np.testing.assert_allclose(found, np.corrcoef(X)[130:, :130], atol=1e-9)
    moved = model.transform(hidden[130:] + 3.0)
    np.testing.assert_allclose(moved, model.transform(hidden[130:]), atol=1e-9)
    direct = model.complete(X[:130], hidden[130:])
    assert direct.params["metric"] == "pearson"
    with pytest.raises(sc.errors.InputError, match="metric='l2' is unknown"):
        sc.PosteriorCompleter(metric="l2").fit(X)


def test_auto_takes_it():
    X, hidden = correlated(7)
    elected = sc.complete(X[:130], hidden[130:], metric="pearson", progress=False)
    score = {row["method"]: row["error"] for row in elected.election}
    assert score["posterior"] is not None and score["posterior"] < score["overlap"]
    assert sc.complete(hidden, metric="pearson", progress=False).method == "posterior"


def test_lengths_shrink_with_what_is_taken_off():
    u = np.array([[3.0, 4.0, 0.0], [1.0, 1.0, 1.0], [0.6, -0.6, 0.0], [0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
    found = without_constant_part(Vectors(u, np.array([0.8, 0.5, 0.4, 0.3, 1.0])))
    flat = u - u.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.u, [*flat[:4], u[4]], atol=1e-15)  # a row that is known whole stays
    share = np.linalg.norm(flat[0]) / 5
    np.testing.assert_allclose(found.length, [0.8 * share, 0.0, 0.4, 0.3, 1.0], atol=1e-15)


def test_values_have_the_mean_that_was_taken_off():
    class Counts:
        """A model of which the missing values of a row are its number of known values."""

        def values(self, X):
            known = ~np.isnan(X)
            mean = np.where(known, X, known.sum(axis=1, keepdims=True))
            return RowValues(mean, np.where(known, 0.0, 0.5))

    X = np.array([[1.0, 2.0, 6.0, np.nan], [np.nan, 5.0, np.nan, 7.0], [np.nan, np.nan, np.nan, np.nan]])
    found = CentredModel(Counts()).values(X)
    np.testing.assert_array_equal(found.mean, [[1, 2, 6, 3 + 3], [6 + 2, 5, 6 + 2, 7], [0, 0, 0, 0]])
    np.testing.assert_array_equal(found.std, np.where(np.isnan(X), 0.5, 0.0))


def test_vectors_of_fitted_rows_lose_their_constant_part_once():
    """A table has lost it already, where it is read."""
    U = np.array([[0.3, 0.5], [0.2, -0.2]])
    np.testing.assert_allclose(CentredModel(SimpleNamespace(unit=U)).unit, [[-0.1, 0.1], [0.2, -0.2]])
    table = HeldRows(U)
    assert CentredModel(SimpleNamespace(unit=table)).unit is table
