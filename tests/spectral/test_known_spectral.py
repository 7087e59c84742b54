"""Penalties, routes, the reduced problem and new rows of the spectral methods: by hand, or by dense algebra."""

from dataclasses import replace
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral import extend
from simcomplete._spectral.certify_passes import certify_passes
from simcomplete._spectral.eigen import reduced, routes
from simcomplete._spectral.eigen.reduced import dense_largest
from simcomplete._spectral.eigen.routes import orientation
from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, SpectralProblem, SquaredFrobenius
from simcomplete.errors import InputError, MemoryLimitError

# Penalties: of eigenvalues 3 and 4 where nothing else is said.


@pytest.mark.parametrize(
    ("penalty", "value", "derivative", "shrunk"),
    [
        (Nuclear(), 7.0, [1.0, 1.0], [3.5, 1.5, 0.0]),
        (NuclearMinusFrobenius(), 2.0, [0.4, 0.2], None),
        (NoPenalty(), 0.0, [0.0, 0.0], [4.0, 2.0, 0.0]),
        (SquaredFrobenius(), 25.0, [6.0, 8.0], [2.0, 1.0, 0.0]),
        (SquaredFrobenius(0.5), 12.5, [3.0, 4.0], [4 / 1.5, 2 / 1.5, 0.0]),
    ],
)
def test_penalties_by_hand(penalty, value, derivative, shrunk):
    s = np.array([3.0, 4.0])
    assert penalty.value(s) == pytest.approx(value)
    np.testing.assert_allclose(penalty.derivative(s), derivative)
    w = np.array([4.0, 2.0, -1.0])
    if shrunk is not None:
        np.testing.assert_allclose(penalty.shrink(w, 1.0), shrunk)
    np.testing.assert_allclose(penalty.expand(penalty.shrink(w, 1.0)[:2], 1.0), w[:2])


def test_nuclear_minus_frobenius_by_hand():
    penalty = NuclearMinusFrobenius()
    # 4.5 - 1.5 and 5.5 - 1.5 have length 5, which becomes 6.5.
    np.testing.assert_allclose(penalty.shrink(np.array([5.5, 4.5, 0.5]), 3.0), [4 * 1.3, 3 * 1.3, 0.0])
    np.testing.assert_allclose(penalty.expand(np.array([4 * 1.3, 3 * 1.3]), 3.0), [5.5, 4.5])
    # Nothing is left: the largest alone, untouched.
    assert penalty.shrink(np.array([0.75, 0.5]), 3.0).tolist() == [0.75, 0.0]
    assert penalty.shrink(np.array([-1.0, -2.0]), 3.0).tolist() == [0.0, 0.0]
    assert penalty.shrink(np.empty(0), 3.0).size == 0
    assert penalty.expand(np.array([0.75, 0.0]), 3.0).tolist() == [0.75, 0.0]
    assert penalty.derivative(np.zeros(2)).tolist() == [1.0, 1.0]


# Eigenpairs of dense matrices


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_largest_eigenpairs_of_a_dense_matrix(partial, xp):
    S = np.diag([5.0, -2.0, 7.0, 1.0]) + 0.1
    w, U = dense_largest(xp.asarray(S), 2, partial=partial)
    every = np.linalg.eigvalsh(S)
    np.testing.assert_allclose(w, every[::-1][:2])
    np.testing.assert_allclose(S @ np.asarray(U), np.asarray(U) * w, atol=1e-12)
    assert w.flags.c_contiguous


def test_columns_are_turned_to_one_side():
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 4)))[0]
    signs = orientation(U)
    assert set(np.abs(signs)) == {1.0}
    np.testing.assert_array_equal(orientation(-U), -signs)
    assert (orientation(U * signs) == 1).all()


def test_which_route_is_cheapest():
    def dense(n):
        return SimpleNamespace(n=n)

    assert [
        routes.choose_route(dense(n), r) for n, r in ((100, 25), (100, 26), (2000, 10), (2001, 50), (2001, 51))
    ] == [
        "partial",
        "full",
        "partial",
        "iterative",
        "partial",
    ]


def test_candidates_and_queries_are_structured_where_that_halves_the_problem(monkeypatch):
    """Two queries and eight features, 12 unknowns; beyond 2000 rows wherever it is smaller."""
    assert operator_of(21, 8).reduced_size == 12
    assert [routes.choose_route(operator_of(n_p, 8), 2) for n_p in (21, 22)] == ["partial", "structured"]
    assert routes.SMALL == 2000
    monkeypatch.setattr(routes, "SMALL", 12)
    assert [routes.choose_route(operator_of(n_p, 8), 2) for n_p in (10, 11)] == ["partial", "structured"]
    monkeypatch.setattr(routes, "SMALL", 13)
    assert routes.choose_route(operator_of(11, 8), 2) == "partial"


def operator_of(n_p, d, n_q=2, seed=0, nothing=False):
    rng = np.random.default_rng(seed)
    P, Q = rng.standard_normal((n_p, d)) + 1, rng.standard_normal((n_q, d)) + 1
    Q[rng.random(Q.shape) < 0.4] = np.nan
    if nothing:
        Q[0] = np.nan
    return CandidateQuerySimilarity(HeldRows(P), HeldRows(Q), Measure(), False)


