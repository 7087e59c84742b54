"""Rows of which nothing is observed: no confidence, no neighbours, one warning; rows of zeros are another thing."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._result.unobserved import unobserved_message, without_ids
from simcomplete.errors import FileFormatError, InputWarning

QUICK = {"max_iter": 3, "burn_in": 1, "atoms": 8}
BLIND = [1, 3]


def data(n=45, n_q=5, d=6, seed=0):
    rng = np.random.default_rng(seed)
    P, Q = rng.random((n, d)), rng.random((n_q, d))
    Q[:, 1::2] = np.nan
    Q[BLIND] = np.nan
    return P, Q


def completed(*rows, **given):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = sc.complete(*rows, progress=False, **given)
    return done, [entry for entry in told if entry.category is InputWarning]


def check_blind(done, blind=BLIND, k=4):
    ids, scores = done.search(k)
    seen = np.setdiff1d(np.arange(done.n_queries), blind)
    assert (ids[blind] == -1).all()
    assert np.isnan(scores[blind]).all()
    assert (ids[seen] >= 0).all()
    assert np.isfinite(scores[seen]).all()


@pytest.mark.parametrize("method", ["auto", *(method.name for method in sc.methods())])
def test_every_method(method):
    own = {} if method == "auto" or sc.methods()[method].family == "spectral" else sc.methods()[method].parameters
    P, Q = data()
    done, told = completed(P, Q, method=method, **{name: value for name, value in QUICK.items() if name in own})
    assert done.unobserved.tolist() == [46, 48]
    check_blind(done)
    (one,) = told
    assert "2 queries (1, 3)" in str(one.message)
    assert one.filename == __file__


def test_confidence_and_intervals():
    P, Q = data()
    done, _ = completed(P, Q, method="posterior")
    assert (done.confidence[BLIND] == 0).all()
    assert (np.delete(done.confidence, BLIND) > 0.1).all()
    low, high = done.interval(0.5, cols=None)
    assert (low[BLIND] == -1).all()
    assert (high[BLIND] == 1).all()
    assert (np.delete(high - low, BLIND, axis=0) < 1).all()
    low, high = done.interval(0.5, "queries", "queries")
    assert np.diag(low)[BLIND] == pytest.approx(1)  # a row is like itself, known or not
    assert (low[0, BLIND] == -1).all()
    assert (high[0, BLIND] == 1).all()


@pytest.mark.parametrize("index", [None, "faiss"])
@pytest.mark.parametrize("method", ["posterior", "smcnn", "dmc"])
def test_all_rows_together(method, index):
    """A row of which nothing is known is nobody's neighbour either."""
    rng = np.random.default_rng(1)
    X = np.where(rng.random((40, 6)) < 0.4, np.nan, rng.random((40, 6)))
    X[:, 0] = rng.random(40)
    X[[0, 7, 39]] = np.nan
    if method == "dmc" and index:
        pytest.skip("it has no factor to index")
    done, told = completed(X, method=method)
    assert [str(entry.message)[:39] for entry in told] == ["nothing is observed of 3 rows (0, 7, 39"]
    ids, scores = done.search(39, index=index)
    for row in range(40):
        others = set() if row in (0, 7, 39) else set(range(40)) - {0, 7, 39, row}
        assert set(ids[row][ids[row] >= 0]) == others
        np.testing.assert_array_equal(np.isnan(scores[row]), ids[row] < 0)
    S = done.similarity()
    few_ids, few = done.search(5, rows=[1, 2], index=index)
    for row, near, score in zip((1, 2), few_ids, few, strict=True):
        S[row, [0, 7, 39, row]] = -np.inf
        np.testing.assert_array_equal(near, np.argsort(-S[row], kind="stable")[:5])
        np.testing.assert_allclose(score, S[row, near], atol=1e-12)


@pytest.mark.parametrize("index", ["faiss", "faiss-ivf", "faiss-hnsw"])
def test_through_an_index(index):
    P, Q = data(200)
    done, _ = completed(P, Q, method="posterior")
    check_blind(done)
    ids, scores = done.search(4, index=index)
    assert (ids[BLIND] == -1).all()
    assert np.isnan(scores[BLIND]).all()
    if index == "faiss":
        np.testing.assert_array_equal(ids, done.search(4).ids)


