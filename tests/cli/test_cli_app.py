"""What all commands have in common: version, help, and a wrong command."""

from __future__ import annotations

import simcomplete as sc


def test_version_help_and_no_command(run, fails):
    assert run("--version").stdout == f"simcomplete {sc.__version__}\n"
    for options in ([], ["--help"], ["-h"]):
        text = run(*options).stdout
        for command in ("demo", "complete", "search", "methods"):
            assert command in text
    assert "complete" in fails("compete")
