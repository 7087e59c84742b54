"""One call of a spectral method: how it ended, what it refuses and records, and what the registry says of it."""

from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._method.spec import Sizes
from simcomplete._result.status import Status
from simcomplete._spectral import complete as one_call
from simcomplete._spectral.methods import spectrum_memory
from simcomplete.errors import InputError, NotConvergedWarning

# The call


def run_of(code, n_iter=5):
    return SimpleNamespace(status=Status(code, "it ended", ok=False), n_iter=n_iter)


@pytest.mark.parametrize(
    ("code", "gap", "tol", "found", "ok"),
    [
        ("converged", 0.9e-8, 0.0, "converged", True),
        ("converged", 1.1e-8, 0.0, "stationary", False),
        ("stalled", 0.9e-6, 1e-6, "converged", True),
        ("stalled", 1.1e-6, 1e-6, "stationary", False),
        ("max_iter", 0.9e-8, 1.0, "converged", True),
        ("max_iter", 1.1e-8, 1.0, "max_iter", False),
        ("diverged", 0.0, 1.0, "diverged", False),
        ("oscillating", 0.0, 1.0, "oscillating", False),
    ],
)
def test_how_an_iterative_run_ended(code, gap, tol, found, ok):
    status = one_call.iterative_status(run_of(code), SimpleNamespace(relative_gap=gap), tol)
    assert (status.code, status.ok) == (found, ok)


def test_how_an_exact_run_ended():
    assert (one_call.exact_status(True, "full").code, one_call.exact_status(True, "full").ok) == ("optimal", True)
    assert (one_call.exact_status(False, "full").code, one_call.exact_status(False, "full").ok) == ("inexact", False)


X = np.random.default_rng(0).standard_normal((9, 4)) + 1


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"tol": 1e-3}, "solver='descent' or 'lbfgs'"),
        ({"solver": "descent", "step": 0.0}, "step"),
        ({"solver": "descent", "start_scale": 0.0}, "start_scale"),
        ({"step": 0.1}, "choose solver='descent'$"),
        ({"solver": "lbfgs", "step": 0.1}, "choose solver='descent'$"),
        ({"solver": "descent", "verify": False}, "has to be verified"),
        ({"solver": "descent", "start": np.ones((9, 2)), "start_scale": 1.0}, "leave out start_scale or start"),
        ({"solver": "descent", "start": np.ones((9, 3))}, "shape"),
        ({"solver": "descent", "start": np.full((9, 2), np.nan)}, "finite"),
        ({"solver": "descent", "start": [["a"]]}, "numbers"),
    ],
)
def test_what_a_solver_has_no_use_for(given, word):
    with pytest.raises(InputError, match=word):
        sc.complete(X, method="smcnn", rank=2, **given)


def test_settings_are_recorded_as_used():
    plain = sc.complete(X, method="smcnn", rank=2, penalty=0.5)
    assert {name: plain.params[name] for name in ("rank", "penalty", "solver", "route", "verify")} == {
        "rank": 2,
        "penalty": 0.5,
        "solver": "exact",
        "route": "partial",
        "verify": True,
    }
    assert not {"step", "max_iter", "tol", "start_scale", "start"} & set(plain.params)
    assert plain.history == []
    unverified = sc.complete(X, method="smcnn", rank=2, verify=False)
    assert (unverified.params["verify"], unverified.certificate.verified) == (False, False)
    # The trace of S0 over n times r, and its root, is where a random start has the size of S0.
    with pytest.warns(NotConvergedWarning):
        told = sc.complete(X, method="smcnn", rank=2, solver="descent", max_iter=30).params
    assert (told["step"], told["max_iter"], told["tol"], told["start"]) == ("safe", 30, 1e-7, "random")
    assert (told["time_limit"], told["callback"], told["verify"]) == (None, None, True)
    assert told["start_scale"] == pytest.approx(np.sqrt(9 / (9 * 2)))
    start = np.random.default_rng(1).standard_normal((9, 2))
    given = {"start": start, "callback": lambda iteration, facts: False, "time_limit": 60, "tol": 0.5}
    done = sc.complete(X, method="smcnn", rank=2, solver="lbfgs", **given)
    told = done.params
    assert (told["max_iter"], told["start"], told["start_scale"], told["callback"]) == (10_000, "given", None, "given")
    assert (told["time_limit"], told["tol"]) == (60.0, 0.5)
    assert "step" not in told
    assert done.history
    with pytest.warns(NotConvergedWarning):
        stepped = sc.complete(X, method="smcnn", rank=2, solver="descent", step=1e-3, max_iter=3, start_scale=0.25)
    assert (stepped.params["step"], stepped.params["start_scale"]) == (1e-3, 0.25)


