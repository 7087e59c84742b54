"""Rows by cell: means, spreads, counts, and the distance from the paper's numbers."""

import pytest

from simcomplete._reproduction import runner
from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.report.html_page import coverage
from simcomplete._reproduction.report.tables import cell_text
from simcomplete._reproduction.rows import rows_by_trial
from simcomplete._reproduction.summary import CellSummary, measure_of, summarise_cells


def test_by_hand(made):
    rows = made("ablation", ["dataset=mnist", "method=smcnn"], error=lambda c: 0.8 + 0.1 * c.trial["seed"])
    rows[0]["outcome"], rows[0]["reason"] = "over budget", "late"
    entries = summarise_cells(load_protocol("ablation"), rows_by_trial(rows))
    (one,) = [e for e in entries if e.ran and e.at["missing"] == 0.7 and e.column == "original"]
    assert one.mean == {"error": pytest.approx(1.0)}  # 0.8, 0.9, 1.0, 1.1, 1.2
    assert one.spread == {"error": pytest.approx(0.025**0.5)}
    assert (one.asked, one.ran, one.over, one.failed, one.reason) == (5, 5, 1, 0, "late")
    assert one.paper == {"error": 0.8233, "recall_fifth": 0.7762, "ndcg": 0.8488}
    assert len(entries) == 264
    assert sum(e.ran for e in entries) == len(rows)


@pytest.mark.parametrize(("ours", "sign"), [(0.85, 0), (0.851, 1), (0.749, -1), (None, 0)])
def test_differences(ours, sign):
    mean = {} if ours is None else {"error": ours}
    one = CellSummary({}, "a", "b", {}, 1, 1, 0, 0, mean, {}, {"error": 0.8})
    assert one.differs("error") == sign
    assert one.differs("recall_fifth") == 0


def test_ranks_differ_by_a_share():
    one = CellSummary({}, "a", "b", {}, 1, 1, 0, 0, {"rank": 1150.0}, {}, {"rank": 1200})
    assert one.differs("rank") == 0


def test_derived_measures():
    assert measure_of({"fails": ["psd"]}, "psd") == 0.0
    assert (
        measure_of({}, "psd")
        is measure_of({"peak_mib": None}, "extra_mib")
        is measure_of({"error": None}, "error")
        is None
    )


def test_timings_beside_other_work_are_not_shown(made):
    one = load_protocol("complexity")
    rows = made("complexity", cpu_seconds=2.0, extra_mib=1.0, start_mib=1.0, peak_mib=3.0)
    busy = [{**row, "load": 7.0} if row["method"] == "smcnn" else row for row in rows]
    cells = {cell.method: cell for cell in summarise_cells(one, rows_by_trial(busy))}
    assert cells["fgsr"].mean == {"cpu_seconds": 2.0, "extra_mib": 2.0}
    assert cells["smcnn"].mean == {"extra_mib": 2.0}
    assert cell_text(cells["smcnn"], "cpu_seconds") == "not timed"


def test_rows_tuned_without_the_authors_parameters_are_counted_and_made_again(made):
    one = load_protocol("effectiveness-1000")
    rows = made("effectiveness-1000", ["method=lr", "dataset=mnist"], error=0.5, tried=[0.5] * 6)
    tuned = [row for row in rows if "tune" in row["params"]]
    assert all(runner._is_final(row, 60.0) for row in rows)
    for row in tuned[:3]:
        row["tried"] = [0.5] * 5
        assert not runner._is_final(row, 60.0)
    cells = summarise_cells(one, rows_by_trial(rows))
    assert sum(cell.short for cell in cells) == 3
    assert ", 3 tuned without the authors' parameters among the settings: " in coverage(one, cells)


def test_such_rows_are_made_again_when_the_machine_is_quiet():
    row = {"outcome": "done", "load": 7.0}
    assert runner._is_final(row, 60.0)
    assert not runner._is_final(row, 60.0, time_again=True)
    assert runner._is_final({**row, "load": 1.0}, 60.0, time_again=True)
