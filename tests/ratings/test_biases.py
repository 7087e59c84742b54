"""Means of rows and columns, taken out and put back."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._ratings.biases import learn_biases
from simcomplete._rows.sparse import known_cells
from simcomplete._rows.table import HeldRows
from simcomplete.errors import InputError


def ratings(n=60, d=30, known=0.4, seed=0):
    """Ratings that are mostly means of rows and columns."""
    rng = np.random.default_rng(seed)
    whole = 3 + rng.standard_normal((n, 1)) + rng.standard_normal(d) + 0.3 * rng.standard_normal((n, d))
    return whole, np.where(rng.random((n, d)) < known, whole, np.nan)


def cells(X):
    return known_cells(HeldRows(X))


def test_shrunken_means_by_hand():
    # Two people; mean of all 4 values 3. Row 0 has 1 and 2 beyond -3: deviations -2, -1, with one zero among them -1.
    X = np.array([[1.0, 2.0], [4.0, 5.0]])
    found = learn_biases(cells(X), "row", (1.0, 1.0))
    assert found.mean == 3
    np.testing.assert_allclose(found.rows, [-1.0, 1.0])
    assert not found.columns.any()
    found = learn_biases(cells(X), "column", (0.0, 2.0))
    np.testing.assert_allclose(found.columns, [-1 / 4, 1 / 4])  # (-2 + 1) / 4 and (-1 + 2) / 4
    assert not found.rows.any()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 20), st.floats(0.1, 20))
def test_both_minimise_the_penalised_squares(seed, a, b):
    # The alternation is coordinate descent of sum (x - m - r - c)^2 + a |r|^2 + b |c|^2: its solution by least squares.
    _, X = ratings(8, 6, 0.7, seed)
    stored = cells(X)
    found = learn_biases(stored, "both", (a, b))
    u, i = np.nonzero(~np.isnan(X))
    A = np.zeros((len(u), 14))
    A[np.arange(len(u)), u] = A[np.arange(len(u)), 8 + i] = 1
    penalty = np.diag([a] * 8 + [b] * 6)
    exact = np.linalg.solve(A.T @ A + penalty, A.T @ (X[u, i] - X[u, i].mean()))
    start = np.sum((X[u, i] - X[u, i].mean()) ** 2)

    def objective(x):
        return np.sum((X[u, i] - X[u, i].mean() - A @ x) ** 2) + x @ penalty @ x

    gained = start - objective(np.concatenate([found.rows, found.columns]))
    assert gained > 0.99 * (start - objective(exact))


def test_the_shrinkage_is_chosen_by_hiding():
    rng = np.random.default_rng(0)
    noise = np.where(rng.random((200, 40)) < 0.1, rng.standard_normal((200, 40)), np.nan)
    assert min(learn_biases(cells(noise), "both").shrinkage) >= 25  # there is nothing in the means
    _, X = ratings(200, 40)
    assert max(learn_biases(cells(X), "both").shrinkage) <= 2  # there is nothing else
    assert learn_biases(cells(X[:2, :3]), "both").shrinkage == (5.0, 5.0)


@pytest.mark.parametrize("kind", ["row", "column", "both"])
def test_they_are_out_of_the_similarities_and_in_the_values(kind):
    whole, X = ratings()
    dtype = np.float32 if kind == "row" else np.float64
    X = X.astype(dtype)
    done = sc.complete(X, method="overlap", biases=kind, progress=False)
    found = learn_biases(cells(X), kind)
    left = (X - found.of_rows(np.arange(len(X)))).astype(dtype)
    np.testing.assert_allclose(done.similarity(), sc.complete(left, method="overlap").similarity(), atol=1e-5)
    assert done.params["biases"] == kind
    assert done.choice["biases"]["shrinkage"] == list(found.shrinkage)
    values, std = sc.complete(X, method="posterior", effort="fast", biases=kind, progress=False).imputed(
        return_std=True
    )
    missing = np.isnan(X)
    assert values.dtype == std.dtype == dtype
    np.testing.assert_array_equal(values[~missing], X[~missing])
    assert not std[~missing].any()
    alone = found.of_rows(np.arange(len(X)))
    assert np.mean((values - whole)[missing] ** 2) < 1.1 * np.mean((alone - whole)[missing] ** 2)


def test_sparse_rows_give_what_dense_ones_give():
    _, X = ratings()
    R = scipy.sparse.csr_array(cells(X))
    for method in ("overlap", "shrunk"):
        dense = sc.complete(X, method=method, biases="both", progress=False)
        sparse = sc.complete(R, method=method, biases="both", missing="absent", progress=False)
        np.testing.assert_allclose(sparse.similarity(), dense.similarity(), atol=1e-12)
    np.testing.assert_allclose(sparse.imputed([3, 1]), dense.imputed([3, 1]), atol=1e-8)
    assert R.nnz == (~np.isnan(X)).sum()  # what was given stays as it was


def test_what_cannot_be_meant_is_refused():
    _, X = ratings()
    with pytest.raises(InputError, match="biases='user' is unknown; use 'row', 'column', 'both' or None"):
        sc.complete(X, biases="user")
    with pytest.raises(InputError, match="give all rows together, as complete"):
        sc.complete(np.ones((3, 30)), X, biases="row")
    with pytest.raises(InputError, match="cannot be combined with center="):
        sc.complete(X, biases="both", center="mean")
    with pytest.raises(InputError, match="sums are finite"):
        sc.complete(np.array([[1e308, np.nan], [1e308, 1e308]]), method="overlap", biases="row")
