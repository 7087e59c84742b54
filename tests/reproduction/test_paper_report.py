"""The report says what the rows say, in every format; the stored report is that of the stored rows."""

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcomplete._reproduction import protocol as protocols
from simcomplete._reproduction import runner
from simcomplete._reproduction.report import claims as paper_claims
from simcomplete._reproduction.report import contents as paper_book
from simcomplete._reproduction.report import formats as paper_formats
from simcomplete._reproduction.report import trends as paper_trends
from simcomplete._reproduction.report.book import Report, machine
from simcomplete._reproduction.report.figures import draw, pages
from simcomplete._reproduction.report.tables import Table, tables, text
from simcomplete._reproduction.summary import Entry, summarise, value
from simcomplete._reproduction.trials import expand

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "reproduction"
FACTS = {"outcome": "done", "reason": None, "limit": 60.0, "fails": [], "load": 1.0, "candidates_used": 1000}


def made(name, only=(), **values):
    """Rows of a protocol with the same values everywhere, or what a function of the cell gives."""
    cells = expand(protocols.load(name), only)
    return [{**c.trial, **FACTS, **{k: v(c) if callable(v) else v for k, v in values.items()}} for c in cells]


class TestSummary:
    def test_by_hand(self):
        rows = made("ablation", ["dataset=mnist", "method=smcnn"], error=lambda c: 0.8 + 0.1 * c.trial["seed"])
        rows[0]["outcome"], rows[0]["reason"] = "over budget", "late"
        entries = summarise(protocols.load("ablation"), runner.index(rows))
        (one,) = [e for e in entries if e.ran and e.at["missing"] == 0.7 and e.column == "original"]
        assert one.mean == {"error": pytest.approx(1.0)}  # 0.8, 0.9, 1.0, 1.1, 1.2
        assert one.spread == {"error": pytest.approx(0.025**0.5)}
        assert (one.asked, one.ran, one.over, one.failed, one.reason) == (5, 5, 1, 0, "late")
        assert one.paper == {"error": 0.8233, "recall_fifth": 0.7762, "ndcg": 0.8488}
        assert len(entries) == 300
        assert sum(e.ran for e in entries) == len(rows)

    @pytest.mark.parametrize(("ours", "sign"), [(0.85, 0), (0.851, 1), (0.749, -1), (None, 0)])
    def test_differences(self, ours, sign):
        mean = {} if ours is None else {"error": ours}
        one = Entry({}, "a", "b", {}, 1, 1, 0, 0, mean, {}, {"error": 0.8})
        assert one.differs("error") == sign
        assert one.differs("recall_fifth") == 0

    def test_ranks_differ_by_a_share(self):
        one = Entry({}, "a", "b", {}, 1, 1, 0, 0, {"rank": 1150.0}, {}, {"rank": 1200})
        assert one.differs("rank") == 0

    def test_derived_measures(self):
        assert value({"fails": ["psd"]}, "psd") == 0.0
        assert value({}, "psd") is value({"peak_mib": None}, "extra_mib") is value({"error": None}, "error") is None


class TestCells:
    @pytest.mark.parametrize(
        ("counts", "mean", "shown"),
        [
            ((0, 0, 0), {}, "-"),
            ((1, 1, 0), {}, "over limit"),
            ((1, 0, 1), {}, "failed"),
            ((1, 0, 0), {"error": 0.5}, "0.500▼"),
            ((1, 1, 0), {"error": 0.8}, "0.800*"),
            ((1, 0, 0), {"error": 43210.0}, "4.32e+04▲"),
        ],
    )
    def test_every_outcome_is_told(self, counts, mean, shown):
        assert text(Entry({}, "a", "b", {}, 1, *counts, mean, {}, {"error": 0.8}), "error") == shown

    def test_spread(self):
        one = Entry({}, "a", "b", {}, 2, 2, 0, 0, {"rank": 100.0}, {"rank": 0.0}, {})
        assert text(one, "rank") == "100 ±0"


