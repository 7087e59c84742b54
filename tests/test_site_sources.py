"""The sources of the site: every public name is in its reference, every page is reachable, its examples run."""

import ast
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MODULES = ("datasets", "errors", "estimators", "index", "masks", "metrics", "scorers", "stores", "theory")


def referenced():
    """Every full name that the pages of the reference list."""
    names = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, block in re.findall(r"currentmodule:: (\S+)\n(.*?)```", text, re.DOTALL):
            names |= {f"{module}.{name}" for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)}
    return names


def public():
    for name in MODULES:
        try:
            module = importlib.import_module(f"simcomplete.{name}")
        except ModuleNotFoundError:
            continue
        yield from (f"simcomplete.{name}.{each}" for each in module.__all__ if each != "FOLDER_VARIABLE")
    skipped = {*MODULES, "__version__"}
    for each in sc.__all__:
        if each not in skipped and each not in sc.estimators.__all__:
            yield f"simcomplete.{each}"


def test_every_public_name_is_in_the_reference_and_no_other():
    assert set(public()) == referenced()


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    listed |= {found.relative_to(DOCS) for found in page.parent.glob(f"{line}.md")}
    pages = {page.relative_to(DOCS) for page in DOCS.rglob("*.md") if "gallery" not in page.parts}
    assert pages - listed == {Path("index.md")}


def test_links_between_files_lead_somewhere():
    """The site checks links between its pages; links to source files are text there, and are checked here."""
    pages = [*ROOT.glob("*.md"), *(page for page in DOCS.rglob("*.md") if "gallery" not in page.parts)]
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert len(pages) > 60 and not dead


NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"


def words(line):
    """The text of a line without its numbers, however they are aligned."""
    return re.sub(NUMBER, "0", line.replace("[", " ").replace("]", " ")).split()


def numbers(text):
    return [float(number) for number in re.findall(NUMBER, text)]


@pytest.mark.parametrize("name", ["index", "start", "scikit-learn"])
def test_the_examples_of_a_page_print_what_it_shows(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    shown = 0
    for code, output in re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.DOTALL):
        exec(compile(code, f"docs/{name}.md", "exec"), names)
        printed = capsys.readouterr().out
        assert [words(line) for line in printed.splitlines()] == [words(line) for line in output.splitlines()]
        assert numbers(printed) == pytest.approx(numbers(output), abs=0.03)
        shown += bool(output)
    assert shown
    if name == "start":
        assert not np.isnan(names["filled"]).any(axis=None)
        assert names["table"].columns[0] == "name"


def test_examples_have_a_title_and_are_short():
    for path in (ROOT / "examples").glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 60, path.name
        assert lines[0] == '"""' and set(lines[2]) == {"="} and len(lines[1]) == len(lines[2]), path.name
    assert len(list((ROOT / "examples").glob("*.py"))) >= 10


def cells(source):
    """The cells of an example, each as the list of its statements."""
    found = [[]]
    for statement in ast.parse(source).body:
        lines = source.splitlines()
        if found[-1] and "# %%" in lines[found[-1][-1].end_lineno - 1 : statement.lineno - 1]:
            found.append([])
        found[-1].append(statement)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_show_no_object_and_fit_their_boxes(path):
    source = path.read_text(encoding="utf-8")
    assert len(cells(source)) == source.count("\n# %%\n") + 1 > 1
    # A notebook and the site print the value of the last expression: of a call of matplotlib, an object's address.
    quiet = {"print", "tight_layout", "cleanup", "add"}
    for statements in cells(source):
        last = statements[-1]
        if isinstance(last, ast.Expr):
            function = last.value.func
            assert getattr(function, "id", getattr(function, "attr", None)) in quiet, ast.unparse(last)
    # The text of a page is as wide as 96 letters of its code.
    after = source.index('"""', 3)
    code = re.sub(r"^# %%\n(?:#.*\n)*", "", source[after:], flags=re.MULTILINE)
    assert max(map(len, code.splitlines())) <= 96


def code_of(text):
    """The lines of code of a page: fenced blocks, and indented ones."""
    fence = None
    for line in text.splitlines():
        if line.startswith("```"):
            fence = line if fence is None else None
        elif (fence and "{" not in fence) or (fence is None and re.match(r" {4}\S", line)):
            yield line


def test_code_of_pages_fits_its_boxes():
    for page in [*DOCS.glob("*.md"), *(DOCS / "methods").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        assert not [line for line in code_of(page.read_text(encoding="utf-8")) if len(line) > 100], page.name


@pytest.mark.parametrize(
    ("latex", "written"),
    [
        (r"X \succeq 0", '<mo lspace="0.278em" rspace="0.278em">&#x02AB0;</mo>'),
        (r"x \sim y", '<mo lspace="0.278em" rspace="0.278em">&#x0223C;</mo>'),
        (r"U \operatorname{diag}(w)", '<mi>U</mi><mo lspace="0.167em" rspace="0">diag</mo>'),
        (r"z = \max x", '<mo lspace="0" rspace="0.167em">max</mo>'),
        (r"a / b", '<mi>a</mi><mo lspace="0" rspace="0">/</mo><mi>b</mi>'),
        (r"|z|", '<mo stretchy="false" lspace="0" rspace="0">|</mo><mi>z</mi>'),
        (r"\alpha \le 1", "<mi>&#x003B1;</mi><mo>"),
    ],
)
def test_operators_of_formulae_have_their_space(latex, written, site_extension):
    assert written in site_extension("mathml").mathml(latex, "inline")


def test_titles_of_methods_say_what_they_compute():
    for method in sc.methods():
        title = (DOCS / "methods" / f"{method.name}.md").read_text(encoding="utf-8").splitlines()[0]
        assert re.fullmatch(rf"# {method.name}: \w[\w -]+", title), title
