"""`simcomplete demo`: a table, a page, and settings that cannot be."""

from __future__ import annotations

from simcomplete._report import demo as experiment

SMALL = ("demo", "--candidates", "30", "--queries", "6")


def test_table_and_page(folder, monkeypatch, run):
    monkeypatch.setattr(experiment.run, "__kwdefaults__", {**experiment.run.__kwdefaults__, "methods": ["overlap"]})
    lines = run(*SMALL).stdout.splitlines()
    assert lines[0].split()[0] == "method"
    assert lines[1].split()[0] == "overlap"
    assert lines[-1] == "page: simcomplete-demo/index.html"
    assert (folder / "simcomplete-demo" / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json(folder, as_json):
    document = as_json(*SMALL, "--output", "there", "--seed", "5", "--missing", "0.5")
    assert [row["method"] for row in document["rows"]] == list(experiment.METHODS)
    assert (document["seed"], document["missing"], document["candidates"], document["queries"]) == (5, 0.5, 30, 6)
    assert (folder / "there" / "index.html").is_file()


def test_bad_settings(folder, fails):
    assert "missing" in fails("demo", "--missing", "2")
    assert "candidates=5000" in fails("demo", "--candidates", "5000")
    (folder / "file").touch()
    assert "file" in fails(*SMALL, "-o", "file/below")
