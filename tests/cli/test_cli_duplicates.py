"""`simcomplete duplicates`: pairs of one table, as JSON or .csv."""

import csv
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def table(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 10))
    X[[140, 141]] = X[[3, 8]]
    X[rng.random(X.shape) < 0.15] = np.nan
    with Path("table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", *(f"x{i}" for i in range(10))])
        writer.writerows([f"r{i}", *("" if v != v else v for v in row.tolist())] for i, row in enumerate(X))


def test_pairs_are_named(table, as_json):
    document = as_json("duplicates", "table.csv", "-o", "pairs.csv")
    assert sorted((pair["first"], pair["second"]) for pair in document["pairs"]) == [("r3", "r140"), ("r8", "r141")]
    assert document["rows"] == 150 and document["groups"] == 2
    with Path("pairs.csv").open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert [float(line["same"]) for line in lines] == [pair["same"] for pair in document["pairs"]]
    assert all(float(line["same"]) >= 0.9 for line in lines)


def test_what_is_printed_and_refused(table, run):
    assert "r141" in run("duplicates", "table.csv").stdout
    assert "first,second,same" in run("duplicates", "table.csv", "-o", "-").stdout
    assert "--prior" in run("duplicates", "table.csv", "--prior", "0", code=2).stderr


def test_a_table_without_duplicates_says_so(table, run, as_json):
    few = ["duplicates", "table.csv", "--columns", "x0,x1,x2", "--above", "0.999"]
    assert as_json(*few)["pairs"] == []
    assert run(*few).stdout == "no two of the 150 rows are the same with a probability of 0.999 or more\n"
