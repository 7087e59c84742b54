"""Protocols: which data, methods and settings a table or figure of the paper has. One TOML file each."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from simcomplete._reproduction.without import wrong_entries
from simcomplete.errors import FileFormatError, InputError

LAYOUTS = ("table", "curves", "properties")
AXES = ("missing", "rank", "penalty", "step")
# Sizes that run in minutes on bundled data: a smoke test, not a result.
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
        Its short name and what it shows.
    position : int
        Its position in the paper, from 1.
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
        Parameters of the paper's own methods and its ablations.
    columns : list of dict
        Each has a `name`, `params`, and `methods` where it applies to some methods only, with the reason as `why`.
    measures : list of str
        Measures to show.
    seeds : list of int
        One run each.
    time_limit : float
        Seconds of processor time for each solve.
    fewer_seeds : dict
        How many of the seeds slow methods run with: by the name of the method, or "METHOD COLUMN".
    without : list of dict
        Combinations that are not run: lists of values by name (dataset, missing, method, column and others), and `why`.
        A protocol that extends another one has its own only.
    left_out : str
        What the paper has and this protocol has not, and why.
    ranked : list of str
        Methods that take a rank; all where it is None.
    decisions : list of str
        Readings of the paper, explained in docs/deviations.md.
    reported : str, optional
        The paper's printed table to show our numbers next to.
    layout_options : dict
        Settings of the layout: axes of a figure, printed words of a table.
    """

    name: str
    position: int
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
    fewer_seeds: dict[str, int] = field(default_factory=dict)
    without: list[dict[str, Any]] = field(default_factory=list)
    left_out: str = ""
    ranked: list[str] | None = None
    decisions: list[str] = field(default_factory=list)
    reported: str | None = None
    layout_options: dict[str, Any] = field(default_factory=dict)

    def quick(self) -> Protocol:
        """Return the protocol at a size that runs in minutes, on bundled data."""
        grid = {**self.grid, "missing": QUICK["missing"]}
        if "rank" in grid:  # ranks for 1200 rows, scaled down to 120
            grid["rank"] = [max(2, int(r) // 10) for r in grid["rank"]]
        small = {name: QUICK[name] for name in ("sets", "candidates", "queries", "seeds", "time_limit")}
        params = {**self.params, "rank": 10} if "rank" in self.params else self.params
        return replace(self, grid=grid, params=params, **small)

    def seeds_of(self, method: str, column: str) -> list[int]:
        """Return the seeds that a method runs with in a column.

        Examples
        --------
        >>> slow = parse_protocol("mine", 'extends = "rank"\\nseeds = [0, 1, 2]\\nfewer_seeds = {nnfn = 1}')
        >>> slow.seeds_of("nnfn", "original"), slow.seeds_of("smcnn", "original")
        ([0], [0, 1, 2])
        """
        most = self.fewer_seeds.get(f"{method} {column}", self.fewer_seeds.get(method, len(self.seeds)))
        return self.seeds[:most]

    def first(self) -> Protocol:
        """Return the protocol with its first seed only."""
        return replace(self, seeds=self.seeds[:1])


def protocol_names() -> list[str]:
    """Return the names of all protocols in alphabetical order.

    Examples
    --------
    >>> "ablation" in protocol_names()
    True
    """
    folder = files(__package__).joinpath("protocols")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_protocols() -> list[Protocol]:
    """Read all protocols, in the paper's order."""
    return sorted((load_protocol(name) for name in protocol_names()), key=lambda protocol: protocol.position)


def load_protocol(name: str) -> Protocol:
    """Read one protocol.

    Examples
    --------
    >>> load_protocol("ablation").candidates
    [1000]
    """
    if name not in protocol_names():
        near = difflib.get_close_matches(str(name), protocol_names(), n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"there is no protocol {name!r}; {hint}use one of {', '.join(protocol_names())}")
    text = files(__package__).joinpath("protocols", f"{name}.toml").read_text(encoding="utf-8")
    return parse_protocol(name, text)


def parse_protocol(name: str, text: str) -> Protocol:
    """Read a protocol from its text, or raise FileFormatError that says what is wrong with it.

    Examples
    --------
    >>> parse_protocol("mine", 'extends = "rank"\\nseeds = [7]').seeds
    [7]
    """
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"protocol {name} is not valid TOML: {error}") from error
    base = load_protocol(entries.pop("extends")) if "extends" in entries else None
    try:
        protocol = (
            replace(base, name=name, **{"without": [], **entries})
            if base is not None
            else Protocol(name=name, **entries)
        )
    except TypeError as error:
        raise FileFormatError(f"protocol {name} has a wrong or missing entry: {error}") from error
    if protocol.layout not in LAYOUTS:
        raise FileFormatError(
            f"protocol {name}: layout={protocol.layout!r} is unknown; use one of {', '.join(LAYOUTS)}"
        )
    given = entries.get("fewer_seeds", {})  # those of another protocol may name methods that this one has not
    places = {text for m in protocol.methods for text in (m, *(f"{m} {c['name']}" for c in protocol.columns))}
    unknown = sorted(set(given) - places)
    if unknown:
        raise FileFormatError(
            f"protocol {name}: fewer_seeds has {unknown}; it needs methods of the protocol, or 'METHOD COLUMN'"
        )
    problem = wrong_entries(protocol.without)
    if problem:
        raise FileFormatError(f"protocol {name}: {problem}")
    wrong = sorted(set(protocol.grid) - set(AXES))
    if wrong or "missing" not in protocol.grid:
        raise FileFormatError(
            f"protocol {name}: grid has {sorted(protocol.grid)}; it needs missing, and of {AXES} only"
        )
    return protocol
