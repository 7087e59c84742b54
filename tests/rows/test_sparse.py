"""Sparse matrices and columns: what is not stored must be said, and is said alike for SciPy and pandas."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import simcomplete as sc
from simcomplete._rows.budget import working_memory
from simcomplete._rows.sparse import SparseRows, known_cells
from simcomplete._rows.table import HeldRows
from simcomplete._rows.validate import as_rows
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.overlap import overlap_matrix
from simcomplete.errors import InputError, MemoryLimitError

# An observed zero is stored in the second row.
STORED = scipy.sparse.coo_array(([3.0, 4.0, 0.0, 2.0, 1.0], ([0, 0, 1, 1, 2], [0, 1, 0, 1, 2])), shape=(3, 3))
ABSENT = np.array([[3.0, 4.0, np.nan], [0.0, 2.0, np.nan], [np.nan, np.nan, 1.0]])


def test_what_is_not_stored_must_be_said():
    with pytest.raises(InputError, match=r"candidates is a sparse matrix.*use missing='absent'.*missing='zero'"):
        sc.complete(STORED)
    columns = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1, 0]), "b": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"column 'a' is sparse, with 0 .*use missing='absent'.*missing='zero'"):
        sc.complete(columns)


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr"])
def test_of_scipy(form):
    X = STORED.asformat(form)
    np.testing.assert_array_equal(as_rows(X, missing="zero").array, np.nan_to_num(ABSENT))
    if form not in ("lil", "dok"):  # which do not store zeros
        np.testing.assert_array_equal(as_rows(X, missing="absent").array, ABSENT)


def test_entries_given_twice_are_added_as_scipy_does():
    X = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert as_rows(X, missing="zero").array.tolist() == [[0.0, 3.0]]
    assert X.nnz == 2  # what was given stays as it was


def test_of_pandas():
    frame = pd.DataFrame(np.nan_to_num(ABSENT)).astype(pd.SparseDtype(float, 0.0))
    np.testing.assert_array_equal(as_rows(frame, missing="zero").array, np.nan_to_num(ABSENT))
    absent = as_rows(frame, missing="absent").array
    np.testing.assert_array_equal(absent, np.where(np.nan_to_num(ABSENT) == 0, np.nan, ABSENT))


def test_columns_filled_with_nan_say_themselves_what_is_missing():
    frame = pd.DataFrame(ABSENT).astype(pd.SparseDtype(float, np.nan))
    np.testing.assert_array_equal(as_rows(frame).array, ABSENT)
    np.testing.assert_array_equal(as_rows(frame, missing="absent").array, ABSENT)
    np.testing.assert_array_equal(as_rows(frame, missing="zero").array, np.nan_to_num(ABSENT))


def test_columns_filled_with_something_else():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([7.0, 1.0, 7.0], fill_value=7.0)})
    assert np.isnan(as_rows(frame, missing="absent").array[:, 0]).tolist() == [True, False, True]
    with pytest.raises(InputError, match=r"filled with 7.0, and missing='zero' says 0"):
        as_rows(frame, missing="zero")


def test_the_answer_is_that_of_the_dense_rows():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((20, 8)) < 0.4, 0.0, rng.random((20, 8)))
    sparse = scipy.sparse.csr_matrix(X)
    dense = np.where(X == 0, np.nan, X)
    for missing, expected in (("zero", X), ("absent", dense)):
        S = sc.complete(sparse, method="smcnn", missing=missing).similarity()
        np.testing.assert_array_equal(S, sc.complete(expected, method="smcnn").similarity())
    model = sc.SMCNN(rank=3)
    S = model.complete(sparse, missing="absent").similarity()
    np.testing.assert_array_equal(S, model.complete(dense).similarity())
    with pytest.raises(InputError, match="use missing='absent'"):
        model.fit(pd.DataFrame(X).astype(pd.SparseDtype(float, 0.0)))


def test_a_meaning_that_nothing_needs_or_nobody_knows_is_refused():
    with pytest.raises(InputError, match="the table is dense: there, NaN means missing; leave missing out"):
        sc.complete(ABSENT, missing="absent")
    with pytest.raises(InputError, match="missing='nan' is unknown; use 'absent'"):
        sc.complete(STORED, missing="nan")


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1 MB")
    X = scipy.sparse.random_array((1000, 1000), density=0.001)
    with pytest.raises(MemoryLimitError, match="1000 x 1000 values of candidates, with those that are not stored"):
        sc.complete(X, missing="zero")
    with pytest.raises(MemoryLimitError, match="1000 x 1000 values of the rows, with those that are not stored"):
        as_rows(X, missing="absent").whole()


def test_absent_cells_stay_absent_until_rows_are_read():
    rows = as_rows(STORED, missing="absent")
    assert isinstance(rows, SparseRows)
    assert rows.held is None
    assert rows.stored.nnz == 5  # with the zero that is stored
    np.testing.assert_array_equal(rows.read(1, 3), ABSENT[1:])
    np.testing.assert_array_equal(rows.take(np.array([2, 0])), ABSENT[[2, 0]])
    np.testing.assert_array_equal(rows[1:], ABSENT[1:])
    assert rows.known_counts().tolist() == HeldRows(ABSENT).known_counts().tolist() == [2, 2, 1]
    assert "array" not in vars(rows)


def test_stored_nan_is_missing_and_infinity_is_refused():
    X = scipy.sparse.csr_array(([1.0, np.nan], ([0, 1], [0, 1])), shape=(2, 2))
    assert as_rows(X, missing="absent").known_counts().tolist() == [1, 0]
    X.data[1] = np.inf
    with pytest.raises(InputError, match=r"X\[1, 1\] is inf; finite numbers are needed"):
        as_rows(X, missing="absent")


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
def test_similarities_of_sparse_rows_by_block_are_those_of_dense_ones(metric):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 30)) < 0.7, np.nan, rng.standard_normal((60, 30)))
    rows = SparseRows(known_cells(HeldRows(X)))
    expected, evidence = overlap_matrix(HeldRows(X), Measure(metric, min_overlap=2))
    with working_memory("40 KiB"):
        S, counted = overlap_matrix(rows, Measure(metric, min_overlap=2))
    np.testing.assert_allclose(S, expected, atol=1e-14)
    assert counted == evidence
    assert "array" not in vars(rows)


def test_a_sparse_similarity_matrix_has_zeros_where_nothing_is_stored():
    S0 = scipy.sparse.csr_array(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(sc.complete_similarity(S0, method="overlap").similarity(), S0.toarray())
