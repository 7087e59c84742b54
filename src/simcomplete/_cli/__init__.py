"""The command line: arguments in, calls of the library, tables and JSON out."""

from __future__ import annotations

import sys

from simcomplete._cli.interrupts import hold
from simcomplete._cli.streams import prepare
from simcomplete.errors import MissingExtraError, optional

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install when its packages are missing."""
    prepare()
    hold()
    try:
        for module in ("typer", "rich"):
            optional(module, extra="cli", purpose="the command line")
        # Imported here: this module must load without the packages that the others need.
        from simcomplete._cli.app import app

        app(prog_name="simcomplete")
    except MissingExtraError as error:  # `app` handles those of commands
        print(f"simcomplete: error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # while modules are loaded; `app` handles it for commands
        print("simcomplete: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
