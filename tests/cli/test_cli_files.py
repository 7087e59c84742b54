"""Files of commands: what is read, what is written, standard input and output, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._report.charts import error_against_time
from simcomplete._report.labels import overlap_area, place_labels
from simcomplete.datasets import read_table

ASKED = ("--method", "smcnn", "--rank", "2")


@pytest.fixture
def block(folder, run):
    run("complete", "p.csv", "q.csv", "-o", "out", *ASKED)
    return sc.load("out").similarity("queries", "candidates")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".feather"])
def test_a_block_with_labels(folder, run, block, ending):
    run("complete", "p.csv", "q.csv", "-o", f"s{ending}", *ASKED)
    table = read_table(f"s{ending}")
    np.testing.assert_array_equal(table.values, block)
    assert (table.labels, table.columns) == (["q1", "q2"], ["u", "v", "w", "x"])


def test_numpy_files(folder, run, block):
    run("complete", "p.csv", "q.csv", "-o", "s.npy", *ASKED)
    np.testing.assert_array_equal(np.load("s.npy"), block)
    run("complete", "p.csv", "q.csv", "-o", "s.npz", *ASKED)
    with np.load("s.npz") as archive:
        np.testing.assert_array_equal(archive["similarity"], block)
        assert archive["rows"].tolist() == ["q1", "q2"]
        assert archive["columns"].tolist() == ["u", "v", "w", "x"]


def test_all_rows_without_labels(folder, run):
    run("complete", "p.npy", "-o", "s.csv", *ASKED)
    table = read_table("s.csv")
    assert table.labels == table.columns == ["0", "1", "2", "3"]
    np.testing.assert_allclose(table.values, sc.complete(np.load("p.npy"), method="smcnn", rank=2).similarity())


@pytest.mark.parametrize(
    ("name", "word"), [("s.xlsx", "'.xlsx'"), ("p.csv", "--overwrite"), ("gone.json", "no ending for a folder")]
)
def test_outputs_that_cannot_be(folder, monkeypatch, fails, name, word):
    before = sorted(path.name for path in folder.iterdir())
    monkeypatch.setattr("simcomplete._api.complete", lambda *a, **k: pytest.fail("worked for nothing"))
    assert word in fails("complete", "p.csv", "q.csv", "-o", name)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_equal_labels_in_parquet_are_refused_before_the_work(folder, fails):
    (folder / "p.csv").write_text("id,a,b,c\nu,1,2,3\nu,3,1,0.5\n")
    assert "two rows are called 'u'" in fails("complete", "p.csv", "q.csv", "-o", "s.parquet")


def test_id_drop_and_columns(folder, run, fails):
    (folder / "r.csv").write_text("a;b;c;user;notes\n1,5;2;3;u7;x\n2;-999;1;u8;y\n0,5;1;?;u9;z\n")
    asked = ("complete", "r.csv", "--id", "user", "--missing-value", "-999", *ASKED)
    run(*asked, "--drop", "notes", "-o", "dropped.csv", "-q")
    run(*asked, "--columns", "a,b", "--columns", "c", "-o", "chosen.csv")
    assert (folder / "dropped.csv").read_text() == (folder / "chosen.csv").read_text()
    assert read_table("dropped.csv").labels == ["u7", "u8", "u9"]
    line = fails(*asked, "--drop", "note", "-o", "no")
    assert "--drop note is not one of its columns; did you mean 'notes'?" in line
    assert "leave it out: --drop notes, or use --id notes" in fails(*asked, "-o", "no")
    (folder / "t.csv").write_text("a;b\n1,234;2\n5,678;3\n")
    assert "--decimal , for a fraction" in fails("complete", "t.csv", "-o", "no")


def test_a_column_to_drop_may_be_in_one_file(folder, run):
    (folder / "p.csv").write_text("id,a,b,c,class\nu,1,2,3,k\nv,3,1,0.5,l\nw,1,1,1,k\n")
    run("complete", "p.csv", "q.csv", "--drop", "class", "-o", "s.csv", *ASKED)
    assert read_table("s.csv").columns == ["u", "v", "w"]


def test_standard_input_and_output(folder):
    command = [sys.executable, "-m", "simcomplete", "complete", "-", "-o", "-", *ASKED]
    ended = subprocess.run(command, input=(folder / "q.csv").read_bytes(), capture_output=True, check=True)
    lines = list(csv.reader(io.StringIO(ended.stdout.decode())))
    assert [line[0] for line in lines] == ["", "q1", "q2"]
    wrong = subprocess.run(command, input=b"a,b\n1,x\n", capture_output=True, check=False)
    assert wrong.returncode == 2
    assert b"error: standard input: row 1, column 'b'" in wrong.stderr


def test_standard_streams_once(folder, fails):
    assert "given twice" in fails("complete", "-", "-", "-o", "out")
    assert "--json" in fails("complete", "p.csv", "-o", "-", "--json")


def test_search_files(folder, run, as_json):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef"), index=[f"r{i}" for i in range(60)])
    frame.to_csv("c.csv")
    frame.iloc[:3].mask(rng.random((3, 6)) < 0.3).rename(lambda name: f"q{name}").to_csv("g.csv")
    run("complete", "c.csv", "g.csv", "-o", "s", "--method", "posterior", "-q")
    run("search", "s", "-k", "2", "-o", "n.parquet")
    found = pd.read_parquet("n.parquet")
    assert list(found.columns) == ["query", "rank", "candidate", "score", "low", "high"]
    assert found["rank"].tolist() == [1, 2] * 3
    assert (found["low"] <= found["score"]).all() and (found["score"] <= found["high"]).all()
    run("search", "s", "-k", "2", "-o", "n.json", "-q")
    assert json.loads((folder / "n.json").read_text()) == as_json("search", "s", "-k", "2")
    low, high = sc.load("s").interval(rows=("queries", [0]), cols=[found["candidate"][0]])
    assert (found["low"][0], found["high"][0]) == (pytest.approx(low[0, 0]), pytest.approx(high[0, 0]))


def test_shell_completion(process):
    asked = {"_SIMCOMPLETE_COMPLETE": "complete_bash", "COMP_WORDS": "simcomplete comp", "COMP_CWORD": "1"}
    found = process("-c", "from simcomplete._cli import main; main()", **asked)
    assert sorted(found.stdout.split()) == ["compare", "complete"]


def test_labels_of_a_chart_do_not_collide():
    figure_module = pytest.importorskip("matplotlib.figure")
    figure = figure_module.Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    points = [(0.5 + 0.01 * (i % 4), 0.5 + 0.01 * (i // 4)) for i in range(12)]
    axes.scatter(*zip(*points, strict=True))
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    texts = place_labels(figure, axes, points, [f"method{i}" for i in range(12)], "black")
    boxes = [tuple(text.get_window_extent().extents) for text in texts]
    shared = [overlap_area(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert max(shared) == 0
    assert error_against_time([{"method": "a", "error": 0.5, "seconds": 0.1}]).startswith("data:")


@pytest.mark.filterwarnings("always::simcomplete.errors.InputWarning")
def test_messages_are_of_the_command_line(folder, run, fails):
    (folder / "s.csv").write_text(",a,b\na,1,0.5\nb,0.5,1\n")
    line = fails("complete", "s.csv", "-o", "no")
    assert "given to this command" in line
    assert "simcomplete repair MATRIX -o OUT" in line
    (folder / "d.csv").write_text("x,y,z\n0,1,2\n1,0,1\n2,1,0\n")
    assert "give the samples themselves" in fails("complete", "d.csv", "-o", "no")
    line = fails("complete", "p.csv", "q.csv", "--center", "middle", "-o", "no")
    assert "--center middle is unknown; use 'mean', 'median', or leave it out" in line
    (folder / "i.csv").write_text("user_id,a,b\n11,1,1\n12,,2\n13,3,3\n")
    told = run("complete", "i.csv", "-o", "ids", *ASKED).stderr
    assert "Use --id user_id if it names the rows, --drop user_id if it is neither" in told
    assert "id=" not in told
    (folder / "k.csv").write_text("kind,a,b\nx,1,1\nx,,2\ny,3,3\n")
    assert "or --drop kind if it is a class" in run("complete", "k.csv", "-o", "kinds", *ASKED).stderr
