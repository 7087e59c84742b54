"""Which columns of a file are features, which one labels the rows, and which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from simcomplete.datasets._table import Options, Table
from simcomplete.errors import InputError

SHOWN = 12  # names in a message


class AbsentColumnsError(InputError):
    """Columns to leave out that the file does not have."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def names_of_columns(given: Any, name: str) -> tuple[str, ...]:
    """Return names of columns as text: of one, or of several.

    Examples
    --------
    >>> names_of_columns("a, b", "drop"), names_of_columns(["a", 3], "drop"), names_of_columns(None, "drop")
    (('a, b',), ('a', '3'), ())
    """
    if given is None:
        return ()
    if isinstance(given, (str, int)):
        return (str(given),)
    try:
        return tuple(str(one) for one in given)
    except TypeError as error:
        raise InputError(f"{name}={given!r} names no columns; give a name, or a list of them") from error


def pick_columns(path: Path, names: Sequence[str], options: Options) -> tuple[int | None, list[int]]:
    """Return the position of the column that labels the rows, where one was named, and those of the features.

    Without a choice all columns are features.
    """
    label = None if options.id is None else _only(path, names, options.id, "id")
    absent = [name for name in options.drop if name not in names]
    if absent:
        raise AbsentColumnsError(_absent(path, names, absent[0], "drop"), absent)
    wanted = [_only(path, names, name, "columns") for name in dict.fromkeys(options.columns)] or range(len(names))
    kept = [i for i in wanted if i != label and names[i] not in options.drop]
    if not kept:
        raise InputError(f"{path}: no column is left as a feature; name fewer in drop=, or others in columns=")
    return label, kept


def picked_table(path: Path, table: Table, options: Options) -> Table:
    """Apply the choice of columns to a table that was read whole."""
    if not options.chooses:
        return table
    numbered = [str(i + 1) for i in range(table.values.shape[1])]
    label, kept = pick_columns(path, table.columns or numbered, options)
    labels = table.labels if label is None else [f"{value:.17g}" for value in table.values[:, label].tolist()]
    names = None if table.columns is None else [table.columns[i] for i in kept]
    return replace(table, values=table.values[:, kept], labels=labels, columns=names, image_shape=None)


def _only(path: Path, names: Sequence[str], name: str, parameter: str) -> int:
    found = [i for i, other in enumerate(names) if other == name]
    if not found:
        raise InputError(_absent(path, names, name, parameter))
    if len(found) > 1:
        raise InputError(f"{path}: {parameter}={name!r} names {len(found)} columns; rename all but one")
    return found[0]


def _absent(path: Path, names: Sequence[str], name: str, parameter: str) -> str:
    near = get_close_matches(name, names, n=1)
    listed = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{path}: {parameter}={name!r} is not one of its columns; {hint}there are {len(names)}: {listed}"