def test_eigenvalues_that_are_rounding_are_zero():
    found = routes.without_noise(np.array([2.0, 0.3, 0.1, 1e-9, -0.05]), 0.1)
    assert found.tolist() == [2.0, 0.3, 0.0, 0.0, -0.05]
    assert reduced.NOISE == 1e-11


@pytest.mark.parametrize("route", ["full", "partial"])
def test_a_matrix_of_rank_two_has_two_eigenvalues(route):
    F = np.random.default_rng(0).standard_normal((60, 2))
    S0 = F @ F.T
    assert (np.linalg.eigvalsh(S0)[40:58] > 0).any()  # what rounding makes of 0
    w = routes.largest_eigenpairs(DenseSimilarity(S0), 20, route).w
    assert (w[:2] > 1).all()
    assert (w[2:] <= 0).all()


# The reduced problem


@pytest.mark.parametrize("nothing", [False, True])
@pytest.mark.parametrize("rank", [3, 9, 20])
def test_the_reduced_problem_has_the_eigenpairs_of_the_whole(rank, nothing):
    operator = operator_of(20, 5, n_q=3, nothing=nothing)
    S0 = np.asarray(operator.dense())
    w, found = reduced.reduced_eigenpairs(operator, rank)
    every = np.linalg.eigvalsh(S0)[::-1]
    size = min(rank, 5 + 2 * 3)
    positive = every[:size] > 1e-9
    np.testing.assert_allclose(w[:size][positive], every[:size][positive], atol=1e-10)
    assert w.shape == (rank,)
    scale = np.arange(1.0, rank + 1)
    V = np.asarray(found.scaled_vectors(scale))
    assert V.shape == (23, rank)
    for k in np.flatnonzero(positive):
        np.testing.assert_allclose(S0 @ V[:, k], w[k] * V[:, k], atol=1e-9)
        assert np.linalg.norm(V[:, k]) == pytest.approx(scale[k])
    assert not V[:, found.lift.shape[1] :].any()
    assert not w[found.lift.shape[1] :].any()
    good = V[:, : int(positive.sum())]
    assert (orientation(good) == 1).all()  # the signs that every route gives
    _, below = found.factor(scale[: found.lift.shape[1]])
    np.testing.assert_allclose(below, V[20:, : found.lift.shape[1]], atol=1e-12)
    if nothing:
        assert not V[20].any()


def test_the_reduced_problem_is_refused_at_the_byte_that_does_not_fit(monkeypatch):
    operator = operator_of(20, 5, n_q=3)
    size = operator.reduced_size
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(3 * size**2 * 8 - 1))
    with pytest.raises(MemoryLimitError, match=f"{size} x {size}"):
        reduced.reduced_eigenpairs(operator, 2)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(3 * size**2 * 8))
    reduced.reduced_eigenpairs(operator, 2)


@pytest.mark.parametrize("route", ["auto", "full", "partial", "iterative", "structured"])
def test_every_route_gives_the_same_vectors(route):
    operator = operator_of(30, 4, n_q=2)
    found = routes.largest_eigenpairs(operator, 3, route)
    S0 = np.asarray(operator.dense())
    w, U = np.linalg.eigh(S0)
    U = U[:, ::-1][:, :3]
    U = U * orientation(U)
    np.testing.assert_allclose(found.w, w[::-1][:3], atol=1e-9)
    np.testing.assert_allclose(found.scaled_vectors(np.array([2.0, 0.5, 1.0])), U * [2.0, 0.5, 1.0], atol=1e-7)
    assert found.route == ("structured" if route == "auto" else route)
    assert (found.reduced is not None) is (found.route == "structured")
    with pytest.raises(InputError, match="needs complete candidates"):
        routes.largest_eigenpairs(DenseSimilarity(np.eye(3)), 2, "structured")
    with pytest.raises(InputError, match="unknown"):
        routes.largest_eigenpairs(operator, 2, "other")


# New rows


def test_the_inverse_by_hand():
    # V^T V = diag(4, 1, 0): eigenvalues of S0 were 4.5 and 1.5 with SMCNN of weight 1.
    V = np.zeros((5, 3))
    V[0, 0], V[1, 1] = 2.0, 1.0
    np.testing.assert_allclose(extend.inverse(V, Nuclear(), 1.0), np.diag([1 / 4.5, 1 / 1.5, 0.0]))
    R = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    np.testing.assert_allclose(
        extend.inverse(V @ R, Nuclear(), 1.0), R.T @ np.diag([1 / 4.5, 1 / 1.5, 0.0]) @ R, atol=1e-12
    )
    # By the rule of the numerical rank: 5 eps of the largest, 4.
    for size, kept in ((0.9, False), (1.1, True)):
        V[2, 2] = np.sqrt(size * 5 * np.finfo(np.float64).eps * 4)
        assert bool(extend.inverse(V, NoPenalty(), 1.0)[2, 2] > 0) is kept


