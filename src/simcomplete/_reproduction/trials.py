"""From a protocol to trials: every combination, each a plain dict that tells it from all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from simcomplete._registry import find
from simcomplete._reproduction.protocol import Protocol
from simcomplete.errors import InputError

# What tells one trial from another. A protocol's name is not in it: tables share what they have in common.
KEY = ("dataset", "candidates", "queries", "missing", "seed", "method", "params")
# Whose rank and weight the paper chose. The others are compared with their authors' own.
OWN = ("spectral", "ablation")


@dataclass(frozen=True)
class Cell:
    """A trial and its place in a table: the column, and the value on each axis."""

    trial: dict[str, Any]
    column: str
    at: dict[str, Any]


def expand(protocol: Protocol, only: Sequence[str] = ()) -> list[Cell]:
    """Return every cell of a protocol, seeds outermost: a run cut short has all of the first seed.

    Parameters
    ----------
    protocol : Protocol
        What to expand.
    only : sequence of str
        NAME=VALUE pairs such as "dataset=mnist"; all names must agree, values of one name are alternatives.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load
    >>> cells = expand(load("ablation"), ["dataset=mnist", "method=smcnn", "missing=0.7", "column=original"])
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
        if method in column.get("methods", protocol.methods)
        for cell in [_cell(protocol, method, column, dict(zip(axes, values, strict=True)), seed)]
    ]
    wanted = _wanted(only)
    return [cell for cell in cells if all(_value(cell, name) in values for name, values in wanted.items())]


def _cell(protocol: Protocol, method: str, column: dict[str, Any], at: dict[str, Any], seed: int) -> Cell:
    row = find(method)
    params: dict[str, Any] = dict(protocol.params) if row.family in OWN else {}
    for axis in ("rank", "penalty", "step"):
        if axis in at and (axis != "rank" or protocol.ranked is None or method in protocol.ranked):
            params[axis] = int(at[axis]) if axis == "rank" else at[axis]
    params |= column.get("params", {})
    # A method without such settings has one column only, and the trial is shared.
    if params.get("preset") == "original" and not row.original:
        del params["preset"]
    if params.get("tune") and not row.grid:
        del params["tune"]
    trial = {
        "dataset": at["dataset"],
        "candidates": at["candidates"],
        "queries": protocol.queries,
        "missing": at["missing"],
        "seed": seed,
        "method": method,
        "params": params,
    }
    return Cell(trial, column["name"], at)


def _wanted(only: Sequence[str]) -> dict[str, set[str]]:
    wanted: dict[str, set[str]] = {}
    known = (*KEY[:-1], "column", "rank", "penalty", "step")
    for text in only:
        name, mark, value = text.partition("=")
        if not mark or name not in known:
            raise InputError(f"--only {text!r} is not NAME=VALUE with NAME one of {', '.join(known)}")
        wanted.setdefault(name, set()).add(value)
    return wanted


def _value(cell: Cell, name: str) -> str:
    told = cell.column if name == "column" else cell.trial.get(name, cell.at.get(name))
    return f"{told:g}" if isinstance(told, float) else str(told)
