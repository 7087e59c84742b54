"""posterior over candidates that are read block by block: what the pass gathers, and that nothing large is held."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import fitting, model, moments
from simcomplete._posterior.candidates import source as pool_of
from simcomplete._posterior.candidates.source import Candidates, no_positions
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._rows.budget import working_memory
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import HeldRows


@pytest.fixture(scope="module")
def data(digits, hide):
    return digits[:600], hide(digits[600:660], 0.7), digits[600:660]


class Slices:
    """No array: a shape, a type and row slices, and a count of the most rows that were ever asked for at once."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.most = X, X.shape, X.dtype, 0

    def __getitem__(self, rows):
        out = self.X[rows]
        self.most = max(self.most, len(out))
        return out


@pytest.fixture(params=["array", "slices"])
def table(request, data):
    return HeldRows(data[0]) if request.param == "array" else SourceRows(Slices(data[0]), "P")


def gather(table, Q, memory=8 * (5 * 64 + 4 * 60) * 70, **what):
    """One pass in blocks of about 70 rows."""
    observed = ~np.isnan(Q)
    what = {"excluded": no_positions(), **what}
    with working_memory(memory):
        return Candidates(table, 2.0, progress=False).gather(np.nan_to_num(Q), observed, 48, **what)


@pytest.mark.parametrize("effort", ["full", "fast"])
def test_intervals_and_what_candidates_look_like(data, effort, streaming):
    P, Q, whole = data
    streaming()
    done = sc.complete(P, Q, method="posterior", effort=effort)
    np.testing.assert_allclose(np.asarray(done.factor)[:600], unit_rows(P), atol=1e-12)
    low, high = done.interval(0.9)
    truth = unit_rows(whole) @ unit_rows(P).T
    assert 0.84 < np.mean((low <= truth) & (truth <= high)) < 0.96


