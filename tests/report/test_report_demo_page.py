"""The demonstration's page is one well-formed, self-contained, readable document."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from simcomplete._report import demo
from simcomplete._report.demo_page import render_demo

VOID = {"meta", "img", "br", "source"}


class Document(HTMLParser):
    """What there is to check in a page; fails on tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.ids, self.text = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if "id" in dict(attributes):
            self.ids.append(dict(attributes)["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def attributes(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def result():
    return demo.run(candidates=40, queries=7, methods=["overlap", "smcnn"])


@pytest.fixture(scope="module")
def html(result):
    return render_demo(result)


@pytest.fixture(scope="module")
def document(html):
    return Document(html)


def test_every_image_is_inside_and_described(document):
    images = document.attributes("img")
    assert len(images) == 2 + 6 * (2 + 5 + 5)
    for image in images:
        assert image["src"].startswith("data:image/png;base64,")
        assert base64.b64decode(image["src"].partition(",")[2]).startswith(b"\x89PNG")
        assert len(image["alt"]) > 10
    for source in document.attributes("source"):
        assert source["srcset"].startswith("data:image/png;base64,")


def test_nothing_is_loaded_from_anywhere(html, document):
    assert {tag for tag, _ in document.tags}.isdisjoint({"script", "link", "iframe", "object", "embed"})
    assert not re.search(r"https?:|//[a-z]|url\(|@import", re.sub(r"base64,[A-Za-z0-9+/=]*", "", html))


def test_every_link_leads_somewhere(document):
    links = [link["href"] for link in document.attributes("a")]
    assert len(links) == 4
    assert len(set(document.ids)) == len(document.ids)
    for link in links:
        assert link.startswith("#")
        assert link[1:] in document.ids


def test_headings_go_down_one_level_at_a_time(document):
    levels = [int(tag[1]) for tag, _ in document.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_it_is_readable_on_a_phone_and_in_the_dark(html, document):
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in document.attributes("meta")
    assert "prefers-color-scheme: dark" in html
    assert document.attributes("html") == [{"lang": "en"}]


def test_numbers_on_the_page_are_those_of_the_experiment(result, document):
    text = " ".join(document.text)
    for row in result.rows:
        assert f"{row.error:.3f}" in text
        assert f"{row.recall_ten:.3f}" in text
    assert "not a valid matrix of cosines" in text
    assert "simcomplete demo --candidates 40 --queries 7 --missing 0.8 --seed 0" in text


def test_the_same_data_give_the_same_page(result, html):
    assert render_demo(result) == html


def test_everything_from_outside_is_escaped(result):
    bad = "<script>alert('x')</script>&"
    rows = [result.rows[0], replace(result.rows[1], method=bad)]
    html = render_demo(replace(result, featured=bad, rows=rows, y=[bad] * len(result.y)))
    assert "script" not in {tag for tag, _ in Document(html).tags}


def test_edges_of_the_settings():
    for missing in (0.0, 1.0):
        Document(render_demo(demo.run(3, 2, missing, methods=["overlap", "smcnn"])))
    Document(render_demo(demo.run(1, 1, methods=["overlap"])))
