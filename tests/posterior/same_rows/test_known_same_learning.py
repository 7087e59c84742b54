"""How duplicates are learnt and listed, by hand: rates, examples, evidence of equal rows, pairs from both sides."""

import numpy as np
import pytest

from simcomplete._posterior.same_rows import find, learning
from simcomplete._posterior.same_rows.density import StrangerDensity
from simcomplete._posterior.same_rows.evidence import pairs_at
from simcomplete._posterior.same_rows.learning import SameModel, Strangers, learn_same
from simcomplete._posterior.same_rows.near_pairs import Partners, ScaledTable
from simcomplete._posterior.shared.copy_classes import RATES

NAN = np.nan


def drawn(n=60, d=6, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < share, NAN, rng.normal(size=(n, d)))


@pytest.fixture(scope="module")
def fitted():
    table = ScaledTable.of(drawn(120))
    partners = table.partners(2)
    return table, partners, learn_same(table, partners, 0.0, np.random.default_rng(0))


class Unlikely:
    """Classes that note what they are asked."""

    def probabilities(self, x, most, prior):
        self.asked = x, most, prior
        return np.full((len(x), 3), 0.1)


def test_equal_rows_by_the_number_of_strangers():
    Z = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [2.0, -1.0]])
    table = ScaledTable(Z, np.ones((4, 2), dtype=bool))
    density = StrangerDensity(4, np.full(2, 30.0), 0.0, 0.0, np.log(0.5))
    model = SameModel(table, density, None, np.array([0.2, 0.1, 0.1]))
    pair = pairs_at(table, np.arange(3), table.partners(1).some(np.arange(3)), 0)
    odds = np.exp(-pair.strangers(density)[0])
    p = model.probabilities(pair, None)
    assert p[0, 0] == pytest.approx(0.25 * odds / (1 + 0.25 * odds)) and p[0, 0] < 1
    assert model.of_equal(pair, 0.5)[0, 0] == pytest.approx(odds / (1 + odds))
    assert not p[2].any() and not p[:, 1:].any()
    # More strangers than one are no evidence against.
    crowded = model._replace(density=density._replace(n=10**9, equal=np.zeros(2)))
    assert crowded.of_equal(pair, None)[0, 0] == pytest.approx(0.2)


def test_evidence_is_at_most_one_nat_more_than_strangers_tell(fitted):
    table, partners, model = fitted
    note = Unlikely()
    pair = pairs_at(table, np.arange(9), partners.some(np.arange(9)), 0)
    model._replace(classes=note).probabilities(pair, 0.25)
    x, most, prior = note.asked
    np.testing.assert_allclose(np.ravel(most), np.maximum(-pair.strangers(model.density), 0) + 1)
    np.testing.assert_allclose(x, pair.features(table, model.density))
    assert prior == 0.25


def test_rates_are_at_least_the_usual_ones_and_at_most_a_half():
    rows = np.arange(10)
    nobody = Partners(np.full((10, 1), -1), np.full((10, 1), np.inf), np.zeros((10, 1), dtype=np.int64))
    exact, near, every = 1.0 * (rows < 2), 1.0 * (rows < 5), np.ones(10)
    found = Strangers(rows, nobody, exact, near, every)
    np.testing.assert_allclose(found.rates(0.1), [0.3, 0.25, RATES[2]])
    np.testing.assert_allclose(found.rates(0.9)[0], 0.5)
    np.testing.assert_allclose(
        Strangers(rows, nobody, exact, near * (rows < 4), every).rates(0.0), [0.2, 0.2, RATES[2]]
    )
    none = np.zeros(10)
    np.testing.assert_allclose(Strangers(rows, nobody, none, none, every).rates(0.0), RATES)
    # Rows that may have a copy count in part.
    np.testing.assert_allclose(Strangers(rows, nobody, exact / 2, near / 2, every).rates(0.0), [0.1, 0.25, RATES[2]])


def test_first_partners_are_taken_away_and_noted():
    ids = np.array([[1, 2], [3, 4]])
    partners = Partners(ids, np.array([[0.0, 0.5], [0.1, 0.2]]), np.full((2, 2), 3))
    before = Strangers(np.array([0, 5]), partners, np.zeros(2), np.zeros(2), np.array([0.4, 0.7]))
    after = before.without(np.array([True, False]), np.array([True, True]))
    assert after.partners.ids.tolist() == [[2, -1], [3, 4]]
    assert after.exact.tolist() == [1, 0] and not after.near.any()
    assert after.share.tolist() == [1, 0.7]  # of the next partner nothing is said
    last = after.without(np.array([False, True]), np.array([True, False]))
    assert last.near.tolist() == [0, 1] and last.exact.tolist() == [1, 0]
    assert last.some(np.array([False, True])).rows.tolist() == [5]


