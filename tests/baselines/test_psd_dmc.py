"""DMC: every route to the nearest matrix against each other and the definition, and what a run says when it ends."""

import numpy as np
import pytest

import simcomplete as sc
from plain_dmc import dmc
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import psd_part, with_diagonal
from simcomplete._rows.xp import to_numpy


def unit_grams(n, count, *, seed=0, positive=False):
    """Matrices with unit diagonal, positive semi-definite; with `positive` also non-negative."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        F = rng.standard_normal((n, k % n + 1))
        F = np.abs(F) if positive else F
        F /= np.linalg.norm(F, axis=1, keepdims=True)
        yield F @ F.T


def is_projection(S, S0, others):
    """S is the nearest of a convex set that has `others` if <S0 - S, Y - S> <= 0 for each."""
    return max(float(np.sum((S0 - S) * (Y - S))) for Y in others)


@pytest.fixture(scope="module")
def inconsistent():
    """A symmetric matrix with unit diagonal that no samples have."""
    A = np.random.default_rng(3).uniform(-1, 1, (20, 20))
    S0 = (A + A.T) / 2
    np.fill_diagonal(S0, 1)
    return S0


def test_newton_is_the_projection_by_definition(inconsistent):
    S = dmc(inconsistent).similarity()
    assert is_projection(S, inconsistent, unit_grams(20, 200)) < 1e-8
    assert np.sum((S - inconsistent) ** 2) > 1


def test_a_box_has_its_own_increment(inconsistent):
    S0 = np.abs(inconsistent) - 0.3
    np.fill_diagonal(S0, 1)
    S = dmc(S0, variant="dykstra", low=0.0, tol=1e-10).similarity()
    assert S.min() > -1e-9
    assert np.sum(S < 1e-6) > 20, "the box is active"
    assert np.linalg.eigvalsh(S)[0] > -1e-12
    assert is_projection(S, S0, unit_grams(20, 200, positive=True)) < 1e-7
    # The public iteration has none, and ends beside the projection.
    with_clip = dmc(S0, variant="reference", low=0.0, max_iter=2000, tol=1e-12, unit_diagonal=True).similarity()
    assert np.sum((with_clip - S0) ** 2) > np.sum((S - S0) ** 2) + 1e-3


def test_the_error_never_grows(small):
    P, Q, truth = small
    S0, S_true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    for given in ({}, {"variant": "fixed"}):
        S = sc.complete(P, Q, method="dmc", **given).similarity()
        before, after, moved = (np.sum(D**2) for D in (S0 - S_true, S - S_true, S - S0))
        assert after <= before - moved + 1e-8  # a projection onto a convex set that has the truth
        assert after < 0.7 * before


def test_newton_needs_few_steps_and_its_bound_rises_to_the_answer(small):
    S0 = sc.overlap_similarity(np.vstack(small[:2]))
    S, run = newton(S0, np.ones(len(S0)))
    bounds = [facts["lower_bound"] for facts in run.history]
    assert run.n_iter <= 12
    assert run.facts["deviation"] < 1e-10
    # Each is computed with rounding of its own, some 1e-15 of the objective.
    assert (np.diff(bounds) >= -1e-12 * bounds[-1]).all()
    assert bounds[-1] == pytest.approx(np.sum((S - S0) ** 2), abs=1e-8)
    assert "within" in dmc(S0).status.message
    assert dmc(S0).status.code == "optimal"


def test_a_valid_matrix_stays(small):
    S = sc.overlap_similarity(small[0])
    for variant in ("newton", "dykstra"):
        np.testing.assert_allclose(dmc(S, variant=variant).similarity(), S, atol=1e-10)


@pytest.mark.parametrize("variant", ["newton", "dykstra", "fixed"])
def test_another_diagonal_is_kept(inconsistent, variant):
    b = np.linspace(0.5, 4, 20)
    S0 = 1.5 * inconsistent
    np.fill_diagonal(S0, b)
    S0[0, 1] = S0[1, 0] = -0.2
    given = {"candidates": 2} if variant == "fixed" else {}
    S = dmc(S0, variant=variant, **given).similarity()
    np.testing.assert_allclose(np.diag(S), b, rtol=1e-14 if variant == "fixed" else 0)
    assert np.linalg.eigvalsh(S)[0] > -1e-12
    root = np.sqrt(b)
    if variant != "fixed":
        assert is_projection(S, S0, (Y * np.outer(root, root) for Y in unit_grams(20, 100))) < 1e-6
    # Units do not matter.
    np.testing.assert_allclose(dmc(1e6 * S0, variant=variant, **given).similarity(), 1e6 * S, rtol=1e-6)


def test_the_box_is_one_of_cosines(inconsistent):
    b = np.linspace(0.5, 4, 20)
    S0 = 1.5 * np.abs(inconsistent) - 0.5
    np.fill_diagonal(S0, b)
    S = dmc(S0, variant="dykstra", low=0.1, tol=1e-9).similarity()
    cosines = S / np.sqrt(np.outer(b, b))
    assert cosines.min() == pytest.approx(0.1, abs=1e-7)


def test_a_zero_diagonal_leaves_a_zero_row(inconsistent):
    S0 = inconsistent.copy()
    S0[4, 4] = 0
    S = dmc(S0).similarity()
    rest = np.delete(np.arange(20), 4)
    assert (S[4] == 0).all()
    np.testing.assert_allclose(S[np.ix_(rest, rest)], dmc(S0[np.ix_(rest, rest)]).similarity(), atol=1e-9)
    assert (dmc(np.zeros((3, 3))).similarity() == 0).all()
    with pytest.raises(sc.errors.InputError, match=r"S0\[1, 1\] = -2 is negative"):
        dmc(np.diag([1.0, -2.0]))


def test_one_side_of_the_spectrum_is_enough():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    for up in (3, 15, 27):
        w = np.concatenate([rng.uniform(0.5, 3, up), -rng.uniform(0.5, 3, 30 - up)])
        T = (U * w) @ U.T
        T = (T + T.T) / 2
        expected = (U * np.maximum(w, 0)) @ U.T
        for told in (None, up):
            X, count = psd_part(T, told)
            assert count == up
            np.testing.assert_allclose(X, expected, atol=1e-12)
            assert (X == X.T).all()


def test_scaling_gives_the_diagonal_and_leaves_what_has_none():
    X = np.array([[4.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 9.0]])
    S = with_diagonal(X, np.array([1.0, 1.0, 4.0]))
    np.testing.assert_allclose(S, [[1, 0, 2 / 3], [0, 1, 0], [2 / 3, 0, 4]])


@pytest.mark.parametrize("variant", ["newton", "dykstra", "fixed"])
def test_a_run_cut_short_is_told_and_still_valid(small, variant):
    P, Q, _ = small
    with pytest.warns(sc.errors.NotConvergedWarning, match="all 1 iterations made"):
        done = sc.complete(P, Q, method="dmc", variant=variant, max_iter=1)
    assert not done.status.ok
    assert done.validity.psd.ok
    assert done.validity.unit_diagonal.ok
    assert len(done.history) == 2


def test_a_callback_can_end_a_run(small):
    seen = []
    with pytest.warns(sc.errors.NotConvergedWarning, match="callback stopped"):
        sc.complete(*small[:2], method="dmc", callback=lambda k, facts: seen.append(facts["deviation"]) or k == 2)
    assert len(seen) == 2
    assert seen[1] < seen[0]


def test_known_entries_that_contradict_each_other_are_told(inconsistent):
    with pytest.warns(sc.errors.NotConvergedWarning, match="contradict each other: one must move by 0.2"):
        done = dmc(inconsistent, variant="fixed", known=np.ones((20, 20)))
    assert np.isfinite(done.similarity()).all()
    assert done.validity.psd.ok


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variant": "best"}, "variant='best' is unknown; use 'newton', 'dykstra', 'fixed' or 'reference'"),
        ({"low": 0.5, "high": 0.2}, "low=0.5 is not below high=0.2"),
        ({"low": -2}, "low=-2 is not a number between -1 and 1"),
        ({"low": 0.0}, "variant='newton' has no bounds; low=0 and high=1 need variant='dykstra'"),
        ({"variant": "fixed"}, "variant='fixed' needs entries to keep"),
        ({"known": np.eye(3, dtype=bool)}, "variant='newton' keeps no entries; use variant='fixed'"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number"),
        ({"tol": "small"}, "tol='small' is unknown; use a number at least 0"),
    ],
)
def test_what_cannot_be_done_is_refused(given, message):
    with pytest.raises(sc.errors.InputError, match=message):
        dmc(np.eye(3), **given)


def test_samples_that_may_all_be_incomplete(digits, hide):
    X = hide(digits[:30], 0.5)
    done = sc.complete(X, method="dmc")
    np.testing.assert_allclose(done.similarity(), dmc(sc.overlap_similarity(X)).similarity(), atol=1e-9)
    assert done.validity.ok
    with pytest.raises(sc.errors.InputError, match="give candidates and queries separately"):
        sc.complete(X, method="dmc", variant="fixed")


@pytest.mark.array_library
def test_the_result_stays_in_its_library(library, small):
    P, Q, _ = small
    done = sc.complete(library.array(P), library.array(Q), method="dmc")
    assert type(done.matrix.array) is type(library.array(P))
    expected = sc.complete(P, Q, method="dmc").similarity()
    np.testing.assert_allclose(to_numpy(done.similarity()), expected, atol=1e-9)
