"""The stored rows: every protocol has all its runs, and those that were stopped are few and had time."""

from pathlib import Path

import pytest

from simcomplete._registry import find
from simcomplete._reproduction.protocol import load_protocols
from simcomplete._reproduction.report.html_page import coverage
from simcomplete._reproduction.rows import pair_cells, read_rows, rows_by_trial
from simcomplete._reproduction.runner import _is_final
from simcomplete._reproduction.summary import summarise_cells

ROWS = rows_by_trial(read_rows(Path(__file__).parents[2] / "docs" / "reproduction" / "rows.jsonl.gz"))
ALL = load_protocols()
# Its question is whether 10,000 printed steps arrive: they are stopped where they would take minutes.
STOPPED_ON_PURPOSE = ("literal-step", "sensitivity-step")


@pytest.mark.parametrize("protocol", ALL, ids=lambda p: p.name)
class TestEvery:
    def test_it_has_all_its_runs(self, protocol):
        assert coverage(protocol, summarise_cells(protocol, ROWS)).startswith("all ")
        assert all(_is_final(row, protocol.time_limit) for _, row in pair_cells(protocol, ROWS))

    def test_few_were_stopped(self, protocol):
        rows = [row for _, row in pair_cells(protocol, ROWS)]
        stopped = [row for row in rows if row["outcome"] == "over budget"]
        assert all(row["limit"] >= 120 for row in stopped)
        assert len(stopped) < 0.02 * len(rows) or protocol.name in STOPPED_ON_PURPOSE
        assert not [row for row in rows if row["outcome"] == "failed"]


def test_tuning_takes_the_setting_with_the_least_error_of_hidden_values():
    tuned = [row for row in ROWS.values() if row["params"].get("tune") and row.get("tried")]
    assert len(tuned) > 50  # rows of the first version do not say what was tried
    for row in tuned:
        pairs = zip(row["tried"], find(row["method"]).grid, strict=False)
        known = [(error, setting) for error, setting in pairs if error is not None]
        assert row["choice"] == min(known, key=lambda one: one[0])[1], row