@pytest.mark.parametrize(("step", "never"), [(0.0626, True), (0.0624, False)])
def test_a_step_that_cannot_settle_is_named(step, never):
    """With eigenvalue 5 and weight 2, 4 step (5 - 2/2) is below 1 for steps below 1/16."""
    given = {"rank": 1, "penalty": 2.0, "solver": "descent", "step": step, "max_iter": 2, "start": np.ones((2, 1))}
    with pytest.warns(NotConvergedWarning):
        done = sc.complete_similarity(np.diag([5.0, 1.0]), method="smcnn", **given)
    assert ("cannot settle" in done.status.message) is never


def test_candidates_that_are_not_in_memory_are_certified_in_passes(monkeypatch):
    asked, plain = [], one_call.certify_passes
    monkeypatch.setattr(one_call, "certify_passes", lambda *given: asked.append(1) or plain(*given))

    class Slices:
        shape, dtype = (30, 4), np.dtype(np.float64)

        def __getitem__(self, rows):
            return P[rows]

    P = np.random.default_rng(0).standard_normal((30, 4)) + 1
    Q = np.array([[1.0, np.nan, 2.0, 1.0]])
    held = sc.complete(P, Q, method="smcnn", rank=2)
    assert (held.params["route"], asked) == ("structured", [])
    read = sc.complete(Slices(), Q, method="smcnn", rank=2)
    assert asked == [1]
    assert read.certificate.objective == pytest.approx(held.certificate.objective)
    unverified = sc.complete(Slices(), Q, method="smcnn", rank=2, verify=False)
    assert asked == [1]
    assert not unverified.certificate.verified


# The rows of the registry


@pytest.mark.parametrize("name", ["smcnn", "smcnmf", "smc_nr", "smc_f"])
def test_what_the_methods_promise(name):
    method = sc.methods()[name]
    row = method.row()
    assert (row["psd"], row["low_rank"], row["keeps_candidates"], row["random"]) == (True, True, False, False)
    assert {"rank", "penalty"} < method.shared
    assert [dict(g) for g in method.grid] == [
        {"rank": rank, "penalty": weight} for rank in (50, 100, 200) for weight in (0.001, 1.0, 10.0)
    ]
    exact = {"solver": "exact", "max_iter": None}
    # The cheaper one of 6 n^3, and 10 (d + 2 n_q)^3 + 4 n (d + n_q)^2.
    few, many = SimpleNamespace(n=10, d=30, n_queries=5, rank=2), SimpleNamespace(n=1000, d=3, n_queries=5, rank=2)
    assert method.work(few, exact) == 6000
    assert method.work(many, exact) == 10 * 13**3 + 4000 * 8**2
    assert method.work(few, {"solver": "descent", "max_iter": None}) == 6000 + 20_000 * 100 * 2
    assert method.work(few, {"solver": "lbfgs", "max_iter": 7}) == 6000 + 14 * 100 * 2


def test_the_two_variants_of_smc_f():
    """Eigenvalues are divided by 1 + weight, or by 1 + weight/2."""
    S0 = sc.overlap_similarity(X)
    w = np.linalg.eigvalsh(S0)[::-1][:2]
    for variant, part in (("corrected", 1.0), ("paper", 0.5)):
        done = sc.complete(X, method="smc_f", rank=2, penalty=0.6, variant=variant)
        np.testing.assert_allclose(np.linalg.norm(done.factor, axis=0) ** 2, w / (1 + 0.6 * part))


def test_memory_of_a_whole_decomposition():
    """Four n x n matrices for all eigenvalues; for some, one and 2.6 vectors a pair; or what the certificate takes."""
    s = Sizes(60, 40, 0, 30, form="similarities")
    assert spectrum_memory(s, 30, "full", verify=False) == 4 * 100**2
    assert spectrum_memory(s, 10, "partial", verify=False) == 100**2 + 2.6 * 100 * 10
    assert spectrum_memory(s, 90, "full") == 6 * 100 * 90
