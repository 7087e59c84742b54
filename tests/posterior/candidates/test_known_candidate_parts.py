"""Covariances, moments, conditional means, neighbours and passes of candidates: by hand and by plain loops."""

import pickle

import numpy as np
import pytest

from simcomplete._posterior.candidates import conditional, covariance, moments
from simcomplete._posterior.candidates.conditional import (
    ConditionalMeans,
    Queries,
    smoothing_weights,
    uncertainty,
    unit_sizes,
)
from simcomplete._posterior.candidates.covariance import Conditioner, Dense, LowRank, cholesky
from simcomplete._posterior.candidates.moments import CandidatePass, Space, Statistics, WideStatistics
from simcomplete._posterior.candidates.ridge import ridge_weights
from simcomplete._posterior.candidates.source import Candidates, NeighbourRows
from simcomplete._posterior.shared.neighbours import Nearest, Probes, smoothing
from simcomplete._rows.table import HeldRows

NOBODY = np.array([], dtype=np.int64)


def positive_definite(d=6, seed=0):
    A = np.random.default_rng(seed).standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


# Covariances


def test_shrinkage_by_hand():
    C = np.array([[2.0, 1.0], [1.0, 4.0]])  # towards 2/2 + 3/2 and 4/2 + 3/2
    expected = [[0.75 * 2 + 0.25 * 2.5, 0.75], [0.75, 0.75 * 4 + 0.25 * 3.5]]
    dense = Dense(C)
    np.testing.assert_allclose(dense.shrunk(0.25).C, expected)
    assert dense.shrunk(0.25) is dense.shrunk(0.25)
    assert dense.shrunk(0.5).C[0, 1] == 0.5
    assert C.tolist() == [[2, 1], [1, 4]]
    low = LowRank(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(low.shrunk(0.25).times(np.eye(2)), expected)
    np.testing.assert_allclose(low.variances, [2, 4])
    np.testing.assert_allclose(low.times(np.array([[1.0, 2.0]])), [[4.0, 9.0]])
    np.testing.assert_allclose(Dense(C).times(np.array([[1.0, 2.0]])), [[4.0, 9.0]])
    # What is left to each feature alone stays above 1e-9 of the mean target.
    thin = LowRank(np.array([[2.0], [2.0]]), np.zeros(2)).shrunk(0.0)
    np.testing.assert_allclose(thin.psi, [4e-9, 4e-9])
    assert LowRank(np.zeros((2, 1)), np.zeros(2)).shrunk(0.5).psi.min() > 0


@pytest.mark.parametrize("form", ["dense", "low rank"])
def test_every_mask_is_solved(form):
    d = 6
    low = LowRank(np.random.default_rng(0).standard_normal((d, 2)), np.random.default_rng(1).random(d) + 0.2)
    C = low.W @ low.W.T + np.diag(low.psi)
    observed = np.array([[bool(bits >> f & 1) for f in range(d)] for bits in (*range(64), 5, 63, 0)])
    sides = np.random.default_rng(2).standard_normal((2, len(observed), d))
    out = Conditioner(Dense(C) if form == "dense" else low, observed).weigh(sides)
    for i, o in enumerate(observed):
        assert not out[:, i, ~o].any()
        np.testing.assert_allclose(out[:, i, o], np.linalg.solve(C[np.ix_(o, o)], sides[:, i, o].T).T, atol=1e-9)


def test_the_last_32_masks_are_remembered(monkeypatch):
    dense, solved = Dense(positive_definite()), []
    plain = Dense._solver
    monkeypatch.setattr(Dense, "_solver", lambda self, mask: solved.append(tuple(mask)) or plain(self, mask))
    masks = np.array([[bool(bits >> f & 1) for f in range(6)] for bits in range(1, 34)])
    for mask in (*masks[:32], masks[0], masks[32], masks[1], masks[0]):
        list(dense.solvers(mask[None]))
    # The 33rd takes the place of the oldest: the second is still there, the first is not.
    assert solved == [*map(tuple, masks), tuple(masks[0])]
    copy = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(copy.C, dense.C)
    assert covariance.REMEMBERED == 32


def test_half_is_solved_directly_and_more_by_the_precision(monkeypatch):
    dense, sizes = Dense(positive_definite(6)), []
    monkeypatch.setattr(covariance, "cholesky", lambda A: sizes.append(len(A)) or cholesky(A))
    for count in (3, 4, 6):
        list(dense.solvers(np.arange(6)[None] < count))
    assert sizes == [3, 6, 2]  # itself; the whole and what is missing; everything is the precision


def test_matrices_that_cannot_be_factorised():
    singular = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-3]])  # indefinite: lifted by 1e-2 of the mean variance
    found = cholesky(singular)(np.eye(2))
    np.testing.assert_allclose(found, np.linalg.inv(singular + 1e-2 * (1 - 5e-4) * np.eye(2)), rtol=1e-6)
    slightly = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-5]])
    found = cholesky(slightly)(np.eye(2))
    np.testing.assert_allclose(found, np.linalg.inv(slightly + 1e-4 * (1 - 5e-6) * np.eye(2)), rtol=1e-6)
    assert cholesky(-np.eye(2))(np.ones((2, 1))).tolist() == [[0], [0]]
    assert cholesky(np.zeros((2, 2)))(np.ones((2, 1))).tolist() == [[0], [0]]
    assert cholesky(np.full((1, 1), 1e-190))(np.ones((1, 1)))[0, 0] == pytest.approx(1e190)
    assert cholesky(np.full((1, 1), 1e-210))(np.ones((1, 1)))[0, 0] == 0.0


