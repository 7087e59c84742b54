"""PosteriorKernel: scikit-learn's contract, out-of-fold vectors, a machine behind it; masks from rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import simcomplete as sc
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorCompleter, PosteriorKernel


@parametrize_with_checks([PosteriorKernel(effort="fast")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    X, y = X[:240], y[:240]
    return sc.masks.apply(X, sc.masks.random(X, missing=0.4)), X, y


def test_complete_rows_are_their_cosines(data):
    _, X, _ = data
    unit = X[:80] / np.linalg.norm(X[:80], axis=1, keepdims=True)
    np.testing.assert_allclose(PosteriorKernel(effort="fast").fit_transform(X[:80]), unit @ unit.T, atol=1e-12)


def test_a_row_does_not_make_its_own_vector(data):
    """Out of fold: the kernel of fitted rows is that of models which have not seen them."""
    Q, _, _ = data
    X = Q[:60]
    kernel = PosteriorKernel(effort="fast", folds=3).fit(X)
    order = np.random.default_rng(0).permutation(60)
    fold = np.sort(np.array_split(order, 3)[0])
    rest = np.setdiff1d(np.arange(60), fold)
    shown = ~np.isnan(X)
    other = PosteriorCompleter(effort="fast").fit(X[rest], masks=shown)
    np.testing.assert_allclose(kernel.vectors_[fold], other.transform(X[fold]), atol=1e-10)
    K = kernel._products(kernel.vectors_)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 and (K == K.T).all()
    assert kernel.transform(X[:5]).shape == (5, 60)


def test_a_machine_behind_it(data):
    Q, _, y = data
    machine = make_pipeline(PosteriorKernel(effort="fast", folds=3), SVC(kernel="precomputed", C=10.0))
    assert cross_val_score(machine, Q, y, cv=3).mean() > 0.75


def test_rows_can_be_masks(data):
    Q, X, _ = data
    P, new = X[:160], Q[160:]
    by_rows = PosteriorCompleter(effort="fast").fit(P).recalibrate(new)
    by_masks = PosteriorCompleter(effort="fast").fit(P, masks=~np.isnan(new))
    np.testing.assert_array_equal(by_rows.transform(new), by_masks.transform(new))
    default = PosteriorCompleter(effort="fast").fit(P)
    assert (default.transform(new) != by_rows.transform(new)).any()
    with pytest.raises(InputError, match="or rows with missing values"):
        default.recalibrate(X[:5])  # which have no gaps
    with pytest.raises(InputError, match="all are complete"):
        default.recalibrate("observed")


def test_observed_masks_are_those_of_the_fitted_rows(data):
    Q, X, _ = data
    some = np.concatenate([X[:120], Q[120:160]])
    by_name = PosteriorCompleter(effort="fast").fit(some, masks="observed")
    by_masks = PosteriorCompleter(effort="fast").fit(some, masks=~np.isnan(some[120:]))
    np.testing.assert_array_equal(by_name.transform(Q[160:]), by_masks.transform(Q[160:]))
    with pytest.raises(InputError, match="all are complete"):
        PosteriorCompleter().fit(X[:50], masks="observed")


def test_what_is_refused(data):
    _, X, _ = data
    with pytest.raises(InputError, match="all are complete"):
        PosteriorKernel(masks="observed").fit(X[:50])
    with pytest.raises(InputError, match="masks='seen'"):
        PosteriorKernel(masks="seen").fit(X[:50])
    with pytest.raises(InputError, match="folds=1"):
        PosteriorKernel(folds=1).fit(X[:50])
