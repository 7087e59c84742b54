"""compare: rows for everything that happens, resumed where it stopped, summed up, and on a page."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from simcomplete import _registry as registry
from simcomplete._cli.app import app
from simcomplete._compare.compare import KEY, compare, summarise
from simcomplete._compare.ledger import Ledger
from simcomplete._compare.trial import attempt, split
from simcomplete.errors import FileFormatError, InputError

X = np.random.default_rng(0).random((66, 16))


def test_the_split_follows_the_recipe():
    data = np.vstack([X, np.zeros((3, 16))])
    part = split(data, missing=0.75, seed=4, candidates=50, queries=10)
    rng = np.random.default_rng(4)
    rows = data[rng.permutation(69)]
    rows = rows[rows.any(axis=1)]
    np.testing.assert_array_equal(part.P, rows[:50])
    np.testing.assert_array_equal(part.Q_true, rows[50:60])
    for q in range(10):
        assert sorted(np.flatnonzero(np.isnan(part.Q[q]))) == sorted(rng.choice(16, 12, replace=False))


@pytest.mark.parametrize("pattern", ["square", "stripes", "by_value"])
def test_other_patterns(pattern):
    part = split(X, pattern=pattern, missing=0.5, queries=4)
    assert np.isnan(part.Q).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    "settings", [{"pattern": "spiral"}, {"queries": 0}, {"candidates": 1}, {"candidates": 60, "queries": 10}]
)
def test_splits_that_cannot_be(settings):
    with pytest.raises(InputError):
        split(X, **settings)


def test_data_must_be_complete():
    with pytest.raises(InputError, match="data must be complete"):
        compare(np.where(X < 0.1, np.nan, X))


def test_rows_have_everything():
    row = attempt("smcnn", split(X, missing=0.5))
    assert row["outcome"] == "done"
    assert 0 < row["error"] < 2
    assert {"error_queries_candidates", "recall_fifth", "recall_ten", "ndcg", "rank", "valid", "fails"} <= set(row)


def test_a_failure_is_a_row_with_its_reason():
    row = attempt("smcnn", split(X), {"rank": 10_000})
    assert row["outcome"] == "failed"
    assert "rank=10000 exceeds" in row["reason"]
    assert "error" not in row


def test_over_budget_is_told():
    row = attempt("smcnn", split(X), budget=0.0)
    assert row["outcome"] == "over budget"
    assert row["error"] is not None


def test_an_interrupted_comparison_resumes(tmp_path, monkeypatch):
    calls = []
    real = registry.REGISTRY["smcnn"].run

    def counted(task, params):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(task, params)

    row = registry.REGISTRY["smcnn"]
    monkeypatch.setitem(registry.REGISTRY, "smcnn", type(row)(**{**vars(row), "run": counted}))
    settings = {"names": ["overlap", "smcnn"], "repeats": 4, "ledger": tmp_path / "rows.jsonl"}
    with pytest.raises(KeyboardInterrupt):
        compare(X, **settings)
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 5
    rows = compare(X, **settings)
    assert len(rows) == 8
    assert len(calls) == 5  # 2 before, the interrupted one, and the 2 that were left
    assert len({(r["method"], r["seed"]) for r in rows}) == 8
    compare(X, **settings)
    assert len(calls) == 5
    compare(X, **{**settings, "missing": 0.5})  # other settings are other trials
    assert len(calls) == 9


def test_a_line_cut_short_is_run_again(tmp_path):
    book = Ledger(tmp_path / "rows.jsonl", KEY)
    book.add({"method": "a", "seed": 1})
    with book.path.open("a") as file:
        file.write('{"method": "b", "se')
    again = Ledger(book.path, KEY)
    assert [row["method"] for row in again.rows] == ["a"]
    again.add({"method": "c", "seed": 1})
    assert [row["method"] for row in Ledger(book.path, KEY).rows] == ["a", "c"]


def test_a_foreign_ledger_is_refused(tmp_path):
    (tmp_path / "rows.jsonl").write_text("name,value\n")
    with pytest.raises(FileFormatError, match="line 1"):
        Ledger(tmp_path / "rows.jsonl", KEY)


def test_summary_by_hand():
    rows = [
        {"method": "a", "outcome": "done", "error": 0.5, "valid": True, "fails": [], "seconds": 1.0},
        {"method": "a", "outcome": "done", "error": 0.7, "valid": False, "fails": ["psd"], "seconds": 3.0},
        {"method": "b", "outcome": "failed", "reason": "no", "seconds": 0.1},
        {"method": "c", "outcome": "done", "error": 0.2, "valid": True, "fails": [], "seconds": 1.0},
    ]
    c, a, b = summarise(rows)
    assert [c["method"], a["method"], b["method"]] == ["c", "a", "b"]
    assert a["error"] == pytest.approx(0.6)
    assert a["error_spread"] == pytest.approx(np.std([0.5, 0.7], ddof=1))
    assert (a["valid"], a["fails"]) == (False, ["psd"])
    assert (b["error"], b["failed"], b["reason"]) == (None, 1, "no")
    assert c["error_spread"] is None


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.images, self.anchors, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "img":
            self.images.append(found)
        if tag == "a":
            self.anchors.append(found["href"])
        if "id" in found:
            self.ids.append(found["id"])


def test_the_command(tmp_path):
    np.save(tmp_path / "x.npy", X)
    words = ["compare", str(tmp_path / "x.npy"), "--methods", "overlap,smcnn", "--methods", "smc_nr", "--repeats", "2"]
    words += ["--missing", "0.5", "-o", str(tmp_path / "out"), "--no-progress"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    assert "smc_nr" in told.output
    assert "±" in told.output
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [row["runs"] for row in document["summary"]] == [2, 2, 2]
    assert (tmp_path / "out" / "rows.csv").read_text().startswith("method,seed,")
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == document["summary"]
    page = Page()
    page.feed((tmp_path / "out" / "index.html").read_text())
    assert len(page.images) == 3
    assert all(i["src"].startswith("data:") and i["alt"] for i in page.images)
    assert {a.removeprefix("#") for a in page.anchors} <= set(page.ids)


@pytest.mark.parametrize(
    "words", [["--pattern", "spiral"], ["--shape", "big"], ["--methods", "best"], ["--repeats", "0"]]
)
def test_the_command_refuses(tmp_path, words):
    np.save(tmp_path / "x.npy", X)
    told = CliRunner().invoke(app, ["compare", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out"), *words])
    assert told.exit_code == 2
    assert "error" in told.stderr
