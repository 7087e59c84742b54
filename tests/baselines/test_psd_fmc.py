"""FMC: the step of one query, the batch and the sequential form, against the public programs and its definition."""

import numpy as np
import pytest
from scipy.optimize import brentq

import simcomplete as sc
from simcomplete._baselines.psd import fmc, fmc_sequential, fmc_step
from simcomplete._rows.xp import to_numpy


def split(golden):
    data = golden("fmc_onmc")
    return data, data["S0"], int(data["n_p"])


def complete(S0, n_p, **given):
    return sc.complete_similarity(S0, candidates=n_p, method="fmc", **given)


def test_one_query_is_the_public_step(golden):
    data, S0, n_p = split(golden)
    basis, block = fmc.basis_of_block(S0, n_p, 1e-8)
    np.testing.assert_array_equal(data["ref_step_v0"][:, 0], S0[:n_p, n_p])
    y, lam = fmc_step.place_queries(basis.s, basis.b, basis.c)
    np.testing.assert_allclose(lam, data["exact_lambda"], atol=1e-10)
    v = block[:, : len(basis.s)] @ y
    np.testing.assert_allclose(v, data["exact_Spq"], atol=1e-10)
    np.testing.assert_allclose(v[:, 0], data["ref_step_v"][:, 0], atol=3e-4)


def test_the_batch_form(golden):
    data, S0, n_p = split(golden)
    assert data["n_q"] == len(S0) - n_p
    done = complete(S0, n_p)
    S = done.similarity()
    np.testing.assert_allclose(S[:n_p, n_p:], data["exact_Spq"], atol=1e-10)
    np.testing.assert_allclose(S[:n_p, :n_p], S0[:n_p, :n_p], atol=1e-10)
    assert done.validity.ok
    assert done.factor is not None
    assert "10 reach the boundary" in done.status.message


@pytest.mark.parametrize(
    ("array", "tol"), [("exact_sequential", 1e-10), ("ref_onmc_s", 3e-4), ("ref_oamc", 3e-4)], ids=lambda v: str(v)
)
def test_the_sequential_form_is_onmc_s_and_oamc(golden, array, tol):
    data, S0, n_p = split(golden)
    done = complete(S0, n_p, preset="original")
    np.testing.assert_allclose(done.similarity(), data[array], atol=tol)
    assert done.validity.ok


def test_onmc_b_is_not_positive_semi_definite_and_says_so(golden):
    data, S0, n_p = split(golden)
    done = complete(S0, n_p, variant="onmc-b")
    np.testing.assert_allclose(done.similarity(), data["ref_onmc_b"], atol=3e-4)
    assert done.validity.psd.value == pytest.approx(-1.74, abs=0.01)
    assert "not to be positive semi-definite" in done.status.message


def test_the_step_agrees_with_a_scalar_root_finder():
    rng = np.random.default_rng(0)
    s = 10.0 ** rng.uniform(-9, 3, 30)
    b = rng.standard_normal((30, 40)) * np.sqrt(s)[:, None] * 10.0 ** rng.uniform(-3, 4, 40)
    c = rng.uniform(0.5, 2, 40)
    y, lam = fmc_step.place_queries(s, b, c)
    long = lam > 0
    assert 5 < long.sum() < 40
    np.testing.assert_allclose(np.sum(y**2, axis=0)[long], c[long], rtol=1e-13)
    for j in np.flatnonzero(long):
        root = brentq(lambda x, j=j: np.sum(b[:, j] ** 2 * s / (s + x) ** 2) - c[j], 0, 1e9, xtol=1e-300, rtol=1e-14)
        assert lam[j] == pytest.approx(root, rel=1e-8)
    np.testing.assert_allclose(y[:, ~long], (b / np.sqrt(s)[:, None])[:, ~long])


