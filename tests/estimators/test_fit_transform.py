"""What the estimators promise beyond scikit-learn's checks."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import simcomplete as sc
from simcomplete.estimators import SMCNN, SimilarityCompleter, SMCNmF

ESTIMATORS = [SMCNN(), SMCNmF(rank=7, penalty=0.5), SimilarityCompleter(method="smc_f", metric="pearson")]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


@pytest.fixture(scope="module")
def rows(digits):
    return sc.masks.apply(digits[:120], sc.masks.random(digits[:120], missing=0.5))


@pytest.fixture(scope="module")
def new(digits):
    return sc.masks.apply(digits[200:230], sc.masks.random(digits[200:230], missing=0.5))


@every_estimator
def test_fit_transform_is_fit_then_transform(estimator, rows):
    V = estimator.fit_transform(rows)
    assert V is estimator.factor_
    assert np.abs(estimator.transform(rows) - V).max() < 1e-10


@every_estimator
def test_the_result_is_that_of_complete(estimator, rows):
    own = {name: getattr(estimator, name) for name in ("rank", "penalty", "metric")}
    method = estimator.method if isinstance(estimator, SimilarityCompleter) else type(estimator).__name__.lower()
    done = sc.complete(rows, method=method, **own)
    estimator.fit(rows)
    assert np.array_equal(estimator.factor_, done.factor)
    assert np.array_equal(estimator.similarity(), done.similarity())
    assert estimator.rank_ == done.rank
    assert estimator.n_iter_ == 1
    assert estimator.n_features_in_ == 64


@every_estimator
def test_a_batch_is_its_rows_one_at_a_time(estimator, rows, new):
    estimator.fit(rows)
    together = estimator.transform(new)
    alone = np.vstack([estimator.transform(row[None]) for row in new])
    assert np.abs(together - alone).max() < 1e-10
    backwards = estimator.transform(new[::-1])[::-1]
    assert np.abs(together - backwards).max() < 1e-10


@every_estimator
def test_similarity_with_fitted_rows(estimator, rows, new):
    V = estimator.fit_transform(rows)
    S = estimator.similarity(new)
    assert S.shape == (30, 120)
    assert np.allclose(S, estimator.transform(new) @ V.T)
    assert np.allclose(estimator.similarity(rows), estimator.similarity(), atol=1e-10)


def test_similarity_of_rows_without_evidence(rows):
    X = rows.copy()
    X[3] = np.nan
    model = SMCNN().fit(X)
    S = model.similarity()
    assert S[3, 3] == 1.0
    assert np.abs(np.delete(S[3], 3)).max() < 1e-14
    assert not model.similarity(X[3:4]).any()


def test_clipping(rows, new):
    plain, mapped = (SMCNN(metric="pearson", positive=positive).fit(rows) for positive in (False, True))
    for X in (None, new):
        assert np.abs(plain.similarity(X)).max() > 1
        assert np.abs(plain.similarity(X, clip=True)).max() <= 1
        assert plain.similarity(X, clip=True).min() < 0
        assert mapped.similarity(X, clip=True).min() >= 0


@every_estimator
def test_float32_stays_float32(estimator, rows, new):
    double = estimator.fit_transform(rows)
    single = estimator.fit_transform(rows.astype(np.float32))
    assert single.dtype == estimator.factor_.dtype == estimator.similarity().dtype == np.float32
    assert np.abs(single - double).max() < 1e-5
    for values in (estimator.transform(new.astype(np.float32)), estimator.similarity(new.astype(np.float32))):
        assert values.dtype == np.float32
    assert np.abs(estimator.transform(rows.astype(np.float32)) - single).max() < 1e-6
    assert estimator.transform(new).dtype == np.float64


@every_estimator
def test_pickle_and_clone(estimator, rows, new):
    estimator.fit(rows)
    back = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(back.transform(new), estimator.transform(new))
    assert np.array_equal(back.completion_.search(k=3).ids, estimator.completion_.search(k=3).ids)
    fresh = clone(estimator)
    assert fresh.get_params() == estimator.get_params()
    assert not hasattr(fresh, "factor_")


def test_what_was_fitted_does_not_follow_its_source(rows, new):
    X = rows.copy()
    model = SMCNN().fit(X)
    before = model.transform(new)
    X[:] = 1.0
    assert np.array_equal(model.transform(new), before)


def test_complete_needs_no_fit_and_changes_none(small, rows):
    P, Q, _ = small
    model = SMCNN(rank=5)
    done = model.complete(P, Q)
    assert np.array_equal(done.factor, sc.complete(P, Q, method="smcnn", rank=5).factor)
    assert not hasattr(model, "completion_")
    model.fit(rows)
    kept = model.completion_
    model.complete(P, Q)
    assert model.completion_ is kept


def test_queries_added_to_fitted_candidates_are_close_to_completing_them_together(small):
    P, Q, truth = small
    S = sc.overlap_similarity(np.vstack([P, truth]))[60:, :60]
    model = SMCNN(rank=10).fit(P)
    S0 = sc.overlap_similarity(np.vstack([P, Q]))[60:, :60]
    assert sc.metrics.relative_squared_error(model.similarity(Q), S0, S) < 1


@pytest.mark.parametrize("method", ["smcnn", "smcnmf", "smc_nr", "smc_f"])
@pytest.mark.parametrize("params", [{"solver": "descent", "step": "backtracking"}, {"solver": "lbfgs"}], ids=str)
def test_rows_are_added_to_a_descended_factor_too(method, params, rows, new):
    # It is rotated against the exact one, and as near to it as the iterations came.
    exact, descended = (SimilarityCompleter(method=method, rank=10, params=own).fit(rows) for own in (None, params))
    assert descended.n_iter_ > 10
    assert np.abs(descended.transform(rows) - descended.factor_).max() < 1e-5
    assert np.abs(descended.similarity(new) - exact.similarity(new)).max() < 1e-4


def test_masked_arrays_keep_their_mask(rows):
    masked = np.ma.MaskedArray(np.where(np.isnan(rows), -7.0, rows), mask=np.isnan(rows))
    assert np.array_equal(SMCNN().fit_transform(masked), SMCNN().fit_transform(rows))


def test_in_a_pipeline():
    X, y = load_digits(return_X_y=True)
    X = sc.masks.apply(X[:400], sc.masks.random(X[:400], missing=0.3))
    model = make_pipeline(StandardScaler(), SMCNN(rank=20), SVC(kernel="linear")).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:400]) > 0.6


@pytest.mark.parametrize("method", [method.name for method in sc.methods()])
@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
def test_every_method_fits_or_says_why_not(method, rows):
    X = rows[:20, 20:28]
    model = SimilarityCompleter(method=method)
    try:
        S = model.fit(X).similarity()
    except sc.errors.InputError as error:
        assert "candidates" in str(error)  # it needs complete ones
        return
    assert S.shape == (20, 20)
    assert np.isfinite(S).all()
    if model.factor_ is not None:
        assert len(model.factor_) == 20


def test_every_spectral_method_takes_new_rows():
    assert all(method.out_of_sample for method in sc.methods() if method.family == "spectral")


@pytest.mark.parametrize("model", [sc.SMCNN(rank=5), sc.PosteriorCompleter(effort="fast")], ids=["smcnn", "posterior"])
def test_complete_takes_what_many_rows_need(model, small, tmp_path):
    P, Q, _ = small
    done = model.complete(P, Q, memory="1 MiB", out=tmp_path / "factor.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "factor.npy"), done.factor)
    np.testing.assert_allclose(done.similarity(), model.complete(P, Q).similarity(), atol=1e-10)
