"""Two independent routes to the same optimum: descent and L-BFGS on the factor, eigenvalues and shrinkage."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import simcomplete as sc
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity

METHODS = {
    "smcnn": {},
    "smcnmf": {},
    "smc_nr": {},
    "smc_f": {},
    "smc_f, as printed": {"variant": "paper"},
}
ROUTES = {
    "safe": {"solver": "descent", "step": "safe"},
    "backtracking": {"solver": "descent", "step": "backtracking"},
    "lbfgs": {"solver": "lbfgs"},
}
CASES = [(name, method) for name in ("golden", "digits", "psd", "indefinite") for method in METHODS]
# Without a nuclear norm nothing is ever shrunk away.
CASES += [("shrunk away", "smcnn"), ("shrunk away", "smcnmf")]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Thousands of tiny products: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


every_route = pytest.mark.parametrize("route", ROUTES)


@pytest.fixture(scope="module")
def problem(golden, small):
    """S0, rank and penalty by name."""
    z = golden("smc_family")
    P, Q, _ = small
    A = np.random.default_rng(3).standard_normal((40, 40))
    flipped = (A + A.T) / 9
    return {
        "golden": (z["S0"], int(z["r"]), float(z["lam"])),
        "digits": (sc.overlap_similarity(np.vstack([P, Q])), 5, 1.0),
        "psd": (A @ A.T / 40, 6, 0.3),
        # More below zero than above: a step from lambda_max alone would be too long.
        "indefinite": (flipped - 0.5 * np.eye(40), 6, 0.5),
        # A weight that leaves fewer eigenvalues than the rank allows.
        "shrunk away": (A @ A.T / 40, 12, 4.0),
    }


@pytest.fixture(scope="module")
def answers(problem):
    """The exact answer of a problem, computed once."""
    known = {}

    def answer(name, method):
        if (name, method) not in known:
            known[name, method] = solve(problem[name], method)
        return known[name, method]

    return answer


def solve(problem, method, **params):
    S0, rank, penalty = problem
    return sc.complete_similarity(
        S0, method=method.split(",")[0], rank=rank, penalty=penalty, **METHODS[method], **params
    )


def agree(done, exact):
    """Same objective to 1e-8, never below the bound, and the same matrix as far as that says."""
    found, best = done.certificate, exact.certificate
    assert exact.status.code == "optimal"
    assert done.status.code == "converged" and done.status.ok, done.status
    assert abs(found.objective - best.objective) <= 1e-8 * best.objective
    assert found.objective >= best.lower_bound - 1e-12 * best.scale
    assert found.gap <= 1e-8 * best.objective
    assert found.lower_bound == pytest.approx(best.lower_bound, rel=1e-12)
    assert found.verified
    np.testing.assert_allclose(done.similarity(), exact.similarity(), atol=2e-5 * np.sqrt(best.scale))


@every_route
@pytest.mark.parametrize(("name", "method"), CASES)
def test_routes_meet(problem, answers, name, method, route):
    agree(solve(problem[name], method, random_state=1, **ROUTES[route]), answers(name, method))


@pytest.mark.parametrize("name", ["golden", "digits", "psd"])
@pytest.mark.parametrize("route", ["backtracking", "lbfgs"])
def test_the_certificate_proves_the_optimum_of_both(problem, answers, name, route):
    done, exact = solve(problem[name], "smcnn", **ROUTES[route]), answers(name, "smcnn")
    assert done.certificate.optimal and exact.certificate.optimal
    assert done.certificate.rank == exact.certificate.rank
    assert done.certificate.rank_below_bound == exact.certificate.rank_below_bound


@every_route
@pytest.mark.parametrize("method", ["smcnn", "smcnmf", "smc_nr", "smc_f"])
def test_routes_meet_where_nothing_dense_is_allowed(digits, hide, monkeypatch, method, route):
    def refuse(self):
        raise AssertionError("the n x n matrix was asked for")

    monkeypatch.setattr(CandidateQuerySimilarity, "dense", refuse)
    P, Q = digits[:24, :12], hide(digits[24:30, :12], 0.5)
    params = {"method": method, "rank": 2, "penalty": 0.5, "route": "structured"}
    exact = sc.complete(P, Q, **params)
    done = sc.complete(P, Q, **params, **ROUTES[route])
    assert done.params["route"] == "structured"
    agree(done, exact)


@pytest.mark.parametrize("method", ["smcnn", "smcnmf"])
@pytest.mark.parametrize("seed", range(4))
def test_every_random_start_leads_there(problem, answers, method, seed):
    done = solve(problem["psd"], method, random_state=seed, **ROUTES["backtracking"])
    agree(done, answers("psd", method))


@pytest.mark.parametrize("kind", ["SMCNN", "SMCNmF", "SMC_F", "SMC_F_literal", "SMC_NR"])
@every_route
def test_routes_meet_at_the_reference_figures(golden, kind, route):
    z = golden("smc_family")
    method = {"SMC_F_literal": "smc_f, as printed"}.get(kind, kind.lower())
    done = solve((z["S0"], int(z["r"]), float(z["lam"])), method, start=z["V0"], **ROUTES[route])
    assert done.certificate.objective == pytest.approx(float(z[f"{kind}_F"]), rel=1e-8)
    np.testing.assert_allclose(done.similarity(), z[f"{kind}_S"], atol=1e-5)


def test_an_answer_that_is_not_the_optimum_is_not_called_one(problem):
    """The judge can say no: a run cut short, and a start at the saddle V = 0."""
    S0, rank, _ = problem["psd"]
    with pytest.warns(sc.errors.NotConvergedWarning, match="max_iter"):
        short = solve(problem["psd"], "smcnn", solver="descent", max_iter=5)
    assert not short.certificate.optimal and not short.status.ok
    assert short.certificate.gap > 1e-3 * short.certificate.objective
    with pytest.warns(sc.errors.NotConvergedWarning, match="saddle"):
        saddle = solve(problem["psd"], "smcnn", solver="lbfgs", start=np.zeros((len(S0), rank)))
    assert saddle.status.code == "stationary"
    assert saddle.certificate.objective == pytest.approx(np.sum(S0**2))
