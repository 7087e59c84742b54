"""Everything that docs/labelled-results.md shows is run, and is as it says."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "labelled-results.md"


def test_the_page_is_true():
    pytest.importorskip("matplotlib")
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted > 20
    assert outcome.failed == 0


def test_everything_it_names_is_there():
    import simcomplete as sc

    text = PAGE.read_text(encoding="utf-8")
    for name in (
        "plot",
        "plot_similarity",
        "plot_spectrum",
        "plot_neighbours",
        "plot_intervals",
        "to_frame",
        "to_polars",
    ):
        assert f"{name}(" in text
        assert sc.Completion.__dict__[name].__doc__
