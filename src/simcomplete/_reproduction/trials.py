"""The trials of a protocol: every combination of its settings, each a plain dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from simcomplete._registry import find
from simcomplete._reproduction.labels.others import OTHERS
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.without import is_without
from simcomplete.errors import InputError

# What identifies a trial. The protocol's name is not part of it: tables share the trials that they have in common.
TRIAL_KEY = ("dataset", "candidates", "queries", "missing", "seed", "method", "params")
# Families of methods whose rank and weight the paper chose; the others run with those of their authors.
PAPER_FAMILIES = ("spectral", "ablation")


@dataclass(frozen=True)
class Cell:
    """A trial and where it is in a table: the column, and the value on each axis."""

    trial: dict[str, Any]
    column: str
    at: dict[str, Any]


def expand(protocol: Protocol, only: Sequence[str] = ()) -> list[Cell]:
    """Return every cell of a protocol, by seed: a run that is interrupted has all of the first seed.

    Parameters
    ----------
    protocol : Protocol
        What to expand.
    only : sequence of str
        Pairs NAME=VALUE such as "dataset=mnist". A cell must match every name; values of one name are alternatives.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> cells = expand(load_protocol("ablation"), ["dataset=mnist", "method=smcnn", "missing=0.7", "column=original"])
    >>> len(cells), cells[0].trial["params"]
    (5, {'rank': 100, 'penalty': 0.001})
    """
    axes: dict[str, list[Any]] = {"dataset": protocol.sets, "candidates": protocol.candidates, **protocol.grid}
    cells = [
        cell
        for seed in protocol.seeds
        for values in product(*axes.values())
        for method in protocol.methods
        for column in protocol.columns
        if method in column.get("methods", protocol.methods) and seed in protocol.seeds_of(method, column["name"])
        for at in [dict(zip(axes, values, strict=True))]
        if not is_without(protocol.without, {**at, "method": method, "column": column["name"], "seed": seed})
        for cell in [_cell(protocol, method, column, at, seed)]
    ]
    wanted = _parse_only(only)
    if not wanted:
        return cells
    return [cell for cell in cells if all(_cell_value(cell, name) in values for name, values in wanted.items())]


def _cell(protocol: Protocol, method: str, column: dict[str, Any], at: dict[str, Any], seed: int) -> Cell:
    if method in OTHERS:  # of other libraries, with their own settings
        return Cell(_trial(protocol, at, seed, method, dict(column.get("params", {}))), column["name"], at)
    spec = find(method)
    params: dict[str, Any] = dict(protocol.params) if spec.family in PAPER_FAMILIES else {}
    for axis in ("rank", "penalty", "step"):
        if axis in at and (axis != "rank" or protocol.ranked is None or method in protocol.ranked):
            params[axis] = int(at[axis]) if axis == "rank" else at[axis]
    params |= column.get("params", {})
    # A method without such settings has the same trial in both columns.
    if params.get("preset") == "original" and not spec.original:
        del params["preset"]
    if params.get("tune") and not spec.grid:
        del params["tune"]
    return Cell(_trial(protocol, at, seed, method, params), column["name"], at)


def _trial(protocol: Protocol, at: dict[str, Any], seed: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "dataset": at["dataset"],
        "candidates": at["candidates"],
        "queries": protocol.queries,
        "missing": at["missing"],
        "seed": seed,
        "method": method,
        "params": params,
    }


def tried_original(row: Mapping[str, Any]) -> bool:
    """Whether tuning tried the authors' parameters, too; rows of earlier versions have fewer settings.

    Examples
    --------
    >>> row = {"method": "lr", "params": {"tune": True}, "outcome": "done", "tried": [0.5, 0.4]}
    >>> tried_original(row), tried_original({**row, "params": {}}), tried_original({**row, "tried": [0.5] * 6})
    (False, True, True)
    """
    if not row.get("params", {}).get("tune") or row["outcome"] != "done":
        return True
    spec = find(row["method"])
    return spec.original not in spec.grid or len(row.get("tried") or ()) >= len(spec.grid)


def check_only(protocols: Sequence[Protocol], only: Sequence[str]) -> None:
    """Raise InputError where no run of the protocols matches: a name that is misspelt would run nothing.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> try:
    ...     check_only([load_protocol("threshold")], ["method=nfnn"])
    ... except InputError as error:
    ...     print(error)
    no run of threshold has method 'nfnn'; --only method= takes nnfn
    """
    wanted = _parse_only(only)
    cells = [cell for protocol in protocols for cell in expand(protocol)] if wanted else []
    names = protocols[0].name if len(protocols) == 1 else "any protocol"
    for name, values in wanted.items():
        known = dict.fromkeys(_cell_value(cell, name) for cell in cells)
        for value in sorted(values - set(known)):
            there = [text for text in known if text is not None]
            seeds = "; --full has more seeds" if name == "seed" else ""
            advice = f"--only {name}= takes {', '.join(there)}{seeds}" if there else f"it has no {name}"
            raise InputError(f"no run of {names} has {name} {value!r}; {advice}")
    if wanted and not any(expand(protocol, only) for protocol in protocols):
        raise InputError(f"no run of {names} matches {' and '.join(only)} together; give fewer of them")


def _parse_only(only: Sequence[str]) -> dict[str, set[str]]:
    wanted: dict[str, set[str]] = {}
    known = (*TRIAL_KEY[:-1], "column", "rank", "penalty", "step")
    for text in only:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise InputError(f"--only {text!r} is not NAME=VALUE with NAME one of {', '.join(known)}")
        wanted.setdefault(name, set()).add(_written(value.strip()))
    return wanted


def _cell_value(cell: Cell, name: str) -> str | None:
    value = cell.column if name == "column" else cell.trial.get(name, cell.at.get(name))
    return None if value is None else _written(value)


def _written(value: Any) -> str:
    """Write a number in one way only: 0.8, .8 and 0.80 are the same."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)
