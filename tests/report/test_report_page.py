"""Templates are filled in with everything escaped, and a page is written whole or not at all."""

from __future__ import annotations

import doctest
import sys

import pytest

from simcomplete._report import page
from simcomplete._report.page import ThemedFigure, render_page, require_packages, write_page
from simcomplete.errors import MissingExtraError


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    write_page(tmp_path / "new" / "index.html", "one")
    with pytest.raises(TypeError):
        write_page(tmp_path / "new" / "index.html", None)
    assert (tmp_path / "new" / "index.html").read_text() == "one"
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["index.html"]


def test_examples():
    assert doctest.testmod(page).failed == 0


BAD = "<script>alert('x')</script>&\""


def test_everything_from_outside_is_escaped():
    figure = ThemedFigure(BAD, BAD, BAD, BAD)
    first = {"candidates": 2, "queries": 1, "missing": 0.5, "pattern": BAD}
    context = {
        "first": first,
        "runs": 1,
        "head": [BAD, BAD],
        "columns": {BAD: BAD},
        "rows": [[BAD, BAD]],
        "words": (0,),
        "name": BAD,
        "winner": BAD,
        "notes": {},
    }
    html = render_page("compare.html", {**context, "error": figure, "recall": figure, "time": figure})
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&#34;") == 10 + 3 * 4


def test_a_name_that_is_not_given_is_an_error():
    jinja2 = pytest.importorskip("jinja2")
    with pytest.raises(jinja2.UndefinedError, match="name"):
        render_page("compare.html", {"error": None})


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_says_how_to_install_it(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*simcomplete\[cli\]"):
        require_packages()


def test_a_page_without_jinja2_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"writing pages.*'jinja2'.*simcomplete\[cli\]"):
        render_page("compare.html", {})
