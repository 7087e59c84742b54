"""The commands put together, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simcomplete._cli import compare, complete, demo, methods, search
from simcomplete._cli.output import say
from simcomplete._reproduction import command as paper
from simcomplete._version import __version__
from simcomplete.errors import NotConvergedWarning, SimcompleteError

# Typer brings this class along, under an address that depends on its version.
CommandError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
BAD_INPUT = 2
INTERRUPTED = 130


class Group(TyperGroup):
    """Commands whose errors are one line on standard error, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an interruption ends it with one line too."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    def main(self, args: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line; bad input of every kind exits with code 2."""
        with warnings.catch_warnings():
            # Shown as lines of ours; that of an unfinished run is left out, because its status is told anyway.
            warnings.simplefilter("ignore", NotConvergedWarning)
            warnings.showwarning = _show
            try:
                code = super().main(args, standalone_mode=False, **extra)
                sys.stdout.flush()  # so that a full disk is noticed here
            except (SimcompleteError, OSError, MemoryError) as error:
                code = _fail(_one_line(error))
            except CommandError as error:
                code = _fail(f"{error.format_message()} (see: {_path(error)} --help)")
        code = code if isinstance(code, int) else 0
        if standalone_mode:
            raise SystemExit(code)
        return code


def _fail(message: str) -> int:
    say(f"error: {message}")
    return BAD_INPUT


def _path(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return "simcomplete" if context is None else str(context.command_path)


def _one_line(error: BaseException) -> str:
    if isinstance(error, SimcompleteError):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        notes = "; ".join(getattr(error, "__notes__", []))
        return f"{named}{error.strerror}{'; ' if notes else ''}{notes}"
    return str(error) or "out of memory; use fewer rows"


def _show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    say(f"warning: {' '.join(str(message).split())}")


app = typer.Typer(
    cls=Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Similarity matrices from samples with missing values.",
)
for module in (demo, complete, search, compare, methods, paper):
    module.register(app)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Similarity matrices from samples with missing values."""
    if version:
        typer.echo(f"simcomplete {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
