"""Completed similarities as precomputed kernel or affinity."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import SVC

import simcomplete as sc
from simcomplete.estimators import SMCNN


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    return sc.masks.apply(X, sc.masks.random(X, missing=0.4)), y


def test_support_vector_machine(data):
    X, y = data
    model = SMCNN(rank=50).fit(X[:300])
    machine = SVC(kernel="precomputed").fit(model.similarity(), y[:300])
    kernel = model.similarity(X[300:])
    assert machine.score(kernel, y[300:]) > 0.7
    # The factor with a linear kernel is the same machine.
    linear = SVC(kernel="linear").fit(model.factor_, y[:300])
    assert np.mean(linear.predict(model.transform(X[300:])) == machine.predict(kernel)) > 0.98


def test_kernel_pca(data):
    X, _ = data
    model = SMCNN(rank=20).fit(X[:300])
    components = KernelPCA(5, kernel="precomputed").fit(model.similarity())
    assert (components.eigenvalues_ > 0).all()
    assert np.allclose(
        components.transform(model.similarity(X[:300])), components.transform(model.similarity()), atol=1e-8
    )
    assert np.isfinite(components.transform(model.similarity(X[300:]))).all()


@pytest.mark.parametrize("positive", [True, False])
def test_spectral_clustering(data, positive):
    X, y = data
    model = SMCNN(rank=20, positive=positive).fit(X)
    S = model.similarity(clip=True) if positive else np.maximum(model.similarity(), 0)
    assert S.min() >= 0
    found = SpectralClustering(10, affinity="precomputed", random_state=0).fit_predict(S)
    assert adjusted_rand_score(y, found) > 0.3