@pytest.mark.parametrize("length", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("before", [0, 1, 12, 60])
def test_small_systems_place_a_query_as_eigenvectors_do(before, length):
    rng = np.random.default_rng(before)
    base = np.append(10.0 ** rng.uniform(-6, 3, 30), np.zeros(3))  # three columns that only queries have
    R = rng.standard_normal((before, 33)) / 33**0.5
    if not before:
        base = base[:30]
        R = R[:, :30]
    inner = length * (np.sqrt(base) * rng.standard_normal(len(base)) + R.T @ rng.standard_normal(before))
    y = fmc_sequential.at_boundary(base, R, inner, 1.5)
    other = fmc_sequential.inside(base, R, inner, 1.5)
    assert y is not None or length < 30.0  # from there on far outside
    if y is None:  # left to the other: inside, or all but
        assert other @ other <= 1.5 * (1 + 1e-12)
    else:
        np.testing.assert_allclose(y, other, atol=1e-9)


def test_the_bracket_holds_where_that_of_the_public_program_does_not():
    # S = I and |v0| = 5: its bracket ends before the root, and it returns |v|^2 = 2.04 (METHODS, FMC, pitfall ii).
    y, lam = fmc_step.place_queries(np.ones(4), np.full((4, 1), 2.5), np.ones(1))
    np.testing.assert_allclose(y, 0.5)
    assert lam[0] == pytest.approx(4)


def test_a_diagonal_of_zero_leaves_nothing_to_place():
    y, lam = fmc_step.place_queries(np.ones(2), np.ones((2, 2)), np.array([0.0, 4.0]))
    np.testing.assert_allclose(y, [[0, 1], [0, 1]])
    assert (lam == 0).all()


def test_each_query_is_a_projection(small):
    """<v0 - v, u - v> <= 0 for every u that some sample could have: the error of a query never grows."""
    P, Q, truth = small
    S0, S_true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    V = sc.complete(P, Q, method="fmc").similarity("candidates", "queries")
    V0, V_true = S0[:60, 60:], S_true[:60, 60:]
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    others = np.random.default_rng(0).standard_normal((64, 300))
    U = unit @ (others / np.linalg.norm(others, axis=0))
    for j in range(20):
        assert np.max((V0 - V)[:, j] @ (U - V[:, [j]])) < 1e-9
        before, after = (np.sum((A[:, j] - V_true[:, j]) ** 2) for A in (V0, V))
        assert after <= before
    assert np.sum((V - V_true) ** 2) < 0.8 * np.sum((V0 - V_true) ** 2)


@pytest.mark.parametrize("n_p", [20, 150])
@pytest.mark.parametrize("variant", ["batch", "sequential", "onmc-b"])
def test_features_and_similarities_lead_to_the_same(digits, hide, n_p, variant):
    """More candidates than features, and fewer: two Gram matrices, one answer."""
    P, Q = digits[:n_p], hide(digits[200:215], 0.6)
    done = sc.complete(P, Q, method="fmc", variant=variant)
    by_block = complete(sc.overlap_similarity(np.vstack([P, Q])), n_p, variant=variant)
    np.testing.assert_allclose(done.similarity(), by_block.similarity(), atol=1e-7)
    assert done.validity.candidates_exact.ok
    assert done.validity.psd.ok == (variant != "onmc-b")


def test_complete_queries_come_back_exactly(digits):
    P, Q = digits[:20], digits[100:110]  # fewer candidates than features: queries stick out of their span
    done = sc.complete(P, Q, method="fmc")
    np.testing.assert_allclose(done.similarity(), sc.overlap_similarity(np.vstack([P, Q])), atol=1e-9)
    assert done.factor.shape[1] > 64, "columns for what sticks out"
    assert "0 reach the boundary" in done.status.message


def test_queries_that_reach_the_boundary_and_others_together(digits, hide):
    """Rows with room are joined by the matrix nearest to what S0 says of them."""
    Q = np.vstack([digits[100:104], hide(digits[104:110], 0.9), np.full((1, 64), np.nan)])
    done = sc.complete(digits[:20], Q, method="fmc")
    S, truth = done.similarity(), sc.overlap_similarity(digits[:20])
    assert done.validity.ok
    np.testing.assert_allclose(S[:20, :20], truth, atol=1e-9)
    np.testing.assert_allclose(S[20:24, 20:24], sc.overlap_similarity(digits[100:104]), atol=0.2)
    assert S[-1, -1] == pytest.approx(1)
    met = int(done.status.message.split("; ")[1].split()[0])
    assert 0 < met < 11


def test_the_first_of_a_sequence_is_placed_as_in_a_batch(small):
    P, Q, _ = small
    batch, sequence = (sc.complete(P, Q, method="fmc", variant=v).similarity() for v in ("batch", "sequential"))
    np.testing.assert_allclose(sequence[60, :61], batch[60, :61], atol=1e-9)
    assert np.abs(sequence[79] - batch[79]).max() > 1e-3
    backwards = sc.complete(P, Q[::-1], method="fmc", variant="sequential").similarity()
    assert np.abs(backwards[60:, :60][::-1] - sequence[60:, :60]).max() > 1e-3, "the order matters"


def test_other_diagonals_are_kept(golden):
    _, S0, n_p = split(golden)
    scale = np.linspace(0.5, 3, len(S0))
    S = complete(S0 * np.outer(scale, scale), n_p).similarity()
    np.testing.assert_allclose(np.diag(S), scale**2, rtol=1e-9)
    assert np.linalg.eigvalsh(S)[0] > -1e-9


def test_rows_without_evidence_have_their_diagonal():
    P = np.vstack([np.eye(3), np.zeros(3)])
    Q = np.array([[np.nan] * 3, [1.0, np.nan, 0.0]])
    done = sc.complete(P, Q, method="fmc")
    np.testing.assert_allclose(done.similarity()[4], [0, 0, 0, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(done.similarity()[3], [0, 0, 0, 1, 0, 0], atol=1e-12)
    assert done.validity.ok
    zero = sc.complete(np.zeros((3, 2)), np.zeros((2, 2)), method="fmc")
    np.testing.assert_array_equal(zero.similarity(), np.eye(5))


def test_nothing_n_by_n_is_needed(monkeypatch, hide):
    rng = np.random.default_rng(0)
    X = rng.random((6000, 12))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(100 * 2**20))  # 6000 x 6000 would be 275 MiB
    done = sc.complete(X[:5995], hide(X[5995:], 0.5), method="fmc")
    assert done.factor.shape == (6000, 12)
    assert done.search(k=3).ids.shape == (5, 3)
    with pytest.raises(sc.errors.MemoryLimitError, match="use method='fmc'"):
        sc.complete(X[:5995], hide(X[5995:], 0.5), method="dmc")


def test_exact_candidates_are_needed(golden, digits, hide):
    with pytest.raises(sc.errors.InputError, match="'fmc' needs complete rows as candidates of the others"):
        sc.complete(hide(digits[:10], 0.5), method="fmc")
    with pytest.raises(sc.errors.InputError, match="'fmc' needs exact candidates"):
        sc.complete_similarity(golden("fmc_onmc")["S0"], method="fmc")
    wrong = np.array([[1.0, 0.9, 0.0, 0.5], [0.9, 1, 0.9, 0.5], [0.0, 0.9, 1, 0.5], [0.5, 0.5, 0.5, 1]])
    with pytest.raises(sc.errors.InputError, match=r"eigenvalue of -0\.273 and is not positive semi-definite"):
        complete(wrong, 3)
    with pytest.raises(sc.errors.InputError, match=r"S0\[1, 1\] = -1 is negative"):
        complete(np.diag([1.0, -1.0]), 1)
    with pytest.raises(sc.errors.InputError, match="variant='both' is unknown; use 'batch', 'sequential' or 'onmc-b'"):
        complete(np.eye(3), 2, variant="both")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_with_rounding_is_accepted(digits, hide, dtype):
    S0 = sc.overlap_similarity(np.vstack([digits[:100], hide(digits[100:105], 0.5)])).astype(dtype)
    done = complete(S0, 100)  # of rank 64: eigenvalues of rounding, either sign
    assert done.similarity().dtype == dtype
    assert done.validity.psd.ok
    assert done.validity.candidates_exact.ok


@pytest.mark.array_library
def test_the_result_stays_in_its_library(library, small):
    P, Q, _ = small
    done = sc.complete(library.array(P), library.array(Q), method="fmc")
    assert type(done.factor) is type(library.array(P))
    expected = sc.complete(P, Q, method="fmc").similarity()
    np.testing.assert_allclose(to_numpy(done.similarity()), expected, atol=1e-9)


def test_complete_rows_are_the_candidates_of_the_others(digits, hide):
    # Mixed rows give what the same rows give as candidates and queries, in their own order.
    P, Q = digits[:30], hide(digits[30:40], 0.6)
    order = np.random.default_rng(0).permutation(40)
    mixed = sc.complete(np.vstack([P, Q])[order], method="fmc")
    apart = sc.complete(P, Q, method="fmc")
    np.testing.assert_allclose(mixed.similarity(), apart.similarity()[np.ix_(order, order)], atol=1e-9)
    exact = sc.complete(P, method="fmc")
    np.testing.assert_allclose(exact.similarity(), sc.overlap_similarity(P), atol=1e-12)
