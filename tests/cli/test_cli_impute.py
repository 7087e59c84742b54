"""`simcomplete impute`: tables are filled in, and what was there stays as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc


@pytest.fixture
def table(folder):
    """Eighty rows of three columns in different units, with gaps, and a column of row numbers."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(80)
    X = np.column_stack([z, 100 * z + 5, np.round(10 * z)])
    gone = rng.random(X.shape) < 0.2
    with Path("table.csv").open("w", encoding="utf-8") as out:
        out.write("name,number,a,b,count\n")
        for i, row in enumerate(X):
            out.write(f"r{i},{i}," + ",".join("" if gone[i, j] else repr(float(v)) for j, v in enumerate(row)) + "\n")
    return X, gone


def read(path):
    with Path(path).open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def test_it_is_the_library(table, run):
    X, gone = table
    out = run("impute", "table.csv", "-o", "filled.csv", "--id", "number", "--effort", "fast")
    assert f"filled in {gone.sum()} values of 80 rows and 3 columns" in out.stdout
    head, *rows = read("filled.csv")
    assert head == ["name", "number", "a", "b", "count"]
    assert [row[:2] for row in rows] == [[f"r{i}", str(i)] for i in range(80)]
    found = np.array([row[2:] for row in rows], dtype=float)
    np.testing.assert_array_equal(found[~gone], X[~gone])
    wanted = sc.PosteriorImputer(effort="fast").fit_transform(np.where(gone, np.nan, X))
    np.testing.assert_array_equal(found, wanted)


def test_deviations_rounding_and_bounds(table, as_json):
    _, gone = table
    told = as_json(
        *("impute", "table.csv", "-o", "filled.tsv", "--id", "number", "--std", "--effort", "fast"),
        *("--round", "0", "--min", "-3", "--max", "3"),
    )
    assert told == {"output": "filled.tsv", "rows": 80, "columns": 3, "filled": int(gone.sum()), "empty_columns": []}
    with Path("filled.tsv").open(encoding="utf-8", newline="") as lines:
        head, *rows = list(csv.reader(lines, delimiter="\t"))
    assert head[-3:] == ["a_std", "b_std", "count_std"]
    numbers = np.array([row[1:] for row in rows], dtype=float)
    values, std = numbers[:, 1:4], numbers[:, 4:]
    assert set(values[gone]) <= set(range(-3, 4))
    assert (std[gone] > 0).all()
    assert not std[~gone].any()


def test_columns_without_any_value_stay_empty(folder, run):
    (folder / "t.csv").write_text("a,b,c\n" + "".join(f"{i},,{2 * i if i % 3 else ''}\n" for i in range(30)))
    assert "columns without any value stay empty: b" in run("impute", "t.csv", "-o", "f.csv").stdout
    head, *rows = read("f.csv")
    assert head == ["a", "b", "c"]
    assert all(row[1] == "" and row[2] != "" for row in rows)


def test_numpy_in_and_out(folder, run):
    np.save("x.npy", np.where(np.eye(30, 4) > 0, np.nan, np.ones((30, 4))))
    run("impute", "x.npy", "-o", "y.npy")
    np.testing.assert_allclose(np.load("y.npy"), 1.0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "f.xlsx"], "ends in .csv or .tsv, or in .npy"),
        (["-o", "f.npy", "--std"], "ends in .csv or .tsv"),
        (["-o", "p.csv"], "exists already"),
        (["-o", "f.csv", "--effort", "much"], "effort='much' is unknown"),
        (["-o", "f.csv", "--min", "2", "--max", "1"], "min=2 is above max=1"),
    ],
)
def test_what_is_refused(folder, fails, more, message):
    assert message in fails("impute", "q.csv", *more)
    assert not (folder / "f.csv").exists()


def test_an_unknown_column(folder, fails):
    (folder / "t.csv").write_text("a,b\n1,2\n3,\n")
    assert "--id q: there is no such column; the file has a, b" in fails("impute", "t.csv", "-o", "f.csv", "--id", "q")


def test_text_as_it_comes(folder, run):
    (folder / "t.csv").write_text("name;a;b\n" + "".join(f"r{i};{i},5;{2 * i if i % 3 else '?'}\n" for i in range(30)))
    run("impute", "t.csv", "-o", "f.csv", "--effort", "fast")
    head, *rows = read("f.csv")
    assert head == ["name", "a", "b"]
    assert rows[1] == ["r1", "1.5", "2"]
    assert all(cell != "" for row in rows for cell in row)
