"""What a protocol leaves out, in its trials, its tables and in words; how its timings were taken."""

from dataclasses import replace

import pytest

from simcomplete._reproduction.protocol import load_protocol, load_protocols, parse_protocol
from simcomplete._reproduction.report.extent import describe_cuts, describe_runs, describe_timings
from simcomplete._reproduction.report.html_page import coverage, split_table
from simcomplete._reproduction.report.tables import build_tables
from simcomplete._reproduction.rows import rows_by_trial
from simcomplete._reproduction.summary import CellSummary, summarise_cells
from simcomplete._reproduction.trials import expand
from simcomplete._reproduction.without import is_without

CUT = """
extends = "ablation"
sets = ["mnist"]
methods = ["cmc", "dmc", "fmc", "smcnn"]
fewer_seeds = { "fmc original" = 2 }
columns = [
  { name = "original", params = { preset = "original" } },
  { name = "tuned", params = { tune = true }, methods = ["dmc", "fmc", "smcnn"] },
]

[[without]]
method = ["dmc", "fmc"]
missing = [0.7]
why = "it takes minutes"

[[without]]
method = ["cmc"]
why = "it takes minutes"

[[without]]
dataset = ["mnist"]
column = ["tuned"]
missing = [0.9]
why = "nothing changes"
"""


def test_left_out_combinations_are_not_run():
    one = parse_protocol("mine", CUT)
    whole = expand(replace(one, without=[]))
    kept = [(c.trial["method"], c.column, c.at["missing"], c.trial["seed"]) for c in expand(one)]
    assert kept == [
        (c.trial["method"], c.column, c.at["missing"], c.trial["seed"])
        for c in whole
        if not (c.trial["method"] in ("dmc", "fmc") and c.at["missing"] == 0.7)
        and c.trial["method"] != "cmc"
        and not (c.column == "tuned" and c.at["missing"] == 0.9)
    ]
    assert 0 < len(kept) < len(whole)


def test_all_names_of_an_entry_must_match():
    place = {"method": "dmc", "missing": 0.7, "seed": 0}
    assert is_without([{"method": ["dmc"], "missing": [0.8, 0.7], "why": ""}], place)
    assert not is_without([{"method": ["dmc"], "missing": [0.8], "why": ""}], place)
    assert not is_without([{"method": ["dmc"], "rank": [1], "why": ""}], place)  # the protocol has no ranks
    assert not is_without([], place)


def test_a_column_says_why_it_lacks_methods():
    text = CUT.replace('"smcnn"] },', '"smcnn"], why = "a grid takes six minutes" },')
    assert describe_cuts(parse_protocol("mine", text))[0] == "CMC tuned, because a grid takes six minutes"


def test_another_protocol_does_not_inherit_them():
    assert load_protocol("ablation").without
    assert load_protocol("readings").without == []


def test_they_are_named_with_their_reasons():
    assert describe_cuts(parse_protocol("mine", CUT)) == [
        "CMC tuned, because trying the whole grid takes long",
        "DMC and FMC at missing 0.7, and CMC, because it takes minutes",
        "tuned at missing 0.9 on MNIST, because nothing changes",
        "FMC original with 2 of 5 seeds, to save time",
    ]


@pytest.mark.parametrize("protocol", load_protocols(), ids=lambda p: p.name)
def test_every_entry_of_every_protocol_leaves_something_out(protocol):
    for k, entry in enumerate(protocol.without):
        others = replace(protocol, without=[*protocol.without[:k], *protocol.without[k + 1 :]])
        assert len(expand(protocol)) < len(expand(others)), entry
    said = describe_runs(protocol)
    assert all(entry["why"] in said for entry in protocol.without)


def test_their_cells_say_so_and_the_others_stay_in_their_columns(made):
    one = parse_protocol("mine", CUT)
    rows = made("ablation", ["dataset=mnist"], error=lambda c: c.at["missing"], recall_fifth=0.5, ndcg=0.5)
    cells = summarise_cells(one, rows_by_trial(rows))
    (table,) = build_tables(one, cells)
    assert {len(row) for row in table.rows} == {len(table.head)} == {11}
    (dmc,) = [row for row in table.rows if row[:2] == ["DMC", "original"]]
    assert dmc[2:5] == ["left out"] * 3
    assert (dmc[5][:5], dmc[8][:5]) == ("0.800", "0.900")
    (tuned,) = [row for row in table.rows if row[:2] == ["DMC", "tuned"]]
    assert (tuned[2:5], tuned[5][:5], tuned[8:]) == (["left out"] * 3, "0.800", ["left out"] * 3)
    assert not any(row[0] == "CMC" for row in table.rows)
    parts = split_table(table)
    assert [sum(row[0] == "DMC" for row in part.rows) for part in parts] == [0, 3, 2]  # with the paper's row
    assert coverage(one, cells).startswith(f"all {len(expand(one))} runs")


def test_timings_say_how_busy_the_machine_was():
    cell = CellSummary({}, "a", "b", {}, 1, 1, 0, 0, {"cpu_seconds": 1.0}, {}, {})
    quiet, busy = replace(cell, load=1.2), replace(cell, load=7.4)
    assert "with nothing else on the machine" in describe_timings([cell, quiet])
    assert "beside other work (the load was 1 to 7; 1 is this run alone)" in describe_timings([quiet, busy])
    assert describe_timings([busy]) in describe_runs(load_protocol("time"), [busy])


def test_rows_of_one_busy_run_are_timed_together_where_none_was_quiet(made):
    one = load_protocol("complexity")
    rows = made("complexity", cpu_seconds=2.0, start_mib=1.0, peak_mib=3.0)
    busy = [{**row, "load": 7.0, "commit": "old" if row["method"] == "fgsr" else "new"} for row in rows]
    cells = {cell.method: cell for cell in summarise_cells(one, rows_by_trial(busy))}
    assert (cells["smcnn"].mean["cpu_seconds"], cells["smcnn"].load) == (2.0, 7.0)
    assert ("cpu_seconds" in cells["fgsr"].mean, cells["fgsr"].load) == (False, None)  # another version
