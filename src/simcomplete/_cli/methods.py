"""`simcomplete methods`: all methods and their properties."""

from __future__ import annotations

import typer

from simcomplete import _registry as registry
from simcomplete._cli.options import AsJson
from simcomplete._cli.output import print_json, print_table

# The columns of the table; JSON has all properties.
METHODS_HEAD = (
    "name",
    "family",
    "acts on",
    "regularizer",
    "psd",
    "low rank",
    "keeps candidates",
    "out of sample",
    "reference",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(methods)


def methods(as_json: AsJson = False) -> None:
    """List the methods and their properties."""
    known = registry.methods()
    if as_json:
        print_json([{**method.row(), "parameters": method.parameters.defaults} for method in known])
        return
    fields = [name.replace(" ", "_") for name in METHODS_HEAD]
    rows = [[_property_text(method.row()[field]) for field in fields] for method in known]
    print_table(METHODS_HEAD, rows, text=range(len(METHODS_HEAD)))


def _property_text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
