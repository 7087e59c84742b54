"""What `make fuzz` found once is tried again, forever; and the parts that find it are tried on cases that must fail."""

import json

import numpy as np
import pytest

from . import calls, record
from .case import Case
from .checks import ViolatedError
from .explore import explore
from .record import FAILURES, Finding


@pytest.mark.parametrize("path", sorted(FAILURES.glob("*.json")), ids=lambda path: path.stem)
def test_a_finding_stays_mended(path):
    found = record.tried(record.load(path))
    assert not isinstance(found, Finding), str(found)


def example():
    return Case("queries", "mean", np.array([[1.0, 2.0], [3.0, 1e300]]), np.array([[np.nan, 0.1]]), looks=("save",))


def test_a_case_is_the_same_after_it_was_written(tmp_path):
    case = example()
    path = record.save(Finding("a key", "a message", case), tmp_path)
    again = record.load(path)
    assert json.dumps(again.as_json()) == json.dumps(case.as_json())
    np.testing.assert_array_equal(again.rows, case.rows)
    np.testing.assert_array_equal(again.queries, case.queries)


def test_a_finding_that_was_kept_is_not_written_over(tmp_path):
    first, other = example(), record.replace(example(), dtype="float32")
    paths = [record.save(Finding("a key", "a message", case), tmp_path) for case in (first, other, first, other)]
    assert [path.name for path in paths] == ["a-key.json", "a-key-2.json"] * 2
    assert [str(record.load(path)) for path in paths] == [str(first), str(other)] * 2


@pytest.mark.parametrize("wrong", [ViolatedError("finite", "no"), ZeroDivisionError("no"), RuntimeWarning("no")])
def test_what_goes_wrong_is_found_and_made_small(monkeypatch, wrong):
    def fails_on_two_rows(case):
        if len(case.rows) >= 2:
            raise wrong
        return ""

    monkeypatch.setattr(record, "run", fails_on_two_rows)
    case = Case(
        "queries", "mean", np.arange(24.0).reshape(8, 3), np.ones((3, 3)), settings={"rank": 1}, looks=("save",)
    )
    found = record.smaller(record.tried(case))
    assert isinstance(found, Finding)
    assert found.case.rows.shape == (2, 1)
    assert found.case.queries.shape == (1, 1)
    assert found.case.settings == {}
    assert found.case.looks == ()


def test_a_warning_is_a_finding(monkeypatch):
    monkeypatch.setattr(record, "run", lambda case: np.float64(1.0) / np.zeros(1))
    found = record.tried(example())
    assert isinstance(found, Finding)
    assert "RuntimeWarning" in found.key


def test_a_case_that_does_not_end_is_a_finding(monkeypatch):
    def forever(case):
        while True:
            pass

    monkeypatch.setattr(record, "run", forever)
    monkeypatch.setattr(record, "PATIENCE", 1)
    found = record.tried(example())
    assert isinstance(found, Finding)
    assert "TooLong" in found.key


@pytest.mark.parametrize(("wrong", "promise"), [(np.nan, "finite"), (0.5, "symmetric")])
def test_a_wrong_answer_is_a_finding(monkeypatch, wrong, promise):
    def nudged(case, rows, queries=None, **more):
        done = calls.sc.complete(rows, queries, method=case.method, progress=False)
        S = np.array(done.similarity())
        S[0, 1] = wrong
        return calls.replace(done, matrix=calls.replace(done.matrix, factor=None, dense=S, unit=False))

    monkeypatch.setattr(calls, "complete", nudged)
    found = record.tried(example())
    assert isinstance(found, Finding)
    assert found.key == f"{promise} [mean, queries]"


def test_examples_are_counted_over_runs(tmp_path):
    path = tmp_path / "count.json"
    for seed, found in ((1, 0), (2, 3), (3, 0)):
        count = record.counted({"seed": seed, "examples": 10, "findings": found, "version": "x"}, path)
    assert count["examples"] == 30
    assert count["since_a_finding"] == 10
    assert [run["seed"] for run in json.loads(path.read_text())["runs"]] == [1, 2, 3]


def test_examples_are_drawn_and_run(tmp_path):
    outcome = explore(first_seed=1, seconds=60.0, folder=tmp_path, method="mean", most=20)
    assert outcome.examples == 20
    assert set(outcome.methods) <= {"mean", "none"}
    # Other processes find it by the name of its module, which must not be that of the program.
    assert explore.__module__.endswith(".explore")
