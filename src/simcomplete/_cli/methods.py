"""`simcomplete methods`: what there is to choose from."""

from __future__ import annotations

import typer

from simcomplete import _registry as registry
from simcomplete._cli.options import AsJson
from simcomplete._cli.output import print_json, print_table

# The columns of the table; JSON has all there are.
HEAD = ("name", "family", "acts on", "regularizer", "psd", "low rank", "keeps candidates", "out of sample", "reference")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(methods)


def methods(as_json: AsJson = False) -> None:
    """List the methods and what each of them guarantees."""
    found = registry.methods()
    if as_json:
        print_json([{**method.row(), "parameters": dict(method.parameters)} for method in found])
        return
    fields = [name.replace(" ", "_") for name in HEAD]
    rows = [[_word(method.row()[field]) for field in fields] for method in found]
    print_table(HEAD, rows, text=range(len(HEAD)))


def _word(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
