"""What is tried and chosen for incomplete rows, with models whose errors are given; and all of it, step by step."""

from types import SimpleNamespace

import numpy as np
import pytest

from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows import select
from simcomplete._posterior.all_rows.calibrate import RowModel, RowsHoldout
from simcomplete._posterior.all_rows.em import fit
from simcomplete._posterior.all_rows.packing import IncompleteRows, Scaling
from simcomplete._posterior.all_rows.select import RowsSetting, complete_rows
from simcomplete._result.status import Status


def incomplete(n=120, d=9, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 1 + 0.3 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


# What is tried: every row is nearly 1, and a model that says 1 + e has error e^2 in every hidden value.


class Says:
    """A model that fills every value with one number."""

    scaling = SimpleNamespace(sizes=lambda X: np.full(len(X), 2.0))
    strength = power = 0.0

    def __init__(self, number):
        self.number = number

    def fill(self, X):
        return SimpleNamespace(values=np.full(X.shape, self.number / 2))

    def vectors(self, done):
        return done.values


def tried(monkeypatch, errors, **given):
    """Settings in the order they were tried, iterations of each, and the result; errors by (space, model, rank)."""
    asked, status = [], given.pop("status", Status("computed", "done"))

    def fitted(self, X, averaged, limits):
        asked.append((tuple(self), limits.max_iter, len(X)))
        return Says(1 + errors(*self)), SimpleNamespace(status=status, history=[])

    monkeypatch.setattr(RowsSetting, "fit", fitted)
    monkeypatch.setattr(select, "RowsHoldout", SimpleNamespace(of=lambda *_: None))
    n, d = given.pop("shape", (200, 90))
    X = 1 + 1e-9 * np.random.default_rng(0).random((n, d))
    return asked, complete_rows(X, np.random.default_rng(0), **given)


def test_the_middle_rank_comes_first_and_the_two_best_climb(monkeypatch):
    best = {"raw": 0.3, "unit": 0.1}

    def error(space, model, rank):
        return best[space] + (0.05 if model == "ppca" else 0.0) + 0.001 * abs(rank - 10)

    asked, done = tried(monkeypatch, error)
    settings = [setting for setting, _, _ in asked]
    start = [(space, model, 20) for space in ("raw", "unit") for model in ("fa", "ppca")]
    # The best two are those in unit space: up to 40 is worse, down to 10 better, down to 5 worse again.
    climbed = [("unit", model, rank) for model in ("fa", "ppca") for rank in (40, 10, 5)]
    assert settings == [*start, *climbed, ("unit", "fa", 10)]
    assert [most for _, most, _ in asked] == [10] * 10 + [25]
    assert done.setting == ("unit", "fa", 10)
    table = {(row["space"], row["model"], row["rank"]): row["error"] for row in done.table}
    assert list(table) == settings[:-1]
    hidden = table["unit", "fa", 10] / error("unit", "fa", 10) ** 2
    for setting, found in table.items():
        assert found == pytest.approx(hidden * error(*setting) ** 2, rel=1e-5)


def test_who_climbed_up_does_not_look_down(monkeypatch):
    asked, done = tried(monkeypatch, lambda space, model, rank: 1 / rank, models=("fa",), spaces=("raw",))
    assert [setting[2] for setting, _, _ in asked] == [20, 40, 40]
    assert done.setting.rank == 40
    asked, done = tried(
        monkeypatch, lambda space, model, rank: rank, models=("fa",), spaces=("raw",), ranks=(2, 3, 4, 6, 8)
    )
    assert [setting[2] for setting, _, _ in asked] == [4, 6, 3, 2, 2]


@pytest.mark.parametrize(
    ("shape", "ranks", "allowed"),
    [
        ((200, 90), (50, 44, 45, 45), [44]),
        ((200, 91), (45,), [45]),
        ((30, 90), (29, 30, 31), [29]),
        ((200, 9), (40,), [4]),  # none is allowed: just below half of the smaller side
        ((200, 2), (40,), [1]),
        ((21, 90), (70,), [10]),
    ],
)
def test_ranks_lie_below_half_of_the_features_and_below_the_rows(monkeypatch, shape, ranks, allowed):
    asked, _ = tried(monkeypatch, lambda *_: 0.1, shape=shape, ranks=ranks, models=("fa",), spaces=("raw",))
    assert sorted({setting[2] for setting, _, _ in asked}) == allowed


@pytest.mark.parametrize(("n", "d", "several"), [(19, 90, False), (20, 90, True), (20, 8, False)])
def test_with_little_to_hide_nothing_is_chosen(monkeypatch, n, d, several):
    """Fewer than 20 distinct rows, or fewer than 20 hidden values, a twentieth of all."""
    asked, done = tried(monkeypatch, lambda *_: 0.1, shape=(n, d), ranks=(2, 3))
    assert bool(done.table) is several
    if not several:
        assert [(setting, most) for setting, most, _ in asked] == [(("unit", "ppca", 2), 25)]


def test_an_error_that_overflows_is_the_worst(monkeypatch):
    _, done = tried(monkeypatch, lambda *_: 1e200, models=("fa",), spaces=("raw",), ranks=(5,))
    # The worst squared error of a row, over its energy: 1e6 / 90.
    assert done.table[0]["error"] == pytest.approx(1e6 / 90)


def test_nothing_follows_a_run_that_was_cut(monkeypatch):
    for code, word in (("time_limit", "allow more time"), ("stopped", "callback"), ("interrupted", "interrupted")):
        asked, done = tried(monkeypatch, lambda *_: 0.1, status=Status(code, "", ok=False))
        assert len(asked) == 1
        assert (done.status.code, done.status.ok) == (code, False)
        assert word in done.status.message
    assert tried(monkeypatch, lambda *_: 0.1, limits=Limits(4))[0][0][1] == 4


def test_time_is_shared_by_all_runs(monkeypatch):
    seconds = iter([100.0, 101.5, 104.0, 120.0])
    monkeypatch.setattr(select, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    limits = []

    def fitted(self, X, averaged, own):
        limits.append(own.time_limit)
        return Says(1.1), SimpleNamespace(status=Status("computed", "done"), history=[])

    monkeypatch.setattr(RowsSetting, "fit", fitted)
    monkeypatch.setattr(select, "RowsHoldout", SimpleNamespace(of=lambda *_: None))
    X = 1 + 1e-9 * np.random.default_rng(0).random((60, 20))
    given = {"models": ("fa",), "spaces": ("raw", "unit"), "ranks": (3,)}
    complete_rows(X, np.random.default_rng(0), limits=Limits(25, time_limit=6.0), **given)
    assert limits == [4.5, 2.0, 0.0]


def test_settings_are_fitted_as_they_say():
    X = incomplete()
    for space, model in (("raw", "fa"), ("unit", "ppca")):
        found, _ = RowsSetting(space, model, 2).fit(X, False, Limits(3))
        sizes = Scaling.of(X, space).sizes(X)
        expected, _ = fit(
            IncompleteRows.of(X / sizes[:, None]), 2, pooled=model == "ppca", averaged=False, limits=Limits(3)
        )
        np.testing.assert_array_equal(found.factors.loadings, expected.loadings)
        np.testing.assert_array_equal(found.scaling.sizes(X), sizes)
        assert found.factors.spread is None


# All of it


def test_all_of_it_step_by_step():
    X = incomplete()
    X[:, 4] = np.nan  # nobody has it
    X[7] = X[3]
    done = complete_rows(X, np.random.default_rng(5), ranks=(2,), models=("fa", "ppca"), spaces=("raw", "unit"))
    seen = np.arange(9) != 4
    rng = np.random.default_rng(5)
    keys = [np.packbits(np.isnan(x)).tobytes() + (np.nan_to_num(x) + 0.0).tobytes() for x in X]
    order = sorted(range(120), key=lambda i: (keys[i], i))
    rows = X[order][:, seen]
    some = rows[np.sort(rng.permutation(120))]
    known = ~np.isnan(some)
    distinct = sorted(set(keys))
    table = rng.random((len(distinct), 8)) < 0.05
    # Keys of rows without the feature that nobody has stand in the same order.
    hidden = np.array([table[distinct.index(keys[i])] for i in order]) & known
    hidden[~(known & ~hidden).any(axis=1)] = False
    left = np.where(hidden, np.nan, some)
    errors = {}
    for space in ("raw", "unit"):
        for model in ("fa", "ppca"):
            fitted, _ = RowsSetting(space, model, 2).fit(left, True, Limits(10))
            filled = fitted.fill(left).values * fitted.scaling.sizes(left)[:, None]
            each = [
                np.sum((filled[i] - some[i])[hidden[i]] ** 2) / np.nansum(some[i] ** 2)
                for i in range(120)
                if hidden[i].any()
            ]
            errors[space, model, 2] = np.mean(each)
    assert {(r["space"], r["model"], r["rank"]): r["error"] for r in done.table} == pytest.approx(errors)
    best = RowsSetting(*min(errors, key=errors.get))
    assert done.setting == best
    holdout = RowsHoldout.of(some, None, rng)
    trial, _ = best.fit(holdout.X, True, Limits(10))
    calibration = holdout.calibrate(trial.with_local(holdout.X, rng))
    model, run = best.fit(rows, True, Limits(25))
    if calibration.strength > 0:
        model = model.with_local(rows, rng)
    filled = model.fill(rows)
    model = model.tuned(calibration.strength, calibration.power, filled)
    U = np.zeros_like(X)
    for place, i in enumerate(order):
        U[i, seen] = model.vectors(filled)[place]
    np.testing.assert_allclose(done.U, U, atol=1e-12)
    assert done.expected_squared_error == pytest.approx(calibration.expected(U))
    np.testing.assert_allclose(done.quantiles, calibration.quantiles)
    assert [facts["objective"] for facts in done.history] == [facts["objective"] for facts in run.history]
    assert done.status.ok
    assert done.choice.as_dict() == {
        **best._asdict(),
        "strength": calibration.strength,
        "power": calibration.power,
        "expected_squared_error": done.expected_squared_error,
    }
    np.testing.assert_allclose(done.diagonal, 1 - np.sum(U**2, axis=1), atol=1e-12)
    assert done.unit is done.U
    new = done.vectors(X[:3])
    np.testing.assert_allclose(new.u, U[:3], atol=1e-9)
    np.testing.assert_allclose(new.length, np.linalg.norm(U[:3], axis=1), atol=1e-9)


def test_some_rows_choose_and_all_are_fitted(monkeypatch):
    monkeypatch.setattr(select, "CHOSEN_ON", 90)
    asked = []
    plain = RowsSetting.fit

    def fitted(self, X, averaged, limits):
        asked.append(len(X))
        return plain(self, X, averaged, limits)

    monkeypatch.setattr(RowsSetting, "fit", fitted)
    done = complete_rows(incomplete(), np.random.default_rng(0), ranks=(2,), models=("fa",), spaces=("raw",))
    assert asked == [90, 90, 120]
    assert done.U.shape == (120, 9)
    assert isinstance(done.model, RowModel)


def test_nothing_known_at_all_has_vectors_of_zero():
    done = complete_rows(np.full((4, 3), np.nan), np.random.default_rng(0))
    assert done.seen.tolist() == [True] * 3
    assert not done.U.any()
    assert done.diagonal.tolist() == [1.0] * 4
