"""`simcomplete compare`: a table, a page, JSON, and settings that cannot be."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from simcomplete._cli.app import app

X = np.random.default_rng(0).random((66, 16))


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.images, self.anchors, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "img":
            self.images.append(values)
        if tag == "a":
            self.anchors.append(values["href"])
        if "id" in values:
            self.ids.append(values["id"])


def test_the_command(tmp_path):
    np.save(tmp_path / "x.npy", X)
    words = ["compare", str(tmp_path / "x.npy"), "--methods", "overlap,smcnn", "--methods", "smc_nr", "--repeats", "2"]
    words += ["--missing", "0.5", "-o", str(tmp_path / "out"), "--no-progress"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "smc_nr" in result.output
    assert "±" in result.output
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
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out"), *words])
    assert result.exit_code == 2
    assert "error" in result.stderr
    assert words[0] in result.stderr  # the option, not the parameter of the library


def test_what_is_for_complete_data_is_refused_by_its_option(tmp_path):
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    np.save(tmp_path / "x.npy", gaps)
    for words in (["--pattern", "square"], ["--queries", "5"], ["--missing", "3"]):
        result = CliRunner().invoke(app, ["compare", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out"), *words])
        assert result.exit_code == 2
        assert " ".join(words) in result.stderr


def test_a_missing_package_is_reported_before_the_work(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "x.npy"), "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "simcomplete[cli]" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_table_with_gaps_and_ids(tmp_path):
    lines = [";".join([str(i), *("NA" if v < 0.1 else f"{v:.3f}" for v in row)]) for i, row in enumerate(X)]
    (tmp_path / "x.csv").write_text(";".join(["key", *(f"f{j}" for j in range(16))]) + "\n" + "\n".join(lines))
    words = ["compare", str(tmp_path / "x.csv"), "--id", "key", "--methods", "mean,overlap", "--repeats", "1"]
    result = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].startswith("x.csv: overlap has the smallest error, 1.000; next is mean with ")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Methods compared on x.csv" in page
    assert "favours <em>overlap</em>" in page
    assert CliRunner().invoke(app, [*words, "-q", "-o", str(tmp_path / "out")]).stdout == ""
