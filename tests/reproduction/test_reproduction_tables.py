"""Tables in the paper's layout, as Markdown, LaTeX and CSV."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.report import formats
from simcomplete._reproduction.report.tables import PaperTable, build_tables, cell_text, describe_columns
from simcomplete._reproduction.rows import rows_by_trial
from simcomplete._reproduction.summary import CellSummary, summarise_cells


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
    def test_every_outcome_is_shown(self, counts, mean, shown):
        assert cell_text(CellSummary({}, "a", "b", {}, 1, *counts, mean, {}, {"error": 0.8}), "error") == shown

    def test_spread(self):
        one = CellSummary({}, "a", "b", {}, 2, 2, 0, 0, {"rank": 100.0}, {"rank": 0.0}, {})
        assert cell_text(one, "rank") == "100 ±0"


@pytest.mark.parametrize("name", ["effectiveness-1000", "time"])
def test_what_tuned_means_is_said_where_it_is_shown(name):
    assert ("Tuned: values of some candidates are hidden" in describe_columns(load_protocol(name))) == (name != "time")


class TestFormats:
    @pytest.fixture(scope="class")
    @staticmethod
    def threshold(made):
        one = load_protocol("threshold")
        rows = made("threshold", ["dataset=mnist"], error=lambda c: 1 - c.at["penalty"], rank=1200)
        entries = summarise_cells(one, rows_by_trial(rows))
        return one, entries, next(t for t in build_tables(one, entries) if t.title.startswith("MNIST"))

    def test_the_table_has_the_papers_layout(self, threshold):
        _, _, table = threshold
        assert table.head[:4] == ["method", "which", "0.7, 0.0001 rank", "0.7, 0.0001 error"]
        assert [row[1] for row in table.rows] == ["original on S", "paper"]
        assert table.rows[1][2:4] == ["1200", "1.633"]
        assert table.rows[0][2:4] == ["1200 ±0", "1.000 ±0.000▼"]
        assert {len(row) for row in table.rows} == {len(table.head)} == {20}

    def test_markdown_and_latex_have_the_same_cells(self, threshold):
        _, _, table = threshold
        said = formats.table_markdown(table).splitlines()[4:]
        assert [[c.strip() for c in line.strip("|").split("|")] for line in said] == table.rows
        body = [line for line in formats.table_latex(table).splitlines() if line.startswith("NNFN")]
        assert [line.count("&") for line in body] == [19] * 2
        assert "1.000 $\\pm$0.000$\\downarrow$" in body[0]

    def test_csv_has_every_number(self, threshold):
        one, entries, _ = threshold
        lines = list(csv.DictReader(io.StringIO(formats.cells_csv(one, entries))))
        assert len(lines) == 5 * 9 * 2
        at = {"dataset": "mnist", "missing": "0.7", "penalty": "0.0001", "column": "original on S", "measure": "error"}
        (line,) = [line for line in lines if at.items() <= line.items()]
        assert (line["ours"], line["paper"], line["difference"], line["runs"]) == ("0.9999", "1.6331", "-0.6332", "5")
        (other,) = [line for line in lines if {**at, "dataset": "protein"}.items() <= line.items()]
        assert (other["ours"], other["paper"], other["difference"], other["runs"]) == ("", "1.0053", "", "0")

    def test_latex_is_escaped(self):
        assert formats.escape_latex("SMC_F & 5% {x} \\ #1 $ ^ ~") == (
            r"SMC\_F \& 5\% \{x\} \textbackslash{} \#1 \$ \^{} \~{}"
        )

    @given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"])), min_size=2, max_size=4))
    def test_any_words_keep_their_cells(self, words):
        table = PaperTable("title", words, [words], words=1)
        (line,) = formats.table_markdown(table).splitlines()[4:]
        assert len(re.findall(r"(?<!\\)\|", line)) == len(words) + 1
        line = formats.table_latex(table).splitlines()[5]
        assert len(re.findall(r"(?<!\\)&", line)) == len(words) - 1
        assert "%" not in line.replace(r"\%", "")

    def test_too_few_rows_are_named_in_the_title(self, made):
        rows = made("effectiveness-2000", ["dataset=protein"], error=0.5, candidates_used=1300)
        one = load_protocol("effectiveness-2000")
        titles = [table.title for table in build_tables(one, summarise_cells(one, rows_by_trial(rows)))]
        assert "PROTEIN, 2,000 candidates (1,300 used: the data set has no more rows)" in titles
        assert "MNIST, 2,000 candidates" in titles
