"""Every method has a finite, symmetric answer for degenerate data, keeps its promises, and leaks no NumPy warning."""

import numpy as np
import pytest

import simcomplete as sc

# That few steps do not converge is told by a warning of ours; every other warning fails the test.
pytestmark = [
    pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning"),
    pytest.mark.filterwarnings("ignore::simcomplete.errors.InputWarning"),  # rows of some families are all alike
]
SHORT = {"max_iter": 3, "burn_in": 1, "atoms": 8}
METHODS = {method.name: method for method in sc.methods()}


def short(method):
    """Settings that make a run short."""
    if method.parameters.defaults.get("solver") == "exact":
        return {}
    return {name: value for name, value in SHORT.items() if name in method.parameters}


def sound(done):
    S = done.similarity()
    assert np.isfinite(S).all()
    assert (S == S.T).all()
    assert done.validity.symmetric.ok
    repr(done)


@pytest.mark.parametrize("name", METHODS)
def test_every_method(name, family):
    method = METHODS[name]
    done = sc.complete(*family, method=name, **short(method))
    sound(done)
    if method.psd:
        assert done.validity.psd.ok, done.validity
    if method.keeps_candidates:
        assert done.validity.candidates_exact.ok, done.validity


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "metric" in method.shared])
def test_correlations(name, family):
    sound(sc.complete(*family, method=name, metric="pearson", **short(METHODS[name])))


@pytest.mark.parametrize("effort", ["fast", "full", "best"])
def test_posterior_with_every_effort(effort, family):
    done = sc.complete(*family, method="posterior", effort=effort)
    sound(done)
    assert done.validity.ok, done.validity
    if done.interval_model is not None:
        low, high = done.interval(0.9)
        assert (np.isfinite(low) & np.isfinite(high) & (low <= high)).all()


def test_auto(family):
    sound(sc.complete(*family, budget=1))


@pytest.mark.parametrize("seed", range(8))
def test_best_effort_on_sparse_binary_data(seed):
    rng = np.random.default_rng(seed)
    P = (rng.random((80, 20)) < rng.choice([0.02, 0.05, 0.1])) * 1.0
    Q = np.where(rng.random((6, 20)) < 0.5, np.nan, P[:6])
    sound(sc.complete(P, Q, method="posterior", effort="best"))


@pytest.mark.parametrize("method", ["smcnn", "smcnmf", "smc_nr", "smc_f", "smc_gd", "mc_on"])
@pytest.mark.parametrize(
    ("P", "Q", "metric"),
    [
        (np.zeros((60, 12)), np.full((4, 12), 2.0), "cosine"),
        (np.ones((60, 1)), np.array([[1.0], [np.nan]]), "pearson"),
    ],
    ids=["zeros", "one feature, Pearson"],
)
def test_candidates_without_evidence_are_like_themselves_alone(method, P, Q, metric):
    """Their 1 is the added diagonal; queries keep what they have among each other."""
    done = sc.complete(P, Q, method=method, metric=metric, penalty=1e-6)
    S = done.similarity()
    expected = np.eye(len(P) + len(Q))
    if metric == "cosine":
        expected[60:, 60:] = 1.0  # four times the same row
    np.testing.assert_allclose(S, expected, atol=1e-5)


def test_rank_is_bounded_where_the_row_says_so():
    rng = np.random.default_rng(0)
    P, Q = rng.random((40, 12)), np.where(rng.random((6, 12)) < 0.5, np.nan, rng.random((6, 12)))
    for name, method in METHODS.items():
        if method.low_rank:
            assert sc.complete(P, Q, method=name, rank=4, **short(method)).rank <= 4, name
    assert not METHODS["facnnfn"].low_rank
    assert sc.complete(P, Q, method="facnnfn", rank=4, max_iter=3).rank == 12  # observed values stay


def test_onmc_b_without_queries():
    done = sc.complete_similarity(np.array([[1.0, 0.5], [0.5, 1.0]]), candidates=2, method="fmc", variant="onmc-b")
    np.testing.assert_allclose(done.similarity(), [[1.0, 0.5], [0.5, 1.0]], atol=1e-12)
