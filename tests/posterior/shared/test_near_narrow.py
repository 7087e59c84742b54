"""Neighbours narrowed down in float32 are those of float64, bit for bit, whatever the values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows.difficult import EVERY, KINDS, some_rows
from simcomplete._posterior.candidates.source import Candidates, no_positions
from simcomplete._posterior.shared import near_narrow, neighbours
from simcomplete._posterior.shared.near_narrow import nearest_narrow
from simcomplete._posterior.shared.neighbours import KeptRows, Probes, exact_cosines
from simcomplete._posterior.shared.rows import RESOLUTION, unit_rows
from simcomplete._rows import narrow
from simcomplete._rows.narrow import NarrowRows
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import top_k
from simcomplete.estimators import PosteriorCompleter


def decided_alone(values, observed, unit, most):
    """The same by the definition: every pair by itself, then sorted."""
    ids, cosines = [], []
    for v, o in zip(unit_rows(values), observed.astype(float), strict=True):
        steps = np.rint(exact_cosines(v, o, unit)[0] * RESOLUTION)
        ids.append(np.lexsort((np.arange(len(unit)), -steps))[:most])
        cosines.append(steps[ids[-1]] / RESOLUTION)
    return np.array(ids), np.array(cosines)


@settings(max_examples=60, **EVERY)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), rows=st.sampled_from([1, 3, 24]))
def test_neighbours_are_those_of_float64(kind, seed, rows, monkeypatch):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 300)), int(rng.integers(1, 40))
    monkeypatch.setattr(narrow, "BLOCK", 64)
    monkeypatch.setattr(near_narrow, "BLOCK", 64)
    monkeypatch.setattr(neighbours, "FEW_VALUES", 0)
    X = some_rows(kind, rng, n, d)
    candidates = Candidates(HeldRows(X), 1.0).keep()
    observed = rng.random((rows, d)) < rng.choice([0.1, 0.5, 1.0])
    values = np.where(observed, some_rows(kind, rng, n, d)[rng.integers(0, n, rows)], 0.0)
    values[0] = np.where(observed[0], X[0], 0.0)
    most = int(rng.integers(1, min(n - 1, 48) + 1))
    assert candidates.kept.many
    found = candidates.nearest(values, observed, most, no_positions())
    whole = candidates._compared(values, observed, most, no_positions())
    unit = candidates.kept.unit
    ids, cosines = decided_alone(values, observed, unit, most)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.cosines, cosines)
    np.testing.assert_array_equal(found.ids, whole.ids)
    np.testing.assert_array_equal(found.cosines, whole.cosines)
    np.testing.assert_allclose(found.energies, whole.energies, rtol=1e-12, atol=1e-300)


def test_a_row_that_float32_cannot_see_is_found():
    """Its observed values are too small for their squares in float32, and it is the nearest there is."""
    rng = np.random.default_rng(0)
    P = np.abs(rng.normal(size=(400, 6)))
    P[37] = [1e-30, 2e-30, 3e-30, 1.0, 0, 0]
    rows = NarrowRows.of(unit_rows(P))
    assert 37 in rows.frail
    observed = np.array([[True, True, True, False, False, False]])
    near, left = nearest_narrow(Probes.of(np.array([[1.0, 2.0, 3.0, 0, 0, 0]]), observed), rows, 1)
    assert not len(left)
    assert near.ids[0, 0] == 37


def test_many_candidates_are_searched_the_same_way(monkeypatch):
    """What a user sees: neighbours, vectors, probabilities and scores are those of a model that compares in float64."""
    rng = np.random.default_rng(1)
    P = rng.normal(size=(500, 12)) @ rng.normal(size=(12, 12))
    Q = np.where(rng.random((30, 12)) < 0.5, np.nan, rng.normal(size=(30, 12)) @ rng.normal(size=(12, 12)))
    Q[3] = np.nan
    model = PosteriorCompleter(effort="fast").fit(P)
    plain, likely = model.search(Q, 7), model.search(Q, 7, above=0.5)
    monkeypatch.setattr(neighbours, "FEW_VALUES", 0)
    assert model._model.candidates.kept.many
    for found, other in ((model.search(Q, 7), plain), (model.search(Q, 7, above=0.5), likely)):
        assert "narrow" in model._model.candidates.kept.__dict__
        np.testing.assert_array_equal(found.ids, other.ids)
        np.testing.assert_allclose(found.scores, other.scores, atol=1e-14)
    grown = PosteriorCompleter(effort="fast").fit(P).partial_fit(P[:2] + 1)
    assert len(grown._model.candidates.kept.narrow.exact) == 502


def test_no_copy_without_room(monkeypatch):
    monkeypatch.setattr(neighbours, "FEW_VALUES", 0)
    kept = KeptRows(np.ones((10, 2)))
    assert kept.many
    monkeypatch.setattr(neighbours, "available_bytes", lambda: 100)
    assert not kept.many
    _ = kept.narrow  # one that is there is used
    assert kept.many


@pytest.mark.parametrize(("few", "widest", "narrowed"), [(19, 2, True), (20, 2, False), (19, 1, False), (20, 1, False)])
def test_only_many_rows_of_moderate_width_are_narrowed(monkeypatch, few, widest, narrowed):
    monkeypatch.setattr(neighbours, "FEW_VALUES", few)
    monkeypatch.setattr(neighbours, "WIDEST", widest)
    assert KeptRows(np.ones((10, 2))).many is narrowed


@settings(max_examples=60, **EVERY)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_one_vector_among_few_wide_rows_reads_an_outline(kind, seed, monkeypatch):
    """Whatever the outline leaves, the rows found and their order are those of all products, each summed by itself."""
    monkeypatch.setattr(neighbours, "WIDE", 1)
    monkeypatch.setattr(narrow, "DIRECTIONS", 3)
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(32, 300)), int(rng.integers(1, 40))
    kept = KeptRows(unit_rows(some_rows(kind, rng, n, d)))
    k = int(rng.integers(1, n // 16 + 1))
    u = rng.uniform(0, 1) * kept.unit[:1] if seed % 3 else rng.normal(size=(1, d)) / d
    ids, scores = kept.nearest(u, k, (-1.0, 1.0))
    exact = narrow.exact_products(kept.unit, u[0]).clip(-1, 1)
    np.testing.assert_allclose(scores[0], np.sort(exact)[::-1][:k], atol=1e-14)
    np.testing.assert_allclose(exact[ids[0]], scores[0], atol=1e-14)
    assert "outline" in kept.__dict__ and len(set(ids[0])) == k
    some = kept.outline.nearest_to_one(kept.unit, u, k, (-1.0, 1.0))
    if some is not None:
        np.testing.assert_array_equal(some[0][0], np.argsort(-exact, kind="stable")[:k])


def test_a_single_query_of_wide_rows_compares_a_few_of_them(monkeypatch):
    """At 640 x 256, of which the outline leaves at most a quarter, all products are never computed."""
    rng = np.random.default_rng(2)
    P = rng.random((640, 4)) @ rng.random((4, 256)) + 0.01 * rng.random((640, 256))
    q = np.where(rng.random((1, 256)) < 0.8, np.nan, P[:1] + 0.01)
    model = PosteriorCompleter(effort="fast").fit(P)
    together = model.search(np.concatenate([q, q, q, q]), 5)
    monkeypatch.setattr(
        neighbours, "top_k", lambda scores, k: pytest.fail("all were compared") if k == 5 else top_k(scores, k)
    )
    alone = model.search(q, 5)
    np.testing.assert_array_equal(alone.ids[0], together.ids[0])
    np.testing.assert_allclose(alone.scores[0], together.scores[0], atol=1e-14)
