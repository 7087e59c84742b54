"""`nearest_covariance` with weights, unknown pairs, held entries and bounds, against a plain convex solver."""

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc

RNG = np.random.default_rng(0)
N = 6
R = np.triu(RNG.uniform(-1, 1, (N, N)), 1)
SD = RNG.uniform(0.5, 5, N)
S = (R + R.T + np.eye(N)) * np.outer(SD, SD)
GAPS = S.copy()
GAPS[0, 3] = GAPS[3, 0] = np.nan
H = np.triu(RNG.uniform(0.2, 1, (N, N)), 1)
H = H + H.T
W = RNG.uniform(0.5, 2, N)
HELD = np.full((N, N), np.nan)
HELD[0, 1] = 0.3 * SD[0] * SD[1]
ONES = np.ones((N, N))

CASES = {
    "elements": (S, {"weights": H}, H),
    "rows": (S, {"weights": W}, np.sqrt(np.outer(W, W))),
    "bounds": (S, {"lower": -1.0, "upper": 1.5}, ONES),
    "fixed": (S, {"fixed": HELD}, ONES),
    "unknown": (GAPS, {}, np.where(np.isnan(GAPS), 0.0, 1.0)),
    "all": (GAPS, {"weights": H, "fixed": HELD, "upper": 4.0}, np.where(np.isnan(GAPS), 0.0, H)),
}


def smallest(given, more, H, floor, scale):
    """The optimum of a plain convex solver."""
    cp = pytest.importorskip("cvxpy", reason="cvxpy-base and clarabel are not installed")
    X = cp.Variable((N, N), symmetric=True)
    off = ~np.eye(N, dtype=bool)
    told = [cp.diag(X) == np.diag(S), cp.multiply(X, 1 / scale) - floor * np.eye(N) >> 0]
    told += [X[off] >= more["lower"]] if "lower" in more else []
    told += [X[off] <= more["upper"]] if "upper" in more else []
    told += [X[0, 1] == HELD[0, 1]] if "fixed" in more else []
    cost = cp.sum_squares(cp.multiply(H * off / scale, X - np.nan_to_num(given)))
    return cp.Problem(cp.Minimize(cost), told).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("through", ["covariance", "correlation"])
@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_the_optimum_is_that_of_a_convex_solver(case, through, floor):
    given, more, H = CASES[case]
    repair = sc.nearest_covariance(given, through=through, min_eigenvalue=floor, progress=False, **more)
    scale = np.outer(SD, SD) if through == "correlation" else ONES
    off = ~np.eye(N, dtype=bool)
    found = np.sum(np.square(H / scale * (repair.values - np.nan_to_num(given)))[off])
    assert found == pytest.approx(smallest(given, more, H, floor, scale), rel=1e-4)
    assert found == pytest.approx(repair.certificate.objective, rel=1e-6)
    assert repair.certificate.relative_gap < 1e-5
    assert np.linalg.eigvalsh(repair.values / scale)[0] > floor - 1e-7
    np.testing.assert_array_equal(np.diag(repair.values), np.diag(S))
    if "upper" in more:
        assert repair.values[off].max() <= more["upper"] + 1e-12
    if "fixed" in more:
        assert repair.values[0, 1] == pytest.approx(HELD[0, 1], rel=1e-14)


def test_labels_are_followed_and_unknown_pairs_noted():
    names = list("abcdef")
    frame, held = (pd.DataFrame(x, names, names) for x in (GAPS, HELD))
    repair = sc.nearest_covariance(frame, fixed=held.iloc[::-1, ::-1])
    assert repair.matrix.loc["b", "a"] == pytest.approx(HELD[0, 1])
    assert "1 unknown pair (NaN)" in repair.notes[0]
    block = sc.nearest_covariance(S, block=2)
    assert block.values[0, 1] == pytest.approx(S[0, 1])


def test_a_start_saves_iterations():
    cold = sc.nearest_covariance(S)
    assert sc.nearest_covariance(S, start=cold).n_iter < cold.n_iter


def test_a_rank_with_the_variances_and_without():
    repair = sc.nearest_covariance(S, rank=2)
    np.testing.assert_allclose(repair.factors @ repair.factors.T, repair.values, atol=1e-9)
    np.testing.assert_array_equal(np.diag(repair.values), np.diag(S))
    assert repair.certificate.lower_bound <= repair.certificate.objective == pytest.approx(repair.distance**2)
    by_correlation = sc.nearest_covariance(S, rank=2, through="correlation").values / np.outer(SD, SD)
    np.testing.assert_allclose(by_correlation, sc.nearest_correlation(S / np.outer(SD, SD), rank=2).values, atol=1e-6)
    w, U = np.linalg.eigh(S)
    free = sc.nearest_covariance(S, rank=2, keep="nothing")
    np.testing.assert_allclose(free.values, (U[:, -2:] * w[-2:]) @ U[:, -2:].T, atol=1e-9)
    assert free.distance < repair.distance
    assert free.certificate.objective == pytest.approx(free.distance**2)
    np.testing.assert_allclose(sc.nearest_covariance(S, rank=N).values, sc.nearest_covariance(S).values)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rank": 2, "min_eigenvalue": 0.1}, "rank cannot be combined"),
        ({"rank": 2, "min_eigenvalue": 0.1, "keep": "nothing"}, "rank cannot be combined"),
        ({"rank": 9}, "rank=9 is not a rank"),
        (
            {"lower": 50.0},
            r"lower\[0, 1\] = 50 is not possible: with these variances no valid matrix has an entry beyond",
        ),
        ({"fixed": ONES * 40}, r"fixed\[0, 1\] = 40 is not possible"),
        ({"fixed": np.ones((2, 2))}, r"fixed has shape \(2, 2\)"),
        ({"upper": np.ones((2, 2))}, r"upper has shape \(2, 2\)"),
        ({"keep": "nothing", "lower": -1.0}, "keep='nothing' cannot be combined"),
        ({"weights": [1, 2]}, r"weights has shape \(2,\)"),
        ({"block": 9}, "block=9 is not a number"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"start": 3}, "start is int"),
    ],
)
def test_what_cannot_be_is_refused_in_its_own_units(more, message):
    with pytest.raises(sc.errors.InputError, match=message):
        sc.nearest_covariance(S, **more)


def test_contradictions_and_variables_without_variance():
    against = np.full((N, N), np.nan)
    against[0, 1], against[0, 2], against[1, 2] = 0.9 * SD[0] * SD[1], 0.9 * SD[0] * SD[2], -0.9 * SD[1] * SD[2]
    with pytest.raises(sc.errors.InputError, match=r"contradict each other.*numbers are correlations"):
        sc.nearest_covariance(S, fixed=against)
    flat = S.copy()
    flat[2] = flat[:, 2] = 0
    with pytest.raises(sc.errors.InputError, match=r"A\[2, 2\] = 0: a variable without variance"):
        sc.nearest_covariance(flat, lower=-1.0)
