"""Report pages in a real browser: 1280 pixels hold every column, and a phone scrolls tables only.

Skipped, with the reason, where no browser can be driven.
"""

import pytest

from simcomplete._report.compare_page import COMPARE_HEAD
from simcomplete._report.page import render_page
from simcomplete._report.results import COLUMN_MEANINGS, HEAD
from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.report.html_page import render_paper
from simcomplete._reproduction.report.tables import MEASURE_LABELS, PaperTable

WIDER = "[document.documentElement, ...document.querySelectorAll('.wide')].map(e => e.scrollWidth - e.clientWidth)"


def comparison():
    """A comparison with the widest cells that there are."""
    row = ["posterior", *["12.345 ±0.123"] * 5, "1200", "no: range, candidates, psd, diagonal", "123.45 ±12.34"]
    return render_page(
        "compare.html",
        {
            "first": {"candidates": 1000, "queries": 200, "missing": 0.8, "pattern": "random"},
            "runs": 5,
            "head": COMPARE_HEAD[:-1],
            "columns": {name: COLUMN_MEANINGS[name] for name in COMPARE_HEAD[1:-1]},
            "rows": [row] * 3,
            "words": (0, 7),
            "name": "data",
            "winner": "posterior",
            "notes": {},
            "error": None,
        },
    )


def paper():
    """The widest table of the paper's protocols: six measures at three missing shares."""
    protocol = load_protocol("readings")
    labels = [f"{at:g} {MEASURE_LABELS[m]}" for at in protocol.grid["missing"] for m in protocol.measures]
    row = ["facNNFN", "original, tuned", *["10.345 ±0.123*▲"] * len(labels)]
    table = PaperTable("MNIST, 1,000 candidates", ["method", "which", *labels], [row] * 3, words=2)
    name = protocol.name
    return render_paper([protocol], {name: []}, {name: [table]}, {name: []}, [], "There are no rows.")


@pytest.mark.parametrize("page", [comparison, paper])
def test_pages_fit(browser, page):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_content(page())
    assert max(tab.evaluate(WIDER)) <= 0
    tab.set_viewport_size({"width": 390, "height": 900})
    assert tab.evaluate(WIDER)[0] <= 0
    tab.close()


def test_every_column_has_a_meaning():
    assert {*HEAD[1:], *COMPARE_HEAD[1:-1]} == set(COLUMN_MEANINGS)
    assert "error is relative squared error" in paper()
    assert all(f"<dt>{name}</dt>" in comparison() for name in COMPARE_HEAD[1:-1])
