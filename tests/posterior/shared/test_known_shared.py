"""What the posterior models share, against numbers worked out by hand and plain loops."""

import array_api_strict
import numpy as np
import pytest

from simcomplete._posterior.shared import neighbours, rows
from simcomplete._posterior.shared.neighbours import Nearest, Probes, nearest_candidates, smoothing, sparse_weights
from simcomplete._posterior.shared.rows import Vectors, check_settings, diagonal_deficit, rows_in_units, typical_length
from simcomplete.errors import InputError

# Rows


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_rows_of_any_length_by_hand(xp):
    X = xp.asarray([[6.0, 8.0], [0.0, 0.0], [6e250, 8e250], [6e-250, 8e-250], [2e100, 0.0], [2e-100, 0.0]])
    scaled, unit = (np.asarray(x) for x in rows.scaled_rows(X, 2.0))
    np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0], [0.6, 0.8], [0.6, 0.8], [1, 0], [1, 0]])
    expected = [[3, 4], [0, 0], [6e99, 8e99], [6e-101, 8e-101], [1e100, 0], [1e-100, 0]]
    np.testing.assert_allclose(scaled, expected, rtol=1e-12)
    plain = rows.scaled_rows(X[:1, :], 2.0)
    np.testing.assert_allclose(np.asarray(plain[0]), [[3, 4]])
    np.testing.assert_allclose(np.asarray(plain[1]), [[0.6, 0.8]])
    assert rows.unit_rows(X[:, :0]).shape == (6, 0)


@pytest.mark.parametrize("row", [[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]])
def test_a_row_of_another_size_among_usual_ones(row):
    """Squares of lengths are 25 and 2.5e401, 2.5e-399 or 0: the row of another size is brought to where they can be."""
    X = np.array([[3.0, 4.0], row, [0.3, 0.4]])
    found = rows_in_units(X, 1.0)
    np.testing.assert_array_equal(found[[0, 2]], X[[0, 2]])
    length = {3e200: 1e100, 3e-200: 1e-100, 0.0: 0.0}[row[0]]
    np.testing.assert_allclose(found[1], [0.6 * length, 0.8 * length], rtol=1e-12)
    np.testing.assert_array_equal(rows_in_units(X[::2], 2.0), X[::2] / 2)


def test_observed_rows_by_hand():
    found = rows.ObservedRows.of(np.array([[6.0, np.nan], [6.0, 8.0]]), 2.0)
    assert found.values.tolist() == [[3.0, 0.0], [3.0, 4.0]]
    assert found.observed.tolist() == [[True, False], [True, True]]
    np.testing.assert_allclose(found.unit, [[1.0, 0.0], [0.6, 0.8]])
    assert found.some(slice(1, 2)).values.tolist() == [[3.0, 4.0]]
    assert rows.nonzero_or_one(np.array([2.0, 0.0, -1.0])).tolist() == [2, 1, 1]


def test_cosines_are_rounded_to_forty_bits():
    x = np.array([0.3, -0.7]) + 2.0**-43
    assert rows.rounded(x) is x
    assert x.tolist() == [round(0.3 * 2**40) / 2**40, round(-0.7 * 2**40) / 2**40]


def test_distinct_rows_are_sorted_as_numpy_sorts_them():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (40, 3)) * 0.7
    first, which = rows.sorted_distinct(X)
    _, expected, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == expected.tolist()
    assert which.tolist() == place.ravel().tolist()
    assert rows.sorted_distinct(np.array([[0.0], [-0.0]]))[1].tolist() == [0, 0]
    first, which = rows.distinct_masks(np.array([[True, False], [False, False], [True, False]]))
    assert (first.tolist(), which.tolist()) == ([0, 1], [0, 1, 0])


# Neighbours


def overlap(values, observed, unit):
    found = np.zeros((len(values), len(unit)))
    for i, (q, o) in enumerate(zip(values, observed, strict=True)):
        for j, p in enumerate(unit):
            size = np.linalg.norm(q[o]) * np.linalg.norm(p[o])
            found[i, j] = q[o] @ p[o] / size if size > 0 else 0.0
    return np.round(found * 2**40) / 2**40


@pytest.mark.parametrize("xp", [np, array_api_strict])
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("since", [None, 0, 2])
def test_nearest_candidates_in_a_loop(xp, repeated, since):
    rng = np.random.default_rng(1)
    P = rng.standard_normal((9, 4))
    P[3, :2] = 0.0
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    observed = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 1], [1, 1, 1, 1]], dtype=bool)
    if repeated:
        observed[4] = observed[1]
    values = np.where(observed, rng.standard_normal((5, 4)), 0.0)
    excluded = np.arange(9) == 6
    cosines = overlap(values, observed, unit)
    if since is not None:
        cosines[since:, excluded] = -np.inf
    probes = Probes.of(values, observed)
    assert len(probes.masks) == (4 if repeated else 5)
    moved = Probes(xp.asarray(probes.values), xp.asarray(probes.masks), probes.which)
    there, squares = xp.asarray(unit), xp.asarray(unit**2)
    given = (there, squares, 20) if since is None else (there, squares, 20, excluded, since)
    found = moved.nearest(*given)
    for i in range(5):
        order = np.argsort(-cosines[i], kind="stable")
        assert found.ids[i].tolist() == order.tolist()
        np.testing.assert_allclose(found.cosines[i], cosines[i][order], atol=1e-11)
        np.testing.assert_allclose(found.energies[i], [np.sum(unit[j, observed[i]] ** 2) for j in order])
    few = moved.nearest(there, squares, 3)
    assert few.ids.shape == (5, 3)


