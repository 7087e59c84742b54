"""mean, lr, gr, kfmc against golden figures: to 1e-10, after tens of steps to 1e-8."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._baselines.imputation import grouse, kfmc_offline, kfmc_online, lr, mean
from simcomplete._baselines.imputation.filled import fill_missing
from simcomplete._baselines.imputation.kernels import Polynomial, Rbf, bandwidth
from simcomplete._method.iterate import Limits

TIGHT, LONG = 1e-10, 1e-8


def close(have, want, tol=TIGHT):
    assert have.shape == want.shape
    assert np.abs(have - want).max() < tol


def cosines(filled):
    unit = filled / np.linalg.norm(filled, axis=1, keepdims=True)
    return unit @ unit.T


# mean and lr


@pytest.fixture(scope="module")
def table(golden):
    g = golden("mean_lr")
    n_p = len(g["P"])
    close(g["X"][:n_p], g["P"], 1e-300)
    X = g["X"].copy()
    X[n_p:][~g["Q_observed_mask"]] = np.nan
    return g, X, n_p


def test_mean(table):
    g, X, n_p = table
    filled = fill_missing(X, np.broadcast_to(mean.feature_means(X[:n_p]), X.shape), clip=False)
    close(filled, g["Xhat_mean"])
    close(sc.complete(X[:n_p], X[n_p:], method="mean").similarity(), cosines(g["Xhat_mean"]))


@pytest.mark.parametrize(
    ("array", "predict", "params"),
    [
        ("Xhat_lr_feature_ridge0", lambda P: lr.by_feature(P, 0.0), {"eps": 0}),
        ("Xhat_lr_feature_ridge1e_2", lambda P: lr.by_feature(P, 1e-2), {"eps": 1e-2}),
        ("Xhat_lr_sample_minnorm", lr.by_sample, {"variant": "sample"}),
        ("Xhat_lr_sample_basic", lambda P: lr.by_sample(P, basic=True), {"variant": "sample-basic"}),
    ],
)
def test_lr(table, array, predict, params):
    g, X, n_p = table
    close(lr.impute(X, X[:n_p].mean(axis=0), predict(X[:n_p])), g[array])
    done = sc.complete(X[:n_p], X[n_p:], method="lr", **params)
    close(done.similarity(), cosines(fill_missing(X, g[array])))  # the golden fill is not clipped to the observed range


# gr


@pytest.mark.parametrize(("name", "step"), [("step01", 0.1), ("step5", 5.0)])
def test_grouse(golden, name, step):
    g = golden("grouse")
    X, mask = g["X0"].T, g["M"].T > 0
    table = np.where(mask, X, np.nan)
    rows = grouse.RowStream(table)
    orders, cycles = g["perms"], int(g["cycles"])
    assert g["U0"].shape[1] == g["rank"] and len(orders) == cycles
    state, errors = grouse.Subspace(g["U0"], 0, np.zeros(0)), []
    for order in orders:
        state = grouse.cycle(rows, state, order, step)
        errors.append(state.errors)
    close(np.concatenate(errors), g[f"{name}_err"])
    close(state.U, g[f"{name}_U"])
    close(rows.all_weights(state.U), g[f"{name}_R"])
    run = grouse.grouse(rows, g["U0"], orders, step, Limits(cycles, progress=False))
    close(run.state.U, state.U, 1e-300)
    # The whole way through, with everything random given.
    whole = mask.all(axis=1)
    assert whole[:40].all()
    done = sc.complete(
        table[:40],
        table[40:],
        method="gr",
        start=g["U0"],
        orders=orders,
        step=step,
        relative=False,
        max_iter=cycles,
    )
    close(done.similarity(), cosines(fill_missing(table, g[f"{name}_R"] @ g[f"{name}_U"].T)))
    assert done.params["rank"] == g["rank"] and done.params["start"] == "given"


# kfmc


def kernel(g, name, which):
    return Rbf(float(g[f"{which}_rbf_sigma2"])) if name == "rbf" else Polynomial(1.0, 2)


@pytest.mark.parametrize(("name", "alpha"), [("rbf", 0.0), ("poly", 0.01)])
def test_kfmc_online(golden, name, alpha):
    g = golden("kfmc")
    X, mask, D = g["X0"].T, g["M"].T > 0, g["D0"].T
    settings = kfmc_online.KfmcSettings(kernel(g, name, "on"), alpha=alpha)
    state = kfmc_online.online(X, mask, D, settings, Limits(2, progress=False)).state
    for part in "XDZ":
        close(getattr(state, part).T, g[f"on_{name}_{part}"], LONG)
    n_p = int(g["n_p"])
    table = np.where(mask, X, np.nan)
    done = sc.complete(table[:n_p], table[n_p:], method="kfmc", preset="original", kernel=name, atoms=D)
    close(done.similarity(), cosines(fill_missing(table, g[f"on_{name}_X"].T)), LONG)


def test_kfmc_out_of_sample(golden):
    g = golden("kfmc")
    n_p = int(g["n_p"])
    X, mask = g["X0"].T[n_p:], g["M"].T[n_p:] > 0
    settings = kfmc_online.KfmcSettings(kernel(g, "rbf", "on"), inner=100)
    filled, codes = kfmc_online.extend(X, mask, g["on_rbf_D"].T, settings)
    close(filled.T, g["ose_rbf_X"], LONG)
    close(codes.T, g["ose_rbf_Z"], LONG)


@pytest.mark.parametrize(("name", "alpha", "beta"), [("rbf", 0.0, 1e-3), ("poly", 1.0, 1.0)])
@pytest.mark.parametrize("steps", [1, 30])
def test_kfmc_offline(golden, name, alpha, beta, steps):
    g = golden("kfmc")
    X, mask, D = g["X0"].T, g["M"].T > 0, g["D0"].T
    settings = kfmc_online.KfmcSettings(kernel(g, name, "off"), alpha=alpha, beta=beta, tol=0.0)
    state = kfmc_offline.offline(X, mask, D, settings, Limits(steps, progress=False)).state
    for part in "XDZ":
        close(getattr(state, part).T, g[f"off_{name}_{part}{steps}"], TIGHT if steps == 1 else LONG)
    n_p = int(g["n_p"])
    table = np.where(mask, X, np.nan)
    usual = {"variant": "offline", "kernel": name, "atoms": D, "max_iter": steps, "tol": 0}
    done = sc.complete(table[:n_p], table[n_p:], method="kfmc", preset="original", **usual)
    close(done.similarity(), cosines(fill_missing(table, g[f"off_{name}_X{steps}"].T)), LONG)


@pytest.mark.parametrize(("which", "factor"), [("on", 3.0), ("off", 1.0)])
def test_kfmc_bandwidth(golden, which, factor):
    g = golden("kfmc")
    assert bandwidth(g["X0"].T, factor) == pytest.approx(float(g[f"{which}_rbf_sigma2"]), abs=TIGHT)
