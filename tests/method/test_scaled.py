"""center= and scale=: as scaling by hand, for every method; units of features do not matter."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import simcomplete as sc
from simcomplete.scorers import hidden_value_scorer, relative_error_scorer

CALM = settings(deadline=None, max_examples=12, derandomize=True)
QUICK = ("overlap", "zero", "mean", "lr", "fmc", "smcnn", "smcnmf", "posterior")


def rows(seed, n=60, m=6, d=7):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 3)) @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n + m, d)) + 2
    hidden = rng.random((m, d)) < 0.4
    hidden[np.arange(m), rng.integers(d, size=m)] = False
    return X[:n], np.where(hidden, np.nan, X[n:])


@pytest.mark.parametrize("method", [*QUICK, "auto"])
def test_as_scaled_by_hand(method):
    P, Q = rows(0)
    middle, spread = P.mean(axis=0), P.std(axis=0)
    by_hand = sc.complete((P - middle) / spread, (Q - middle) / spread, method=method, progress=False)
    done = sc.complete(P, Q, method=method, center="mean", scale="sd", progress=False)
    np.testing.assert_allclose(done.similarity(), by_hand.similarity(), atol=1e-10)
    assert (done.method, done.params["center"], done.params["scale"]) == (by_hand.method, "mean", "sd")
    np.testing.assert_allclose(done.scaling.offset, middle, rtol=1e-12)


@pytest.mark.parametrize("method", sorted({m.name for m in sc.methods()} - set(QUICK)))
def test_every_method_takes_them(method):
    P, Q = rows(1, n=20, m=3, d=5)
    short = {"max_iter": 5} if "max_iter" in sc.methods()[method].parameters else {}
    if sc.methods()[method].parameters.defaults.get("solver") == "exact":
        short = {}
    short |= {"burn_in": 2} if method == "bpmf" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sc.errors.NotConvergedWarning)
        done = sc.complete(P, Q, method=method, center="median", scale="robust", progress=False, **short)
    assert done.scaling.center == "median" and np.isfinite(done.similarity()).all()


@CALM
@given(seed=st.integers(0, 10**6), words=st.sampled_from([("mean", "sd"), ("median", "robust"), ("mean", "robust")]))
def test_units_of_features_do_not_matter(seed, words):
    P, Q = rows(seed)
    rng = np.random.default_rng(seed)
    factor, shift = 10.0 ** rng.integers(-4, 5, P.shape[1]), rng.normal(size=P.shape[1])
    factor *= rng.choice([1.0, -1.0], P.shape[1])  # a feature turned round is so in all rows: no cosine notices
    own = {"center": words[0], "scale": words[1], "method": "smcnn", "progress": False}
    a = sc.complete(P, Q, **own)
    b = sc.complete(P * factor + shift * factor, Q * factor + shift * factor, **own)
    np.testing.assert_allclose(a.similarity(), b.similarity(), atol=1e-9)


@pytest.mark.parametrize("method", ["smcnn", "posterior"])
@pytest.mark.parametrize("metric", ["cosine", "pearson"])
def test_array_path_and_dask_give_the_same(tmp_path, method, metric):
    da = pytest.importorskip("dask.array")
    P, Q = rows(2, n=200)
    np.save(tmp_path / "p.npy", P)
    own = {"method": method, "metric": metric, "center": "median", "scale": "sd", "progress": False}
    known = sc.complete(P, Q, **own).similarity()
    mapped = np.load(tmp_path / "p.npy", mmap_mode="r")
    for candidates in (tmp_path / "p.npy", mapped, da.from_array(P, chunks=(60, 7))):
        done = sc.complete(candidates, Q, memory="20 KB", **own)
        np.testing.assert_allclose(done.similarity(), known, atol=1e-9)
        np.testing.assert_allclose(done.similarity(keep_candidates=True)[:200, :200], known_block(P, metric), atol=1e-9)


def known_block(P, metric):
    Z = (P - np.median(P, axis=0)) / P.std(axis=0)
    return sc.overlap_similarity(Z, metric=metric)


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("method", ["smcnn", "posterior"])
def test_huge_and_tiny_features(size, method):
    P, Q = rows(3)
    big = np.ones(7)
    big[2] = size
    own = {"method": method, "center": "mean", "scale": "sd", "progress": False}
    a, b = sc.complete(P, Q, **own), sc.complete(P * big, Q * big, **own)
    np.testing.assert_allclose(a.similarity(), b.similarity(), atol=1e-9)


def test_rows_that_may_all_be_incomplete():
    P, Q = rows(4)
    X = np.vstack([P, Q])
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    Z = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    done = sc.complete(X, method="smcnn", center="mean", scale="sd")
    np.testing.assert_allclose(done.similarity(), sc.complete(Z, method="smcnn").similarity(), atol=1e-10)


@pytest.mark.parametrize("seed", [2, 3])
def test_blocks_do_not_decide_which_rows_are_drawn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 7)) + 0.3 * rng.normal(size=(60, 7)) + 2
    X[rng.random(X.shape) < 0.3] = np.nan
    scaled = {"method": "posterior", "center": "mean", "scale": "sd", "progress": False}
    whole, parts = sc.complete(X, **scaled), sc.complete(X, memory=2**10, **scaled)
    np.testing.assert_allclose(parts.similarity(), whole.similarity(), atol=1e-12)


def test_saved_and_loaded(tmp_path):
    P, Q = rows(5)
    done = sc.complete(P, Q, method="smcnn", center="median", scale="robust")
    done.save(tmp_path / "done")
    back = sc.load(tmp_path / "done")
    np.testing.assert_array_equal(back.scaling.offset, done.scaling.offset)
    np.testing.assert_array_equal(back.scaling.divisor, done.scaling.divisor)
    assert (back.scaling.center, back.scaling.scale) == ("median", "robust")
    plain = sc.complete(P, Q, method="smcnn")
    plain.save(tmp_path / "plain")
    assert sc.load(tmp_path / "plain").scaling is None


ESTIMATORS = [
    sc.SMCNN(center="mean", scale="sd", rank=5),
    sc.SMCNmF(center="median", scale="robust", rank=5),
    sc.SimilarityCompleter(method="posterior", center="mean", scale="sd"),
    sc.PosteriorCompleter(center="mean", scale="sd", effort="fast"),
    sc.PosteriorCompleter(center="mean", metric="pearson", effort="fast"),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("complete", [True, False])
def test_estimators_keep_them_for_new_rows(model, complete):
    P, Q = rows(6)
    X = P if complete else np.where(np.random.default_rng(0).random(P.shape) < 0.3, np.nan, P)
    model = clone(model).fit(X)
    by_hand = clone(model).set_params(center=None, scale=None)
    middle = np.nanmedian(X, axis=0) if model.center == "median" else np.nanmean(X, axis=0)
    spread = {"sd": np.nanstd(X, axis=0), None: np.ones(7)}.get(model.scale)
    if spread is None:
        spread = model.completion_.scaling.divisor
    by_hand.fit((X - middle) / spread)
    new = (Q - middle) / spread
    np.testing.assert_allclose(model.transform(Q), by_hand.transform(new), atol=1e-9)
    for scorer in (hidden_value_scorer(pairs="fitted"), hidden_value_scorer(pairs="new")):
        assert scorer(model, P) == pytest.approx(scorer(by_hand, (P - middle) / spread), abs=1e-9)
    assert np.isfinite(relative_error_scorer()(model, Q, np.nan_to_num(Q)))


def test_candidates_that_come_later_are_scaled_as_the_first_ones():
    P, Q = rows(7)
    model = sc.PosteriorCompleter(center="mean", scale="sd", effort="fast").fit(P[:50]).partial_fit(P[50:])
    middle, spread = P[:50].mean(axis=0), P[:50].std(axis=0)
    by_hand = (
        sc.PosteriorCompleter(effort="fast").fit((P[:50] - middle) / spread).partial_fit((P[50:] - middle) / spread)
    )
    np.testing.assert_allclose(model.transform(Q), by_hand.transform((Q - middle) / spread), atol=1e-10)
    model.forget([0, 3]).recalibrate()
    assert len(model.candidates_) == 58 and model.scaling_.offset == pytest.approx(middle)


def test_the_former_meaning_of_scale_warns():
    S0 = np.array([[1.0, 0.5], [0.5, 1.0]])
    own = {"method": "smcnn", "rank": 1, "solver": "descent", "progress": False}
    with pytest.warns(FutureWarning, match="now called start_scale="):
        done = sc.complete_similarity(S0, scale=0.3, **own)
    assert done.params["start_scale"] == 0.3
    with pytest.warns(FutureWarning, match="now called start_scale="):
        assert sc.complete(rows(8)[0], scale=0.3, **own).scaling is None
    for method in ("smcnn", "posterior", "auto"):
        with pytest.raises(sc.errors.InputError, match="scale='std' is unknown; use 'sd', 'robust'"):
            sc.complete(rows(8)[0], method=method, scale="std")
