"""The tool itself: mutants are small, legal and where they should be; those made by hand are still possible."""

import ast

import pytest

from .__main__ import drawn, sample
from .by_hand import MUTANTS, PACKAGE
from .changes import mutants
from .equivalent import EQUIVALENT, matches
from .plan import PACKAGES, TESTS, asked_about
from .trial import ROOT

SOURCE = '''
"""Two 2."""
LIMIT: int = 2
BLOCK_VALUES = 2**21


def f(x: float = 0.5, *, verbose: bool = True) -> "2":
    """Return 1 + 1."""
    y = np.clip(x - 1e-9, -3, max(x, 0))
    y = y / 2 if x < 0 and not verbose else y
    if verbose:
        raise ValueError(f"{x + 1} is 2")
    for _ in row_blocks(x + 7 + 400, 8 * 2**5):
        pass
    axes.plot(table.fold(y, bytes_per_row=3 * 8), alpha=0.3)
    return y
'''


@pytest.fixture
def changes(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return {(m.old, m.new) for m in mutants(path)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5", "(1.0)"),
        ("0.5", "(-0.5)"),
        ("2", "(3)"),
        ("True", "(False)"),
        ("x - 1e-9", "(x + 1e-09)"),
        ("1e-9", "(1.0)"),
        ("-3", "(3)"),
        ("max", "(min)"),
        ("np.clip(x - 1e-9, -3, max(x, 0))", "(x - 1e-09)"),
        ("y / 2", "(y * 2)"),
        ("x < 0", "(x >= 0)"),
        ("x < 0 and not verbose", "(x < 0 or not verbose)"),
        ("not verbose", "(verbose)"),
        ("7", "(8)"),
        ("400", "(800)"),
        ("verbose", "(not (verbose))"),
        ("y = y / 2 if x < 0 and not verbose else y", "pass"),
    ],
)
def test_every_kind_of_change(changes, old, new):
    assert (old, new) in changes


def test_what_computes_nothing_is_left_alone(changes):
    assert not any(
        old in ("8", "5", "8 * 2**5", "21", "2**21", "3 * 8") for old, _ in changes
    )  # how many rows at a time
    assert not any(old == "0.3" for old, _ in changes)  # how a figure looks
    assert not any("ValueError" in old or "x + 1" in old for old, _ in changes)
    assert sum(old == "2" for old, _ in changes) == 1  # of LIMIT and of y / 2; docstring and annotation are not numbers


def test_mutants_of_the_core_are_programs_and_differ():
    for mutant in sample(PACKAGES, 60, seed=1):
        text = mutant.path.read_text(encoding="utf-8")
        assert ast.dump(ast.parse(mutant.source(text))) != ast.dump(ast.parse(text))
        assert mutant.diff(text).count("\n") >= 1


def test_the_draw_is_the_same_for_a_seed_and_even():
    first, again, other = (sample(PACKAGES, 60, seed) for seed in (0, 0, 1))
    assert first == again != other
    below = [m.path.relative_to(PACKAGE).parts[0] for m in first]
    assert [below.count(name) for name in PACKAGES] == [20, 20, 20]


def test_the_draw_does_not_depend_on_other_lines(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    before = [(m.old, m.new) for m in drawn(list(mutants(path)), 0)]
    other = tmp_path / "other.py"
    other.write_text("NEW = 77\n" + SOURCE)
    after = [(m.old, m.new) for m in drawn(list(mutants(other)), 0) if m.old != "77"]
    assert before == after != [(m.old, m.new) for m in drawn(list(mutants(path)), 1)]


@pytest.mark.parametrize("entry", MUTANTS, ids=lambda entry: entry.what)
def test_each_mutant_made_by_hand_has_its_place_exactly_once(entry):
    text = (PACKAGE / entry.file).read_text(encoding="utf-8")
    assert text.count(entry.old) == 1
    assert ast.dump(ast.parse(entry.mutant().source(text))) != ast.dump(ast.parse(text))


@pytest.mark.parametrize("entry", EQUIVALENT, ids=lambda entry: f"{entry.file} {entry.line}")
def test_each_equivalent_mutant_is_still_one(entry):
    assert entry.why
    assert any(matches(entry, mutant) for mutant in mutants(PACKAGE / entry.file))


def test_every_plan_is_of_a_module():
    modules = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    for name in TESTS:
        assert any(module.startswith(name) for module in modules), name


def test_every_module_has_tests_that_exist():
    for tests in TESTS.values():
        for test in tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), test
            assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8") if name else True, test
    assert asked_about("_result/certificate.py") == TESTS["_result/certificate"]
    assert asked_about("_result/anything.py") == TESTS["_result"]