def test_cosines_half_way_are_rounded_anew_up_to_two_steps_below_the_last(monkeypatch):
    """Only those that can matter: beside the last neighbour that is kept."""
    step = neighbours.RESOLUTION
    monkeypatch.setattr(neighbours, "row_blocks", lambda n, _: asked.append(n) or [slice(0, n)])
    asked = []
    probes = Probes.of(np.ones((1, 1)), np.ones((1, 1), dtype=bool))
    unit = np.ones((6, 1))
    steps = np.array([[9.0, 8.0, 7.0, 6.0, 5.0, -np.inf]])
    halves = np.array([[9.5, 8.5, 7.5, 6.5, 5.5, 0.5]])
    halves[0, 1] = 8.2  # no rounding error carries this one to another step
    changed = probes._settle(halves.copy(), steps, np.array([[8.0]]), unit)
    assert asked == [3] and changed  # 9, 7 and 6: 5 is too far down
    assert steps.tolist() == [[step, 8.0, step, step, 5.0, -np.inf]]


def test_nearest_are_all_but_one_at_most():
    unit = np.eye(3)
    for most, count in ((1, 1), (2, 2), (3, 2), (48, 2)):
        assert nearest_candidates(unit, np.ones((1, 3)), np.ones((1, 3), dtype=bool), most).ids.shape == (1, count)
    assert nearest_candidates(np.eye(60), np.ones((1, 60)), np.ones((1, 60), dtype=bool)).ids.shape == (1, 48)
    assert nearest_candidates(unit[:1], np.ones((1, 3)), np.ones((1, 3), dtype=bool)).ids.tolist() == [[0]]


def test_neighbours_are_merged_by_cosine_and_then_by_position():
    a = Nearest(np.array([[0, 2]]), np.array([[0.9, 0.5]]), np.array([[1.0, 2.0]]))
    b = Nearest(np.array([[5, 4]]), np.array([[0.9, 0.7]]), np.array([[3.0, 4.0]]))
    found = a.merged(b, 3)
    assert found.ids.tolist() == [[0, 5, 4]]
    assert found.cosines.tolist() == [[0.9, 0.9, 0.7]]
    assert found.energies.tolist() == [[1.0, 3.0, 4.0]]
    one = found.some(slice(0, 1), 1)
    assert (one.ids.tolist(), one.cosines.tolist(), one.energies.tolist()) == ([[0]], [[0.9]], [[1.0]])


@pytest.mark.parametrize("k", [1.5, 3.0, 10.0, 100.0])
def test_smoothing_in_a_loop(k):
    rng = np.random.default_rng(0)
    cosines = np.sort(rng.uniform(-1, 1, (4, 12)))[:, ::-1].copy()
    cosines[3] = 0.25
    found = smoothing(cosines, k)
    for row, w in zip(cosines, found, strict=True):
        D = [2 * row[0] - 2 * c for c in row]
        low, high = 1e-4, 100.0
        for _ in range(12):
            middle = np.sqrt(low * high)
            expected = [np.exp(-x / (middle * (np.mean(D) or 1.0))) for x in D]
            if sum(expected) ** 2 / sum(x * x for x in expected) < min(k, 0.8 * 12):
                low = middle
            else:
                high = middle
        np.testing.assert_allclose(w, np.array(expected) / sum(expected), rtol=1e-9)


def test_sparse_weights_by_hand():
    W = sparse_weights(np.array([[2, 0], [1, 3]]), np.array([[0.5, 0.25], [1.0, -1.0]]), 5)
    assert W.toarray().tolist() == [[0.25, 0, 0.5, 0, 0], [0, 1, 0, -1, 0]]


# Vectors and settings


def test_uncertainty_and_what_the_diagonal_lacks():
    found = Vectors(np.zeros((4, 2)), np.array([0.0, 0.6, 1 - 1e-9, 1.0])).uncertainty
    np.testing.assert_allclose(found, [1.0, 0.8, 0.01, 0.0])
    lack = diagonal_deficit(np.array([[0.6, 0.8], [0.6, 0.0], [1.0, 0.0], [np.sqrt(1 - 1e-14), 0.0]]))
    np.testing.assert_allclose(lack, [0.0, 0.64, 0.0, 1e-14], rtol=0.05)
    assert lack[0] == lack[2] == 0.0
    # Rounding is up to 4 d eps: 8 eps of rows with two features.
    eps = np.finfo(np.float64).eps
    assert diagonal_deficit(np.array([[np.sqrt(1 - 8 * eps), 0.0]]))[0] == 0.0
    assert diagonal_deficit(np.array([[np.sqrt(1 - 9 * eps), 0.0]]))[0] > 0.0


@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
def test_the_typical_length_is_a_median(scale):
    P = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 1.0], [0.0, 7.0]]) * scale
    assert typical_length(P) == pytest.approx(5.0 * scale)
    assert typical_length(0 * P) == 1.0
    assert typical_length(np.array([[1e308, 1e308, 1e308]])) == pytest.approx(1e308 * np.sqrt(3))
    assert typical_length(np.array([[5e-324, 0.0]])) == np.finfo(np.float64).tiny


@pytest.mark.parametrize(("effort", "objective", "word"), [("lazy", "error", "effort"), ("full", "speed", "objective")])
def test_settings_there_are_not(effort, objective, word):
    with pytest.raises(InputError, match=word):
        check_settings(effort, objective)
    check_settings("best", "recall")