def test_columns_that_are_orthogonal_up_to_rounding_are_taken_as_they_are():
    gram = np.array([[4.0, 0.0, 0.0], [0.0, 1e-12, 0.0], [0.0, 0.0, 0.0]])
    for off, as_they_are in ((0.9e-10, True), (1.1e-10, False)):
        gram[0, 1] = gram[1, 0] = off * 2e-6
        s, Q = extend.directions(gram)
        assert np.array_equal(Q, np.eye(3)) is as_they_are
        np.testing.assert_allclose(np.sort(s), [0.0, 1e-12, 4.0], atol=1e-15)
    s, Q = extend.directions(np.array([[2.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose((Q * s) @ Q.T, [[2, 1], [1, 2]])
    assert extend.directions(np.array([[1.0, 1.0], [1.0, 1.0]]))[0].min() >= 0


def test_new_rows_among_each_other():
    X = np.array([[3.0, 4.0, 1.0], [2.0, np.nan, 1.0], [np.nan, 1.0, 5.0], [1.0, 1.0, 0.0]])
    done = sc.complete(X, method="smcnn", rank=2, penalty=0.1)
    ext = sc.methods()["smcnn"].extend(done, HeldRows(X), Measure())
    np.testing.assert_allclose(ext.transform(X), done.factor, atol=1e-10)
    new = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]])
    S0 = sc.overlap_similarity(np.concatenate([X, new]))[4:, :4]
    V = np.asarray(done.factor)
    expected = S0 @ V @ np.linalg.inv(V.T @ V + 0.05 * np.eye(2))
    np.testing.assert_allclose(ext.transform(new), expected, atol=1e-10)
    among = ext.among(new)
    np.testing.assert_allclose(among, expected @ expected.T + np.diag([0.0, 1.0]), atol=1e-10)
    np.testing.assert_allclose(ext.overlap(new), S0)


# The certificate in passes


@pytest.mark.parametrize("turned", [0.0, 0.1])
def test_residuals_are_those_of_unit_vectors(turned):
    """Vectors that are turned into each other, and too long or short: what counts is |S0 u - w u| / |u|."""
    operator = operator_of(30, 5, n_q=3)
    problem = SpectralProblem(operator, Nuclear(), weight=0.2, rank=4)
    spectrum = routes.largest_eigenpairs(operator, 4, "structured")
    change = np.eye(4)
    change[1:3, 1:3] = [[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]]
    change = change * [1.0, 3.0, 0.25, 2.0]
    found = spectrum.reduced
    wrong = replace(found, lift=found.lift @ change, below=found.below @ change)
    certificate = certify_passes(problem, wrong, spectrum.w)
    U = np.asarray(wrong.scaled_vectors(np.ones(4)))
    errors = np.linalg.norm(np.asarray(operator.dense()) @ U - U * spectrum.w, axis=0) / np.linalg.norm(U, axis=0)
    assert certificate.absolute_residual == pytest.approx(errors.max(), rel=1e-6, abs=1e-9)
    assert certificate.residual == pytest.approx((errors / spectrum.w).max(), rel=1e-6, abs=1e-9)
    V = U * np.sqrt(spectrum.w - 0.1)
    S0 = np.asarray(operator.dense())
    assert certificate.objective == pytest.approx(np.sum((V @ V.T - S0) ** 2) + 0.2 * np.sum(V * V))
    assert certificate.rank == 4


def test_bytes_of_a_block_in_the_checks(monkeypatch):
    """What S0 needs of a row, and five rows of as many numbers as there are vectors."""
    operator = operator_of(30, 5, n_q=3)
    asked, plain = {}, HeldRows.fold

    def fold(self, work, merge, *, bytes_per_row, label, progress):
        asked[label] = bytes_per_row
        return plain(self, work, merge, bytes_per_row=bytes_per_row, label=label, progress=progress)

    monkeypatch.setattr(HeldRows, "fold", fold)
    spectrum = routes.largest_eigenpairs(operator, 4, "structured")
    certify_passes(SpectralProblem(operator, Nuclear(), weight=0.2, rank=4), spectrum.reduced, spectrum.w)
    room = operator.bytes_per_row + 8 * 5 * 4
    assert (asked["check, inner"], asked["check, outer"]) == (room, room)


def test_rows_without_evidence_that_are_mapped_to_positive_scores_keep_their_vectors():
    """With (1 + cosine) / 2 a row without evidence has similarity 1/2 with every other."""
    rng = np.random.default_rng(0)
    P, Q = rng.standard_normal((30, 4)), rng.standard_normal((2, 4))
    Q[0] = np.nan
    operator = CandidateQuerySimilarity(HeldRows(P), HeldRows(Q), Measure(positive=True), False)
    w, found = reduced.reduced_eigenpairs(operator, 3)
    V = np.asarray(found.scaled_vectors(np.ones(3)))
    S0 = np.asarray(operator.dense())
    np.testing.assert_allclose(S0 @ V, V * w, atol=1e-9)
    assert np.abs(V[30]).max() > 0.01
