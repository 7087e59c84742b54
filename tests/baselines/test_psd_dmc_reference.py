"""DMC against the reference program: its iteration, the exact projections, blocks that are held."""

import warnings

import numpy as np
import pytest

import simcomplete as sc
from plain_dmc import dmc
from simcomplete._baselines.psd import alternating

OPTIMUM = 31.828428107691
OPTIMUM_FIXED = 33.482559335  # |S - S0|^2, from the note of the golden file


@pytest.mark.parametrize("iterations", [1, 5, 20, 200])
def test_the_reference_iteration_is_the_public_one(golden, iterations):
    data = golden("dmc")
    done = dmc(data["S0"], variant="reference", max_iter=iterations)
    np.testing.assert_allclose(done.similarity(), data[f"ref_it{iterations}"], atol=1e-10)
    assert done.status.ok


def test_the_reference_iteration_without_a_diagonal_is_offmc(golden):
    data = golden("dmc")
    here = alternating.Calibrated(data["S0"])
    for _ in range(50):
        here = alternating.calibrate(here, alternating.onto(None, clip=True))
    np.testing.assert_allclose(here.Y, data["ref_offmc50"], atol=1e-10)


def test_the_reference_iteration_with_a_box_from_zero_is_kernel_correction(golden):
    # That program ends with symmetry, unit diagonal and no negative entry; it agrees with others to 1e-8 only.
    data = golden("fmc_onmc")
    S = dmc(data["kc_in"], variant="reference", low=0.0, max_iter=100, tol=1e-5).similarity()
    np.fill_diagonal(S, 1)
    np.testing.assert_allclose(np.maximum(S, 0), data["ref_kc"], atol=2e-8)


@pytest.mark.parametrize(("variant", "tol"), [("newton", None), ("dykstra", 1e-10)])
def test_the_exact_variants_reach_the_exact_projection(golden, variant, tol):
    data = golden("dmc")
    done = dmc(data["S0"], variant=variant, tol=tol)
    S = done.similarity()
    np.testing.assert_allclose(S, data["exact_projection"], atol=1e-9)
    assert np.sum((S - data["S0"]) ** 2) == pytest.approx(OPTIMUM, abs=1e-8)
    np.testing.assert_array_equal(np.diag(S), np.diag(data["S0"]))
    assert done.validity.ok


def test_twenty_iterations_are_not_the_projection(golden):
    data = golden("dmc")
    S = dmc(data["S0"], preset="original").similarity()
    np.testing.assert_allclose(S, data["ref_it20"], atol=1e-10)
    assert np.abs(np.diag(S) - 1).max() > 1e-3
    assert np.abs(S - data["exact_projection"]).max() > 1e-2


@pytest.mark.parametrize("how", ["candidates", "known"])
def test_fixed_holds_the_block_and_reaches_the_exact_point(golden, how):
    data = golden("dmc")
    S0 = data["S0"]
    known = np.zeros(S0.shape, dtype=bool)
    known[:40, :40] = True
    done = dmc(S0, variant="fixed", tol=1e-11, **{how: 40 if how == "candidates" else known})
    S = done.similarity()
    np.testing.assert_allclose(S, data["exact_fixed_pp"], atol=1e-8)
    assert np.sum((S - S0) ** 2) == pytest.approx(OPTIMUM_FIXED, abs=1e-8)
    assert np.abs(S[:40, :40] - S0[:40, :40]).max() < 1e-10
    assert done.validity.ok


def test_fixed_is_a_factor_exact_on_candidates_and_nothing_is_n_by_n(monkeypatch, small):
    P, Q, _ = small
    many = np.vstack([P] * 90)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(100 * 2**20))  # 5402 x 5402 would be 223 MiB
    done = sc.complete(many, Q[:2], method="dmc", variant="fixed")
    assert done.factor.shape[0] == 5402
    np.testing.assert_array_equal(done.factor[:5400, :64], sc.complete(many, Q[:2], method="fmc").factor[:5400, :64])


def test_fixed_with_known_entries_outside_the_block(golden):
    S0 = golden("dmc")["exact_projection"] + 0.0
    noisy = golden("dmc")["S0"]
    S0[:30, 30:] = noisy[:30, 30:]
    S0[30:, :30] = noisy[30:, :30]
    known = np.zeros(S0.shape, dtype=bool)
    known[30:, 30:] = True  # two diagonal blocks that are exact, and noise between them
    done = dmc(S0, variant="fixed", candidates=30, known=known)
    S = done.similarity()
    for part in (slice(0, 30), slice(30, 50)):
        np.testing.assert_allclose(S[part, part], S0[part, part], atol=1e-8)
    assert np.abs(S - S0).max() > 0.05
    assert done.validity.psd.ok


@pytest.mark.parametrize("method", ["dmc", "fmc"])
def test_candidates_alone_stay(method, digits):
    S0 = sc.overlap_similarity(digits[:12])
    given = {"variant": "fixed"} if method == "dmc" else {}
    S = sc.complete_similarity(S0, candidates=12, method=method, **given).similarity()
    np.testing.assert_allclose(S, S0, atol=1e-10)


def test_fixed_survives_what_has_no_evidence():
    done = sc.complete(np.zeros((3, 2)), np.array([[np.nan, np.nan], [1.0, 0.0]]), method="dmc", variant="fixed")
    np.testing.assert_allclose(done.similarity(), np.eye(5), atol=1e-8)


def test_one_known_triangle_is_enough(golden):
    S0 = golden("dmc")["S0"]
    known = np.triu(np.ones(S0.shape, dtype=bool))
    known[:, 20:] = False
    S = dmc(S0, variant="fixed", known=known).similarity()
    assert np.abs(S[:20, :20] - S0[:20, :20]).max() < 1e-8
    assert np.abs(S - S0).max() > 0.1


def test_the_newton_method_agrees_with_statsmodels(golden):
    correlation = pytest.importorskip("statsmodels.stats.correlation_tools")
    S0 = golden("dmc")["S0"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it used all its iterations
        found = correlation.corr_nearest(S0, threshold=1e-15, n_fact=100)
    np.testing.assert_allclose(dmc(S0).similarity(), found, atol=1e-10)
