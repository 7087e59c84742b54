"""A handful of what `make faults` does a hundred times, and that a fault which does harm is noticed."""

import sys
from dataclasses import replace

import pytest

from . import faults
from .__main__ import PLAN, WORDS, Trial, trials
from .scenarios import SCENARIOS, FaultError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals to process groups are those of POSIX")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("save", faults.killed_at_event),
        ("out=", faults.interrupted_at_event),
        ("complete", faults.interrupted),
        ("save", faults.out_of_room),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_few(name, fault):
    assert Trial(name, fault, seed=0).run() == ""


def test_there_are_a_hundred():
    assert len(trials()) == 100
    assert {fault.__name__ for _, fault, _ in PLAN} == set(WORDS)
    assert {name for name, _, _ in PLAN} == {*SCENARIOS, "completion"}  # the last writes no file: a worker is killed
    assert len({(name, fault) for name, fault, _ in PLAN}) == len(PLAN)


def test_those_of_one_kind():
    assert {trial.fault for trial in trials("two at once")} == {faults.two_at_once}
    assert len(trials("two at once")) == sum(count for _, fault, count in PLAN if fault is faults.two_at_once)


def test_half_a_result_is_noticed(monkeypatch):
    scenario = SCENARIOS["save"]

    def half(folder):
        state = scenario.state(folder)
        return state if not (folder / "struck").exists() else "half"

    def prepare(folder):
        scenario.prepare(folder)
        (folder / "struck").touch()

    known = faults.KNOWN.of(scenario)
    monkeypatch.setitem(SCENARIOS, "save", replace(scenario, state=half, prepare=prepare))
    monkeypatch.setattr(faults.KNOWN, "of", lambda scenario: known)
    with pytest.raises(FaultError, match="neither the old"):
        faults.killed_at_event("save", faults.Random(0))
