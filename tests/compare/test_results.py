"""The page of results: rendered from its rows, and the rows made by trials that follow their recipes."""

import sys
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._compare.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are beside the package, not in it

from benchmarks.results import __main__ as command  # noqa: E402
from benchmarks.results import data, given, natural, reference, rows, runner, tables  # noqa: E402
from benchmarks.results.page import PAGE, PARTS, ROWS, page, write  # noqa: E402
from benchmarks.results.trial import KEY, Problem, Trial, measures, of_rows, run  # noqa: E402


@pytest.fixture(scope="module")
def book():
    return Ledger(ROWS, KEY)


def test_the_page_is_rendered_from_the_rows(book):
    assert page(book.rows) == PAGE.read_text(encoding="utf-8")


def test_every_row_is_a_trial_of_its_part_and_there_is_one_of_each(book):
    keys = [tuple(row[name] for name in KEY) for row in book.rows]
    assert len(keys) == len(set(keys))
    assert {row["part"] for row in book.rows} == set(PARTS)
    for row in book.rows:
        if row["outcome"] == "done":
            assert row["error"] >= 0
            assert 0 <= row.get("recall_ten", 0) <= 1
            assert 0 <= row.get("coverage", 0) <= 1
            assert row["versions"].startswith("simcomplete ")
        else:
            assert row["reason"]


def test_every_trial_of_the_reference_has_its_row(book):
    have = {tuple(row[name] for name in KEY) for row in book.rows}
    assert {tuple(getattr(trial, name) for name in KEY) for trial in reference.trials(quick=False)} <= have


def test_a_tiny_trial_on_digits_and_its_page(tmp_path, monkeypatch):
    monkeypatch.delenv("SIMCOMPLETE_DATA", raising=False)
    ledger = Ledger(tmp_path / "rows.jsonl", KEY)
    runner.run_all(["reference", "rows"], ledger, quick=True, jobs=1)
    assert {row["dataset"] for row in ledger.rows} == {"digits"}
    error = {(row["part"], row["method"], row["effort"]): row["error"] for row in ledger.rows}
    assert error["reference", "overlap", None] == 1
    assert error["reference", "posterior", "full"] < 0.5 * error["reference", "smcnn", None]
    assert error["rows", "posterior", "full"] < error["rows", "smcnn", None]
    covered = [row["coverage"] for row in ledger.rows if row["method"] == "posterior"]
    assert all(0.7 < value <= 1 for value in covered)
    text = page(ledger.rows)
    assert "| digits | –/" in text
    assert "usps" not in text

    again = len(ledger.rows)
    runner.run_all(["reference", "rows"], Ledger(ledger.path, KEY), quick=True, jobs=1)
    assert len(Ledger(ledger.path, KEY).rows) == again


def test_disagreement_with_the_reference_is_listed():
    def row(name, rate, effort, error, recall=1.0, coverage=0.9):
        key = {
            "part": "reference",
            "dataset": name,
            "missing": rate,
            "method": "posterior",
            "effort": effort,
            "seed": 0,
        }
        return {**key, "outcome": "done", "error": error, "recall_ten": recall, "coverage": coverage}

    told = reference.REFERENCE["full"]["digits"]
    cells = list(zip(reference.RATES, told, strict=True))
    good = [row("digits", rate, effort, value) for effort in reference.EFFORTS for rate, value in cells]
    text = "\n".join(reference.render(good))
    assert "Geometric mean of the ratios: 1.000; largest: 1.000, digits .9; above 1.15: none" in text
    assert text.count("more than 0.01 below it: none") == 3
    # All agree but for best, whose own reference is lower: (.095/.088 * .080/.079 * .060/.059)^(1/3) = 1.036.
    assert "Geometric mean of the ratios: 1.036" in text

    bad = [row("digits", 0.7, e, 0.095 * 1.2, recall=0.5, coverage=0.8) for e in reference.EFFORTS]
    text = "\n".join(reference.render(bad))
    assert "largest: 1.200, digits .7; above 1.15: digits .7 (1.200)" in text
    assert "outside .86 to .94: digits (.800)" in text
    assert "digits .7 (.500 instead of .552)" in text


