"""`simcomplete demo`: bundled digits with hidden pixels, several methods, a table and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simcomplete._cli.options import AsJson, Quiet, Seed
from simcomplete._cli.output import print_json, print_line, print_table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the page.")] = Path(
        "simcomplete-demo"
    ),
    seed: Seed = 0,
    missing: Annotated[float, typer.Option(help="Share of each query's pixels to hide, 0 to 1.")] = 0.8,
    candidates: Annotated[int, typer.Option(help="Number of complete digits.")] = 1000,
    queries: Annotated[int, typer.Option(help="Number of digits with missing pixels.")] = 200,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare methods on bundled digits with missing pixels."""
    # Imported here: the other commands start without the packages that figures need.
    from simcomplete._report.demo import run
    from simcomplete._report.demo_page import write_demo
    from simcomplete._report.page import require_packages
    from simcomplete._report.results import HEAD, TEXT, cells

    require_packages()
    result = run(candidates, queries, missing, seed)
    page = write_demo(result, output)
    if as_json:
        print_json({**result.as_dict(), "page": str(page)})
        return
    if not quiet:
        print_table(HEAD, [cells(row) for row in result.rows], TEXT)
        print()
        print_line(f"page: {page}")