# Moments


def test_statistics_by_hand():
    X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]])
    found = Statistics.of(X, np.array([1.0, 2.0]))
    assert (found.n, found.total.tolist()) == (3.0, [6.0, 6.0])
    assert found.outer.tolist() == [[20.0, 24.0], [24.0, 36.0]]
    assert found.squares.tolist() == [20.0, 36.0]
    left = found.minus(Statistics.of(X[:1], np.array([1.0, 2.0])))
    assert (left.n, left.mean.tolist(), left.covariance.C.tolist()) == (2.0, [4.0, 5.0], [[1.0, 3.0], [3.0, 9.0]])
    more = found.plus(Statistics.of(X[1:2], np.array([1.0, 2.0])))
    assert (more.n, more.mean.tolist()) == (4.0, [3.0, 3.5])
    assert (left.squares.tolist(), more.squares.tolist()) == ([20.0, 36.0], [24.0, 36.0])


def test_rounding_is_no_mean_and_no_variance():
    def with_sums(total, squares, outer, centre=0.0):
        one = np.ones(1)
        return Statistics(4.0, centre * one, total * one, outer * np.ones((1, 1)), squares * one)

    # A mean counts from 1e-14 of the centre and of the root mean square on, here 2.
    assert with_sums(4 * 1.9e-14, 16.0, 16.0).mean[0] == 0.0
    assert with_sums(4 * 2.1e-14, 16.0, 16.0).mean[0] == pytest.approx(2.1e-14)
    assert with_sums(-4 + 10e-14, 16.0, 16.0, centre=1.0).mean[0] == 0.0  # 2.5e-14, of 1 + 2
    assert with_sums(-4 + 14e-14, 16.0, 16.0, centre=1.0).mean[0] > 0.0
    # A variance from 1e-14 of the mean square on, here 4, and from (16 eps mean)^2 on.
    assert with_sums(0.0, 16.0, 4 * 3.9e-14).covariance.C[0, 0] == 0.0
    assert with_sums(0.0, 16.0, 4 * 4.1e-14).covariance.C[0, 0] == pytest.approx(4.1e-14)
    rounding = (16 * np.finfo(np.float64).eps * 1e3) ** 2
    assert with_sums(0.0, 0.0, 4 * 0.9 * rounding, centre=1e3).covariance.C[0, 0] == 0.0
    assert with_sums(0.0, 0.0, 4 * 1.1 * rounding, centre=1e3).covariance.C[0, 0] > 0.0


@pytest.mark.parametrize("rank", [2, 96])
def test_wide_rows_have_leading_directions_and_a_diagonal(rank, monkeypatch):
    monkeypatch.setattr(moments, "RANK", rank)
    X = np.random.default_rng(0).standard_normal((5, 9)) + 3.0
    X[:, 4] = 3.3
    found = WideStatistics(X)
    np.testing.assert_allclose(found.mean, X.mean(axis=0))
    C = np.cov(X.T, bias=True)
    w, U = np.linalg.eigh(C)
    k = min(rank, 4)
    leading = (U[:, -k:] * w[-k:]) @ U[:, -k:].T
    low = found.covariance
    assert low.W.shape == (9, k)
    np.testing.assert_allclose(low.W @ low.W.T, leading, atol=1e-12)
    np.testing.assert_allclose(low.psi, np.diag(C - leading), atol=1e-12)
    assert low.variances[4] == 0.0
    tiny = WideStatistics(1e-9 * X).covariance  # eigenvalues count beside the largest, however small that is
    np.testing.assert_allclose(tiny.W @ tiny.W.T, 1e-18 * leading, atol=1e-30)
    assert moments.is_wide(2001)
    assert not moments.is_wide(2000)