def test_partners_that_are_evident_are_no_strangers():
    X = drawn(100, share=0.0)
    X[[10, 20]] = X[0]
    X[30] = X[1] + 1e-6
    table = ScaledTable.of(X)
    partners = table.partners(2)
    model = SameModel(table, StrangerDensity.of(table, partners, np.random.default_rng(0)), None, RATES)
    rows = np.arange(5)
    share = np.array([0.0, 0.0, 0.4, 0.6, 1.0])
    left = Strangers.of(model, rows, partners.some(rows), -8.0, share)
    assert left.exact.tolist() == [1, 0, 0, 0, 0] and left.near.tolist() == [0, 1, 0.6, 0, 0]
    assert left.share.tolist() == [1, 1, 0.4, 0.6, 1]
    assert left.partners.ids[0, 0] == partners.ids[0, 2] and left.partners.ids[1, 0] == partners.ids[1, 1]
    np.testing.assert_array_equal(left.partners.ids[2], partners.ids[2])


def strangers(rows, partners, share=None):
    none = np.zeros(len(rows))
    return Strangers(rows, partners.some(rows), none, none, none + 1 if share is None else share)


def test_likely_copies_count_less_as_strangers(monkeypatch, fitted):
    table, partners, model = fitted
    seen = {}
    monkeypatch.setattr(learning, "learn_classes", lambda x, label, weight, _: seen.update(label=label, weight=weight))
    rows, share = np.arange(60), np.where(np.arange(60) < 20, 0.25, 1.0)
    learning._regressed(table, model.density, strangers(rows, partners, share), RATES, np.random.default_rng(3))
    fresh = seen["weight"][seen["label"] == 0]
    np.testing.assert_allclose(fresh, np.tile(0.5 * share / 0.75, 2))  # in all as many as without
    assert (seen["weight"][seen["label"] > 0] == 1).all()


def test_what_is_learnt_from(monkeypatch, fitted):
    table, partners, model = fitted
    seen = {}
    monkeypatch.setattr(learning, "learn_classes", lambda *given: seen.update(given=given))
    rows = np.arange(0, 120, 2)
    learning._regressed(table, model.density, strangers(rows, partners), RATES, np.random.default_rng(3))
    x, label, weight, rates = seen["given"]
    count = [int(np.sum((label == kind) & (weight == heavy))) for kind, heavy in ((0, 0.5), (1, 1), (2, 1), (3, 1))]
    assert count[0] == 2 * len(rows) and rates is RATES
    assert all(len(rows) - 3 <= each <= len(rows) for each in count[1:])
    # Fresh rows are with their best partner, exact copies at no distance, others at that of their noise.
    pair = pairs_at(table, rows, partners.some(rows), 0)
    np.testing.assert_allclose(x[: len(rows)], pair.features(table, model.density))
    np.testing.assert_allclose(x[label == 1, 0], np.log(1e-4))
    for kind, low, high in ((2, 0.02, 0.1), (3, 0.1, 0.5)):
        root = np.sqrt(np.exp(x[label == kind, 0]) - 1e-4)
        assert low * 0.8 < np.median(root) < high * 1.1 and root.max() < 2.5 * high
    # A copy has gaps of its own, so that it shares less than the row has.
    assert np.exp(x[label == 1, 6]).mean() < table.observed[rows].sum(axis=1).mean() - 0.5


def test_one_value_in_common_is_learnt_from(monkeypatch):
    table = ScaledTable.of(drawn(80, 3, 0.6))
    partners = table.partners(1)
    rows = np.flatnonzero(partners.ids[:, 0] >= 0)
    seen = {}
    monkeypatch.setattr(learning, "learn_classes", lambda x, label, *_: seen.update(x=x, label=label))
    density = StrangerDensity.of(table, partners, np.random.default_rng(0))
    learning._regressed(table, density, strangers(rows, partners), RATES, np.random.default_rng(0))
    common = np.exp(seen["x"][:, 6]).round()
    assert (common[seen["label"] > 0] == 1).any()


def test_noise_of_copies_keeps_to_values_that_there_are(monkeypatch):
    rng = np.random.default_rng(0)
    table = ScaledTable.of(rng.integers(0, 3, size=(100, 4)).astype(float))
    partners = table.partners(2)
    given = []
    plain = learning._simulated_pairs
    monkeypatch.setattr(learning, "_simulated_pairs", lambda *args: given.append(args[2]) or plain(*args))
    rows = np.arange(50)
    density = StrangerDensity.of(table, partners, rng)
    learning._regressed(table, density, strangers(rows, partners), RATES, rng)
    for q in given:
        for f in range(4):
            assert set(q[:, f]) <= set(table.values[:, f])


