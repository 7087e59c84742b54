"""The examples of docs/scaling-features.md run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "scaling-features.md"


def test_examples_run():
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 10 and outcome.failed == 0