# Conditional means


def setup(space="raw", n=20, d=4):
    rng = np.random.default_rng(5)
    P = rng.standard_normal((n, d)) + 2.0
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    rows = P if space == "raw" else unit
    source = Candidates(HeldRows(P), 1.0).keep()
    observed = np.array([[True, True, False, False], [False, True, True, True], [False, False, False, False]])
    values = np.where(observed, rng.standard_normal((3, d)) + 2.0, 0.0)
    near = source.neighbour_rows(source.nearest(values, observed, 12, NOBODY), (space,))
    known = Space(space, Statistics.of(rows, rows.mean(axis=0)), rows.min(axis=0), rows.max(axis=0))
    return known, Queries(values, observed, near, source), rows


def test_queries_are_brought_to_the_scale_of_unit_rows():
    _, queries, _ = setup("unit")
    found = queries.values / unit_sizes(queries)[:, None]
    near = queries.neighbours.near
    for i in range(2):
        energy = smoothing(near.cosines, 10.0)[i] @ near.energies[i]
        assert np.sum(found[i] ** 2) == pytest.approx(energy)
    assert not found[2].any()  # nothing observed
    nothing = near._replace(energies=np.zeros_like(near.energies))
    moved = Queries(queries.values, queries.observed, NeighbourRows(queries.neighbours.rows, nothing), queries.source)
    np.testing.assert_array_equal(unit_sizes(moved), 1.0)
    some = queries.some(slice(1, 2), 3)
    assert (some.values.shape, some.observed.shape, some.neighbours.near.ids.shape) == ((1, 4), (1, 4), (1, 3))


def test_what_is_completed_is_clipped_where_it_was_missing():
    known, queries, rows = setup()
    means = ConditionalMeans(known, queries, 0.2)
    means.add(queries.neighbours, {"k": smoothing_weights(queries.neighbours, 3.0)})
    far = means.filled + 300 * means.shifts["k"]
    clipped = means.completion("k", 300.0, clip=True)
    plain = means.completion("k", 300.0)
    for i, o in enumerate(queries.observed):
        np.testing.assert_array_equal(plain[i, o], queries.values[i, o])
        np.testing.assert_array_equal(clipped[i, o], queries.values[i, o])
        np.testing.assert_allclose(plain[i, ~o], far[i, ~o])
        np.testing.assert_allclose(clipped[i, ~o], np.clip(far[i], rows.min(axis=0), rows.max(axis=0))[~o])
    np.testing.assert_array_equal(means.completion("k", 0.0)[2], means.filled[2])


def test_values_that_come_from_rounding_are_zero():
    known, queries, _ = setup()
    means = ConditionalMeans(known, queries, 0.2)
    means.filled[2] = [0.9e-14, -0.9e-14, 1.1e-14, -1.1e-14]
    assert means.completion("none", 0.0)[2].tolist() == [0.0, 0.0, 1.1e-14, -1.1e-14]
    assert conditional.MIDDLE == 10


def test_four_features_by_hand():
    C = Dense(np.diag([1.0, 2.0, 4.0, 3.0]))
    o = np.array([[True, True, False, False], [False, False, False, False], [True, True, True, True]])
    q, mean = (
        np.array([[1.0, 3.0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1.0]]),
        np.array([[0.0, 1.0, 2.0, 3.0], [0] * 4, [1.0] * 4]),
    )
    second = mean**2 + 0.5
    found = np.exp(uncertainty(q, o, mean, second, np.array([6.0, 0.0, -1.0]), C))
    tiny, least = 1e-12 * 10 + 1e-14, 1e-9 * 10 / 4 + 1e-28
    np.testing.assert_allclose(found[0], [1.0, (1 + 4) / 2, 3.001, 7.0])
    np.testing.assert_allclose(found[1], [2.0, least, 0.001, 10.0], rtol=1e-9)
    np.testing.assert_allclose(found[2], [tiny, least, 0.001, 1e-11], rtol=1e-9)
    zero = np.exp(uncertainty(q, o, mean, mean**2, np.zeros(3), Dense(np.zeros((4, 4)))))
    np.testing.assert_allclose(zero[1], [1e-14, 1e-28, 1e-3, 1e-312], rtol=1e-9, atol=1e-320)