def test_a_failure_is_a_row_with_its_reason():
    X = np.arange(1.0, 13.0).reshape(4, 3)
    X[0, 1] = np.nan
    trial = Trial("rows", "digits", "uniform", 0.5, 4, 0, 0, "mean", "full")  # mean has no effort
    row = run(trial, of_rows(X, np.nan_to_num(X, nan=2.0), 0))
    assert row["outcome"] == "failed"
    assert "effort" in row["reason"]
    assert f"- `mean` failed on digits: {row['reason']}" in tables.failures([row])


def test_pairs_without_a_truth_do_not_count():
    """Of three pairs one is left out: off by (.1, .1) where S0 is by (.2, .2), a quarter; the third is far off."""
    truth = np.eye(3)
    after, before = truth.copy(), truth.copy()
    for (i, j), left in {(0, 1): 0.1, (0, 2): 0.1, (1, 2): 0.9}.items():
        after[i, j] = after[j, i] = left
        before[i, j] = before[j, i] = 2 * left if left < 0.5 else 0.0
    counted = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=bool)
    done = sc.complete_similarity(after, method="overlap")
    problem = Problem(before, truth, lambda: done, 3, None, counted)
    assert measures(problem, done)["error"] == pytest.approx(0.25)


def test_rows_lose_what_the_recipe_says():
    problem = rows.problem(rows.trials(quick=True)[0])
    X = problem.solve.args[0]
    share = np.isnan(X).mean(axis=1)
    assert share.min() >= 0.29
    assert share.max() <= 0.71
    assert np.ptp(share) > 0.3


def test_hiding_leaves_a_value_and_takes_only_known_ones():
    X = np.array([[1.0, np.nan, 3.0, 4.0], [np.nan, np.nan, np.nan, 5.0]])
    left = natural.hide(X, np.array([0.67, 1.0]), np.random.default_rng(0))
    assert (~np.isnan(left)).sum(axis=1).tolist() == [1, 1]
    np.testing.assert_array_equal(left[~np.isnan(left)], X[~np.isnan(left)])


@pytest.mark.parametrize("mask", ["noise", "hidden"])
def test_given_matrices_stay_exact_among_candidates(mask, monkeypatch):
    X = np.random.default_rng(0).random((20, 5))
    S = X @ X.T
    monkeypatch.setattr(data, "load", lambda name: S)
    found = given.problem(Trial("given", "davis_drugs", mask, 0.5, 14, 6, 0, ""))
    np.testing.assert_array_equal(found.S0[:14, :14], found.truth[:14, :14])
    np.testing.assert_array_equal(found.S0, found.S0.T)
    np.testing.assert_array_equal(np.diag(found.S0), np.diag(found.truth))
    changed = found.S0[14:, :14] != found.truth[14:, :14]
    assert changed.mean() == 1 if mask == "noise" else 0.3 < changed.mean() < 0.7
    assert sorted(np.diag(found.truth)) == pytest.approx(sorted(np.diag(S)))


def test_the_command_says_that_data_are_absent(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SIMCOMPLETE_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["results", "--quick", "--only", "given"])
    command.main()
    assert "digits only" in capsys.readouterr().out


def test_a_page_is_written_whole(tmp_path):
    write("a\n", tmp_path / "page.md")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_numbers_read_like_the_reference():
    assert tables.series([0.095, 1.0, None]) == ".095/1.000/–"
    assert [tables.number(value) for value in (1.5, 12.3, 8e7, 2e-5, 0.0)] == ["1.500", "12", "8e+07", "2e-05", ".000"]


def test_the_best_is_in_bold_whichever_way_is_better():
    """Two seeds, (.2 + .4) / 2 = .3 against .5: the lower error and the higher recall are in bold."""
    rows = [
        {"dataset": "a", "method": method, "error": error, "recall_ten": error, "before": 0.1}
        for method, error in (("x", 0.2), ("x", 0.4), ("y", 0.5))
    ]
    assert tables.by_method(rows, ("dataset",), str)[2] == "| a | **.300** | .500 | – | .1000 |"
    assert tables.by_method(rows, ("dataset",), str, "recall_ten")[2] == "| a | .300 | **.500** |"