def test_one_pass_sums_what_all_rows_at_once_would(data, table):
    P, Q, _ = data
    centres = {"raw": np.full(64, 3.0), "unit": np.full(64, 0.1)}
    excluded = np.array([3, 100, 599])
    result = gather(table, Q, centres=centres, excluded=excluded)
    for name, X in (("raw", P / 2.0), ("unit", unit_rows(P))):
        sums, Y = result.sums[name], X - centres[name]
        np.testing.assert_allclose(sums.statistics.outer, Y.T @ Y, rtol=1e-12)
        np.testing.assert_allclose(sums.statistics.total, Y.sum(axis=0), atol=1e-10)
        np.testing.assert_allclose(sums.excluded.outer, Y[excluded].T @ Y[excluded], atol=1e-12)
        np.testing.assert_array_equal(sums.lowest, X.min(axis=0))
        np.testing.assert_array_equal(sums.highest, X.max(axis=0))
        left = sums.statistics.minus(sums.excluded)
        rest = np.delete(X, excluded, axis=0)
        np.testing.assert_allclose(left.mean, rest.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(left.covariance.C, np.cov(rest.T, bias=True), atol=1e-12)
    np.testing.assert_array_equal(result.excluded, excluded)


def test_one_pass_finds_the_nearest(data, table):
    P, Q, _ = data
    result = gather(table, Q, since=30, excluded=np.arange(0, 600, 2))
    S0 = sc.overlap_similarity(np.vstack([P, Q]))[600:, :600]
    np.testing.assert_allclose(result.near.cosines[:30], -np.sort(-S0[:30], axis=1)[:, :48], atol=1e-12)
    # From the 31st on every second candidate is excluded.
    assert (result.near.ids[30:] % 2 == 1).all()
    np.testing.assert_allclose(result.near.cosines[30:], -np.sort(-S0[30:, 1::2], axis=1)[:, :48], atol=1e-12)
    observed = ~np.isnan(Q)
    for row in (0, 45):
        energies = np.sum(unit_rows(P)[result.near.ids[row]][:, observed[row]] ** 2, axis=1)
        np.testing.assert_allclose(result.near.energies[row], energies, atol=1e-12)


def test_one_pass_excludes_copies_and_tells_zero_rows(data):
    P, Q, _ = data
    rows = np.vstack([P, 3.0 * P[:10], np.zeros((2, 64))])
    result = gather(HeldRows(rows), Q, copies_of=unit_rows(P[[4, 7]]))
    np.testing.assert_array_equal(result.excluded, [4, 7, 604, 607])
    np.testing.assert_array_equal(result.zero, [610, 611])


def test_candidates_that_are_zero_have_a_diagonal_of_their_own(data, streaming):
    P, Q, _ = data
    rows = np.vstack([P[:80], np.zeros((1, 64))])
    kept = sc.complete(rows, Q, method="posterior", effort="fast")
    streaming()
    done = sc.complete(rows, Q, method="posterior", effort="fast")
    np.testing.assert_allclose(done.diagonal, kept.diagonal, atol=1e-12)
    assert done.diagonal[80] == 1
    assert done.validity.ok


def test_no_more_than_a_block_is_read_at_once(data, monkeypatch, streaming):
    P, Q, _ = data
    streaming()
    monkeypatch.setattr(pool_of, "POOL_VALUES", 200 * 64)
    monkeypatch.setattr(pool_of, "POOL_ROWS", 100)
    source = Slices(np.repeat(P, 5, axis=0))
    sc.complete(source, Q, method="posterior", effort="fast", memory="200 KiB")
    assert source.most < 500


@pytest.mark.parametrize("pool", [2**22, 200 * 64])
def test_copies_of_held_out_candidates_do_not_help_them(data, pool, monkeypatch, streaming):
    # Every candidate twice: the simulated queries would find themselves, and the expected error would be far too small.
    P, Q, _ = data
    streaming()
    monkeypatch.setattr(pool_of, "POOL_VALUES", pool)
    monkeypatch.setattr(pool_of, "POOL_ROWS", 100)
    once, twice = (
        sc.complete(rows, Q, method="posterior", effort="fast").choice["expected_squared_error"]
        for rows in (P, np.vstack([P, P]))
    )
    assert twice > 0.6 * once


@pytest.mark.parametrize("stream", [False, True])
def test_many_queries_go_in_batches(data, monkeypatch, stream, streaming):
    P, Q, _ = data
    if stream:
        streaming()
    whole = sc.complete(P, Q, method="posterior", effort="fast").similarity("queries", "candidates")
    monkeypatch.setattr(model, "PASS_QUERIES", 25)
    monkeypatch.setattr(model, "BATCH", 10)
    parts = sc.complete(P, Q, method="posterior", effort="fast").similarity("queries", "candidates")
    np.testing.assert_allclose(parts, whole, atol=1e-12)


def test_wide_rows(data, monkeypatch, streaming):
    P, Q, _ = data
    monkeypatch.setattr(moments, "WIDE", 30)  # no covariance matrix is made
    kept = sc.complete(P, Q, method="posterior")
    streaming()
    done = sc.complete(Slices(P), Q, method="posterior", memory="300 KiB")
    assert done.validity.ok
    np.testing.assert_allclose(np.asarray(done.factor), kept.factor, rtol=0, atol=1e-10)


def test_the_estimator_streams_too(data, streaming):
    P, Q, _ = data
    kept = sc.PosteriorCompleter(effort="fast").fit(Slices(P), masks=~np.isnan(Q))
    streaming()
    streamed = sc.PosteriorCompleter(effort="fast").fit(Slices(P), masks=~np.isnan(Q))
    assert isinstance(kept.candidates_, np.ndarray)
    assert isinstance(streamed.candidates_, UnitRows)
    u = streamed.transform(Q)
    np.testing.assert_allclose(u, kept.transform(Q), rtol=0, atol=1e-10)
    np.testing.assert_allclose(streamed.transform(Q[:3]), u[:3], atol=1e-12)
    found = streamed.search(Q, k=4)
    expected = np.argsort(-(u @ unit_rows(P).T), axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_allclose(streamed.transform(P[:5]), unit_rows(P[:5]), atol=1e-12)
    grown = [model.partial_fit(P[:2] + 1).forget([3]) for model in (kept, streamed)]
    assert [len(model.candidates_) for model in grown] == [601, 601]
    np.testing.assert_allclose(grown[1].transform(Q), grown[0].transform(Q), rtol=0, atol=1e-10)


def test_more_values_are_kept_where_they_are_searched_again_and_again(data, monkeypatch):
    P, Q, _ = data
    monkeypatch.setattr(fitting, "STREAM_ABOVE_VALUES", 1000)
    kept = {effort: sc.complete(P, Q, method="posterior", effort=effort).matrix.factor for effort in ("fast", "best")}
    assert isinstance(kept["fast"], UnitRows)
    assert isinstance(kept["best"], np.ndarray)
    assert isinstance(sc.PosteriorCompleter(effort="fast").fit(P).candidates_, np.ndarray)
