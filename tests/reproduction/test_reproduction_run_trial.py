"""One trial: its row has everything, and the same trial gives the same row."""

import pytest

from simcomplete._reproduction.run_trial import can_be_stopped, run_trial, share_of_limit

AT = {"dataset": "digits", "candidates": 60, "queries": 10, "missing": 0.5, "seed": 0}
SMALL = {**AT, "method": "smcnn", "params": {"rank": 5}}


def test_a_row_has_everything():
    stages = []
    row = run_trial(SMALL, 60.0, stages.append)
    assert stages == ["solving", "solved"]
    assert row["outcome"] == "done"
    for name in ("error", "error_off_candidates", "recall_fifth", "recall_all_rows", "ndcg", "ndcg_graded"):
        assert 0 <= row[name] < 2
    assert row["rank"] == 5 <= row["rank_absolute"]
    assert row["peak_mib"] >= row["start_mib"] > 0
    assert {"mask", "seconds", "cpu_seconds", "numpy", "machine", "cores", "commit", "load", "limit"} <= set(row)
    assert (row["candidates_used"], row["features"]) == (60, 64)


def test_the_same_trial_hides_the_same_values():
    rows = [
        run_trial(trial, 60.0)
        for trial in (SMALL, SMALL, {**SMALL, "seed": 1}, {**SMALL, "method": "mean", "params": {}})
    ]
    masks = [row["mask"] for row in rows]
    assert masks[0] == masks[1] == masks[3] != masks[2]
    assert rows[0]["error"] == rows[1]["error"]


def test_the_error_off_candidates_is_that_with_the_block_restored():
    # The restored candidate block is exact, so that the whole error is that of the rest.
    kept = run_trial({**SMALL, "params": {"rank": 5, "keep_candidates": True}}, 60.0)
    free = run_trial(SMALL, 60.0)
    assert kept["error"] == pytest.approx(free["error_off_candidates"], rel=1e-10)
    assert kept["error"] < free["error"]


def test_a_set_with_too_few_rows_gives_all_it_has():
    row = run_trial({**AT, "candidates": 5000, "method": "overlap", "params": {}}, 60.0)
    assert row["candidates_used"] == 1797 - 10


def test_tuning_divides_the_limit():
    row = run_trial({**AT, "method": "nnfn", "params": {"tune": True}}, 60.0)
    assert row["choice"] in [{"penalty": p} for p in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)]
    assert len(row["tried"]) == 6
    assert share_of_limit("nnfn", {"tune": True}, 70.0) == 10.0
    assert share_of_limit("nnfn", {}, 60.0) == 60.0
    assert can_be_stopped("nnfn", {})
    assert not can_be_stopped("smcnn", {"tune": True})  # exact: nothing to stop
    assert can_be_stopped("smcnn", {"solver": "descent"})


def test_a_limit_of_processor_time_stops_a_method_and_keeps_its_last_iterate():
    slow = {"solver": "descent", "rank": 5, "step": 1e-9, "max_iter": 10**9}
    row = run_trial({**AT, "method": "smcnn", "params": slow}, 0.2)
    assert (row["outcome"], row["status"]) == ("over budget", "stopped")
    assert "more than the limit of 0.2 s" in row["reason"]
    assert row["error"] > 0
    assert row["iterations"] > 1


def test_absent_data_is_a_row(monkeypatch):
    monkeypatch.delenv("SIMCOMPLETE_DATA", raising=False)
    row = run_trial({**SMALL, "dataset": "mnist"}, 60.0)
    assert row["outcome"] == "failed"
    assert "needs these files" in row["reason"]
