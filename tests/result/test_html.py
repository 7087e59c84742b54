"""Tables for notebooks: whole, escaped, short, without colours of their own."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result.html import Election, html_table
from simcomplete._result.status import Status


class Tags(HTMLParser):
    """Collects text by cell, and notices tags that do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.rows = [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert attrs in ([], [("style", "text-align:left")])  # light and dark pages keep their colours
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def done():
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 6)), np.where(rng.random((5, 6)) < 0.3, np.nan, rng.random((5, 6)))
    Q[1] = np.nan
    return sc.complete(P, Q, progress=False)


def test_completion(done):
    rows = dict(Tags(done._repr_html_()).rows)
    assert rows["method"] == f"{done.method}, chosen by auto"
    assert (rows["candidates"], rows["queries"], rows["rows with nothing observed"]) == ("60", "5", "1")
    assert rows["status"] == str(done.status)


def test_election(done, tmp_path):
    head, *rows = Tags(done.election._repr_html_()).rows
    assert head == ["method", "error", "recall", "seconds", "note"]
    assert [row[0] for row in rows] == [row["method"] for row in done.election]
    assert sum("chosen" in row[4] for row in rows) == 1
    assert isinstance(done.election, list)
    assert json.loads(json.dumps(done.election))[0] == done.election[0]
    done.save(tmp_path / "done")
    again = sc.load(tmp_path / "done").election
    assert isinstance(again, Election)
    assert [row["method"] for row in again] == [row["method"] for row in done.election]
    assert sc.complete(np.eye(4) + 1).election == []


def test_validity(done):
    head, *rows = Tags(done.validity._repr_html_()).rows
    assert head[:2] == ["check", "holds"]
    assert [row[1] for row in rows] == ["yes" if check.ok else "no" for check in vars(done.validity).values()]
    assert len(rows) == 5


def test_methods():
    head, *rows = Tags(sc.methods()._repr_html_()).rows
    assert head[0] == "name"
    assert [row[0] for row in rows] == [method.name for method in sc.methods()]


def test_everything_is_escaped(done):
    from dataclasses import replace

    bad = "<script>alert('x')</script> & \"quoted\""
    for page in (
        replace(done, method=bad, status=Status("bad", bad))._repr_html_(),
        Election([{"method": bad, "note": bad}])._repr_html_(),
        html_table(bad, [(bad, bad)], (bad, bad)),
    ):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        Tags(page)


def test_long_tables_are_cut():
    page = html_table("many", [(i, i) for i in range(80)], ("a", "b"))
    assert len(Tags(page).rows) == 1 + 50 + 1
    assert "and 30 more" in page
    assert Tags(html_table("x", [(None, True, 0.12345)])).rows == [["", "yes", "0.123"]]


def test_neighbours(done):
    near = done.search(3, above=0.9)
    head, *rows = Tags(near._repr_html_()).rows
    frame = near.to_pandas()
    assert head == list(frame.columns)
    assert len(rows) == len(frame) == 12  # one of five queries has nothing observed
    assert rows[4] == [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in frame.astype(object).iloc[4]]
    many = done.search(2, rows="candidates")
    assert "2 of each of 60 rows, the first 10 shown" in many._repr_html_()
    assert len(Tags(many._repr_html_()).rows) == 1 + 20


def test_words_to_the_left_and_numbers_to_the_right():
    page = html_table("T", [("cat", 1.5), ("dog", 2.0)], ("name", "size"))
    assert '<th style="text-align:left">name</th><th>size</th>' in page
    assert '<td style="text-align:left">cat</td><td>1.5</td>' in page


def test_without_a_head_the_first_cell_is_a_heading():
    page = html_table("T", [("cat", 1.5)])
    assert "<thead>" not in page
    assert '<tr><th style="text-align:left">cat</th><td style="text-align:left">1.5</td></tr>' in page
