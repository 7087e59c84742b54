"""Run tests against one mutant, in a copy of the tree: the working tree is never changed."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from .changes import Mutant

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "benchmarks", "docs", "examples")
# Imported once and inherited by every run: most of the time that a run takes would go into these.
HEAVY = ("numpy", "scipy.linalg", "scipy.sparse.linalg", "sklearn.datasets", "pytest", "hypothesis", "array_api_strict")

# Plain assertions: nobody reads why a mutant failed.
OPTIONS = ("-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "--hypothesis-seed=0")


@dataclass(frozen=True)
class Copy:
    """A copy of the tree, in which one file at a time is changed."""

    folder: Path

    @classmethod
    def of_the_tree(cls, folder: Path) -> Copy:
        """Copy what tests need."""
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        for name in HEAVY:
            importlib.import_module(name)
        return cls(folder)

    def passes(self, tests: list[str], timeout: float, output: Path | None = None) -> bool:
        """Whether the tests pass; a run that takes too long fails, as one that never ends would."""
        child = os.fork()
        if child == 0:
            os._exit(self._run(tests, output))
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status) == 0
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)  # with all that the tests started
        os.waitpid(child, 0)
        return False

    def survives(self, mutant: Mutant, tests: list[str], timeout: float) -> bool:
        """Whether the tests pass although the mutant is there."""
        here = self.folder / mutant.path.relative_to(ROOT)
        text = here.read_text(encoding="utf-8")
        here.write_text(mutant.source(text), encoding="utf-8")
        try:
            return self.passes(tests, timeout)
        finally:
            here.write_text(text, encoding="utf-8")

    def _run(self, tests: list[str], output: Path | None) -> int:
        """Run the tests in this process, which is a fork, and return pytest's exit code."""
        try:
            os.setsid()
            where = os.open(output or os.devnull, os.O_WRONLY | os.O_CREAT, 0o600)
            for stream in (1, 2):
                os.dup2(where, stream)
            os.chdir(self.folder)
            # Before the working tree, which is installed; for the processes that tests start, too. Compiled files are
            # told apart by the second they were written in, which two mutants may share: none are written.
            sys.path.insert(0, str(self.folder / "src"))
            os.environ["PYTHONPATH"] = str(self.folder / "src")
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            sys.dont_write_bytecode = True
            import pytest

            return int(pytest.main([*OPTIONS, *tests]))
        except BaseException:
            traceback.print_exc()
            return 99
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
