"""Hypothesis strategies for problems: small shapes, degenerate families, masks, scales, types, settings.

Hypothesis draws what a problem is like; the numbers come from a generator whose seed it draws, which is quicker than
drawing every number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._method.params import Flag, Number, Whole, Words

from .calls import LOOKS, TOOLS
from .case import VIEWS, Case, Rows
from .correlations import REPAIRS
from .families import COVARIANCES, FAMILIES, MASKS, MATRICES, SCALES, SINGLE_SCALES

# How often a method is drawn: those that take longer, less often.
WEIGHTS = {"kfmc": 1, "cmc": 2, "bpmf": 2, "auto": 2, "dmc": 3, "posterior": 9}
USUAL = 5
NAMES = [*(method.name for method in sc.methods()), "auto"]
METHODS = [name for name in NAMES for _ in range(WEIGHTS.get(name, USUAL))]
FORMS = ["queries"] * 10 + ["rows"] * 5 + ["matrix"] * 3 + ["tools"] * 4 + ["repair"] * 3
# Values that make iterations few; whoever asks for other parameters still gets these.
SHORT = {"max_iter": [1, 2, 5], "inner": [1, 3], "sweeps": [1, 2], "atoms": [1, 3], "burn_in": [0, 1, 4]}
# Arrays and functions, which have tests of their own, and what decides how long a run takes.
NOT_DRAWN = {"start", "orders", "permutations", "callback", "time_limit", "on_interrupt", *SHORT}
NUMBERS = [0.0, 1e-12, 1e-3, 0.25, 0.5, 1.0, 2.0, 10.0, 1e3, -1.0]
WHOLE = [0, 1, 2, 3, 7]
# Error bars and the search for settings begin at forty candidates: how often so many are drawn.
CALIBRATED, MANY, SOME = ("posterior", "auto"), 0.3, 0.03
LARGEST = 1e307  # scales multiply, and infinities are refused

A_FORM, A_METHOD = st.sampled_from(FORMS), st.sampled_from(METHODS)
A_METHOD_OF_MATRICES = st.sampled_from(
    [name for name in METHODS if name == "auto" or sc.methods()[name].acts_on != "samples"]
)
A_SEED, A_SIZE, A_WIDTH, A_FEW = (st.integers(*ends) for ends in ((0, 2**32 - 1), (1, 12), (1, 6), (1, 4)))
A_TYPE = st.sampled_from(["float64", "float64", "float64", "float32", "int64", "bool", "list"])
A_TOOL, A_MATRIX, A_FAMILY, A_MASK = (st.sampled_from(sorted(names)) for names in (TOOLS, MATRICES, FAMILIES, MASKS))
A_REPAIR, A_COVARIANCE = st.sampled_from(REPAIRS), st.sampled_from(sorted(COVARIANCES | MATRICES))
A_WAY_TO_SCALE = st.sampled_from(["one"] * 12 + ["all", "all", "rows", "row", "cell", "column"])
A_KIND_OF_QUERIES = st.sampled_from(["like", "like", "copies", "other"])
SOME_LOOKS = st.sets(st.sampled_from(sorted(LOOKS)), max_size=2)


@st.composite
def cases(draw: Callable[..., Any], only: str = "") -> Case:
    """A problem with one method, or only that one, and what is to be looked at."""
    form = "repair" if only in REPAIRS else draw(A_FORM)
    form = "queries" if form == "repair" and only and only not in REPAIRS else form
    rng = np.random.default_rng(draw(A_SEED))
    dtype = draw(A_TYPE)
    if form == "tools":
        rows = _rows(draw, rng, dtype)
        return Case(form, "none", _hidden(draw, rng, rows), dtype=dtype, looks=(draw(A_TOOL),))
    if form == "repair":
        A = (COVARIANCES | MATRICES)[draw(A_COVARIANCE)](rng, draw(A_SIZE))
        name = only or draw(A_REPAIR)
        return Case(form, name, _unknown(rng, A), dtype=dtype, settings=_of_a_repair(rng, name, A))
    method = only or draw(A_METHOD_OF_MATRICES if form == "matrix" else A_METHOD)
    looks = tuple(sorted(draw(SOME_LOOKS)))
    if form == "matrix":
        rows, queries = MATRICES[draw(A_MATRIX)](rng, draw(A_SIZE)), None
    else:
        rows = _rows(draw, rng, dtype, MANY if method in CALIBRATED else SOME)
        queries = _queries(draw, rng, rows, dtype) if form == "queries" else None
        rows = rows if form == "queries" else _hidden(draw, rng, rows)
    n = len(rows) + (0 if queries is None else len(queries))
    settings = _settings(rng, method, form, n, rows.shape[1])
    return Case(form, method, rows, queries, dtype, settings, looks)


def _rows(draw: Callable[..., Any], rng: np.random.Generator, dtype: str, share: float = SOME) -> Rows:
    n, d = draw(A_SIZE), draw(A_WIDTH)
    if rng.random() < share:
        n, d = int(rng.integers(40, 65)), d * int(rng.integers(1, 3))
    family = FAMILIES[draw(A_FAMILY)]
    rows = family(rng, n, d)
    return _scaled(draw, rng, rows, dtype)


def _scaled(draw: Callable[..., Any], rng: np.random.Generator, rows: Rows, dtype: str) -> Rows:
    scales = SINGLE_SCALES if dtype == "float32" else SCALES
    how = draw(A_WAY_TO_SCALE)
    scale = float(rng.choice(scales)) if how not in ("one", "rows") else 1.0
    rows = rows.copy()
    with np.errstate(over="ignore"):
        if how == "all":
            rows *= scale
        elif how == "rows":
            rows *= rng.choice(scales, size=(len(rows), 1))
        elif how == "row":
            rows[rng.integers(len(rows))] *= scale
        elif how == "column":
            rows[:, rng.integers(rows.shape[1])] *= scale
        elif how == "cell":
            rows[rng.integers(len(rows)), rng.integers(rows.shape[1])] *= scale
    return np.clip(rows, -LARGEST, LARGEST)


def _queries(draw: Callable[..., Any], rng: np.random.Generator, rows: Rows, dtype: str) -> Rows:
    n, kind = draw(A_FEW), draw(A_KIND_OF_QUERIES)
    if kind == "other":
        family = FAMILIES[draw(A_FAMILY)]
        queries = _scaled(draw, rng, family(rng, n, rows.shape[1]), dtype)
    else:
        queries = rows[rng.integers(len(rows), size=n)]
        if kind == "like":
            queries = queries * (1 + rng.normal(size=queries.shape) / 8)
    return _hidden(draw, rng, queries)


def _hidden(draw: Callable[..., Any], rng: np.random.Generator, rows: Rows) -> Rows:
    observed = MASKS[draw(A_MASK)](rng, *rows.shape)
    return np.where(observed, rows, np.nan)


def _unknown(rng: np.random.Generator, A: Rows) -> Rows:
    """Now and then, some pairs of a matrix that are not known."""
    if rng.random() < 0.8:
        return A
    gone = np.triu(rng.random(A.shape) < 0.3, 1)
    return np.where(gone | gone.T, np.nan, A)


def _of_a_repair(rng: np.random.Generator, name: str, A: Rows) -> dict[str, Any]:
    """Keyword arguments of a repair: up to two, but for what it must be told."""
    n = len(A)
    size = float(np.abs(np.diag(A)).max()) or 1.0
    limits = {"min_eigenvalue": float(rng.choice([1e-8, 1e-3, 0.5])) * (size if name == "nearest_covariance" else 1.0)}
    if name == "factor_correlation":
        return {"k": int(rng.integers(1, n + 1))}
    if name == "shrink_to_valid":
        drawn: dict[str, Any] = {**limits, "block": int(rng.integers(1, n + 1)), "rescale": True}
    else:
        held = np.triu(rng.random((n, n)) < 0.2, 1)
        drawn = {
            **limits,
            "block": int(rng.integers(1, n + 1)),
            "weights": rng.random(n if rng.random() < 0.5 else (n, n)).tolist(),
            "fixed": (held | held.T).tolist(),
            "lower": float(rng.choice([-1.0, -0.2, 0.0])) * size,
            "max_iter": int(rng.choice([1, 30])),
        }
        if name == "nearest_covariance":
            drawn |= {"keep": "nothing", "through": "correlation"}
        else:
            drawn |= {"rank": int(rng.integers(1, n + 1)), "rescale": True, "tol": 1e-4}
        if np.ndim(drawn["weights"]) == 2:
            drawn["weights"] = ((np.asarray(drawn["weights"]) + np.transpose(drawn["weights"])) / 2).tolist()
    asked = rng.permutation(sorted(drawn))[: rng.integers(3)]
    return {str(key): drawn[str(key)] for key in asked}


# Settings come from the generator, too: Hypothesis prefers small numbers, and so would set everything at once.
def _settings(rng: np.random.Generator, name: str, form: str, n: int, d: int) -> dict[str, Any]:
    """Keyword arguments: shared ones that the method uses, some of its own, views."""
    settings: dict[str, Any] = {"random_state": int(rng.integers(4))}
    views = VIEWS if form == "queries" else ("unit_diagonal", "clip")
    settings |= {view: True for view in views if rng.random() < 0.1}
    if name != "auto":
        settings |= _own(rng, sc.methods()[name])
    used = {"rank", "penalty"} if name == "auto" else sc.methods()[name].shared
    used = used if form != "matrix" else used & {"rank", "penalty"}
    drawn = {
        "rank": int(rng.integers(1, n + 1)),
        "penalty": float(rng.choice([0.0, 1e-12, 0.1, 1.0, 1e3])),
        "metric": "pearson",
        "min_overlap": int(rng.integers(1, d + 1)),
        "epsilon": float(rng.choice([1e-3, 1.0])),
        "positive": True,
    }
    settings |= {key: value for key, value in drawn.items() if key in used and rng.random() < 0.2}
    if settings.get("metric") == "pearson":
        settings.pop("epsilon", None)  # smooths zero rows of the cosine
    if form != "matrix":
        changes = {"center": ["mean", "median"], "scale": ["sd", "robust"]}
        settings |= {key: _one_of(rng, words) for key, words in changes.items() if rng.random() < 0.07}
    if form == "rows" and not {"center", "scale"} & set(settings) and rng.random() < 0.08:
        settings["biases"] = _one_of(rng, ["row", "column", "both"])
    if form == "matrix" and name != "auto":
        settings |= {hint: _hint(rng, hint, n) for hint in sorted(sc.methods()[name].uses) if rng.random() < 0.3}
    if form == "matrix" and (name in ("posterior", "fmc") or rng.random() < 0.5):
        settings["candidates"] = int(rng.integers(1, n + 1))
    return settings


def _hint(rng: np.random.Generator, name: str, n: int) -> list[list[int]]:
    """Which entries of a matrix are exact, or how many features they stand on."""
    values = np.triu(rng.integers(0, 2 if name == "known" else 6, size=(n, n)))
    values = values + np.triu(values, 1).T
    return (values > 0).tolist() if name == "known" else values.tolist()


def _own(rng: np.random.Generator, method: Any) -> dict[str, Any]:
    """Up to two of a method's own parameters, by what its specification accepts, and few iterations."""
    names = [name for name in method.parameters if name not in NOT_DRAWN]
    asked = rng.permutation(names)[: rng.integers(3)] if names and rng.random() < 0.4 else []
    own = {str(name): _one_of(rng, _accepted(method.parameters[name])) for name in asked}
    direct = {**method.parameters.defaults, **own}.get("solver") == "exact"
    few = {key: _one_of(rng, SHORT[key]) for key in SHORT if key in method.parameters and not direct}
    if "burn_in" in few:
        few["burn_in"] = min(few["burn_in"], few["max_iter"])
    return own | few


def _one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[rng.integers(len(values))]


def _accepted(parameter: Any) -> list[Any]:
    values = [parameter.default]
    for constraint in parameter.accepts:
        if isinstance(constraint, Words):
            values += constraint.words
        elif isinstance(constraint, Flag):
            values += [True, False]
        elif isinstance(constraint, Whole):
            values += [value for value in WHOLE if constraint.holds(value)]
        elif isinstance(constraint, Number):
            values += [value for value in NUMBERS if constraint.holds(value)]
    return values
