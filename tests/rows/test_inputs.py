"""Bad input: each kind gets an error that says what was given, what is needed, what to try. And odd but good input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import simcomplete as sc
from simcomplete.errors import InputError

GOOD = np.random.default_rng(0).random((8, 5))


def bad_cell(value):
    X = GOOD.copy()
    X[2, 3] = value
    return X


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (GOOD[0], r"1 dimension; 2 are needed.*candidates\[None, :\]"),
        (GOOD[None], "3 dimensions; 2 are needed"),
        (np.float64(3.0), "0 dimensions; 2 are needed"),
        (GOOD[:0], "no rows"),
        (GOOD[:, :0], "no columns"),
        (GOOD.astype(str), "numbers are needed"),
        (np.array([["a", "b"]], dtype=object), "text such as 'a'"),
        (np.array([[1.0, "3"]], dtype=object), "text such as '3'"),
        (np.array([[1.0, object()]], dtype=object), "not numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]")[:, None], "numbers are needed"),
        (bad_cell(np.inf), r"candidates\[2, 3\] is inf.*NaN where a value is missing"),
        (bad_cell(-np.inf), r"candidates\[2, 3\] is -inf"),
        (GOOD + 1j, "complex; real numbers are needed"),
        ([[1.0, 2.0], [3.0]], "rows need equal lengths"),
        (scipy.sparse.csr_array(GOOD), "sparse matrix.*toarray"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "column 'b'.*not numeric"),
        (pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "column 'b'.*not numeric"),
        (pd.DataFrame({"a": [1.0, 2.0], "t": pd.to_datetime(["2020-01-01", "2020-01-02"])}), "column 't'.*not numeric"),
    ],
)
def test_samples_that_cannot_be_used(X, words):
    with pytest.raises(InputError, match=f"(?s){words}"):
        sc.complete(X)


def test_errors_are_value_errors_and_ours():
    with pytest.raises(ValueError, match="2 are needed"):
        sc.complete(GOOD[0])
    with pytest.raises(sc.errors.SimcompleteError):
        sc.complete(GOOD[0])


def test_candidates_with_missing_values_are_named():
    P = GOOD.copy()
    P[[1, 4], 2] = np.nan
    with pytest.raises(InputError, match=r"2 of 8 rows have missing values \(rows 1, 4\).*complete\(X\)"):
        sc.complete(P, GOOD)
    P[:, 0] = np.nan
    with pytest.raises(InputError, match=r"8 of 8 rows .*\(rows 0, 1, 2, 3, 4, \.\.\.\)"):
        sc.complete(P, GOOD)


def test_widths_must_agree():
    with pytest.raises(InputError, match="candidates have 5 features and queries 4"):
        sc.complete(GOOD, GOOD[:, :4])


@pytest.mark.parametrize(
    ("rank", "words"),
    [
        (0, "rank=0 is too small; use 1 <= rank <= 8"),
        (-3, "rank=-3 is too small"),
        (9, "rank=9 exceeds the 8 samples given; use rank <= 8"),
        (2.5, "not a whole number"),
        ("3", "not a whole number"),
        (True, "not a whole number"),
    ],
)
def test_ranks_that_cannot_be_used(rank, words):
    with pytest.raises(InputError, match=words):
        sc.complete(GOOD, rank=rank)


@pytest.mark.parametrize("penalty", [-1e-3, np.nan, np.inf, "1", None, True])
def test_penalties_that_cannot_be_used(penalty):
    with pytest.raises(InputError, match=r"penalty=.* is not a number at least 0"):
        sc.complete(GOOD, penalty=penalty)


def test_unknown_method_and_parameter():
    with pytest.raises(InputError, match="did you mean 'smcnn'"):
        sc.complete(GOOD, method="smcn")
    with pytest.raises(
        InputError, match="'smcnn' has no parameter 'stepp'; did you mean 'step'\\? Its own parameters are solver"
    ):
        sc.complete(GOOD, method="smcnn", stepp=1)
    with pytest.raises(InputError, match="is not a seed"):
        sc.complete(GOOD, random_state="x")


@pytest.mark.parametrize(
    ("S0", "words"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\); a square matrix"),
        (np.ones(3), "a square matrix"),
        (np.ones((0, 0)), "a square matrix"),
        (
            np.array([[1.0, 0.2], [0.7, 1.0]]),
            r"not symmetric: S0\[0, 1\] = 0.2 but S0\[1, 0\] = 0.7.*\(S0 \+ S0.T\) / 2",
        ),
        (np.array([[np.inf, 0], [0, 1.0]]), r"S0\[0, 0\] = inf is not finite"),
    ],
)
def test_similarities_that_cannot_be_used(S0, words):
    with pytest.raises(InputError, match=words):
        sc.complete_similarity(S0)


def test_symmetry_up_to_rounding_is_made_exact():
    S0 = np.array([[1.0, 0.5], [0.5 + 1e-13, 1.0]])
    S = sc.complete_similarity(S0, method="overlap").similarity()
    assert (S == S.T).all()


@pytest.mark.parametrize("candidates", [0, 4, [True, False], np.zeros(3, bool), "two", [0, 1, 1]])
def test_candidate_rows_of_a_matrix_that_cannot_be_used(candidates):
    with pytest.raises(InputError, match="candidates"):
        sc.complete_similarity(np.eye(3), candidates=candidates)


def test_hints_a_method_cannot_use_are_refused_not_ignored():
    with pytest.raises(InputError, match="cannot use known="):
        sc.complete_similarity(np.eye(3), method="smcnn", known=np.ones((3, 3), bool))
    with pytest.raises(InputError, match="cannot use overlap="):
        sc.complete_similarity(np.eye(3), method="smcnn", overlap=np.ones((3, 3), int))


# Odd, but good.


def same_as_good(X, **settings):
    np.testing.assert_allclose(
        sc.complete(X, rank=4, **settings).similarity(), sc.complete(GOOD, rank=4, **settings).similarity(), atol=1e-12
    )


def test_read_only_non_contiguous_and_list_input_is_left_unchanged():
    frozen = GOOD.copy()
    frozen.setflags(write=False)
    same_as_good(frozen)
    same_as_good(np.asfortranarray(GOOD))
    wide = np.repeat(GOOD, 2, axis=1)
    same_as_good(wide[:, ::2])
    same_as_good(GOOD.tolist())
    np.testing.assert_array_equal(frozen, GOOD)


def test_memory_mapped_input(tmp_path):
    np.save(tmp_path / "x.npy", GOOD)
    same_as_good(np.load(tmp_path / "x.npy", mmap_mode="r"))


def test_masked_arrays_are_missing_where_masked():
    masked = np.ma.masked_array(GOOD, mask=GOOD < 0.3)
    expected = np.where(GOOD < 0.3, np.nan, GOOD)
    np.testing.assert_array_equal(sc.complete(masked).similarity(), sc.complete(expected).similarity())
    whole = np.ma.masked_array(np.arange(1, 7).reshape(3, 2), mask=[[0, 1], [0, 0], [0, 0]])
    assert sc.complete(whole).evidence.rows_without == ()


def test_float16_becomes_float32_and_integers_float64():
    assert sc.complete(GOOD.astype(np.float16)).factor.dtype == np.float32
    assert sc.complete((GOOD * 10).astype(np.int8)).factor.dtype == np.float64
    assert sc.complete(GOOD > 0.5).factor.dtype == np.float64
    assert sc.complete(GOOD.astype(np.float32), GOOD).factor.dtype == np.float64


def test_one_sample():
    done = sc.complete(GOOD[:1], method="smcnn")
    np.testing.assert_allclose(done.similarity(), [[1 - 0.0005]])
    with pytest.raises(InputError, match="no other sample"):
        done.search()
    pair = sc.complete(GOOD[:1], GOOD[1:2], method="smcnn")
    assert pair.search(k=5).ids.tolist() == [[0]]


def test_constant_and_zero_rows():
    X = GOOD.copy()
    X[0], X[1] = 0, 7
    done = sc.complete(X)
    assert done.evidence.rows_without == (0,)
    assert np.isfinite(done.similarity()).all()
    pearson = sc.complete(X, metric="pearson")
    assert pearson.evidence.rows_without == (0, 1)
    assert np.isfinite(pearson.similarity()).all()


def test_a_row_with_nothing_observed_is_allowed_and_reported():
    X = GOOD.copy()
    X[4] = np.nan
    done = sc.complete(X, method="smcnn")
    assert done.evidence.rows_without == (4,)
    assert done.evidence.pairs_without == 7
    assert done.diagonal.tolist() == [0, 0, 0, 0, 1, 0, 0, 0]


def test_nothing_observed_at_all():
    done = sc.complete(np.full((3, 2), np.nan))
    np.testing.assert_array_equal(done.similarity(), np.eye(3))
    assert done.rank == 0


def test_labels_of_a_frame():
    P = pd.DataFrame(GOOD, index=list("abcdefgh"))
    Q = pd.DataFrame(GOOD[:2], index=["x", "y"])
    assert sc.complete(P, Q).labels == [*"abcdefgh", "x", "y"]
    assert sc.complete(P).labels == list("abcdefgh")
    assert sc.complete(P, GOOD[:2]).labels == [*"abcdefgh", "0", "1"]
    assert sc.complete(GOOD).labels is None
