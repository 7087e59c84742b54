"""The stack of completions (`effort="best"`) against a plain re-computation, and its parts by hand."""

from functools import cache

import numpy as np
import pytest
from plain_candidates import Simulated, Space, nearest, quantiles_for_other_rows, shrunk, unit

from simcomplete._posterior.candidates import stack
from simcomplete._posterior.candidates.grid import first_best, learn
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.neighbours import smoothing
from simcomplete._rows.table import HeldRows
from simcomplete.metrics import recall_at

AVERAGED = [(k, a) for k in ("k10", "k5", "k20") for a in (1.0, 0.75)] + [("r", 1.0), ("r", 0.75), ("k10", 0.0)]
STACKED = [("k10", 0.0), ("k5", 1.0), ("k20", 1.0), ("r", 1.0), ("p", 1.0)]
KEYS = list(dict.fromkeys([*AVERAGED, *STACKED]))


def data(n=48, d=5, n_q=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_q, 2)) @ rng.standard_normal((2, d)) + 1.0 + 0.4 * rng.standard_normal((n + n_q, d))
    Q = X[n:].copy()
    shown = np.array(
        [[True, True, False, True, False], [True, False, True, False, True], [False, True, True, True, True]]
    )
    Q[~shown[np.arange(n_q) % 3]] = np.nan
    Q[1] *= 5  # far outside the range of the candidates, so that clips matter
    return 3 * X[:n], 3 * Q


def ridge_weights(U, ids, cosines, o):
    """(exp(-D/s) + 0.3 I)^-1 exp(-d/s), D and d squared distances of unit rows on the features o, s the median."""
    X = unit(U[ids][:, o])
    D, d = 2 - 2 * X @ X.T, 2 - 2 * cosines
    s = max(np.median(d), 1e-3)
    return np.linalg.solve(np.exp(-D / s) + 0.3 * np.eye(len(ids)), np.exp(-d / s))


class Row:
    """One incomplete row: all its completions by key, in both spaces, and its features."""

    def __init__(self, q, o, spaces, U, most, deltas):
        self.o = o
        ids, cosines, energies = nearest(U, q, o, most)
        w = {f"k{k}": smoothing(cosines[None, :48], float(k))[0] for k in (5, 10, 20)}
        self.values, self.features, self.means, self.m = {}, {}, {}, {}
        local = {}
        for name, space in spaces.items():
            self.values[name] = space.scaled(q, o, cosines, energies)
            local[name] = {key: (weights, space.rows[ids[:48]]) for key, weights in w.items()}
            local[name]["r"] = (ridge_weights(U, ids, cosines, o), space.rows[ids])
            own = self.values[name], o, *local[name]["k10"]
            self.features[name] = space.features(*own, deltas[name])
        every = np.ones(len(q), dtype=bool)
        for name, space in spaces.items():
            first = self.complete(space, deltas[name], *local[name]["k10"], 0.75, clip=True)
            ids, cosines, _ = nearest(U, first, every, most)
            local[name]["p"] = (smoothing(cosines[None, :48], 5.0)[0], space.rows[ids[:48]])
            if name == "unit":
                local[name]["q"] = (ridge_weights(U, ids, cosines, every), space.rows[ids])
        for name, space in spaces.items():
            keys = [*KEYS, ("q", 1.0)] if name == "unit" else KEYS
            for key, a in keys:
                for clip in (False, True):
                    m = self.complete(space, deltas[name], *local[name][key], a, clip)
                    self.m[name, key, a, clip] = m
        self.means = {key: local["unit"][key][0] @ local["unit"][key][1] for key in ("r", "k10")}

    def complete(self, space, delta, weights, rows, a, clip):
        return space.complete(
            self.values[space.name], self.o, weights @ rows - weights.sum() * space.mean, a, delta, clip
        )

    def directions(self, lengths, average, singles, mean):
        def calibrated(key):
            m = self.m[key]
            return unit(m) * lengths[key].of(np.array([self.features[key[0]]]), np.array([m @ m]))[0]

        middle = sum(weight * calibrated(key) for key, weight in average.items())
        own = [calibrated(key) for key in singles]
        return np.array([middle, np.where(self.o, middle, 0.0), unit(mean), *own, self.means["r"], self.means["k10"]])