@pytest.mark.parametrize(("likely", "rounds"), [(0.0, 1), (0.5, 1), (0.6, 2)])
def test_what_is_learnt_again_without_pairs_that_are_likely_the_same(likely, rounds, monkeypatch):
    table = ScaledTable.of(drawn(60, share=0.0))
    partners, seen = table.partners(2), []
    plain = learning._regressed

    def noted(table, density, strangers, *rest):
        seen.append(strangers.partners.ids[:, 0].copy())
        return plain(table, density, strangers, *rest)

    monkeypatch.setattr(learning, "_regressed", noted)
    monkeypatch.setattr(SameModel, "probabilities", lambda self, pair, prior: np.full((len(pair.values), 1), likely))
    learn_same(table, partners, 0.0, np.random.default_rng(0))
    assert len(seen) == rounds
    np.testing.assert_array_equal(seen[-1], partners.ids[:, rounds - 1])


def test_too_few_rows_teach_nothing():
    for n, learnt in ((19, False), (24, True)):
        table = ScaledTable.of(drawn(n, share=0.0))
        model = learn_same(table, table.partners(2), 0.3, np.random.default_rng(0))
        assert (model.classes is not None) == learnt
        assert model.rates[0] == pytest.approx(0.3)
    table = ScaledTable.of(drawn(10, share=0.0))
    assert learn_same(table, table.partners(2), 0.9, np.random.default_rng(0)).rates[0] == 0.5


# The list of pairs


def test_distinct_rows_in_their_order():
    X = np.array([[5.0, NAN], [1.0, 0.0], [5.0, NAN], [1.0, -0.0], [0.0, 2.0], [5.0, 5.0]])
    first, which = find._distinct(X)
    assert first.tolist() == [0, 1, 4, 5] and which.tolist() == [0, 1, 0, 1, 2, 3]
    empty = find._distinct(np.empty((3, 0)))
    assert empty[0].tolist() == empty[1].tolist() == [0, 1, 2]


class Says(SameModel):
    """A model whose probabilities depend on the row that asks."""

    def probabilities(self, pair, prior):
        own = np.where(pair.values[:, 0] < 0, 0.8, 0.95)
        near = pair.distance < 0.05
        return np.column_stack([0.5 * own * near, 0.3 * own * near, 0.2 * own * near])


def test_pairs_are_seen_from_both_sides_and_the_less_likely_counts():
    X = np.array([[-1.0, 0.0], [-1.01, 0.0], [1.0, 0.0], [1.01, 0.0], [1.02, 0.0], [0.01, 5.0], [-0.01, 5.0]])
    X -= X.mean(axis=0) * [1, 0]  # so that signs stay
    X[5:, 0] = [0.001, -0.001]
    table = ScaledTable(X / X.std(axis=0), np.ones(X.shape, dtype=bool))
    partners = table.partners(1)
    model = Says(table, None, None, RATES)
    found = find._distinct_pairs(model, partners, 0.7, None, np.arange(7) * 10)
    assert {tuple(pair) for pair in found.rows.tolist()} == {(0, 10), (20, 30), (30, 40), (20, 40), (50, 60)}
    by = {tuple(pair): i for i, pair in enumerate(found.rows.tolist())}
    np.testing.assert_allclose(found.probabilities[by[0, 10]], [0.4, 0.24, 0.16])
    np.testing.assert_allclose(found.probabilities[by[50, 60]], [0.4, 0.24, 0.16])  # 0.95 seen from the first
    np.testing.assert_allclose(found.probabilities[by[20, 30]], [0.475, 0.285, 0.19])
    gap = np.linalg.norm(table.values[2] - table.values[3]) / np.sqrt(2)
    assert found.distances[by[20, 30]] == pytest.approx(gap) and found.common[by[20, 30]] == 2
    strict = find._distinct_pairs(model, partners, 0.9, None, np.arange(7))
    assert {tuple(pair) for pair in strict.rows.tolist()} == {(2, 3), (3, 4), (2, 4)}


def test_rows_that_are_repeated_are_paired_with_the_first():
    X = drawn(50, 4, share=0.0)
    X[[9, 30]] = X[3]
    X[40] = [NAN, NAN, NAN, 2.0]
    X[41] = X[40]  # too few values to say so
    found = find.same_pairs(X, 0.5, None, 2, np.random.default_rng(0), False)
    assert found.rows.tolist() == [[3, 9], [3, 30]]
    assert found.common.tolist() == [4, 4] and found.distances.tolist() == [0.0, 0.0]
    assert (np.diff(found.probabilities.sum(axis=1)) <= 0).all()


def test_partners_of_rows_far_out_are_told_apart_by_what_differs():
    """Squares of 1e9 would lose it."""
    rng = np.random.default_rng(0)
    near = np.repeat(3.0 * np.arange(10), 2) + np.tile([0.0, 0.1], 10)
    order = rng.permutation(20)
    values = np.column_stack([np.full(20, 1e9), near[order]])
    found = ScaledTable(values, np.ones((20, 2), dtype=bool)).partners(1, most=1)
    np.testing.assert_array_equal(order[found.ids.ravel()], order ^ 1)
