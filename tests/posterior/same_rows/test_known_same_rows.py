"""The parts of the search for duplicates by hand or in plain loops: scaled rows, partners, strangers, evidence."""

import numpy as np
import pytest

from simcomplete._posterior.same_rows.density import StrangerDensity, discrete_values, evident_below, snapped
from simcomplete._posterior.same_rows.evidence import RowPair, pairs_at
from simcomplete._posterior.same_rows.near_pairs import Partners, ScaledTable, remarkable

NAN = np.nan


def drawn(n=40, d=5, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0
    return np.where(rng.random(X.shape) < share, NAN, X)


# Scaled rows


def test_values_are_deviations_from_the_mean_and_constant_features_are_zero():
    X = np.array([[1.0, 7.0, NAN, 1e-3], [3.0, 7.0, NAN, NAN], [NAN, 7.0, NAN, 3e-3], [8.0, NAN, NAN, 5e-3]])
    found = ScaledTable.of(X)
    sd = np.sqrt((9 + 1 + 16) / 3)
    np.testing.assert_allclose(found.values[:, 0], [-3 / sd, -1 / sd, 0, 4 / sd])
    assert not found.values[:, 1:3].any()
    np.testing.assert_allclose(found.values[:, 3], np.array([-1, 0, 0, 1]) * np.sqrt(1.5), atol=1e-12)
    np.testing.assert_array_equal(found.observed, ~np.isnan(X))
    for size in (1e-200, 1e200):  # whose squares are not numbers
        np.testing.assert_allclose(ScaledTable.of(size * X).values, found.values, rtol=1e-12)


def test_the_covariance_is_of_rows_that_have_both_drawn_to_zero_by_four_rows():
    table = ScaledTable.of(drawn())
    C = np.zeros((5, 5))
    for f in range(5):
        for g in range(5):
            both = table.observed[:, f] & table.observed[:, g]
            total = np.sum((table.values[:, f] * table.values[:, g])[both])
            C[f, g] = total / (both.sum() + (4 if f != g else 0))
    assert np.linalg.eigvalsh(C)[0] > 1e-3
    np.testing.assert_allclose(table.covariance.times(np.eye(5)), C, atol=1e-10)


def test_features_that_no_two_rows_share_have_no_covariance():
    X = np.array([[1.0, NAN, NAN], [2.0, NAN, NAN], [NAN, 5.0, NAN], [NAN, 9.0, NAN]])
    C = ScaledTable.of(X).covariance.times(np.eye(3))
    np.testing.assert_allclose(C, np.diag([1.0, 1.0, 1e-6]), atol=1e-12)


# Partners


@pytest.mark.parametrize(
    ("distance", "common", "expected"),
    [(0.0, 3, 3 * np.log(0.001 / 2.001)), (2.0, 9, 0.0), (50.0, 9, 0.0), (np.inf, 0, np.inf)],
)
def test_how_remarkable_a_distance_is(distance, common, expected):
    assert remarkable(np.array([distance]), np.array([common]))[0] == pytest.approx(expected)


def test_partners_in_order_and_some_of_them():
    some = Partners(np.array([[9, 4, 7, -1]]), np.array([[0.5, 0.1, 0.5, np.inf]]), np.array([[3, 3, 3, 0]]))
    ordered = some.ordered()
    assert ordered.ids.tolist() == [[4, 7, 9, -1]] and ordered.distances.tolist() == [[0.1, 0.5, 0.5, np.inf]]
    left = ordered.only(np.array([[False, True, True, True]]))
    assert left.ids.tolist() == [[7, 9, -1, -1]]
    assert left.distances.tolist() == [[0.5, 0.5, np.inf, np.inf]] and left.common.tolist() == [[3, 3, 0, 0]]
    assert ordered.some(np.array([], dtype=int)).ids.shape == (0, 4)


def test_distances_one_at_a_time():
    table = ScaledTable.of(drawn(12, 4, 0.5))
    ids = np.array([[0, 1, 2, -1], [5, 6, 7, 8]])
    apart, common = table.compare(table.values[3:5], table.observed[3:5], ids)
    shared = set()
    for i in range(2):
        for j, other in enumerate(ids[i]):
            both = table.observed[3 + i] & table.observed[other]
            if other < 0 or not both.any():
                assert apart[i, j] == np.inf and common[i, j] == 0
                continue
            gap = (table.values[3 + i] - table.values[other])[both]
            assert apart[i, j] == pytest.approx(np.mean(gap**2)) and common[i, j] == both.sum()
            shared.add(int(both.sum()))
    assert 1 in shared  # one feature in common is enough here


def test_partners_are_at_most_as_many_as_asked_and_share_enough():
    table = ScaledTable.of(drawn(12, 4, 0.5))
    found = table.partners(3, most=4)
    assert found.ids.shape == (12, 4)
    for i in range(12):
        able = [j for j in range(12) if j != i and (table.observed[i] & table.observed[j]).sum() >= 3]
        assert sorted(found.ids[i][found.ids[i] >= 0]) == sorted(able) or len(able) > 4
        assert (found.common[i][found.ids[i] >= 0] >= 3).all()
    assert table.partners(2).ids.shape == (12, 11)
    assert ScaledTable.of(drawn(40)).partners(2).ids.shape == (40, 16)


def test_values_far_out_are_compared_without_rounding():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    X[:2] = [[1e9, 0.5, 0.5], [1e9, 0.5, 0.5 + 1e-3]]
    found = ScaledTable.of(X).partners(2, most=1)
    assert found.ids[0, 0] == 1 and found.ids[1, 0] == 0


# Strangers


def test_how_often_two_rows_have_the_same_value():
    X = np.array([[1.0, 1.0, 1.0, NAN], [1.0, 2.0, 1.0, NAN], [2.0, 3.0, 1.0, 4.0], [2.0, 4.0, 1.0, NAN]])
    density = StrangerDensity.of(ScaledTable.of(X), ScaledTable.of(X).partners(1), np.random.default_rng(0))
    # Two of six pairs; none, so at most once in n; all; one value alone says nothing.
    np.testing.assert_allclose(density.equal, [-np.log(2 / 6), np.log(4), 0.0, 0.0], atol=1e-12)
    assert density.n == 4 and density.step == 0 and density.slope == density.level == 0


def test_values_that_differ_are_a_step_apart_where_most_features_have_few():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 3)).astype(float)
    table = ScaledTable.of(X)
    gaps = [(np.ptp(table.values[:, f])) ** 2 for f in range(3)]
    assert StrangerDensity.of(table, table.partners(1), rng).step == pytest.approx(np.median(gaps))
    half = ScaledTable.of(np.hstack([X, rng.normal(size=(60, 3))]))
    assert StrangerDensity.of(half, half.partners(1), rng).step == 0
    assert sorted(discrete_values(half)) == [0, 1, 2]
    np.testing.assert_array_equal(discrete_values(half)[0], np.unique(half.values[:, 0]))
    most = ScaledTable.of(np.hstack([X, rng.normal(size=(60, 1))]))
    assert StrangerDensity.of(most, most.partners(1), rng).step > 0
    quarter = ScaledTable.of(np.repeat(np.arange(15.0), 4)[:, None])
    assert list(discrete_values(quarter)) == [0]
    assert not discrete_values(ScaledTable.of(np.append(np.arange(16.0), np.repeat(np.arange(11.0), 4))[:60, None]))


