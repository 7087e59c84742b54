"""Ctrl-C while modules are imported and arguments are read is not lost."""

import signal
import subprocess
import sys

import pytest

from simcomplete._cli import interrupts

EARLY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
from simcomplete._cli import main
from simcomplete._cli import interrupts
hold = interrupts.hold
def hold_and_interrupt():
    hold()
    os.kill(os.getpid(), signal.SIGINT)
import simcomplete._cli as cli
cli.hold = hold_and_interrupt
sys.argv = ["simcomplete", *sys.argv[1:]]
main()
"""


@pytest.fixture
def handler():
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interruption_is_raised_when_it_is_released(handler):
    interrupts.hold()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupts.release()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    interrupts.release()  # nothing is held any more


def test_without_an_interruption_nothing_is_raised(handler):
    interrupts.hold()
    interrupts.release()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_somebody_else_stays(handler):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.hold()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    interrupts.release()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("arguments", [("methods",), ("paper", "list")], ids=" ".join)
def test_a_command_that_was_interrupted_before_it_began_ends_with_130(arguments):
    ended = subprocess.run([sys.executable, "-c", EARLY, *arguments], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "simcomplete: interrupted\n")
