"""Imports point one way, rooms are small, exports are exact, examples in docstrings run."""

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc

ROOT = Path(sc.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# From the ground up: a module may import from its own layer and from layers below, never from above. A package is one
# layer, but for `_result`, whose parts stand below and above the public index, and `_correlation`, whose estimates
# stand on the models of `_posterior`.
LAYERS = [
    ["errors", "_version", "_caller", "_types"],
    ["_rows"],
    ["_ratings"],
    ["_similarity", "masks", "metrics"],
    ["_result/pair_spread"],
    ["_result/status", "_result/text", "_result/certificate", "_result/intervals", "_result/matrix", "_result/rows"],
    ["_result/html"],
    ["_result/unobserved"],
    ["_result/imputed", "_result/new_queries"],
    ["_result/search", "_result/validity", "_result/views", "_result/archive", "_result/plain", "_result/fits"],
    ["_result/recalibration", "_result/pairs", "_result/thresholds", "_result/top", "_result/probabilities"],
    ["_result/layout", "_result/layout_values"],
    ["_result/store", "_result/summary", "_result/frames", "_result/plots"],
    ["_result/duplicates"],
    ["index"],
    ["_result/searching"],
    ["_result/completion"],
    ["_result/__init__"],
    ["_method"],
    ["_correlation"],
    ["_spectral", "_posterior"],
    ["_correlation/expected", "_correlation/holdout", "_correlation/samples"],
    ["_baselines"],
    ["_registry"],
    ["_auto"],
    ["_api"],
    ["theory", "scorers"],
    ["stores"],
    ["estimators"],
    ["_load"],
    ["datasets"],
    ["__init__"],
    ["_compare"],
    ["_report"],
    ["_cli/output", "_cli/options", "_cli/arguments"],
    ["_reproduction"],
    ["_serve"],
    ["_cli"],
    ["__main__"],
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}


def layer(parts):
    """The layer that a module belongs to, given its name in parts without simcomplete."""
    known = (name for n in (2, 1) if (name := "/".join(parts[:n])) in HEIGHT)
    return next(known, "__init__")


def unit(path):
    """The layer that a file belongs to."""
    return layer(path.relative_to(ROOT).with_suffix("").parts)


def imported(path):
    """Layers that a file imports from when it runs (imports for type checkers apart)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "simcomplete":
                yield layer(parts[1:])


def test_every_module_has_a_layer():
    for path in FILES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        assert unit(path) != "__init__" or parts == ("__init__",), path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    here = unit(path)
    for other in imported(path):
        beside = here.split("/")[0] == other.split("/")[0] and HEIGHT[other] == HEIGHT[here]
        assert beside or HEIGHT[other] < HEIGHT[here], f"{here} imports {other}, which lies above or beside it"


def test_the_import_test_can_fail(tmp_path):
    wrong = tmp_path / "errors.py"
    wrong.write_text("from simcomplete._api import complete\nimport simcomplete as sc\n")
    assert list(imported(wrong)) == ["_api", "__init__"]


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_rooms_are_small(folder):
    files = Path(__file__).parents[1].joinpath(folder).rglob("*.py")
    sizes = sorted((len(path.read_text(encoding="utf-8").splitlines()), path.name) for path in files)
    assert sizes[-1] <= (300, "~"), sizes[-5:]
    assert sizes[len(sizes) // 2] <= (125, "~")


PUBLIC_MODULES = {"datasets", "errors", "estimators", "index", "masks", "metrics", "scorers", "stores", "theory"}
PUBLIC_NAMES = {
    *("complete", "complete_similarity", "Completion", "load", "methods", "overlap_counts", "overlap_similarity"),
    *("PosteriorCompleter", "PosteriorImputer", "pool", "SMCNN", "SMCNmF", "SimilarityCompleter", "__version__"),
    "duplicates",
    *("nearest_correlation", "nearest_covariance", "shrink_to_valid", "factor_correlation", "Repair"),
    *("NearestCorrelation", "PosteriorKernel", "correlation", "covariance", "Estimate"),
    *(PUBLIC_MODULES - {"index", "stores"}),
}


def test_public_modules_are_exactly_these():
    public = {name.removeprefix("simcomplete.") for name in modules() if "._" not in name}
    assert public == PUBLIC_MODULES


def test_exports_are_exact():
    assert set(sc.__all__) == PUBLIC_NAMES
    assert len(sc.__all__) == len(set(sc.__all__))
    for name in sc.__all__:
        assert getattr(sc, name) is not None
    public = {name for name, value in vars(sc).items() if not name.startswith("_") and not _is_module(value)}
    assert public <= set(sc.__all__)


def _is_module(value):
    return type(value).__name__ == "module"


def test_public_names_have_docstrings_with_examples():
    for name in set(sc.__all__) - {"__version__"}:
        doc = getattr(sc, name).__doc__
        assert doc, name
        if callable(getattr(sc, name)):
            assert ">>>" in doc, f"{name} has no example"


def modules():
    return [m.name for m in pkgutil.walk_packages([str(ROOT)], "simcomplete.") if not m.name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0


def test_import_is_light():
    """Heavy and optional packages are imported when they are needed, not with the package."""
    heavy = ("torch", "pandas", "polars", "matplotlib", "typer", "rich", "pyarrow", "dask", "faiss")
    code = f"import sys, simcomplete; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# Hooks that every method or command has under the same name, and public verbs of their packages.
SHARED_NAMES = {"run", "work", "register", "complete", "methods", "search", "load", "read", "nearest"}


def top_level_names(body):
    """Functions, classes and types of a module. Constants (LIMIT) are numbers of their own module, and may recur."""
    for node in body:
        if isinstance(node, ast.If):
            yield from top_level_names(node.body)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        else:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [
                name for target in targets if (name := getattr(target, "id", "")).strip("_") and not name.isupper()
            ]
        yield from () if isinstance(node, ast.If) else (name for name in names if not name.startswith("_"))


def test_a_name_has_one_meaning():
    """No two modules define a function, a class or a type of the same name, those in SHARED_NAMES apart."""
    places = {}
    for path in FILES:
        for name in top_level_names(ast.parse(path.read_text(encoding="utf-8")).body):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    twice = {name: where for name, where in places.items() if len(where) > 1 and name not in SHARED_NAMES}
    assert not twice


# Words that this package once used for things that have a name elsewhere: see the glossary in CONTRIBUTING.md.
FORMER_WORDS = {
    *("Bars", "Uncounted", "ELECTORATE", "drawn_up", "meetings", "is_outside", "told_memory", "verdict", "campaign"),
    *("rehearse", "rehearsed", "rehearsal", "Rehearsal", "play", "played", "Played", "PLAYS", "told"),
    *("MANY", "MOST", "FEWEST", "HELD", "Around", "Seen", "PassOf", "Fills", "crowd", "Crowd", "judged", "JUDGED"),
}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_are_those_of_the_field(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {getattr(node, key, None) for node in ast.walk(tree) for key in ("id", "attr", "arg", "name")}
    assert not FORMER_WORDS & (names | {path.stem})


PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def test_the_page_names_every_package_and_no_module_that_is_gone():
    rows = [line.split("|")[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    rows = [([*re.findall(r"`([\w/]+)`", packages)], re.findall(r"`(\w+)/?`", what)) for packages, what, *_ in rows]
    here = {path.stem for path in ROOT.iterdir() if not path.name.startswith("__") and path.name != "py.typed"}
    assert here - {"_version"} <= {package for packages, _ in rows for package in packages}
    modules = {path.stem for path in ROOT.rglob("*")}
    defined = {name for path in FILES for name in re.findall(r"(?:def|class) (\w+)", path.read_text(encoding="utf-8"))}
    for packages, names in rows:
        folders = [ROOT / package for package in packages if (ROOT / package).is_dir()]
        assert not set(names) - modules - defined, packages
        if folders and "/" in packages[0]:
            assert not set(names) - {path.stem for path in folders[0].iterdir()}, packages


# A table starts a pass over its own rows, and the pass reads them: the one way back there is.
WAYS_BACK = {("_rows/table.py", "_rows/passes.py")}


# Version 0.1 passed 22, 28 and 51.
@pytest.mark.parametrize(("method", "most"), [("posterior", 21), ("smcnn", 27), ("auto", 50)])
def test_the_way_of_a_call_is_short_and_goes_one_way(method, most):
    """How many modules a reader of one call visits, and that no function calls back into its caller's module."""
    rng = np.random.default_rng(0)
    P, Q = rng.random((300, 20)), np.where(rng.random((20, 20)) < 0.5, np.nan, rng.random((20, 20)))
    passed, back = set(), {}

    def note(frame, event, _):
        here = module_of(frame)
        if event == "call" and here:
            passed.add(here)
            callers = tuple(islice((module for module, _ in groupby(outwards(frame))), 3))
            if callers[2:] == (here,):
                back[callers[:2]] = frame.f_code.co_name

    sys.setprofile(note)
    try:
        sc.complete(P, Q, method=method, progress=False)
    finally:
        sys.setprofile(None)
    assert len(passed) <= most, sorted(passed)
    assert set(back) <= WAYS_BACK, back


def module_of(frame):
    """The module of the package that a frame runs; an empty name for code of others."""
    file = frame.f_code.co_filename
    return file.removeprefix(f"{ROOT}/") if file.startswith(f"{ROOT}/") else ""


def outwards(frame):
    """The package's modules from a frame outwards, through all its callers."""
    while frame is not None:
        if module_of(frame):
            yield module_of(frame)
        frame = frame.f_back
