"""How copies are learnt and told, once more with plain loops over rows, kinds and neighbours."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from simcomplete._posterior.candidates import copies
from simcomplete._posterior.candidates.copies import CopyDetector, learn_copies
from simcomplete._posterior.candidates.likely_sources import Agreement, mixed, ranked_first
from simcomplete._posterior.shared.copy_classes import (
    KINDS,
    RATES,
    CopyModel,
    Steps,
    feature_deviations,
    features,
    simulated_kinds,
)
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS
from simcomplete._posterior.shared.rows import Vectors

NAN = np.nan


def unit(X):
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def plain_apart(distances, others):
    """The first distance, then nine of rows that are not the same as the first; the last stands for those that lack."""
    order = np.argsort(distances, kind="stable")
    near = [(distances[i], others[i]) for i in order if np.isfinite(distances[i])]
    rest = [d for d, row in near[1:] if d != near[0][0] or (row != near[0][1]).any()] or [near[-1][0]]
    return [near[0][0], *(rest[min(i, len(rest) - 1)] for i in range(9))]


def test_neighbours_in_the_order_of_their_distances():
    """Of the second row the nearest are twins (rows 1 and 3), row 0 is as near and no twin; two neighbours lack."""
    rows = np.array([[1.0, 2.0], [5.0, 6.0], [7.0, 8.0], [5.0, 6.0]])
    distances = np.array([[4.0, 3.0, 2.0, 1.0], [0.5, 0.5, 0.9, 0.5], [np.inf, 2.0, np.inf, 1.0]])
    places = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 2, 3]])
    near = Agreement.of(distances, places, rows)
    np.testing.assert_array_equal(near.places, [[3, 2, 1, 0], [1, 0, 3, 2], [3, 1, 0, 2]])
    expected = [[1, 2, 3, 4, 4, 4, 4, 4, 4, 4], [0.5, 0.5, *[0.9] * 8], [1, *[2] * 9]]
    np.testing.assert_array_equal(near.apart, expected)
    for d, place, apart in zip(distances, places, near.apart, strict=True):
        assert plain_apart(d, rows[place]) == apart.tolist()


@pytest.mark.parametrize("twins", [False, True])
def test_with_one_neighbour_or_twins_alone_all_distances_are_the_same(twins):
    distances, places = np.full((1, 1 + twins), 0.5), np.arange(1 + twins)[None]
    near = Agreement.of(distances, places, np.ones((2, 3)))
    np.testing.assert_array_equal(near.apart, np.full((1, 10), 0.5))


# What is learnt


def simulated(n=9, k=MAX_NEIGHBOURS, d=7):
    """Candidates of which the last neighbours of some rows are the rows themselves; one row has no neighbour else."""
    rng = np.random.default_rng(5)
    P, raw = rng.random((k + 20, d)), rng.random((n, d))
    ids = np.stack([rng.choice(k + 20, k, replace=False) for _ in range(n)])
    P[ids[2, 4]] = 3 * raw[2]  # a copy of another length is one
    P[ids[3, k - 2]] = raw[3]
    P[ids[3, k - 1]] = raw[3]  # beyond those that are looked at
    P[ids[4, 5]] = raw[4] + 1e-2 * rng.random(d)  # nearly the same over what is seen, and not a copy
    observed = rng.random((n, d)) < 0.7
    observed[:, 0] = True
    cosines = np.einsum("nkd,nd->nk", unit(np.where(observed[:, None], P[ids], 0)), unit(np.where(observed, raw, 0)))
    near = SimpleNamespace(ids=ids, cosines=cosines)
    place = np.unique(ids)
    assert len(place) == len(P)
    neighbours = SimpleNamespace(near=near, rows={"raw": P, "unit": unit(P)})
    return P, raw, observed, SimpleNamespace(observed=observed, neighbours=neighbours, source=SimpleNamespace(n=len(P)))


@pytest.mark.parametrize(("repeated", "rate"), [(0.0, 0.02), (0.3, 0.3), (0.9, 0.5)])
@pytest.mark.parametrize("examples", [6, 100])
def test_what_is_learnt_from_simulated_queries(repeated, rate, examples, monkeypatch):
    P, raw, observed, queries = simulated()
    base = np.random.default_rng(0).random(len(raw))
    means = SimpleNamespace(
        outlying=lambda noise=None: base if noise is None else base[: noise.shape[1]] + noise.sum(2)
    )
    found = {}

    def noted(x, label, weight, rates):
        found.update(x=x, label=label, weight=weight, rates=rates)
        return "classes"

    monkeypatch.setattr(copies, "learn_classes", noted)
    detector = learn_copies(raw, queries, means, P, repeated, examples)
    used, deviations = min(examples, len(raw)), feature_deviations(P)
    values = simulated_kinds(raw[:used], observed[:used], deviations, Steps(P), np.random.default_rng(16))
    expected = []
    for (kind, noise, _), each in zip(KINDS, values, strict=True):
        for i in range(used):
            distances, others = [], []
            if kind:  # a copy has itself among its neighbours
                distances.append(np.mean(((each[i] - raw[i]) / deviations)[observed[i]] ** 2))
                others.append(raw[i])
            for j in queries.neighbours.near.ids[i, : MAX_NEIGHBOURS - 1]:
                if unit(P[j]) @ unit(raw[i]) <= 1 - 1e-6:
                    distances.append(np.mean(((P[j] - each[i]) / deviations)[observed[i]] ** 2))
                    others.append(P[j])
            outlying = base[i] + (0 if noise is None else np.sum(each[i] - raw[i]))
            expected.append((plain_apart(np.array(distances), others), outlying, observed[i]))
    apart, outlying, seen = map(np.array, zip(*expected, strict=True))
    np.testing.assert_allclose(found["x"], features(apart, outlying, seen), rtol=1e-6, atol=1e-9)
    assert found["label"].tolist() == [kind for kind in (0, 0, 1, 2, 3) for _ in range(used)]
    assert found["weight"].tolist() == [w for w in (0.5, 0.5, 1, 1, 1) for _ in range(used)]
    np.testing.assert_array_equal(found["rates"], [rate, 0.015, 0.003])
    assert RATES[0] == 0.02  # the usual ones stay
    assert detector.classes == "classes" and detector.n == len(P)
    np.testing.assert_array_equal(detector.deviations, deviations)
    np.testing.assert_array_equal(detector.coincidences, Steps(P).coincidences)


def test_from_rows_without_two_other_neighbours_nothing_is_learnt():
    """Every row has two neighbours: one is a copy of it, so that one is left to compare with."""
    raw = np.random.default_rng(0).random((5, 3))
    P = np.vstack([raw, np.ones((1, 3))])
    ids = np.column_stack([np.arange(5), np.full(5, 5)])
    near = SimpleNamespace(ids=ids, cosines=np.column_stack([np.ones(5), unit(raw) @ unit(np.ones(3))]))
    queries = SimpleNamespace(
        observed=np.ones((5, 3), dtype=bool),
        neighbours=SimpleNamespace(near=near, rows={"raw": P, "unit": unit(P)}),
        source=SimpleNamespace(n=6),
    )
    detector = learn_copies(raw, queries, None, P, 0.0)
    assert not detector.classes.weights.any() and detector.n == 6


# What is told


def plain_mixed(u, p, distances, sources, seen, tail):
    """One row: weights of sources by widths from .01 to .5, exp(-count (log w + distance / 2 w^2)), eight are used."""
    widths = np.geomspace(0.01, 0.5, 10)
    log = np.array([[-seen * (np.log(w) + e / (2 * w**2)) for w in widths] for e in distances])
    share = np.exp(log - log.max()).sum(axis=1)
    share = (share / share.sum())[:8]
    out = (1 - p * share.sum()) * u
    for part, source in zip(share, sources, strict=False):
        size = np.linalg.norm(source)
        out = out + p * part * source / np.hypot(size, np.sqrt(min(distances[0], 0.25) * tail))
    return out


def test_vectors_between_their_own_and_those_of_eight_sources():
    rng = np.random.default_rng(7)
    rows, observed = rng.random((30, 5)), np.array([[True, True, False, True, False], [False] * 4 + [True]])
    distances, places = np.sort(rng.random((2, 12)) / 9, axis=1), np.stack([rng.permutation(30)[:12] for _ in range(2)])
    distances[1] += 0.3  # more than the largest that uncertainty grows to
    u, p = rng.random((2, 5)) / 3, np.array([0.7, 0.2])
    found = mixed(u, p, distances, places, rows, observed, 1.7)
    for i in range(2):
        expected = plain_mixed(u[i], p[i], distances[i], rows[places[i]], observed[i].sum(), 1.7)
        np.testing.assert_allclose(found[i], expected, rtol=1e-12)


def test_zero_rows_as_sources_point_nowhere():
    place, seen = np.zeros((1, 1), dtype=int), np.ones((1, 2), dtype=bool)
    found = mixed(np.ones((1, 2)), np.array([0.25]), np.zeros((1, 1)), place, np.zeros((1, 2)), seen, 1.0)
    np.testing.assert_allclose(found, [[0.75, 0.75]])


def plain_lifted(u, source, neighbours, most):
    """(1 - w) u + w source with odds w / (1 - w) 1.2 times those that bring it to the first neighbour ahead of it."""
    odds = [(p - source) @ u / (1 - p @ source) for p in neighbours if (p - source) @ u > 0 and p @ source < 1 - 1e-9]
    if not odds or max(odds) / (1 + max(odds)) > most:
        return u
    w = min(1.2 * max(odds) / (1 + 1.2 * max(odds)), most)
    return (1 - w) * u + w * source


def told_rows():
    """Rows by how near they are to a candidate, with gaps, without any, and with nothing known."""
    rng = np.random.default_rng(11)
    P = rng.random((60, 6))
    P[41] = P[40]  # twins
    Q = np.vstack([P[:14] + np.linspace(0, 0.25, 14)[:, None] * rng.standard_normal((14, 6)), P[40], P[7], P[8], P[9]])
    observed = rng.random(Q.shape) < 0.6
    observed[:, 0] = True
    observed[15] = True
    observed[16] = False
    ids = np.argsort(-unit(np.where(observed, Q, 0) + 1e-9) @ unit(P).T, axis=1)[:, :52]
    return P, np.where(observed, Q, NAN), observed, ids


@pytest.mark.parametrize("prior", [None, 0.3, (0.2, 0.1, 0.1)])
def test_copies_are_told_row_by_row(prior):
    P, Q, observed, ids = told_rows()
    rng, deviations, d = np.random.default_rng(2), feature_deviations(P), 6
    weights = 0.05 * rng.standard_normal((21, 4))
    weights[:2] = [[0, -3, -3, -3], [0, -1, -1, -1]]  # evidence falls with the logarithm of the distance
    model = CopyModel(weights, *np.array([[-20.0] * 5, [20.0] * 5, [0.0] * 5, [2.0] * 5]), RATES)
    detector = CopyDetector(model, deviations, np.full(d, 3.0), len(P))
    u = 0.9 * unit(rng.random((len(Q), d)))
    before = Vectors(u.copy(), np.linalg.norm(u, axis=1))
    outlying, solve = rng.random(len(Q)), partial(np.linalg.solve, P.T @ P / len(P))
    used, place = np.unique(ids[:, :MAX_NEIGHBOURS], return_inverse=True)
    place = np.column_stack([place.reshape(len(Q), -1), np.zeros((len(Q), 4), dtype=int)])  # more are not looked at
    found = detector.vectors(
        before,
        SimpleNamespace(values=np.nan_to_num(Q), observed=observed),
        SimpleNamespace(ids=ids),
        SimpleNamespace(near=SimpleNamespace(ids=place), rows={"raw": P[used], "unit": unit(P[used])}),
        SimpleNamespace(outlying=lambda: outlying),
        SimpleNamespace(second_moments=solve),
        prior,
    )
    np.testing.assert_array_equal(before.u, u)  # what was given stays
    ways = set()
    for i, (q, seen) in enumerate(zip(Q, observed, strict=True)):
        near = ids[i, :MAX_NEIGHBOURS]
        if not seen.any():
            assert found.match.ids[i] == -1 and not found.match.probabilities[i].any()
            np.testing.assert_array_equal(found.u[i], u[i])
            continue
        gaps = np.array([np.mean(((P[j] - q) / deviations)[seen] ** 2) for j in near])
        order = np.argsort(gaps, kind="stable")
        assert found.match.ids[i] == near[order[0]]
        vector, length, p = u[i], before.length[i], np.zeros(3)
        if gaps.min() <= 0.25 * (1 + 2 * np.sqrt(2 / seen.sum())):
            apart = np.array(plain_apart(gaps, P[near]))
            x = features(apart[None], outlying[i : i + 1], seen[None])
            plain = float(seen.sum())
            exact = max(3.0 * seen.sum() - np.log(60), 0) + 1
            most = [exact, min(plain, exact), min(plain, exact)] if gaps.min() == 0 else [plain] * 3
            evidence = model.evidence(x, np.array([most]))
            p = model.given(evidence, prior)[0]
            weight = model.given(evidence, prior, 50.0)[0].sum()
            alike = np.sum(apart == apart[0])
            first = not seen.all() and weight / max(1 - weight, 1e-9) / alike > 2
            weight = 0.0 if seen.all() else weight / alike
            if p.sum() > 1e-3 and weight > 0:
                vector = plain_mixed(vector, p.sum(), gaps[order], P[near[order]], seen.sum(), np.sum(deviations**2))
                length = min(np.linalg.norm(vector), 1.0)
                ways.add("mixed")
            source = unit(P[near[order[0]]])
            if first:
                vector, length = ranked_first(vector, length, source, unit(P[near]), solve)
                ways.add("first")
            elif weight > 0.1:
                moved = plain_lifted(vector, source, unit(P[near]), 0.8 * weight)
                length = min(np.linalg.norm(moved), 1.0) if (moved != vector).any() else length
                ways.add("lifted" if (moved != vector).any() else "left")
                vector = moved
        else:
            ways.add("far")
        np.testing.assert_allclose(found.match.probabilities[i], p, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(found.u[i], vector, rtol=1e-9)
        np.testing.assert_allclose(found.length[i], length, rtol=1e-9)
    assert ways >= {"mixed", "first", "far"} | ({"lifted", "left"} if prior is None else set())


def test_where_none_is_near_rows_stay_as_they_are():
    near = SimpleNamespace(near=SimpleNamespace(ids=np.zeros((1, 1), dtype=int)), rows={"raw": np.full((1, 2), 9.0)})
    before = Vectors(np.array([[0.1, 0.2]]), np.array([0.3]))
    detector = CopyDetector(None, np.ones(2), np.ones(2), 1)
    rows = SimpleNamespace(values=np.zeros((1, 2)), observed=np.array([[True, True]]))
    found = detector.vectors(before, rows, SimpleNamespace(ids=np.array([[4]])), near, None, None, None)
    assert found.u is before.u and found.match.ids.tolist() == [4] and not found.match.probabilities.any()


@pytest.mark.parametrize(("n", "farthest"), [(2, 0.75), (8, 0.5)])
def test_how_far_a_copy_may_be(n, farthest):
    """A quarter, and two standard deviations sqrt(2 / n) of it more: .25 (1 + 2) for two values, .25 (1 + 1) for 8."""
    zeros = np.zeros(5)
    detector = CopyDetector(
        CopyModel(np.zeros((21, 4)), zeros, zeros, zeros, zeros + 1, RATES), np.ones(n), np.zeros(n), 1
    )
    P, before = np.ones((1, n)), Vectors(np.full((1, n), 0.01), np.array([0.01 * n**0.5]))
    near = SimpleNamespace(near=SimpleNamespace(ids=np.zeros((1, 1), dtype=int)), rows={"raw": P, "unit": unit(P)})
    means = SimpleNamespace(outlying=lambda: np.ones(1))
    space = SimpleNamespace(second_moments=lambda B: B)
    for gap, may in ((farthest - 0.01, True), (farthest + 0.01, False)):
        rows = SimpleNamespace(values=P + np.sqrt(gap), observed=np.ones((1, n), dtype=bool))
        found = detector.vectors(
            before, rows, SimpleNamespace(ids=np.zeros((1, 1), dtype=int)), near, means, space, None
        )
        assert found.match.probabilities.any() == may