def test_growth_of_distances_one_row_at_a_time():
    table = ScaledTable.of(drawn(60, 6, 0.2))
    partners = table.partners(2, most=8)
    density = StrangerDensity.of(table, partners, np.random.default_rng(0))
    x, y = [], []
    for apart, common in zip(partners.distances, partners.common, strict=True):
        known = np.isfinite(apart[1:])
        if known.sum() < 3:
            continue
        L = np.log(apart[1:][known] + 1e-12)
        growth = np.sum(L.max() - L) / np.sum(L.max() > L)
        x.append(np.log(common[1:][known].mean()))
        y.append(np.log(2 / growth))
    x, y = np.array(x), np.array(y)
    slope = np.clip(np.polyfit(x, y, 1)[0], 0, 1)
    assert 0 < slope < 1
    assert density.slope == pytest.approx(slope, rel=1e-9)
    assert density.level == pytest.approx(np.median(y - slope * x) - np.log(1.35), rel=1e-9)


def test_strangers_are_counted_by_the_last_rival_and_by_chance():
    density = StrangerDensity(n=100, equal=np.array([1.0, 2.0, 0.5]), step=0.0, slope=0.5, level=0.3)
    rivals = Partners(
        np.array([[1, 2, 3], [4, 5, -1], [-1, -1, -1]]),
        np.array([[0.5, 0.2, 0.9], [0.4, 0.3, np.inf], [np.inf] * 3]),
        np.full((3, 3), 3),
    )
    both = np.array([[True, True, True], [False, True, True], [True, True, True]])
    found = density.strangers(np.array([0.01, 0.7, 0.01]), both, rivals)
    k = np.exp(0.3) * np.sqrt(3)
    assert found[0] == pytest.approx(max(np.log(3) + k / 2 * np.log(0.01 / 0.9), np.log(100) - 3.5), abs=1e-9)
    many = StrangerDensity(n=10**9, equal=density.equal, step=0.0, slope=0.5, level=0.3)
    assert many.strangers(np.array([0.01]), both[:1], rivals.some(np.array([0])))[0] == pytest.approx(
        np.log(10**9) - 3.5
    )
    far = density._replace(equal=np.full(3, 9.0)).strangers(np.array([0.01, 0.7, 0.01]), both, rivals)
    np.testing.assert_allclose(far, [np.log(3) + k / 2 * np.log(0.01 / 0.9), np.log(2), 0.0], rtol=1e-6, atol=1e-9)


