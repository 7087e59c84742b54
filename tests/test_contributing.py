"""What CONTRIBUTING.md, the templates and the settings of the project say is true.

Run as a program, it renews the line numbers of the links in CONTRIBUTING.md: python tests/test_contributing.py
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
LINK = re.compile(r"\[`([\w.]+)`\]\(([\w/]+\.py)#L(\d+)\)")


def lines_of(path):
    """Line of every function, class and method of a file, by name, and of the file itself."""
    found = {path.name: 1}

    def look(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found[prefix + child.name] = child.lineno
                look(child, f"{prefix}{child.name}.")

    look(ast.parse(path.read_text(encoding="utf-8")), "")
    return {**found, path.stem: found.get(path.stem, 1)}


def renewed(text):
    """The page with every link at the line where its name is defined."""

    def link(match):
        name, file, _ = match.groups()
        path = ROOT / file
        assert path.is_file(), f"{file} is not there"
        lines = lines_of(path)
        assert name in lines, f"{file} has no {name}"
        return f"[`{name}`]({file}#L{lines[name]})"

    return LINK.sub(link, text)


def test_links_lead_to_the_line_of_their_name():
    text = PAGE.read_text(encoding="utf-8")
    assert len(LINK.findall(text)) >= 20
    assert text == renewed(text), "run: make format"


def test_every_link_into_the_source_is_checked():
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"\]\(src/", text)) == len(LINK.findall(text))


def test_the_tour_ends_where_it_says():
    names = [name for name, _, _ in LINK.findall(PAGE.read_text(encoding="utf-8"))]
    assert names[0] == "complete"
    assert names.index("Completion") > names.index("learn")


def test_a_name_that_is_gone_is_noticed(tmp_path):
    for wrong in ("[`nothing`](src/simcomplete/_api.py#L1)", "[`complete`](src/simcomplete/_gone.py#L1)"):
        try:
            renewed(wrong)
        except AssertionError:
            continue
        raise AssertionError(f"{wrong} was accepted")
    assert renewed("[`complete`](src/simcomplete/_api.py#L0)") != "[`complete`](src/simcomplete/_api.py#L0)"


def test_commands_and_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    wanted = set(re.findall(r"(?:`|\$ )make ([a-z-]+)", PAGE.read_text(encoding="utf-8")))
    assert {"test", "check", "hooks", "coverage", "mutants", "test-oldest"} <= wanted
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert wanted <= targets
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    assert set(phony) == targets
    for target in targets - {"clean"}:
        assert re.search(rf"^{target}:.*  ## \w", makefile, re.MULTILINE), f"{target} does not say what it does"


def test_files_it_names_exist():
    for name in re.findall(r"`((?:src|tests|docs|\.ci)/[\w./-]+)`", PAGE.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def bounds(requirements):
    """Name and lower bound of every requirement that has one."""
    found = {}
    for requirement in requirements:
        name, _, version = re.sub(r"\[.*?\]", "", requirement).partition(">=")
        if version:
            found[name] = version
    return found


def test_the_oldest_versions_are_the_bounds():
    project = settings()["project"]
    extras = project["optional-dependencies"]
    named = ("cli", "dask", "faiss", "frames", "plots", "postgres", "qdrant", "serve")
    promised = bounds([*project["dependencies"], *(line for name in named for line in extras[name])])
    promised |= {name: version for name, version in bounds(extras["test"]).items() if name == "xarray"}
    text = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8")
    direct, _, indirect = text.partition("# not asked for by name")
    pinned = dict(re.findall(r"^([\w-]+)==([\w.]+)$", direct, re.MULTILINE))
    assert pinned == promised
    assert not set(promised) & set(re.findall(r"^([\w-]+)==", indirect, re.MULTILINE))


def test_versions_of_python_agree():
    project = settings()["project"]
    named = [line.rsplit(" ", 1)[1] for line in project["classifiers"] if "Python :: 3." in line]
    assert project["requires-python"] == f">={named[0]}"
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^for version in (.*); do$", script, re.MULTILINE)[1].split() == named[1:]
    assert '\n    clean make test-core "PYTHON=$python" "VENV=.venv-$version"\n' in script


def test_hooks_run_what_make_check_runs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    checked = [line.strip().removeprefix("$(BIN)/") for line in recipe.splitlines()]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert [line.removeprefix(".venv/bin/") for line in re.findall(r"entry: (.*)", hooks)] == checked


def test_continuous_integration_runs_the_commands_of_the_readme_in_a_clean_environment():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"^\$ make ([a-z-]+)", readme, re.MULTILINE):
        assert re.search(rf"^clean make {target}( [A-Z]+='.*')?$", script, re.MULTILINE)  # a variable may add a report
    assert "clean() { env -i " in script


def test_continuous_integration_tests_the_oldest_versions_and_shows_coverage():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nclean make test-oldest\n" in script
    assert re.search(r"^clean make test COVERAGE='--cov .*'$", script, re.MULTILINE)
    assert '\necho "coverage: $covered %"\n' in script
    assert settings()["tool"]["coverage"]["report"]["fail_under"] >= 97


def test_every_command_that_prints_is_run_in_other_terminals():
    """The files of tests/cli that .ci/run repeats: all that run a command in the process of the tests."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    repeated = re.search(r"tests/cli/test_cli_\{(.*)\}\.py", script)[1].split(",")
    own = re.compile(r"\b(run|as_json|fails|CliRunner)\(")
    files = sorted((ROOT / "tests" / "cli").glob("test_cli_*.py"))
    assert repeated == [f.stem.removeprefix("test_cli_") for f in files if own.search(f.read_text(encoding="utf-8"))]


def test_core_tests_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    core = re.search(r"^CORE := (.*)$", makefile, re.MULTILINE)[1].split()
    assert len(core) > 10
    assert [name for name in core if not list(ROOT.glob(name))] == []


def test_the_version_to_come_has_a_section_in_the_changelog():
    sections = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == sorted(sections, reverse=True)
    assert "0.1.0" in sections
    version = re.search(r'= "(.*)"', (ROOT / "src/simcomplete/_version.py").read_text(encoding="utf-8"))[1]
    assert version.split(".dev")[0] in sections


def test_the_citation_names_the_paper():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    paper = (ROOT / "README.md").read_text(encoding="utf-8").split("The paper is ")[1]
    for author in re.findall(r"family-names: (\w+)", text):
        assert author in paper
    title = re.search(r"^    title: (.*)$", text, re.MULTILINE)[1]
    assert title in " ".join(paper.split())


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