class TestFormats:
    @pytest.fixture(scope="class")
    @staticmethod
    def found():
        one = protocols.load("threshold")
        rows = made("threshold", ["dataset=mnist"], error=lambda c: 1 - c.at["penalty"], rank=1200)
        entries = summarise(one, runner.index(rows))
        return one, entries, next(t for t in tables(one, entries) if t.title.startswith("MNIST"))

    def test_the_table_has_the_papers_layout(self, found):
        _, _, table = found
        assert table.head[:4] == ["method", "which", "0.7, 0.0001 rank", "0.7, 0.0001 error"]
        assert [row[1] for row in table.rows] == ["original on S", "original on X", "paper"]
        assert table.rows[2][2:4] == ["1200", "1.633"]
        assert table.rows[0][2:4] == ["1200 ±0", "1.000 ±0.000▼"]
        assert {len(row) for row in table.rows} == {len(table.head)} == {20}

    def test_three_spellings_of_the_same_cells(self, found):
        _, _, table = found
        said = paper_formats.markdown(table).splitlines()[4:]
        assert [[c.strip() for c in line.strip("|").split("|")] for line in said] == table.rows
        body = [line for line in paper_formats.latex(table).splitlines() if line.startswith("NNFN")]
        assert [line.count("&") for line in body] == [19] * 3
        assert "1.000 $\\pm$0.000$\\downarrow$" in body[0]

    def test_csv_has_every_number(self, found):
        one, entries, _ = found
        lines = list(csv.DictReader(io.StringIO(paper_formats.as_csv(one, entries))))
        assert len(lines) == 5 * 9 * 2 * 2
        at = {"dataset": "mnist", "missing": "0.7", "penalty": "0.0001", "column": "original on S", "measure": "error"}
        (line,) = [line for line in lines if at.items() <= line.items()]
        assert (line["ours"], line["paper"], line["difference"], line["runs"]) == ("0.9999", "1.6331", "-0.6332", "5")
        (other,) = [line for line in lines if {**at, "dataset": "protein"}.items() <= line.items()]
        assert (other["ours"], other["paper"], other["difference"], other["runs"]) == ("", "1.0053", "", "0")

    def test_latex_is_escaped(self):
        assert paper_formats.escape("SMC_F & 5% {x} \\ #1 $ ^ ~") == (
            r"SMC\_F \& 5\% \{x\} \textbackslash{} \#1 \$ \^{} \~{}"
        )

    @given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"])), min_size=2, max_size=4))
    def test_any_words_keep_their_cells(self, words):
        table = Table("title", words, [words], words=1)
        (line,) = paper_formats.markdown(table).splitlines()[4:]
        assert len(re.findall(r"(?<!\\)\|", line)) == len(words) + 1
        line = paper_formats.latex(table).splitlines()[5]
        assert len(re.findall(r"(?<!\\)&", line)) == len(words) - 1
        assert "%" not in line.replace(r"\%", "")

    def test_too_few_rows_are_told(self):
        rows = made("effectiveness-2000", ["dataset=protein"], error=0.5, candidates_used=1300)
        one = protocols.load("effectiveness-2000")
        titles = [table.title for table in tables(one, summarise(one, runner.index(rows)))]
        assert "PROTEIN, 2,000 candidates (1,300 used: the data set has no more rows)" in titles
        assert "MNIST, 2,000 candidates" in titles


def test_figures_have_the_papers_panels():
    one = protocols.load("sensitivity-rank")
    rows = made("sensitivity-rank", ["missing=0.8"], error=lambda c: 1 / c.at["rank"], recall_fifth=0.5)
    (figure,) = pages(one, summarise(one, runner.index(rows)))
    assert figure.name == "sensitivity-rank-0.8"
    assert figure.alt().endswith("error and recall against rank, 40 points.")
    picture = draw(figure, "svg")
    for name in (b"ImageNet", b"GoogleNews", b"SMCNmF", b"recall"):
        assert name in picture
    assert picture == draw(figure, "svg")
    assert draw(figure, "png").startswith(b"\x89PNG")


