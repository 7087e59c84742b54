"""Overlap similarities of frames are frames; of two tables, the block of queries and candidates."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete.errors import InputError, MemoryLimitError

RNG = np.random.default_rng(0)
X = np.where(RNG.random((5, 4)) < 0.3, np.nan, RNG.random((5, 4)))
Y = np.where(RNG.random((2, 4)) < 0.3, np.nan, RNG.random((2, 4)))
NAMES, IDS = list("wxyz"), list("abcde")
S, COUNTS = sc.overlap_similarity(X), sc.overlap_counts(X)


def columns(A):
    return dict(zip(NAMES, A.T, strict=True))


@pytest.mark.parametrize(("call", "expected"), [(sc.overlap_similarity, S), (sc.overlap_counts, COUNTS)])
def test_frames_in_frames_out(call, expected):
    pandas = call(pd.DataFrame(X, index=pd.Index(IDS, name="name"), columns=NAMES))
    pd.testing.assert_frame_equal(
        pandas, pd.DataFrame(expected, index=pd.Index(IDS, name="name"), columns=pd.Index(IDS, name="name"))
    )
    polars = call(pl.DataFrame({"name": IDS, **columns(X)}))
    assert polars.equals(pl.DataFrame({"name": IDS, **dict(zip(IDS, expected.T, strict=True))}))
    lazy = call(pl.LazyFrame({"name": IDS, **columns(X)}))
    assert lazy.equals(polars)
    arrow = call(pa.table({**columns(X), "k": [5, 6, 7, 8, 9]}), id="k")
    assert arrow.column_names == ["k", "5", "6", "7", "8", "9"]
    assert arrow["k"].to_pylist() == [5, 6, 7, 8, 9]
    np.testing.assert_array_equal(arrow["7"].to_numpy(), expected[:, 2])
    labelled = call(xr.DataArray(X, dims=("sample", "gene"), coords={"sample": IDS}))
    assert labelled.dims == ("sample", "sample_other")
    assert float(labelled.sel(sample="b", sample_other="d")) == expected[1, 3]
    assert isinstance(call(X), np.ndarray)


def test_frames_without_labels_are_numbered():
    assert sc.overlap_similarity(pl.DataFrame(columns(X))).columns == ["row", "0", "1", "2", "3", "4"]
    named = sc.overlap_similarity(pl.DataFrame({"row": ["row", *IDS[1:]], **columns(X)}))
    assert named.columns == ["row_", "row", "b", "c", "d", "e"]
    assert sc.overlap_similarity(pd.DataFrame(X)).columns.tolist() == [0, 1, 2, 3, 4]


def test_two_tables_give_the_block_of_queries_and_candidates():
    block, evidence = sc.overlap_similarity(X, Y, return_evidence=True)
    whole = sc.overlap_similarity(np.vstack([X, Y]))
    np.testing.assert_allclose(block, whole[5:, :5], atol=1e-15)
    assert evidence.pairs == 10
    assert evidence.rows_without == ()
    P = RNG.random((6, 4))
    done = sc.complete(P, Y, method="overlap")
    np.testing.assert_allclose(sc.overlap_similarity(P, Y), done.similarity("queries", "candidates"), atol=1e-15)
    np.testing.assert_array_equal(sc.overlap_counts(X, Y), (~np.isnan(Y)).astype(int) @ (~np.isnan(X)).T.astype(int))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from(["cosine", "pearson"]))
def test_the_block_is_that_of_all_rows(n, m, seed, metric):
    rng = np.random.default_rng(seed)
    A, B = (np.where(rng.random((k, 4)) < 0.5, np.nan, rng.integers(-2, 3, (k, 4)).astype(float)) for k in (n, m))
    own = {"metric": metric, "min_overlap": 2, "positive": bool(seed % 2), "return_evidence": True}
    block, evidence = sc.overlap_similarity(A, B, **own)
    whole, _ = sc.overlap_similarity(np.vstack([A, B]), **own)
    np.testing.assert_allclose(block, whole[n:, :n], atol=1e-12)
    none = 0.5 if own["positive"] else 0.0
    assert evidence.pairs_without <= int(np.sum(np.isclose(block, none)))
    assert all(np.allclose(block[i], none) for i in evidence.rows_without)


def test_blocks_of_frames_have_labels_of_both():
    candidates = pd.DataFrame(X, index=IDS, columns=NAMES)
    queries = pd.DataFrame(Y[:, ::-1], index=["q", "r"], columns=NAMES[::-1])
    block = sc.overlap_similarity(candidates, queries)
    assert (list(block.index), list(block.columns)) == (["q", "r"], IDS)
    np.testing.assert_array_equal(block.to_numpy(), sc.overlap_similarity(X, Y))
    table = sc.overlap_similarity(pl.DataFrame({"name": IDS, **columns(X)}), Y)
    assert table.columns == ["row", *IDS]
    assert table["row"].to_list() == [0, 1]
    assert sc.overlap_similarity(X, queries[NAMES]).index.tolist() == ["q", "r"]


def test_small_floats_stay_small():
    assert sc.overlap_similarity(X.astype(np.float32), Y.astype(np.float32)).dtype == np.float32
    assert sc.overlap_similarity(X.astype(np.float32), Y).dtype == np.float64


def test_the_metric_may_come_second_as_before():
    expected = sc.overlap_similarity(X, metric="pearson", min_overlap=2)
    np.testing.assert_array_equal(sc.overlap_similarity(X, "pearson", 2), expected)
    np.testing.assert_array_equal(sc.overlap_similarity(X, "cosine"), S)
    np.testing.assert_array_equal(sc.overlap_similarity(X, "pearson"), sc.overlap_similarity(X, metric="pearson"))


def test_tables_that_do_not_fit_each_other(monkeypatch):
    with pytest.raises(InputError, match="candidates have 4 features and queries 3"):
        sc.overlap_similarity(X, Y[:, :3])
    with pytest.raises(InputError, match=r"rows of Y lack \['z'\]"):
        sc.overlap_counts(pd.DataFrame(columns(X)), pd.DataFrame(columns(Y)).drop(columns="z"))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1 MB")
    with pytest.raises(MemoryLimitError, match="the 1000 x 1000 similarities"):
        sc.overlap_similarity(np.ones((1000, 2)), np.ones((1000, 2)))
