"""A protocol is data: which table or figure, which data, methods and settings. One TOML file each."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from simcomplete.errors import FileFormatError, InputError

LAYOUTS = ("table", "curves", "properties")
AXES = ("missing", "rank", "penalty", "step")
# Small enough for minutes on bundled data: a smoke test, no result.
QUICK: dict[str, Any] = {
    "sets": ["digits"],
    "candidates": [120],
    "queries": 24,
    "seeds": [0],
    "missing": [0.8],
    "time_limit": 4.0,
}


@dataclass(frozen=True)
class Protocol:
    """One table or figure of the paper.

    Attributes
    ----------
    name, title : str
        How it is called and what it shows.
    place : int
        Where it stands in the paper, from 1.
    paper : str
        Which table or figure of the paper it is.
    layout : {"table", "curves", "properties"}
        How it is rendered.
    sets : list of str
        Names of data sets.
    candidates : list of int
        How many complete rows; a set with fewer gives as many as it has.
    queries : int
        How many incomplete rows.
    grid : dict
        Values by axis: missing, and rank, penalty or step.
    methods : list of str
        Names of methods.
    params : dict
        Given to the paper's own methods and its ablations.
    columns : list of dict
        Each has a `name`, `params`, and `methods` where it is for some only.
    measures : list of str
        What is shown.
    seeds : list of int
        One run each.
    time_limit : float
        Seconds for each solve.
    ranked : list of str
        Methods that take a rank; all unless told.
    decisions : list of str
        Readings of the paper, explained in docs/deviations.md.
    reported : str, optional
        Which of the paper's printed tables stands beside.
    layout_of : dict
        What the renderer needs beside: axes of a figure, printed words of a table.
    """

    name: str
    place: int
    title: str
    paper: str
    layout: str
    sets: list[str]
    candidates: list[int]
    queries: int
    grid: dict[str, list[float]]
    methods: list[str]
    params: dict[str, Any]
    columns: list[dict[str, Any]]
    measures: list[str]
    seeds: list[int]
    time_limit: float
    ranked: list[str] | None = None
    decisions: list[str] = field(default_factory=list)
    reported: str | None = None
    layout_of: dict[str, Any] = field(default_factory=dict)

    def quick(self) -> Protocol:
        """Return the same at a size of minutes, on bundled data."""
        grid = {**self.grid, "missing": QUICK["missing"]}
        if "rank" in grid:  # ranks of 1200 rows, brought to the rows there are
            grid["rank"] = [max(2, int(r) // 10) for r in grid["rank"]]
        small = {name: QUICK[name] for name in ("sets", "candidates", "queries", "seeds", "time_limit")}
        params = {**self.params, "rank": 10} if "rank" in self.params else self.params
        return replace(self, grid=grid, params=params, **small)

    def first(self) -> Protocol:
        """Return the same with the first seed only."""
        return replace(self, seeds=self.seeds[:1])


def names() -> list[str]:
    """Return the names of all protocols, in the alphabet's order.

    Examples
    --------
    >>> "ablation" in names()
    True
    """
    folder = files(__package__).joinpath("protocols")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_all() -> list[Protocol]:
    """Read all protocols, in the paper's order."""
    return sorted((load(name) for name in names()), key=lambda protocol: protocol.place)


def load(name: str) -> Protocol:
    """Read one protocol.

    Examples
    --------
    >>> load("ablation").candidates
    [1000]
    """
    if name not in names():
        near = difflib.get_close_matches(str(name), names(), n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"there is no protocol {name!r}; {hint}use one of {', '.join(names())}")
    text = files(__package__).joinpath("protocols", f"{name}.toml").read_text(encoding="utf-8")
    return parse(name, text)


def parse(name: str, text: str) -> Protocol:
    """Turn the text of a protocol into one, or say what is wrong with it.

    Examples
    --------
    >>> parse("mine", 'extends = "rank"\\nseeds = [7]').seeds
    [7]
    """
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"protocol {name} is not valid TOML: {error}") from error
    base = load(told.pop("extends")) if "extends" in told else None
    try:
        made = replace(base, name=name, **told) if base is not None else Protocol(name=name, **told)
    except TypeError as error:
        raise FileFormatError(f"protocol {name} has a wrong or missing entry: {error}") from error
    if made.layout not in LAYOUTS:
        raise FileFormatError(f"protocol {name}: layout={made.layout!r} is unknown; use one of {', '.join(LAYOUTS)}")
    wrong = sorted(set(made.grid) - set(AXES))
    if wrong or "missing" not in made.grid:
        raise FileFormatError(f"protocol {name}: grid has {sorted(made.grid)}; it needs missing, and of {AXES} only")
    return made