def test_a_step_counts_as_a_distance():
    density = StrangerDensity(n=2, equal=np.full(2, 50.0), step=0.4, slope=0.0, level=np.log(3.0))
    rivals = Partners(np.array([[1]]), np.array([[0.3]]), np.array([[4]]))
    found = density.strangers(np.array([0.0]), np.array([[True, True]]), rivals)
    assert found[0] == pytest.approx(1.5 * np.log((0.4 / 2) / (0.3 + 0.4 / 4)), rel=1e-9, abs=1e-9)


def test_partners_are_evident_where_ten_times_as_many_are_near():
    logs = np.log([1e-5, 2e-5, 3e-3, 5e-2, 0.2, 0.5, 0.7, 0.9, 1.0, 1.0])
    # 10 e^s against a tenth of the rank: 1e-4 <= .1, 2e-4 <= .2, .03 <= .3, .5 > .4
    assert evident_below(np.random.default_rng(0).permutation(logs)) == pytest.approx(np.log(3e-3))
    assert evident_below(np.log([0.5, 0.9])) == -np.inf and evident_below(np.zeros(0)) == -np.inf


# Evidence


def test_rivals_come_behind_the_partner_and_are_not_equal_to_it():
    Z = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.1, 0.0, 0.1]])
    table = ScaledTable(Z, np.ones((5, 3), dtype=bool))
    partners = table.partners(1, most=4)
    assert partners.ids[0].tolist() == [1, 2, 4, 3]
    pair = pairs_at(table, np.array([0]), partners.some([0]), 0)
    assert pair.distance.tolist() == [0.0] and pair.common.tolist() == [3]
    assert pair.rivals.ids[0].tolist() == [4, 3, -1, -1]
    later = pairs_at(table, np.array([0]), partners.some([0]), 2)
    assert later.distance[0] == pytest.approx(0.02 / 3) and later.rivals.ids[0].tolist() == [3, -1, -1, -1]
    other = pairs_at(table, np.array([0]), partners.some([0]), 0, np.array([[0.0, 0.0, 0.3]]))
    assert other.distance[0] == pytest.approx(0.03)


def test_the_seven_features_of_a_pair():
    table = ScaledTable.of(drawn(50, 5, 0.25, seed=3))
    partners = table.partners(2)
    density = StrangerDensity.of(table, partners, np.random.default_rng(0))
    rows = np.arange(20)
    pair = pairs_at(table, rows, partners.some(rows), 0)
    found = pair.features(table, density)
    C = table.covariance.times(np.eye(5))
    variances = np.diag(C)
    C = 0.9 * C + 0.1 * np.diag(variances / 2 + variances.mean() / 2)

    def weighed(r, at):
        return np.log(r[at] @ np.linalg.solve(C[np.ix_(at, at)], r[at]) / len(at) + 1e-4)

    for i in rows:
        j, k = partners.ids[i, 0], partners.ids[i, 1]
        at = np.flatnonzero(table.observed[i] & table.observed[j])
        gap = table.values[i] - table.values[j]
        assert found[i, 0] == pytest.approx(np.log(np.mean(gap[at] ** 2) + 1e-4))
        assert found[i, 1] == pytest.approx(found[i, 0] - np.log(partners.distances[i, 1] + 1e-4))
        assert found[i, 2] == pytest.approx(pair.strangers(density)[i])
        assert found[i, 3] == pytest.approx(weighed(gap, at))
        theirs = np.flatnonzero(table.observed[i] & table.observed[k])
        other = weighed(table.values[i] - table.values[k], theirs)
        assert found[i, 4] == pytest.approx(found[i, 3] - other)
        assert found[i, 5] == pytest.approx(weighed(table.values[i], at))
        assert found[i, 6] == pytest.approx(np.log(len(at)))


def test_a_pair_without_rivals_is_compared_with_itself():
    table = ScaledTable.of(drawn(6, 3, 0.0))
    nobody = Partners(np.full((6, 2), -1), np.full((6, 2), np.inf), np.zeros((6, 2), dtype=np.int64))
    seen = table.observed
    pair = RowPair.of(table.values, seen, table.values[::-1], seen, nobody)
    density = StrangerDensity(6, np.zeros(3), 0.0, 0.0, 0.0)
    np.testing.assert_allclose(pair.features(table, density)[:, [1, 4]], 0.0, atol=1e-12)
    assert pair.some(np.arange(6) < 2).values.shape == (2, 3)


def test_snapped_to_the_nearest_value():
    values = np.array([1.0, 2.0, 4.0])
    found = snapped(np.array([-5.0, 1.4, 1.6, 2.9, 3.1, 99.0, 2.0]), values)
    assert found.tolist() == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 2.0]
    assert snapped(np.array([0.0, 9.0]), np.array([3.0])).tolist() == [3.0, 3.0]
