"""docs/command-line.md names every command, argument, option, default and exit code, and no others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from simcomplete._cli import app as cli

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (simcomplete[^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
GROUP = typer.main.get_command(cli.app)


def commands(command=GROUP, name="simcomplete"):
    """Every command by its name; groups of commands only where they have options."""
    children = getattr(command, "commands", {})
    mine = {name: command} if command.params or not children else {}
    return mine | {
        key: value for child, one in children.items() for key, value in commands(one, f"{name} {child}").items()
    }


COMMANDS = commands()


def rows(section, head):
    """The rows of the table under a head, as lists of cells."""
    _, _, rest = section.partition(f"| {head} |")
    lines = [line for line in rest.partition("\n\n")[0].splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_every_command_has_a_section():
    assert list(SECTIONS) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_those_of_the_command(name):
    options = {
        frozenset(one.opts + one.secondary_opts): one
        for one in COMMANDS[name].params
        if one.param_type_name == "option"
    }
    documented = {frozenset(code(cells[0])): cells for cells in rows(SECTIONS[name], "option | meaning | default")}
    if name == "simcomplete":
        assert documented.pop(frozenset({"-h", "--help"}))
    assert set(documented) == set(options)
    for names, cells in documented.items():
        default = options[names].default
        assert code(cells[2]) == ([] if default is None or default is False else [str(default)]), cells
        assert len(cells[1]) > 5


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_are_those_of_the_command(name):
    arguments = [one.metavar for one in COMMANDS[name].params if one.param_type_name == "argument"]
    assert [word for cells in rows(SECTIONS[name], "argument | meaning") for word in code(cells[0])] == arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name):
    assert COMMANDS[name].help
    assert all(one.help for one in COMMANDS[name].params)


@pytest.mark.parametrize("group", [GROUP, GROUP.commands["paper"]], ids=["simcomplete", "paper"])
def test_lists_of_commands_are_not_cut_off(group):
    """Beside the longest name and a margin of six, a terminal of 80 columns has this much for each description."""
    left = 80 - 6 - max(map(len, group.commands))
    assert not [name for name, one in group.commands.items() if one.get_short_help_str(left).endswith("...")]


def test_examples_are_commands():
    lines = [
        line.removeprefix("$ ")
        for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(lines) > 10
    for line in lines:
        name = max((one for one in COMMANDS if f"{line} ".startswith(f"{one} ")), key=len)
        assert name != "simcomplete", line
        COMMANDS[name].make_context(name, shlex.split(line.removeprefix(name)))


def test_exit_codes():
    codes = {int(cells[0]) for cells in rows(PAGE, "exit code | meaning")}
    assert codes == {0, cli.BAD_INPUT, cli.INTERRUPTED, cli.READER_STOPPED}


def test_the_page_is_compared_and_not_only_read():
    """An option that a section does not have is noticed."""
    shorter = SECTIONS["simcomplete search"].replace("| `--overwrite`", "| `--nothing`")
    assert ["--overwrite"] in [
        code(cells[0]) for cells in rows(SECTIONS["simcomplete search"], "option | meaning | default")
    ]
    assert ["--overwrite"] not in [code(cells[0]) for cells in rows(shorter, "option | meaning | default")]