@pytest.mark.parametrize("method", ["posterior", "smcnn"])
def test_candidates_that_are_not_in_memory(method, tmp_path):
    da = pytest.importorskip("dask.array")
    P, Q = data()
    np.save(tmp_path / "P.npy", P)
    expected = completed(P, Q, method=method)[0].search(3)
    for where in (tmp_path / "P.npy", da.from_array(P, chunks=(10, 6))):
        done, told = completed(where, Q, method=method, memory="8 KiB")
        assert len(told) == 1
        check_blind(done)
        np.testing.assert_array_equal(done.search(3).ids, expected.ids)


def test_it_is_saved_and_loaded(tmp_path):
    P, Q = data()
    done, _ = completed(P, Q, method="posterior")
    done.save(tmp_path / "done")
    again = sc.load(tmp_path / "done")
    assert again.unobserved.tolist() == [46, 48]
    check_blind(again)
    np.testing.assert_array_equal(again.confidence, done.confidence)


@pytest.mark.parametrize("wrong", [[50], [-1], [2, 2], [3, 1], "all", [], [1.5]])
def test_rows_that_are_none_are_refused(tmp_path, wrong):
    from simcomplete._result.archive import digest_of

    P, Q = data()
    completed(P, Q, method="overlap")[0].save(tmp_path / "done")
    file = tmp_path / "done" / "completion.json"
    index = json.loads(file.read_text())
    index["facts"]["unobserved"] = wrong
    index["sha256"] = digest_of(index)
    file.write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="unobserved"):
        sc.load(tmp_path / "done")


def test_a_row_of_zeros_has_observed_values():
    P, Q = data()
    Q[:] = 0.0
    done, told = completed(P, Q, method="posterior")
    assert not told
    assert done.unobserved is None
    ids, scores = done.search(3)
    assert (ids == [0, 1, 2]).all()
    assert (scores == 0).all()


def test_a_matrix_tells_by_its_overlap():
    X = np.random.default_rng(0).random((12, 4))
    X[5] = np.nan
    S0 = sc.overlap_similarity(X)
    counts = (~np.isnan(X)).astype(int) @ (~np.isnan(X)).astype(int).T
    with pytest.warns(InputWarning, match=r"1 query \(0\)"):
        done = sc.complete_similarity(S0, overlap=counts, method="posterior", candidates=np.arange(12) != 5)
    assert done.search(2).ids.tolist() == [[-1, -1]]


def test_labels_are_named_and_at_most_five_rows():
    P, Q = (pd.DataFrame(rows) for rows in data(n_q=9))
    Q.index = [f"q{i}" for i in range(9)]
    Q.iloc[:] = np.nan
    with pytest.warns(InputWarning, match=r"9 queries \('q0', 'q1', 'q2', 'q3', 'q4', \.\.\.\): they have"):
        sc.complete(P, Q, method="mean")
    assert unobserved_message([2], None, 0).startswith("nothing is observed of 1 row (2): it has")


def test_the_command_line_leaves_them_out(tmp_path, capsys):
    from simcomplete._cli import main

    P, Q = data()
    completed(P, Q, method="mean")[0].save(tmp_path / "done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["simcomplete", "search", str(tmp_path / "done"), "--json", "-k", "2"])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)["queries"]
    assert [len(query["nearest"]) for query in found] == [2, 0, 2, 0, 2]


def test_leaving_out_keeps_the_order():
    ids, scores = np.array([[4, 2, 9, 1]]), np.array([[0.9, 0.5, 0.5, 0.1]], dtype=np.float32)
    left = without_ids(ids, scores, np.array([2]), 3)
    assert left[0].tolist() == [[4, 9, 1]]
    assert left[1].dtype == np.float32
    assert without_ids(ids, scores, np.array([1, 2, 4]), 2)[0].tolist() == [[9, -1]]