def plain_combine(A, T):
    """Ridge towards the first direction, its strength by five folds."""
    count, rows, _ = A.shape
    size = np.mean([[A[j, h] @ A[j, h] for h in range(rows)] for j in range(count)], axis=1)
    size = np.maximum(size, 1e-6 * size.max())
    start = np.eye(count)[0]

    def fitted(which, strength):
        left, right = np.diag(strength * len(which) * size), strength * len(which) * size * start
        for h in which:
            left = left + A[:, h] @ A[:, h].T
            right = right + A[:, h] @ T[h]
        return np.linalg.solve(left, right)

    def outside(strength):
        found = np.empty_like(T)
        for fold in range(min(5, rows)):
            rest = [h for h in range(rows) if h % 5 != fold]
            c = fitted(rest, strength) if rest else start
            for h in range(fold, rows, 5):
                found[h] = c @ A[:, h]
        return found

    ridges = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0, 10.0)
    errors = [np.mean((T - outside(strength)) ** 2) for strength in ridges]
    best = ridges[int(np.argmin(errors))]
    return fitted(range(rows), best), best, outside(best)


@cache
def learnt(seed):
    """What a stack learns: everything that `Stack` has, and the directions of the simulated queries."""
    P, Q = data(seed=seed)
    sim = Simulated(P, ~np.isnan(Q), np.random.default_rng(1), most=100)
    # Of 64 at most, with ten smoothed neighbours, as for the grid.
    deltas = {name: sim.delta(space) for name, space in sim.spaces.items()}
    left = sim.unit[sim.rest]
    rows = [Row(q, o, sim.spaces, left, sim.most, deltas) for q, o in zip(sim.queries, sim.shown, strict=True)]
    lengths, errors = {}, {}
    for key in rows[0].m:
        m = np.array([row.m[key] for row in rows])
        features = np.array([row.features[key[0]] for row in rows])
        lengths[key], errors[key] = learn(features, np.sum(m**2, axis=1), unit(m) @ sim.others.T, sim.truth)
    shared = {key: e for key, e in errors.items() if key[1:3] in AVERAGED}
    w = {key: np.exp(-(e / min(shared.values()) - 1) / 0.02) for key, e in shared.items()}
    w = {key: x / sum(w.values()) for key, x in w.items()}
    w = {key: x for key, x in w.items() if x >= 0.001}
    average = {key: x / sum(w.values()) for key, x in w.items()}
    singles = []
    for space in ("raw", "unit"):
        for key, a in [*STACKED, *([("q", 1.0)] if space == "unit" else [])]:
            pair = [errors[space, key, a, clip] for clip in (False, True)]
            singles.append((space, key, a, bool(first_best(pair))))
    mean = sim.spaces["unit"].mean
    B = np.array([row.directions(lengths, average, singles, mean) for row in rows]).transpose(1, 0, 2)
    return sim, deltas, lengths, average, singles, B


@pytest.mark.parametrize("objective", ["error", "recall"])
@pytest.mark.parametrize("seed", [0, 2])
def test_all_of_it_one_row_at_a_time(seed, objective):
    P, Q = data(seed=seed)
    given = {"effort": "best", "objective": objective}
    model, found = CandidateModel.fit_transform(HeldRows(P), Q, rng=np.random.default_rng(1), **given)
    sim, deltas, lengths, average, singles, B = learnt(seed)
    choice = model.choice
    assert choice.deltas == deltas
    assert choice.average == pytest.approx(average)
    assert choice.singles == tuple(singles)
    assert choice.spaces == ("raw", "unit")
    A = B @ sim.others.T
    c, strength, outside = plain_combine(A, sim.truth)
    recall = recall_at(outside, sim.truth, k=10)
    alone = [recall_at(S, sim.truth, k=10) for S in A]
    if objective == "recall" and max(alone) > recall:
        best = int(np.argmax(alone))
        c, recall, outside = np.eye(len(B))[best], alone[best], A[best]
    np.testing.assert_allclose(choice.coefficients, c, atol=1e-6)
    assert choice.strength == strength
    assert choice.recall == pytest.approx(recall)
    assert choice.error == pytest.approx(np.mean((sim.truth - outside) ** 2))
    length = np.minimum(np.linalg.norm(np.tensordot(c, B, axes=1), axis=1), 1.0)
    ratios = np.abs(sim.truth - outside) / np.sqrt(np.maximum(1 - length**2, 1e-4))[:, None]
    np.testing.assert_allclose(choice.quantiles, quantiles_for_other_rows(ratios), atol=1e-5)
    told = choice.as_dict()
    assert (told["stack"], told["ridge"], told["delta_raw"]) == (len(c), strength, deltas["raw"])
    assert (told["expected_squared_error"], told["expected_recall"]) == (choice.error, choice.recall)
    # Queries, with all candidates known.
    scale, U = np.median(np.linalg.norm(P, axis=1)), unit(P)
    spaces = {"raw": Space("raw", P / scale, P / scale), "unit": Space("unit", U, U)}
    for x, u, own in zip(Q, found.u, found.length, strict=True):
        o = ~np.isnan(x)
        row = Row(np.where(o, x, 0.0) / scale, o, spaces, U, 47, deltas)
        v = c @ row.directions(lengths, average, singles, spaces["unit"].mean)
        np.testing.assert_allclose(u, v / max(1.0, np.linalg.norm(v)), atol=1e-6)
        assert own == pytest.approx(min(1.0, np.linalg.norm(v)), abs=1e-6)


