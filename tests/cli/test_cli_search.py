"""`simcomplete search`: the nearest candidates of a saved completion, as a table, JSON or .csv."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import simcomplete as sc


@pytest.fixture
def saved(folder, run):
    run("complete", "p.csv", "q.csv", "-o", "out")
    return sc.load("out")


def test_it_is_the_library(saved, as_json):
    document = as_json("search", "out", "-k", "2")
    ids, scores = saved.search(k=2)
    assert [[near["row"] for near in query["nearest"]] for query in document["queries"]] == ids.tolist()
    assert [[near["similarity"] for near in query["nearest"]] for query in document["queries"]] == scores.tolist()
    assert [query["label"] for query in document["queries"]] == ["q1", "q2"]
    assert document["queries"][0]["nearest"][0]["label"] == saved.labels[ids[0, 0]]


def test_the_table_has_one_line_each(saved, run):
    lines = run("search", "out", "-k", "3").stdout.splitlines()
    assert lines[0].split() == ["query", "rank", "candidate", "score"]
    assert len(lines) == 1 + 2 * 3
    assert lines[1].split()[:2] == ["q1", "1"]
    assert {len(line.split()[3].partition(".")[2]) for line in lines[1:]} == {6}  # points below each other


def test_rows(saved, as_json):
    assert [query["row"] for query in as_json("search", "out", "--rows", "1")["queries"]] == [1]
    assert [query["row"] for query in as_json("search", "out", "--rows", "1,0:2")["queries"]] == [1, 0, 1]


def test_numbers_where_there_are_no_labels(folder, run, as_json):
    run("complete", "p.npy", "-o", "plain")
    document = as_json("search", "plain", "-k", "9")
    assert "label" not in document["queries"][0]
    assert len(document["queries"]) == 4
    assert len(document["queries"][0]["nearest"]) == 3  # all but itself
    assert run("search", "plain").stdout.splitlines()[1].split()[0] == "0"


def test_csv(saved, folder, run, as_json, fails):
    assert run("search", "out", "-k", "2", "-o", "n.csv").stdout == "saved: n.csv\n"
    with (folder / "n.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert len(lines) == 5
    assert "--overwrite" in fails("search", "out", "-o", "n.csv")
    assert as_json("search", "out", "-o", "n.csv", "--overwrite")["output"] == "n.csv"


def test_labels_cannot_break_the_table(folder, run):
    (folder / "p.csv").write_text('id,a\n"u\x1b[31m",1\nv [red],2\n')
    run("complete", "p.csv", "-o", "odd")
    text = run("search", "odd").stdout
    assert "\x1b" not in text
    assert "v [red]" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nope"], "nope does not exist"),
        (["."], "not a saved model or completion"),
        (["out", "-k", "0"], "-k"),
        (["out", "--rows", "2"], "outside 0 to 1"),
        (["out", "--rows", "x"], "not a position"),
        (["out", "--rows", "1:1"], "outside"),
        (["out", "--rows", ""], "not a position"),
    ],
)
def test_bad_input(saved, arguments, word, fails):
    assert word in fails("search", *arguments)


def test_a_damaged_folder(saved, folder, fails):
    (folder / "out" / "factor.npy").write_bytes(b"no")
    assert "factor.npy" in fails("search", "out")


def test_probabilities_are_a_column(folder, run, as_json):
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 6)), rng.random((3, 6))
    np.save("many.npy", P)
    np.save("some.npy", np.where(rng.random(Q.shape) < 0.4, np.nan, Q))
    run("complete", "many.npy", "some.npy", "-o", "done", "--method", "posterior")
    document = as_json("search", "done", "-k", "2", "--above", "0.9")
    want = sc.load("done").search(2, above=0.9).probability
    assert document["above"] == 0.9
    assert [[near["probability"] for near in query["nearest"]] for query in document["queries"]] == want.tolist()
    assert run("search", "done", "--above", "0.9").stdout.split()[:7][-1] == "probability"
    assert as_json("search", "done", "--order", "balanced")["k"] == 10
    assert "--order" in run("search", "done", "--order", "best", code=2).stderr


def test_other_numbers_are_columns(folder, run, as_json):
    rng = np.random.default_rng(0)
    np.save("many.npy", rng.random((60, 6)))
    np.save("some.npy", np.where(rng.random((3, 6)) < 0.4, np.nan, rng.random((3, 6))))
    run("complete", "many.npy", "some.npy", "-o", "done", "--method", "posterior")
    asked = ("--std", "--quantile", "0.5", "--top", "3")
    document = as_json("search", "done", "-k", "2", *asked)
    want = sc.load("done").search(2, std=True, quantile=0.5, top=3).numbers
    assert list(want) == ["std", "quantile", "top_probability"]
    for name, of in want.items():
        assert [[near[name] for near in query["nearest"]] for query in document["queries"]] == of.tolist()
    assert (document["quantile"], document["top"]) == (0.5, 3)
    head = run("search", "done", *asked).stdout.splitlines()[0].split()
    assert head == ["query", "rank", "candidate", "score", "low", "high", *want]
    assert "--quantile 2.0 must be" in run("search", "done", "--quantile", "2", code=2).stderr
    assert "--top 61 must be" in run("search", "done", "--top", "61", code=2).stderr
