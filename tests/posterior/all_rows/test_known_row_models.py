"""Scales, neighbours, lengths and errors of incomplete rows: by hand, and by plain loops over rows."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_rows import drawn_model, incomplete

from simcomplete._posterior.all_rows import calibrate, packing
from simcomplete._posterior.all_rows.calibrate import FilledRows, RowModel
from simcomplete._posterior.all_rows.em import Filled
from simcomplete._posterior.all_rows.local import Local
from simcomplete._posterior.all_rows.packing import IncompleteRows, Scaling
from simcomplete._posterior.shared.neighbours import smoothing
from simcomplete._posterior.shared.rows import nonzero_or_one, unit_rows

# Rows and triangles


def test_rows_by_hand(monkeypatch):
    rows = IncompleteRows.of(
        np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan], [0.0, 5.0], [np.nan, 6.0], [7.0, 8.0]])
    )
    assert rows.values.tolist() == [[1, 0], [2, 3], [4, 0], [0, 5], [0, 6], [7, 8]]
    assert rows.observed.tolist() == [[1, 0], [1, 1], [1, 0], [1, 1], [0, 1], [1, 1]]
    assert rows.pattern.tolist() == [1, 0, 1, 0, 2, 0]
    monkeypatch.setattr(packing, "BLOCK", 99)
    for bytes_per_row, wanted in ((30, [3, 3]), (50, [1] * 6), (100, [1] * 6), (20, [4, 2])):
        blocks = list(rows.blocks(bytes_per_row))
        assert [len(some.values) for _, some in blocks] == wanted
        for name in ("values", "observed", "pattern"):
            np.testing.assert_array_equal(
                np.concatenate([getattr(some, name) for _, some in blocks]), getattr(rows, name)
            )
        assert np.concatenate([np.arange(6)[part] for part, _ in blocks]).tolist() == list(range(6))


def test_triangles_by_hand():
    found = packing.triangle(3)  # [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
    assert found.whole.tolist() == [0, 1, 2, 1, 3, 4, 2, 4, 5]
    assert found.times.tolist() == [1, 2, 2, 1, 2, 1]
    assert found.inner.tolist() == [0, 1, 3]
    assert found.edge.tolist() == [2, 4]
    assert packing.to_triangles(np.arange(9.0).reshape(1, 3, 3)).tolist() == [[0, 1, 2, 4, 5, 8]]
    assert packing.from_triangles(np.array([[1.0, 2.0, 3.0]]), 2).tolist() == [[[1, 2], [2, 3]]]


def test_keys_unit_rows_and_groups():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [0.0, 2.0]])
    same = packing.group_numbers(packing.keys(X))
    assert same.tolist() == [1, 1, 3, 2, 0]  # by the bytes of what is missing, then of the values
    assert packing.group_numbers(packing.as_bytes(np.array([[2, 1], [1, 2], [2, 1]], dtype=np.uint8))).tolist() == [
        1,
        0,
        1,
    ]
    found = unit_rows(np.array([[3.0, -4.0], [0.0, 0.0], [3e300, 4e300], [3e-300, 4e-300]]))
    np.testing.assert_allclose(found, [[0.6, -0.8], [0, 0], [0.6, 0.8], [0.6, 0.8]])
    assert nonzero_or_one(np.array([2.0, 0.0, -1.0])).tolist() == [2, 1, 1]


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_row_scales_in_a_loop(scale):
    X = incomplete(n=9) * np.arange(1, 10)[:, None]
    X[3] = np.nan
    X[4] = np.where(np.isnan(X[4]), np.nan, 0.0)
    found = Scaling.of(X * scale, "unit")
    d = X.shape[1]
    seen = [np.flatnonzero(~np.isnan(x)) for x in X]
    energy = np.full(d, 1 / d)
    for _ in range(10):
        total, count = np.zeros(d), np.zeros(d)
        for x, o in zip(X, seen, strict=True):
            count[o] += 1
            if len(o) and x[o].any():
                total[o] += x[o] ** 2 / (np.sum(x[o] ** 2) / energy[o].sum())
        energy = total / np.maximum(count, 1)
        energy /= energy.sum()
    np.testing.assert_allclose(found.energy, energy)
    expected = [
        np.sqrt(np.sum(x[o] ** 2) / energy[o].sum()) * scale if len(o) and x[o].any() else 1.0
        for x, o in zip(X, seen, strict=True)
    ]
    np.testing.assert_allclose(found.sizes(X * scale), expected)
    raw = Scaling.of(X * scale, "raw")
    np.testing.assert_allclose(raw.sizes(X[:2]), [np.nanmax(np.abs(X)) * scale] * 2)
    assert Scaling.of(np.zeros((2, 3)), "raw").largest == 1.0
    assert raw.energy.tolist() == [1 / d] * d


# Neighbours


def test_neighbours_move_rows_as_in_a_loop(monkeypatch):
    X, model = incomplete(n=60), drawn_model(space="raw")
    scaled = X / model.scaling.sizes(X)[:, None]
    filled = model.factors.complete(IncompleteRows.of(scaled))
    local = Local.of(filled)
    size = np.sum(filled.values**2, axis=1)
    np.testing.assert_allclose(local.lengths, np.sqrt(size / (size + filled.variance.sum(axis=1))))
    found = local.shift(model.factors, IncompleteRows.of(scaled), filled)
    unit = filled.values / np.linalg.norm(filled.values, axis=1, keepdims=True)
    C = model.factors.loadings @ model.factors.loadings.T + np.diag(model.factors.noise)
    for i, x in enumerate(X):
        scores = unit[i] @ unit.T * local.lengths
        scores[unit[i] @ unit.T > 1 - 1e-9] = -1.0
        order = sorted(range(60), key=lambda j, scores=scores: (-scores[j], j))[:48]
        mean = (smoothing(scores[order][None], 10.0) @ filled.values[order])[0]
        o, u = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        gap = mean - model.factors.mean
        expected = np.zeros(7)
        expected[u] = gap[u]
        if len(o):
            expected[u] -= C[np.ix_(u, o)] @ np.linalg.solve(C[np.ix_(o, o)], gap[o])
        np.testing.assert_allclose(found[i], expected, atol=1e-9)
    monkeypatch.setattr(packing, "BLOCK", 1)
    np.testing.assert_allclose(local.shift(model.factors, IncompleteRows.of(scaled), filled), found, atol=1e-12)


def test_one_row_has_no_neighbours_and_two_have_one():
    def filled(n):
        return Filled(np.eye(3)[:n] + 1, np.full((n, 3), 0.1), np.ones(n))

    assert Local.of(filled(1)) is None
    two = Local.of(filled(2))
    np.testing.assert_allclose(two.lengths, np.sqrt([6 / 6.3] * 2))
    model = drawn_model(d=3, X=np.ones((4, 3)))
    X = np.array([[2.0, 1.0, np.nan], [1.0, 2.0, np.nan]])
    assert np.abs(two.shift(model.factors, IncompleteRows.of(X), filled(2))[:, 2]).min() > 0


def test_landmarks_are_drawn_and_kept_in_order(monkeypatch):
    monkeypatch.setattr(calibrate, "LANDMARKS", 5)
    X, model = incomplete(), drawn_model()
    some = np.sort(np.random.default_rng(4).permutation(48)[:5])
    found = model.with_local(X, np.random.default_rng(4)).local
    scaled = IncompleteRows.of(X[some] / model.scaling.sizes(X[some])[:, None])
    np.testing.assert_array_equal(found.values, model.factors.complete(scaled).values)
    assert not np.any(model.fill(X).shift)
    assert np.any(replace(model, local=found).fill(X).shift)


# Vectors


def test_vectors_by_hand():
    done = FilledRows(
        np.array([[3.0, 0.0], [0.0, 0.0], [1.0, 0.0]]),
        np.array([[0.0, 4.0], [0.0, 0.0], [2.0, 2.0]]),
        np.array([4.0, 1.0, 9.0]),
        np.array([[0.0, 4.0], [0.0, 0.0], [0.0, 2.0]]),
    )
    model = replace(drawn_model(), strength=0.5, power=0.5, level=3.0)
    m = np.array([[3.0, 2.0], [0.0, 0.0], [1.0, 1.0]])  # half the way to neighbours
    np.testing.assert_allclose(model.values(done), m)
    assert model.factor(done).tolist() == [6.0, 3.0, 9.0]
    np.testing.assert_allclose(model.vectors(done), m / np.sqrt([[13 + 4 * 6], [1.0], [2 + 4 * 9]]))
    tuned = model.tuned(0.25, 1.0, done)
    assert (tuned.strength, tuned.power) == (0.25, 1.0)
    assert tuned.level == pytest.approx((4 + 4) / (4 * 4 + 4 * 9))  # the sum of variances stays
    assert model.tuned(0.0, 1.0, FilledRows(done.values, 0 * done.variance, done.misfit, 0.0)).level == 1.0
    plain = RowModel(model.factors, model.scaling)
    assert (plain.strength, plain.power, plain.level, plain.local) == (0.0, 0.0, 1.0, None)
    # Rows whose squares leave the range of numbers.
    far = FilledRows(np.array([[3e-200, 4e-200], [3e200, -4e200]]), np.zeros((2, 2)), np.ones(2), 0.0)
    np.testing.assert_allclose(plain.vectors(far), [[0.6, 0.8], [0.6, -0.8]])