class Document(HTMLParser):
    """Images, links and places of a page; fails on tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.images, self.links, self.ids, self.words = [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.images += [told] if tag == "img" else []
        self.links += [told["href"]] if tag == "a" else []
        self.ids += [told["id"]] if "id" in told else []
        self.open += [] if tag in ("meta", "img", "br", "source") else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def sound(html):
    """Check a page: images inside and described, links that lead somewhere, nothing loaded."""
    page = Document(html)
    for image in page.images:
        assert image["src"].startswith("data:image/svg+xml;base64,")
        assert len(image["alt"]) > 10
    assert len(set(page.ids)) == len(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert not re.search(r"https?:|url\(|@import|<script", re.sub(r"base64,[A-Za-z0-9+/=]*", "", html))
    return page


def test_the_page():
    bad = "<script>alert('x')</script>"
    rows = made("ablation", ["dataset=mnist", "method=dmc"], error=0.5) + made(
        "sensitivity-rank", ["missing=0.8"], error=0.5
    )
    wanted = [protocols.load(name) for name in ("ablation", "sensitivity-rank", "threshold")]
    page = sound(Report(wanted, [{**row, "processor": bad} for row in rows]).page())
    assert len(page.images) == 1
    assert page.links == ["#ablation", "#threshold", "#sensitivity-rank"]  # the paper's order
    said = " ".join(page.words)
    assert "0.500 ±0.000▼" in said
    assert "Not run yet: simcomplete paper run threshold" in said
    assert "PROTEIN, 1,000 candidates: not run." in said


def test_without_rows_nothing_is_claimed():
    report = Report(protocols.load_all(), [])
    assert report.texts() == {}
    assert {claim.word for claim in report.claims} == {"not run"}
    assert {claim.found for claim in report.claims} == {""}
    assert machine([]) == "There are no rows."
    assert "What holds" not in report.findings()
    sound(report.page())


class TestClaims:
    def test_they_stand_on_seeds_that_everything_was_run_with(self):
        rank = protocols.load("rank")
        rows = runner.index(made("rank", rank=lambda c: c.trial["seed"]))
        assert paper_book.whole_seeds(rank, rows) == [0, 1, 2, 3, 4]
        assert paper_book.Book("rank", rows).entries[0].mean["rank"] == 2.0
        del rows[next(key for key, row in rows.items() if row["seed"] == 4)]
        assert paper_book.whole_seeds(rank, rows) == [0, 1, 2, 3]
        assert {e.mean["rank"] for e in paper_book.Book("rank", rows).entries} == {1.5}
        assert paper_book.whole_seeds(rank, {}) == [0]

    """Rows in which a claim holds, and rows in which it does not."""

    @pytest.mark.parametrize(("slope", "holds"), [(-1e-3, True), (1e-3, False)])
    def test_trend_in_rank(self, slope, holds):
        rows = made("sensitivity-rank", error=lambda c: 1 + slope * c.at["rank"])
        found = paper_trends.trend_in_rank(runner.index(rows))
        assert found.holds is holds
        assert f"in {15 * holds} of 15 settings" in found.found

    @pytest.mark.parametrize(("large", "holds"), [("diverged", False), ("converged", True)])
    def test_steps(self, large, holds):
        rows = made("sensitivity-step", status=lambda c: large if c.at["step"] > 0.05 else "converged")
        found = paper_trends.steps_are_stable(runner.index(rows))
        assert found.holds is holds
        assert ("converged 60, diverged 90. The smallest step that diverged is 0.1." in found.found) is not holds

    @pytest.mark.parametrize(("error", "holds"), [(0.9, False), (1.05, True)])
    def test_dmc_above_one(self, error, holds):
        rows = made("ablation", ["method=dmc"], error=error)
        assert paper_claims.projection_above_one(runner.index(rows)).holds is holds

    @pytest.mark.parametrize(("rank", "holds"), [(80, True), (100, False)])
    def test_ranks(self, rank, holds):
        found = paper_claims.ranks_below_bound(runner.index(made("rank", ["method=smcnn"], rank=rank)))
        assert found.holds is holds
        assert f"rank {rank} in 15 settings" in found.found

    def test_the_printed_numbers_hold_for_themselves(self):
        """Rows made of the paper's own numbers: its order is found, and its readings."""
        entries = {(e.method, *e.at.values()): e.paper for e in summarise(protocols.load("ablation"), {})}

        def own(measure):
            return lambda c: entries[c.trial["method"], *c.at.values()][measure]

        rows = made("ablation", error=own("error"), recall_fifth=own("recall_fifth"), ndcg=own("ndcg"))
        known = runner.index(rows)
        assert paper_claims.order_of_methods(known).numbers.endswith("over methods: 1.000.")
        for check in (paper_claims.order_of_methods, paper_claims.readings, paper_trends.penalty_matters):
            assert check(known).holds
        assert paper_trends.two_penalties_agree(known).holds
        assert paper_claims.projection_above_one(known).holds
        assert paper_trends.better_than_start(known).holds

    def test_first_place(self):
        worst = {"smcnn": 0.5, "smcnmf": 0.5, "posterior": 0.1}
        rows = made("effectiveness-1000", error=lambda c: worst.get(c.trial["method"], 0.6))
        known = runner.index(rows)
        assert paper_claims.ahead_of_baselines(known).holds
        assert paper_claims.ours_is_better(known).holds
        worst["fmc"] = 0.05
        known = runner.index(made("effectiveness-1000", error=lambda c: worst.get(c.trial["method"], 0.6)))
        assert "ahead of both: FMC 15." in paper_claims.ahead_of_baselines(known).found
        assert not paper_claims.ours_is_better(known).holds


class TestStored:
    """What is in docs/reproduction comes from the rows there."""

    @pytest.fixture(scope="class")
    @staticmethod
    def report():
        return Report(protocols.load_all(), runner.read(STORED / "rows.jsonl.gz"))

    def test_texts_are_rendered_from_rows(self, report):
        texts = report.texts()
        found = {path.name for kind in ("md", "csv", "tex") for path in STORED.glob(f"*.{kind}")}
        assert found == set(texts)
        for name, content in texts.items():
            assert (STORED / name).read_text(encoding="utf-8") == content, name

    def test_findings_are_rendered_from_rows(self, report):
        assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == report.findings()

    def test_the_page_is_sound_and_says_the_same(self, report):
        page = sound((STORED / "index.html").read_text(encoding="utf-8"))
        figures = [figure for found in report.figures.values() for figure in found]
        assert [image["alt"] for image in page.images] == [figure.alt() for figure in figures]
        said = " ".join(page.words)
        for claim in report.claims:
            assert claim.found in said
        for figure in figures:
            assert (STORED / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
            assert b"<svg" in (STORED / f"{figure.name}.svg").read_bytes()

    def test_it_is_small_and_tells_no_names(self):
        assert (STORED / "rows.jsonl.gz").stat().st_size < 2e6
        for row in runner.read(STORED / "rows.jsonl.gz"):
            assert not re.search(r"/(work|tmp|home|root)\b", str(row))
