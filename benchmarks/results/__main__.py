"""Measure and write the page: ``python -m benchmarks.results [--quick] [--only PART] [--jobs N] [--render]``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.results import data
from benchmarks.results.page import PAGE, PARTS, ROWS, page, write
from benchmarks.results.runner import run_all
from benchmarks.results.trial import KEY
from simcomplete._compare.ledger import Ledger


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description="Accuracy, on real data.")
    parser.add_argument("--quick", action="store_true", help="tiny trials, printed and not kept: a smoke test")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be given again")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with one thread (default: 1)")
    parser.add_argument("--render", action="store_true", help="run nothing, write the page from the rows there are")
    told = parser.parse_args()
    if told.jobs < 1:
        parser.error(f"--jobs {told.jobs}: at least 1 is needed")
    parts = told.only or list(PARTS)
    if data.folder() is None and not told.render:
        print("SIMCOMPLETE_DATA names no folder of data sets: digits only, which scikit-learn brings along")
    if told.quick:
        with tempfile.TemporaryDirectory() as place:
            book = Ledger(Path(place) / "rows.jsonl", KEY)
            run_all(parts, book, quick=True, jobs=told.jobs)
            print(page(book.rows))
        return
    book = Ledger(ROWS, KEY)
    if not told.render:
        run_all(parts, book, quick=False, jobs=told.jobs)
    write(page(book.rows), PAGE)
    print(f"{len(book.rows)} rows in {ROWS.name}, page written to docs/{PAGE.name}")


if __name__ == "__main__":
    main()
