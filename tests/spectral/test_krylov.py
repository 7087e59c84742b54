"""Eigenpairs from products with blocks against a full decomposition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.eigen import krylov, routes
from simcomplete._spectral.eigen.krylov import largest_by_products

SPECTRA = {
    "falling": lambda n: 1.0 / np.arange(1, n + 1),
    "a bulk without gaps": lambda n: np.linspace(-1, 1, n),
    "one strong direction": lambda n: np.append(1e6, np.linspace(-1, 1, n - 1)),
    "few that are not zero": lambda n: np.append([5.0, 4.0, 4.0, -3.0], np.zeros(n - 4)),
    "sevenfold": lambda n: np.repeat(np.arange(n // 7 + 1.0), 7)[:n],
    "all negative": lambda n: -np.arange(1.0, n + 1),
    "nothing": np.zeros,
}


def matrix(w, seed=0):
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(w), len(w))))[0]
    S = (U * w) @ U.T
    return (S + S.T) / 2


@pytest.mark.parametrize("in_size", [False, True])
@pytest.mark.parametrize("rank", [1, 9, 20])
@pytest.mark.parametrize("spectrum", SPECTRA, ids=str)
def test_it_finds_what_a_decomposition_finds(spectrum, rank, in_size):
    S = matrix(SPECTRA[spectrum](150))
    w, U = largest_by_products(DenseSimilarity(S), rank, in_size=in_size)
    full = np.linalg.eigvalsh(S)
    size = max(np.abs(full).max(), 1e-300)
    best = np.sort(np.abs(full) if in_size else full)[::-1][:rank]
    np.testing.assert_allclose((np.abs(w) if in_size else w) / size, best / size, atol=1e-10)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(S @ U / size, U * (w / size), atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(40, 120), st.integers(1, 4), st.integers(0, 10**6))
def test_any_matrix(n, rank, seed):
    rng = np.random.default_rng(seed)
    S = matrix(rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 0, n), seed)
    w, _ = largest_by_products(DenseSimilarity(S), rank, seed)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(S)[::-1][:rank], atol=1e-10)


def test_it_restarts(monkeypatch):
    operator, products = DenseSimilarity(matrix(SPECTRA["a bulk without gaps"](400))), []
    monkeypatch.setattr(operator, "matmul", lambda V: products.append(V.shape[1]) or operator.S @ V)
    largest_by_products(operator, 10)
    assert sum(products) > 10 + krylov.ROOM * products[0]  # more than the basis has room for


def test_single_precision_and_other_libraries(library):
    S = matrix(SPECTRA["falling"](150)).astype(np.float32)
    S = (S + S.T) / 2
    w, U = largest_by_products(DenseSimilarity(library.array(S)), 5)
    assert type(U) is type(library.array(S))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(S.astype(float))[::-1][:5], atol=1e-12)
    assert to_numpy(U).dtype == np.float64


def test_a_basis_as_large_as_the_matrix_is_not_made():
    assert largest_by_products(DenseSimilarity(np.eye(30)), 10) is None


def test_no_end_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(krylov, "PRODUCTS", 2)
    with pytest.raises(
        sc.errors.SimcompleteError, match="has not found 5 eigenvalues in 2 products; use route='partial'"
    ):
        largest_by_products(DenseSimilarity(matrix(SPECTRA["falling"](150))), 5)


def test_more_copies_of_an_eigenvalue_than_a_block_has_vectors_are_found():
    """From a block of 32 vectors no more than 32 copies can be found; "auto" notices and decomposes the matrix."""
    w = np.repeat([5.0, 4.0, 1.0], [40, 20, 2040])
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((len(w), 60)))[0]
    S = np.eye(len(w)) + (U * (w[:60] - 1)) @ U.T
    done = sc.complete_similarity((S + S.T) / 2, method="smc_nr", rank=50)
    assert done.certificate.optimal
    np.testing.assert_allclose(np.linalg.eigvalsh(done.factor.T @ done.factor)[::-1], w[:50], rtol=1e-9)


@pytest.mark.parametrize(
    ("w", "most"),
    [
        ([3.0, 3.0, 3.0, 1.0], 3),
        ([5.0, 2.0, 2.0, 1.0], 2),
        ([5.0, 4.0, 3.0], 1),
        ([2.0], 0),
        ([5.0, 1.0, 1.0, 1.0], 1),  # one more of the smallest would change nothing
        ([5.0, 0.0, 0.0, 0.0, -1.0], 1),  # nor one more 0
        ([100.0, 99.0 + 1e-7, 99.0, 1.0], 2),  # within 1e-8 of the largest
        ([100.0, 99.0 + 1e-5, 99.0, 1.0], 1),
    ],
)
def test_copies_of_an_eigenvalue_are_counted(w, most):
    assert routes.copies(np.array(w)) == most


def test_a_matrix_of_low_rank_is_not_decomposed(monkeypatch):
    """It has many copies of 0, and none of them is wanted."""
    X = np.random.default_rng(0).standard_normal((2100, 12))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    monkeypatch.setattr(routes, "dense_largest", lambda *_, **__: pytest.fail("the matrix was decomposed"))
    done = sc.complete_similarity(X @ X.T, method="smc_nr", rank=50)
    assert done.certificate.optimal
    assert done.rank == 12
