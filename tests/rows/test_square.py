"""Matrices given where samples are needed, distances given as similarities, and matrices with labels."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import pdist, squareform

import simcomplete as sc
from simcomplete._rows.square import question_square
from simcomplete._rows.validate import as_rows
from simcomplete.datasets import read_table
from simcomplete.errors import InputError, InputWarning

RNG = np.random.default_rng(0)
X = RNG.random((30, 5))
NAMES = list("abcde")
FRAME = pd.DataFrame(X, columns=NAMES)
CORRELATIONS = FRAME.corr()
DISTANCES = squareform(pdist(X))
REMEDY = r"sc\.complete_similarity\(S, method='dmc'\)"


@pytest.mark.parametrize("queries", [None, X[:2]])
def test_a_labelled_similarity_matrix_is_refused(queries):
    with pytest.raises(InputError, match=f"a similarity matrix was given to complete.*{REMEDY}"):
        sc.complete(CORRELATIONS, queries)


def test_whatever_the_order_of_its_columns():
    with pytest.raises(InputError, match="a similarity matrix was given"):
        sc.complete(CORRELATIONS[NAMES[::-1]])


def test_with_missing_entries_too():
    broken = CORRELATIONS.copy()
    broken.loc["a", "b"] = broken.loc["b", "a"] = np.nan
    with pytest.raises(InputError, match="a similarity matrix was given"):
        sc.complete(broken)


def test_of_polars_with_a_column_of_labels():
    table = pl.DataFrame({"name": NAMES, **{name: CORRELATIONS[name].to_numpy() for name in NAMES}})
    with pytest.raises(InputError, match="a similarity matrix was given"):
        sc.complete(table)


def test_of_a_file(tmp_path):
    CORRELATIONS.to_csv(tmp_path / "c.csv")
    with pytest.raises(InputError, match="a similarity matrix was given"):
        sc.complete(read_table(tmp_path / "c.csv"))


@pytest.mark.parametrize(
    "make", [np.asarray, lambda S: S.astype(np.float32).to_numpy(), lambda S: S.to_numpy().tolist()]
)
def test_of_a_plain_array_there_is_a_warning(make):
    with pytest.warns(InputWarning, match=f"a square, symmetric array with a diagonal of 1.*{REMEDY}"):
        sc.complete(make(CORRELATIONS), method="smcnn")


UNLIKE = {
    "identity": np.eye(5),
    "not symmetric": CORRELATIONS.to_numpy() + np.triu(np.full((5, 5), 1e-3), 1),
    "other diagonal": CORRELATIONS.to_numpy() + 0.1 * np.eye(5),
    "entries above 1": 3 * CORRELATIONS.to_numpy() - 2 * np.eye(5) + 2 * (1 - np.eye(5)),
    "not square": X,
    "two rows": np.array([[1.0, 0.5], [0.5, 1.0]]),
    "square": RNG.random((7, 7)),
    "adjacency": np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], dtype=float),
    "counts together": np.array([[0, 90, 1], [90, 0, 2], [1, 2, 0]], dtype=float),
    "zeros": np.zeros((4, 4)),
    "negative": np.array([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], dtype=float),
    "incomplete": np.where(np.arange(16).reshape(4, 4) == 1, np.nan, 1 - np.eye(4)),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_other_samples_are_not_taken_for_a_matrix(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            question_square(as_rows(UNLIKE[name]), alone=True) is None or UNLIKE[name].shape[0] != UNLIKE[name].shape[1]
        )


def test_with_queries_a_plain_array_is_what_it_is_said_to_be():
    assert question_square(as_rows(CORRELATIONS.to_numpy()), alone=False) is None


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("queries", [None, np.ones((2, 30))])
def test_distances_are_refused(power, queries):
    with pytest.raises(InputError, match=r"a distance matrix was given to complete\(\).*1 - D"):
        sc.complete(DISTANCES**power, queries)
    with pytest.raises(InputError, match=r"S0 has a zero diagonal and no negative entry: it looks like distances"):
        sc.complete_similarity(DISTANCES**power)
    with pytest.raises(InputError, match="a distance matrix was given"):
        sc.complete(pd.DataFrame(DISTANCES))


def test_the_remedy_for_distances_works():
    D = squareform(pdist(X, "cosine"))
    done = sc.complete_similarity(1 - D, method="smcnn")
    np.testing.assert_allclose(done.similarity(), 1 - D, atol=0.01)


def test_a_matrix_of_zeros_is_no_distance():
    assert sc.complete_similarity(np.zeros((3, 3)), method="smcnn").rank == 0


def test_columns_of_a_matrix_are_put_in_the_order_of_its_rows():
    turned = CORRELATIONS.loc[list("ceadb"), list("bdaec")]
    done = sc.complete_similarity(turned, method="overlap")
    assert done.labels == list("ceadb")
    np.testing.assert_array_equal(done.similarity(NAMES, NAMES), CORRELATIONS.to_numpy())


def test_hints_of_a_matrix_are_put_in_its_order():
    known = CORRELATIONS.abs() > 0.1
    turned = known.loc[NAMES[::-1], list("bdaec")]
    done, expected = (
        sc.complete_similarity(CORRELATIONS, known=hint, method="dmc", variant="fixed").similarity()
        for hint in (turned, known.to_numpy())
    )
    np.testing.assert_array_equal(done, expected)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (list("abcdf"), r"number 4 is 'e' and 'f'; \['e'\] are only on one side"),
        (list("aabcd"), r"number 1 is 'b' and 'a'; \['e'\] are only on one side"),
    ],
)
def test_other_labels_are_an_error(columns, words):
    with pytest.raises(InputError, match=f"S0 has different labels for its rows and its columns: {words}"):
        sc.complete_similarity(CORRELATIONS.set_axis(columns, axis=1))


def test_labels_on_one_side_are_those_of_the_rows():
    values = CORRELATIONS.to_numpy()
    assert sc.complete_similarity(pd.DataFrame(values, columns=NAMES), method="overlap").labels == NAMES
    assert sc.complete_similarity(pd.DataFrame(values, index=NAMES), method="overlap").labels == NAMES
    assert sc.complete_similarity(pl.from_pandas(FRAME).corr(), method="overlap").labels == NAMES


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_asymmetry_by_rounding_is_made_symmetric(dtype):
    S0 = CORRELATIONS.to_numpy().astype(dtype)
    S0[0, 1] += dtype(2e-7)
    S = sc.complete_similarity(S0, method="overlap").similarity()
    assert (S == S.T).all()
    assert S.dtype == dtype


def test_a_real_asymmetry_is_shown_with_enough_digits():
    S0 = np.array([[1.0, 0.123456789], [0.123459999, 1.0]])
    with pytest.raises(InputError, match=r"S0\[0, 1\] = 0.123457 but S0\[1, 0\] = 0.12346, a difference of 3.2e-06"):
        sc.complete_similarity(S0)
    S0 = np.array([[1.0, 1000.0001], [1000.0, 1.0]])
    S0 *= 1e-3
    S0[0, 1] += 2e-6
    with pytest.raises(InputError, match=r"S0\[0, 1\] = 1.000002 but S0\[1, 0\] = 1, a difference of 2.1e-06"):
        sc.complete_similarity(S0)
