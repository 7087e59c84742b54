"""The report shows the numbers of the rows; the stored report is that of the stored rows."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from simcomplete._reproduction.protocol import load_protocol, load_protocols
from simcomplete._reproduction.report import html_page
from simcomplete._reproduction.report.figures import build_figures, draw_figure
from simcomplete._reproduction.report.overview import Overview
from simcomplete._reproduction.report.report import Report, describe_machine
from simcomplete._reproduction.rows import read_rows, rows_by_trial
from simcomplete._reproduction.summary import summarise_cells

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "reproduction"


def test_figures_have_the_papers_panels(made):
    one = load_protocol("sensitivity-rank")
    rows = made("sensitivity-rank", ["missing=0.8"], error=lambda c: 1 / c.at["rank"], recall_fifth=0.5)
    (figure,) = build_figures(one, summarise_cells(one, rows_by_trial(rows)))
    assert figure.name == "sensitivity-rank-0.8"
    assert figure.alt().endswith("error and recall against rank, 40 points.")
    picture = draw_figure(figure, "svg")
    for name in (b"ImageNet", b"GoogleNews", b"SMCNmF", b"recall"):
        assert name in picture
    assert picture == draw_figure(figure, "svg")
    assert draw_figure(figure, "png").startswith(b"\x89PNG")


def test_the_picture_names_what_lies_above_it():
    errors = {"cifar10": {"nnfn": [(0.7, 1383.0), (0.8, 40.0)], "smcnn": [(0.7, 0.9)], "posterior": [(0.7, 0.2)]}}
    assert Overview(errors).alt().endswith("posterior ends between 0.20 and 0.20. Above the picture: NNFN on CIFAR10.")
    assert Overview({"mnist": {"posterior": [(0.7, 0.2)]}}).alt().endswith("between 0.20 and 0.20.")
    assert b"NNFN" in Overview(errors).draw("svg")


class Document(HTMLParser):
    """Images, links and places of a page; fails on tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.images, self.links, self.ids, self.words = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.images += [values] if tag == "img" else []
        self.links += [values["href"]] if tag == "a" else []
        self.ids += [values["id"]] if "id" in values else []
        self.open += [] if tag in ("meta", "img", "br", "source") else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def check_page(html):
    """Check a page: images inside and described, links that lead somewhere, nothing loaded."""
    page = Document(html)
    for image in page.images:
        assert image["src"].startswith("data:image/svg+xml;base64,")
        assert len(image["alt"]) > 10
    assert len(set(page.ids)) == len(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert not re.search(r"https?:|url\(|@import|<script", re.sub(r"base64,[A-Za-z0-9+/=]*", "", html))
    return page


def test_the_page(made):
    bad = "<script>alert('x')</script>"
    rows = made("ablation", ["dataset=mnist", "method=dmc"], error=0.5) + made(
        "sensitivity-rank", ["missing=0.8"], error=0.5
    )
    wanted = [load_protocol(name) for name in ("ablation", "sensitivity-rank", "threshold")]
    page = check_page(Report(wanted, [{**row, "processor": bad} for row in rows]).page())
    assert len(page.images) == 1
    assert page.links == ["#ablation", "#threshold", "#sensitivity-rank"]  # the paper's order
    said = " ".join(page.words)
    assert "0.500 ±0.000▼" in said
    assert "Not run yet: simcomplete paper run threshold" in said
    assert "PROTEIN, 1,000 candidates: not run." in said


def test_without_rows_nothing_is_claimed():
    report = Report(load_protocols(), [])
    assert report.texts() == {}
    assert {claim.conclusion for claim in report.claims} == {"not run"}
    assert {claim.evidence for claim in report.claims} == {""}
    assert describe_machine([]) == "There are no rows."
    assert "✓" not in report.findings()
    assert "✗" not in report.findings()
    check_page(report.page())


class TestStored:
    """What is in docs/reproduction comes from the rows there."""

    @pytest.fixture(scope="class")
    @staticmethod
    def report():
        return Report(load_protocols(), read_rows(STORED / "rows.jsonl.gz"))

    def test_texts_are_rendered_from_rows(self, report):
        texts = report.texts()
        stored = {path.name for kind in ("md", "csv", "tex") for path in STORED.glob(f"*.{kind}")}
        assert stored == set(texts)
        for name, content in texts.items():
            assert (STORED / name).read_text(encoding="utf-8") == content, name

    def test_findings_are_rendered_from_rows(self, report):
        assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == report.findings()

    def test_the_page_is_rendered_from_rows(self, report, monkeypatch):
        """But for the figures, whose bytes depend on the version of matplotlib."""
        monkeypatch.setattr(html_page, "draw_figure", lambda *_: b"")
        monkeypatch.setattr(Overview, "draw", lambda *_: b"")
        stored = (STORED / "index.html").read_text(encoding="utf-8")
        assert re.sub(r"base64,[A-Za-z0-9+/=]*", "base64,", stored) == report.page()

    def test_the_page_is_well_formed_and_has_the_figures(self, report):
        page = check_page((STORED / "index.html").read_text(encoding="utf-8"))
        figures = [figure for group in report.figures.values() for figure in group]
        assert [image["alt"] for image in page.images] == [report.overview.alt(), *(f.alt() for f in figures)]
        said = " ".join(page.words)
        for claim in report.claims:
            assert claim.evidence in said
            assert claim.reason in said
            assert claim.holds is not False or claim.reason
        for figure in figures:
            assert (STORED / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
            assert b"<svg" in (STORED / f"{figure.name}.svg").read_bytes()

    def test_it_is_small_and_has_no_paths(self):
        assert (STORED / "rows.jsonl.gz").stat().st_size < 2e6
        for row in read_rows(STORED / "rows.jsonl.gz"):
            assert not re.search(r"/(work|tmp|home|root)\b", str(row))