@pytest.mark.parametrize("seed", [0, 5])  # raw rows alone, unit rows as well
def test_values_are_the_average_in_the_units_of_the_queries(seed):
    P, Q = data(seed=seed)
    model, _ = CandidateModel.fit_transform(HeldRows(P), Q, rng=np.random.default_rng(1), effort="best")
    _, deltas, lengths, average, _, _ = learnt(seed)
    scale, U = np.median(np.linalg.norm(P, axis=1)), unit(P)
    spaces = {"raw": Space("raw", P / scale, P / scale), "unit": Space("unit", U, U)}
    left = {name: shrunk(space.C, deltas[name]) for name, space in spaces.items()}
    for x, mean, std in zip(Q, *model.values(Q)[:2], strict=True):
        o = ~np.isnan(x)
        row = Row(np.where(o, x, 0.0) / scale, o, spaces, U, 47, deltas)
        expected, variance = np.zeros(len(x)), np.zeros(np.sum(~o))
        for key, weight in average.items():
            name, m = key[0], row.m[key]
            # Every space has divided the row by a number of its own: by which, its observed values tell.
            size = np.linalg.norm(x[o]) / np.linalg.norm(row.values[name][o])
            S = left[name]
            own = np.diag(S[np.ix_(~o, ~o)] - S[np.ix_(~o, o)] @ np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, ~o)]))
            length = lengths[key].of(np.array([row.features[name]]), np.array([m @ m]))[0]
            expected += weight * size * m
            # A row of length b has the square |m|^2 / b^2; what is above |m|^2 is not known of it: nothing if b is 1.
            unknown = (m @ m) * (length**-2 - 1)
            variance += weight * size**2 * own * (unknown / own.sum() if unknown > 0 else 1.0)
        np.testing.assert_allclose(mean[~o], expected[~o], rtol=1e-6)
        np.testing.assert_allclose(std[~o], np.sqrt(variance), rtol=1e-5)


# Parts


@pytest.mark.parametrize("rows", [1, 2, 5, 13])
def test_the_combination_by_its_formula(rows):
    rng = np.random.default_rng(rows)
    A, T = rng.standard_normal((4, rows, 9)), rng.standard_normal((rows, 9))
    A[2] = 0.0  # a direction that is nothing
    T += A[0] + 0.5 * A[1]
    for found, expected in zip(stack.combine(A, T), plain_combine(A, T), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    zero = stack.combine(0 * A, T)
    np.testing.assert_allclose(zero[0], [1, 0, 0, 0])


def test_every_ridge_has_its_noise():
    """The less the others tell beside the first direction, the stronger the ridge towards it."""
    chosen = set()
    for seed, noise in enumerate(np.geomspace(1e-3, 30, 40)):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((8, 12, 3))
        T = A[0] + 0.3 * A[1] + noise * rng.standard_normal((12, 3))
        c, strength, _ = stack.combine(A, T)
        expected = plain_combine(A, T)
        assert strength == expected[1]
        np.testing.assert_allclose(c, expected[0], atol=1e-9)
        chosen.add(strength)
    assert len(chosen) >= 7


def test_soft_weights_by_hand():
    keys = [("unit", name, 1.0, False) for name in "abcd"]
    found = stack.soft(dict(zip(keys, [1.0, 1.02, 1.1, 1.5], strict=True)))
    w = np.exp([0.0, -1.0, -5.0])  # the last would weigh e^-25
    assert found == pytest.approx(dict(zip(keys[:3], w / w.sum(), strict=True)))
    # At a share just above and below a thousandth: e^-x of 1 + e^-x.
    near, far = -np.log(0.0011), -np.log(0.0009)
    assert len(stack.soft({keys[0]: 1.0, keys[1]: 1 + 0.02 * near})) == 2
    assert len(stack.soft({keys[0]: 1.0, keys[1]: 1 + 0.02 * far})) == 1
    assert stack.soft({keys[0]: 1.0, keys[1]: 1e-24, keys[2]: 0.0}) == {keys[1]: 1.0}


def test_the_plain_covariance_is_shrunk_halfway_to_the_mean_variance():
    np.testing.assert_allclose(shrunk(np.array([[2.0, 1.0], [1.0, 4.0]]), 0.5), [[2.25, 0.5], [0.5, 3.75]])
