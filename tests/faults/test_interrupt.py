"""Ctrl-C in the middle of an iterative method: exit code 130, one line, and nothing is stored."""

import signal
import sys

import numpy as np
import pytest

import simcomplete as sc

from .processes import Process, command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals to process groups are those of POSIX")


@pytest.fixture
def data(tmp_path, digits, hide):
    np.save(tmp_path / "p.npy", digits[:150])
    np.save(tmp_path / "q.npy", hide(digits[150:180], 0.7))
    return tmp_path


@pytest.mark.parametrize(
    "parameters",
    [("cmc",), ("dmc", "--param", "variant=dykstra", "--param", "tol=0"), ("smcnn", "--param", "solver=descent")],
    ids=lambda parameters: parameters[0],
)
def test_complete_ends_with_130_and_stores_nothing(data, parameters):
    method, *rest = parameters
    arguments = ["complete", "p.npy", "q.npy", "-o", "out", "--method", method, "--param", "max_iter=100000", *rest]
    with Process(command(*arguments, iterating=True), data) as process:
        assert process.wait_for()
        process.hit(signal.SIGINT)
        code, said = process.end(60)
    assert (code, said) == (130, "simcomplete: interrupted\n")
    assert sorted(path.name for path in data.iterdir()) == ["p.npy", "q.npy"]


def test_compare_ends_with_130_and_no_row_of_what_was_cut_short(data):
    arguments = [
        "compare",
        "p.npy",
        "-o",
        "out",
        "--methods",
        "cmc,dmc",
        "--repeats",
        "1",
        "--param",
        "max_iter=100000",
    ]
    with Process(command(*arguments, iterating=True), data) as process:
        assert process.wait_for()
        process.hit(signal.SIGINT)
        code, said = process.end(60)
    assert code == 130
    assert said.endswith("simcomplete: interrupted\n")
    assert "Traceback" not in said
    assert not list(data.rglob("*.jsonl"))


def test_in_the_library_it_is_keyboard_interrupt_unless_the_best_so_far_was_asked_for(digits, hide):
    def press(iteration, facts):
        if iteration == 2:
            raise KeyboardInterrupt

    P, Q = digits[:40], hide(digits[40:50], 0.7)
    with pytest.raises(KeyboardInterrupt):
        sc.complete(P, Q, method="cmc", callback=press)
    with pytest.warns(sc.errors.NotConvergedWarning, match="interrupted after 2 iterations"):
        done = sc.complete(P, Q, method="cmc", callback=press, on_interrupt="return")
    assert done.status.code == "interrupted"
    assert np.isfinite(done.similarity()).all()


def test_while_settings_are_tried_it_is_never_held_back(digits, hide):
    def press(iteration, facts):
        raise KeyboardInterrupt

    P, Q = digits[:60], hide(digits[60:70], 0.7)
    with pytest.raises(KeyboardInterrupt):
        sc.complete(P, Q, method="facnnfn", callback=press, tune=True, on_interrupt="return")
