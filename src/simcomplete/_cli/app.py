"""The commands together, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from simcomplete._cli import compare, complete, demo, duplicates, impute, match, methods, repair, search, serve
from simcomplete._cli.interrupts import release
from simcomplete._cli.messages import in_options, of_the_shell, warning_in_options
from simcomplete._cli.output import print_line, say
from simcomplete._cli.streams import finish
from simcomplete._reproduction import command as paper
from simcomplete._version import __version__
from simcomplete.errors import InputError, InputWarning, NotConvergedWarning, SimcompleteError

# The base class of typer's errors; the module that has it depends on typer's version.
CommandError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
BAD_INPUT = 2
# As shells report a process that the signal SIGINT or SIGPIPE has ended: 128 plus its number.
INTERRUPTED = 130
READER_STOPPED = 141


class Group(TyperGroup):
    """Commands whose errors are one line on standard error, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an interruption ends it with one line, too, and errors speak of the command's options."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except InputError as error:
            raise InputError(in_options(str(error), error.about, self._options(ctx.invoked_subcommand))) from error

    def _options(self, command: str | None) -> dict[str, str]:
        """The options of a command by the names of their variables, each as it is written out."""
        known = self.commands[command].params if command is not None and command in self.commands else []
        return {p.name: max(p.opts, key=len) for p in known if p.name and p.param_type_name == "option"}

    def main(self, args: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line; every error becomes a line on standard error and an exit code.

        0 is success, 2 an error of any kind, 130 an interruption, 141 a reader of standard output that stopped early,
        as `head` does: no error, and nothing is printed about it.
        """
        stdout, stderr = sys.stdout, sys.stderr
        code = self._run(args, extra)
        sys.stdout, sys.stderr = stdout, stderr  # typer replaces both after a broken pipe
        try:
            finish(stdout)
        except BrokenPipeError:
            code = code or READER_STOPPED
        except OSError as error:
            code = code or _fail(_message(error))
        with suppress(OSError):
            finish(stderr)
        if standalone_mode:
            raise SystemExit(code)
        return code

    def _run(self, args: Any, extra: dict[str, Any]) -> int:
        """Run a command and return its exit code."""
        with warnings.catch_warnings():
            # An unfinished run is reported with its status, not by a warning as well.
            warnings.simplefilter("ignore", NotConvergedWarning)
            warnings.showwarning = _show
            try:
                code = super().main(args, standalone_mode=False, **extra)
            except SystemExit as ended:
                if not isinstance(ended.__context__, BrokenPipeError):
                    raise
                return READER_STOPPED  # typer and rich turn a broken pipe into SystemExit
            except (SimcompleteError, OSError, MemoryError) as error:
                return _fail(_message(error))
            except CommandError as error:
                return _fail(f"{error.format_message()} (see: {_path(error)} --help)")
        return code if isinstance(code, int) else 0


def _fail(message: str) -> int:
    say(f"error: {message}")
    return BAD_INPUT


def _path(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return "simcomplete" if context is None else str(context.command_path)


def _message(error: BaseException) -> str:
    if isinstance(error, SimcompleteError):
        return of_the_shell(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        notes = "; ".join(getattr(error, "__notes__", []))
        return f"{named}{error.strerror}{'; ' if notes else ''}{notes}"
    return str(error) or "out of memory; use fewer rows"


def _show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    text = of_the_shell(" ".join(str(message).split()))
    say(f"warning: {warning_in_options(text) if issubclass(category, InputWarning) else text}")


class Interruptible(TyperCommand):
    """A command that an interruption ends from its first line on, also one that came while arguments were read."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        release()
        return super().invoke(ctx)


def make_interruptible(commands: typer.Typer) -> None:
    """Make every command, also of groups inside, an `Interruptible`."""
    for command in commands.registered_commands:
        command.cls = Interruptible
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            make_interruptible(group.typer_instance)


app = typer.Typer(
    cls=Group,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the panels of rich cut the names of options where the terminal is narrow
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Similarity matrices from samples with missing values.",
)
for module in (demo, complete, search, match, duplicates, impute, repair, compare, methods, serve, paper):
    module.register(app)
make_interruptible(app)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Similarity matrices from samples with missing values."""
    if version:
        print_line(f"simcomplete {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
