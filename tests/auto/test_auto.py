"""auto and tune: what is known is hidden, methods find it again, and the table is shown."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete import _registry as registry
from simcomplete._auto import elect, holdout
from simcomplete._auto.holdout import hold_out
from simcomplete._method.problem import CandidatesQueries
from simcomplete._method.settings import Settings
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._rows.table import HeldRows
from simcomplete.errors import InputError, NotConvergedWarning


@pytest.fixture(scope="module")
def data(digits, hide):
    return digits[:150], hide(digits[150:170], 0.7), digits[150:170]


def swapped(monkeypatch, name, run):
    row = registry.REGISTRY[name]
    monkeypatch.setitem(registry.REGISTRY, name, type(row)(**{**vars(row), "run": run}))


def test_simulated_queries_lack_what_queries_lack(data):
    P, Q, _ = data
    settings = Settings(rank=10, penalty=1e-3, rng=np.random.default_rng(0))
    holdout = hold_out(CandidatesQueries(HeldRows(P), HeldRows(Q)), settings)
    shown = holdout.problem.queries.array
    assert len(shown) == 37  # a quarter of the candidates
    assert holdout.problem.candidates.n == 150 - 37
    masks = {tuple(row) for row in np.isnan(Q)}
    assert all(tuple(row) in masks for row in np.isnan(shown))
    # The truth is that of complete rows, and no simulated query is among the candidates.
    assert holdout.truth.shape == (37, 150)
    assert holdout.truth[:, :113].max() < 1 - 1e-9


def test_the_best_is_chosen_and_the_table_tells(data):
    P, Q, Q_true = data
    done = sc.complete(P, Q, method="auto")
    table = {row["method"]: row for row in done.election}
    assert list(table) == ["overlap", "mean", "smcnn", "lr", "fmc", "posterior"]
    assert table["overlap"]["error"] == pytest.approx(1.0)
    assert done.method == min(table, key=lambda name: table[name]["error"]) == "posterior"
    assert table["posterior"]["note"] == "chosen"
    assert done.params["chosen_by"] == "auto"
    # What was expected is what came, roughly.
    S0, truth = (sc.overlap_similarity(np.vstack([P, x])) for x in (Q, Q_true))
    error = np.sum((done.similarity() - truth)[150:] ** 2) / np.sum((S0 - truth)[150:] ** 2)
    assert error == pytest.approx(table["posterior"]["error"], rel=0.5)


def test_same_seed_same_choice(data):
    P, Q, _ = data
    a, b = (sc.complete(P, Q, method="auto", random_state=4) for _ in range(2))
    assert [(r["method"], r["error"]) for r in a.election] == [(r["method"], r["error"]) for r in b.election]
    np.testing.assert_array_equal(a.factor, b.factor)


def test_any_method_can_stand_and_the_objective_can_be_recall(data):
    P, Q, _ = data
    done = sc.complete(P, Q, method="auto", elect=["overlap", "mean"], objective="recall")
    assert done.method == max(done.election, key=lambda row: row["recall"])["method"]
    assert sc.complete(P, Q, method="auto", elect=["overlap", "mean"]).method == "mean"


def test_sizes_and_not_the_clock_decide_what_is_tried(data, monkeypatch):
    P, Q, _ = data
    tables = []
    for seconds in (1e-9, 1e9):  # a very fast and a very slow machine
        ticks = iter(range(10**6))
        monkeypatch.setattr(holdout.time, "perf_counter", lambda ticks=ticks, seconds=seconds: next(ticks) * seconds)
        done = sc.complete(P, Q, method="auto", elect=["bpmf", "overlap", "mean"], budget=0.2)
        tables.append([(row["method"], row["error"], row["note"]) for row in done.election])
        assert done.method == "mean"
    assert tables[0] == tables[1]
    assert tables[0][0][2].startswith("not tried: about")


def test_no_method_asks_for_a_time_limit_of_its_own(data, monkeypatch):
    seen = {}
    real = registry.REGISTRY["nnfn"].run

    def watched(problem, settings, params):
        seen.update(params)
        return real(problem, settings, params)

    swapped(monkeypatch, "nnfn", watched)
    with pytest.warns(NotConvergedWarning):
        sc.complete(*data[:2], method="auto", elect=["nnfn", "fgsr"], max_iter=3)
    assert seen["time_limit"] is None


def test_a_spent_budget_leaves_the_rest_out(data):
    P, Q, _ = data
    with pytest.warns(NotConvergedWarning, match="no method could be chosen"):
        done = sc.complete(P, Q, method="auto", budget=0)
    assert done.method == "overlap"
    assert all(row["note"].endswith("beyond the budget of 0 s") for row in done.election)


def test_one_that_fails_in_the_election_is_marked(data, monkeypatch):
    def broken(problem, settings, params):
        raise InputError("no")

    swapped(monkeypatch, "mean", broken)
    done = sc.complete(*data[:2], method="auto", elect=["mean", "overlap"])
    assert done.method == "overlap"
    assert done.election[0]["note"] == "failed: no"


def test_a_winner_that_fails_on_the_real_data_is_replaced_loudly(data, monkeypatch):
    real = registry.REGISTRY["lr"].run

    def unlucky(problem, settings, params):
        if problem.n == 170:
            raise InputError("not today")
        return real(problem, settings, params)

    swapped(monkeypatch, "lr", unlucky)
    with pytest.warns(NotConvergedWarning, match="lr chosen, but failed: not today; taking the next best"):
        done = sc.complete(*data[:2], method="auto", elect=["overlap", "lr"])
    assert done.method == "overlap"


def test_without_values_to_hide_there_is_no_election(data):
    P, Q, _ = data
    few = sc.complete(P[:5], Q, method="auto")
    assert (few.method, few.election) == ("posterior", [])
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    assert sc.complete_similarity(S0, candidates=150, method="auto").method == "posterior"
    assert sc.complete_similarity(S0[:40, :40], method="auto").method == "dmc"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"budget": -1}, "budget"),
        ({"objective": "speed"}, "objective='speed' is unknown"),
        ({"elect": ["best"]}, "method='best' is unknown"),
        ({"speed": 1}, "has no parameter 'speed'"),
    ],
)
def test_settings_that_cannot_be_used(data, settings, words):
    with pytest.raises(InputError, match=words):
        sc.complete(*data[:2], method="auto", **settings)


def test_parameters_reach_the_methods_that_have_them(data):
    done = sc.complete(*data[:2], method="auto", elect=["overlap", "posterior"], effort="fast")
    assert done.params["effort"] == "fast"


def test_tuning_by_hand(data):
    P, Q, _ = data
    done = sc.complete(P, Q, method="smcnn", tune=True)
    best = min(done.choice["tried"], key=lambda row: row["error"])
    assert done.params["penalty"] == best["penalty"] == done.choice["tuned"]["penalty"]
    assert done.params["rank"] == min(best["rank"], 170)
    with pytest.raises(InputError, match="give candidates and queries"):
        sc.complete(P, method="smcnn", tune=True)
    with pytest.raises(InputError, match="at least 8 candidates"):
        sc.complete(P[:5], Q, method="smcnn", tune=True)
    with pytest.raises(InputError, match="no settings to tune"):
        sc.complete(P, Q, method="overlap", tune=True)


def test_a_parameter_names_its_methods(data):
    P, Q, _ = data
    assert sc.complete(P, Q, effort="fast").params["effort"] == "fast"
    assert sc.complete(P, rank=5, solver="descent").method == "smcnn"
    done = sc.complete(P, Q, penalty=1.0, verify=False)
    assert done.method == "smcnn"
    assert done.election == []


def test_nothing_missing_elects_exact_similarities(data):
    P, _, Q = data
    done = sc.complete(P, Q)
    assert done.method == "posterior"
    np.testing.assert_allclose(done.similarity(), sc.overlap_similarity(np.vstack([P, Q])), atol=1e-12)


def test_other_measures_get_a_method_that_knows_them(data):
    P, Q, _ = data
    assert sc.complete(P, metric="pearson").method == "posterior"
    assert sc.complete(P, positive=True).method == "smcnn"
    table = {row["method"]: row["note"] for row in sc.complete(P, Q, positive=True).election}
    assert table["posterior"] == "not tried: it does not use positive"


@pytest.fixture(scope="module")
def many(digits, hide):
    return digits[:300], hide(digits[300:330], 0.7), digits[300:330]


def test_posterior_runs_once_where_it_is_chosen(many, monkeypatch):
    P, Q, whole = many
    runs = []
    fit = CandidateModel.fit_transform
    monkeypatch.setattr(CandidateModel, "fit_transform", lambda *a, **k: runs.append(1) or fit(*a, **k))
    done = sc.complete(P, Q, random_state=1)
    assert (done.method, len(runs)) == ("posterior", 1)
    assert [row["method"] for row in done.election] == list(elect.DEFAULT_METHODS)
    errors = {row["method"]: row["error"] for row in done.election}
    assert errors["overlap"] == pytest.approx(1.0)
    # What it is expected to be right about, it is right about: other rows, so by half.
    S0, truth = (sc.overlap_similarity(np.vstack([P, rows]))[300:] for rows in (Q, whole))
    found = np.sum((done.similarity()[300:] - truth) ** 2) / np.sum((S0 - truth) ** 2)
    assert found == pytest.approx(errors["posterior"], rel=0.5)


def test_methods_complete_what_posterior_learnt_from(many, monkeypatch):
    P, Q, _ = many
    seen = []
    real = registry.REGISTRY["lr"].run

    def watched(problem, settings, params):
        seen.append(problem)
        return real(problem, settings, params)

    swapped(monkeypatch, "lr", watched)
    sc.complete(P, Q, elect=["lr", "posterior"])
    shown, others = seen[0].queries.array, seen[0].candidates.array
    assert len(shown) == holdout.SHARED_QUERIES
    assert {tuple(row) for row in np.isnan(shown)} <= {tuple(row) for row in np.isnan(Q)}
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    products = others @ unit.T / np.linalg.norm(others, axis=1)[:, None]
    assert (products.max(axis=1) > 1 - 1e-9).all()  # candidates, and none of those that lost values
    for row in shown:
        seen_of_it = np.isnan(row)
        near = others[:, ~seen_of_it] - row[~seen_of_it]
        assert np.abs(near).max(axis=1).min() > 0


@pytest.mark.parametrize("better", [0.0, 1.0])
def test_the_least_error_wins_where_queries_are_shared(many, monkeypatch, better):
    """`posterior` is scored by its own vectors: with wrong ones another method is taken, with the same answer."""
    P, Q, _ = many
    right = CandidateModel._calibrated.__func__

    def wrong(cls, *args):
        *args, learnt = args
        return right(cls, *args, learnt and (lambda gathered, u: learnt(gathered, better * u)))

    monkeypatch.setattr(CandidateModel, "_calibrated", classmethod(wrong))
    done = sc.complete(P, Q, random_state=1)
    errors = {row["method"]: row["error"] for row in done.election}
    assert done.method == min(errors, key=errors.get)
    assert (done.method == "posterior") == (better == 1)
    if done.method != "posterior":
        assert errors["posterior"] > 1
        named = sc.complete(P, Q, method=done.method)
        np.testing.assert_array_equal(done.similarity(), named.similarity())


def test_one_that_fails_first_is_marked_and_another_taken(many, monkeypatch):
    def broken(*_, **__):
        raise np.linalg.LinAlgError("no digits")

    monkeypatch.setattr(holdout, "from_candidates", broken)
    done = sc.complete(*many[:2], elect=["mean", "lr", "posterior"])
    assert done.method == "lr"
    assert done.election[-1]["note"] == "failed: no digits"


def test_copies_leave_too_few_rows_to_share(digits, hide, monkeypatch):
    """A table of a few rows many times over: methods are compared on queries of their own, and the answer is kept."""
    P, Q = np.tile(digits[:20], (10, 1)), hide(digits[300:310], 0.7)
    runs = []
    fit = holdout.from_candidates
    monkeypatch.setattr(holdout, "from_candidates", lambda *a: runs.append(1) or fit(*a))
    done = sc.complete(P, Q, elect=["overlap", "posterior"])
    assert len(runs) == 1 and all(row["error"] is not None for row in done.election)


def test_what_no_budget_has_room_for_does_not_run_first(many, monkeypatch):
    P, Q, _ = many
    monkeypatch.setattr(holdout, "from_candidates", lambda *_: pytest.fail("it ran"))
    work = registry.REGISTRY["posterior"].work
    row = registry.REGISTRY["posterior"]
    slow = type(row)(**{**vars(row), "work": lambda sizes, own: work(sizes, own) * (1 + 1e6 * (sizes.n > 320))})
    monkeypatch.setitem(registry.REGISTRY, "posterior", slow)
    assert sc.complete(P, Q, elect=["overlap", "posterior"]).method == "posterior"
