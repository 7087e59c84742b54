"""posterior over candidates that are read block by block: the same figures as in memory, nothing large held."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior import method as methods
from simcomplete._posterior.candidates import streamed
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._rows.budget import working_memory
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.source import SourceRows
from simcomplete._rows.xp import to_numpy


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


def errors(done, data):
    P, Q, whole = data
    S0, truth = (sc.overlap_similarity(np.vstack([P, rest])) for rest in (Q, whole))
    return sc.metrics.relative_squared_error(done.similarity(), S0, truth)


@pytest.mark.parametrize("effort", ["full", "fast"])
def test_the_same_figures_as_in_memory(data, effort):
    P, Q, whole = data
    here = sc.complete(P, Q, method="posterior", effort=effort)
    there = sc.complete(Slices(P), Q, method="posterior", effort=effort)
    assert isinstance(there.factor, UnitRows)
    assert errors(there, data) == pytest.approx(errors(here, data), rel=0.1)
    assert there.validity.ok, there.validity
    np.testing.assert_allclose(np.asarray(there.factor)[:600], unit_rows(P), atol=1e-12)
    low, high = there.interval(0.9)
    truth = unit_rows(whole) @ unit_rows(P).T
    assert 0.84 < np.mean((low <= truth) & (truth <= high)) < 0.96
    assert np.mean(there.search(10).ids == here.search(10).ids) > 0.7


def test_one_pass_is_the_two_products_over_all(data):
    # The moments and neighbours of the pass, block by block, against everything at once.
    P, Q, _ = data
    seen = []
    for rows in (P, Slices(P)):
        source = rows if isinstance(rows, np.ndarray) else SourceRows(rows, "P")
        with working_memory(8 * 4 * (64 + len(Q)) * 70):
            seen.append(streamed._gather(source, 2.0, ("raw", "unit"), Q, None, len(Q), False))
    for name in ("raw", "unit"):
        X = P / 2.0 if name == "raw" else unit_rows(P)
        for found in seen:
            np.testing.assert_allclose(found.moments[name].outer, X.T @ X, rtol=1e-12)
            np.testing.assert_allclose(found.moments[name].lowest, X.min(axis=0))
    S0 = sc.overlap_similarity(np.vstack([P, Q]))[600:, :600]
    np.testing.assert_allclose(seen[0].best.scores, -np.sort(-S0, axis=1)[:, :48], atol=1e-12)
    np.testing.assert_array_equal(seen[0].best.ids, seen[1].best.ids)


def test_no_more_than_a_block_is_read_at_once(data):
    P, Q, _ = data
    source = Slices(np.repeat(P, 5, axis=0))
    sc.complete(source, Q, method="posterior", effort="fast", memory="200 KiB")
    assert source.most < 500


def test_copies_of_those_who_play_queries_do_not_help_them(data):
    # Every candidate twice: the simulated queries would find themselves, and the expected error would be far too small.
    P, Q, _ = data
    once = sc.complete(Slices(P), Q, method="posterior", effort="fast").choice["expected_squared_error"]
    twice = sc.complete(Slices(np.vstack([P, P])), Q, method="posterior", effort="fast").choice[
        "expected_squared_error"
    ]
    assert twice > 0.6 * once


def test_many_queries_go_in_batches(data, monkeypatch):
    P, Q, _ = data
    whole = sc.complete(Slices(P), Q, method="posterior", effort="fast").similarity("queries", "candidates")
    monkeypatch.setattr(streamed, "BATCH", 25)
    parts = sc.complete(Slices(P), Q, method="posterior", effort="fast").similarity("queries", "candidates")
    np.testing.assert_allclose(parts, whole, atol=1e-12)


def test_wide_rows_and_best(data):
    P, Q, _ = data
    wide = [np.repeat(X, 33, axis=1) for X in (P, Q)]  # 2112 features: no matrix of that size is made
    done = sc.complete(Slices(wide[0]), wide[1], method="posterior", effort="fast")
    assert done.validity.ok
    with pytest.raises(sc.errors.InputError, match="effort='full'"):
        sc.complete(Slices(P), Q, method="posterior", effort="best")


def test_the_estimator_streams_too(data, monkeypatch):
    P, Q, _ = data
    model = sc.PosteriorCompleter(effort="fast").fit(Slices(P), masks=~np.isnan(Q))
    u = model.transform(Q)
    np.testing.assert_allclose(model.transform(Q[:3]), u[:3], atol=1e-12)
    found = model.search(Q, k=4)
    expected = np.argsort(-(u @ unit_rows(P).T), axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_allclose(model.transform(P[:5]), unit_rows(P[:5]), atol=1e-12)
    with pytest.raises(sc.errors.InputError, match="fit anew"):
        model.partial_fit(P)
    monkeypatch.setattr(methods, "LARGE", 1000)
    assert isinstance(sc.PosteriorCompleter(effort="fast").fit(P).candidates_, UnitRows)


def test_any_library(library, data):
    P, Q, _ = data
    expected = sc.complete(SourceRows(P, "P"), Q, method="posterior", effort="fast")
    given = library.array(P)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "MANY", 1000)
        patch.setattr(methods, "MOVED", 1000)
        done = sc.complete(given, library.array(Q), method="posterior", effort="fast")
    assert type(done.factor[:2]) is type(given)
    ours = done.similarity("queries", "candidates")
    np.testing.assert_allclose(to_numpy(ours), expected.similarity("queries", "candidates"), atol=1e-10)
    np.testing.assert_array_equal(done.search(3).ids, expected.search(3).ids)