def test_kernel_ridge_weights_on_the_features_of_a_row():
    _, queries, _ = setup("unit")
    near, rows = queries.neighbours.near, queries.neighbours.rows["unit"]
    W = ridge_weights(queries.neighbours, queries.observed).toarray()
    for i in range(2):
        X = rows[near.ids[i]][:, queries.observed[i]]
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        d = 2 - 2 * near.cosines[i]
        s = max(np.median(d), 1e-3)
        K = np.exp(-(2 - 2 * X @ X.T) / s) + 0.3 * np.eye(len(X))
        np.testing.assert_allclose(W[i, near.ids[i]], np.linalg.solve(K, np.exp(-d / s)), atol=1e-9)
    # Neighbours in the same direction: all cosines 1, distances as small as a thousandth.
    same = NeighbourRows({"unit": np.ones((3, 1))}, Nearest(np.array([[0, 1, 2]]), np.ones((1, 3)), np.ones((1, 3))))
    np.testing.assert_allclose(ridge_weights(same, np.ones((1, 1), dtype=bool)).toarray(), [[1 / 3.3] * 3])


# A pass over candidates


@pytest.mark.parametrize("copies", [False, True])
def test_one_pass_in_a_loop(copies):
    rng = np.random.default_rng(3)
    P = rng.standard_normal((11, 3))
    P[4], P[8] = 0.0, 3 * P[2]
    U = P / np.where(np.linalg.norm(P, axis=1) > 0, np.linalg.norm(P, axis=1), 1.0)[:, None]
    Q = rng.standard_normal((3, 3))
    probes = Probes.of(Q, np.ones((3, 3), dtype=bool))
    excluded = np.array([2, 6, 10])
    work = CandidatePass(probes, 4, 2.0, 1, {"raw": np.ones(3), "unit": None}, excluded, U[2:3] if copies else None)
    parts = [work(P[a:b], a) for a, b in ((0, 5), (5, 7), (7, 11))]
    found = work.merge(work.merge(parts[0], parts[1]), parts[2])
    gone = [2, 6, 8, 10] if copies else [2, 6, 10]
    assert found.excluded.tolist() == gone
    assert found.zero.tolist() == [4]
    cosines = Q / np.linalg.norm(Q, axis=1, keepdims=True) @ U.T
    cosines[1:, gone] = -np.inf  # for the real query, the first, nobody is excluded
    for i in range(3):
        order = np.argsort(-cosines[i], kind="stable")[:4]
        assert found.near.ids[i].tolist() == order.tolist()
    raw, unit = found.sums["raw"], found.sums["unit"]
    np.testing.assert_allclose(raw.ranges, [(P / 2).min(axis=0), (P / 2).max(axis=0)])
    np.testing.assert_allclose(unit.ranges, [U.min(axis=0), U.max(axis=0)])
    assert unit.statistics is None
    np.testing.assert_allclose(raw.statistics.total, np.sum(P / 2 - 1, axis=0))
    np.testing.assert_allclose(raw.excluded.total, np.sum(P[gone] / 2 - 1, axis=0))
    assert (raw.statistics.n, raw.excluded.n) == (11.0, float(len(gone)))


@pytest.mark.parametrize("kept", [True, False])
def test_candidates_tell_their_rows_and_neighbours(kept):
    rng = np.random.default_rng(0)
    P = rng.standard_normal((7, 3))
    P[5] = 0.0
    length = np.where(np.linalg.norm(P, axis=1) > 0, np.linalg.norm(P, axis=1), 1.0)[:, None]
    source = Candidates(HeldRows(P), 2.0, zero=np.array([5]), progress=False)
    source = source.keep() if kept else source
    np.testing.assert_allclose(source.unit[0:7, :], P / length)
    assert source.diagonal_deficit.tolist() == [0, 0, 0, 0, 0, 1, 0]
    found = source.rows(np.array([3, 1]), ("raw", "unit"))
    np.testing.assert_allclose(found["raw"], P[[3, 1]] / 2)
    np.testing.assert_allclose(found["unit"], (P / length)[[3, 1]])
    assert list(source.rows(np.array([3]), ("unit",))) == ["unit"]
    observed = np.array([[True, True, False]])
    for excluded, most in ((NOBODY, 6), (np.array([0, 2]), 4), (np.array([0, 1, 2, 3, 4, 5]), 1)):
        near = source.nearest(P[6:] * observed, observed, 48, excluded)
        assert near.ids.shape == (1, most)
        assert near.ids[0, 0] == 6
        assert not set(near.ids[0].tolist()) & set(excluded.tolist())
    rows = source.neighbour_rows(Nearest(np.array([[6, 1], [1, 4]]), np.ones((2, 2)), np.ones((2, 2))), ("raw",))
    assert rows.n == 3
    np.testing.assert_allclose(rows.rows["raw"][rows.near.ids], P[[[6, 1], [1, 4]]] / 2)
    np.testing.assert_allclose(rows.squares("raw"), rows.rows["raw"] ** 2)
