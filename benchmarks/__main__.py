"""Run the benchmarks and print their tables: ``python -m benchmarks [--quick] [--only NAME] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks import (
    correlation,
    descent,
    growth,
    imputers,
    index,
    methods,
    posterior_growth,
    posterior_queries,
    products,
    structured,
    values,
)
from benchmarks.measure import Settings, cores, facts

BENCHMARKS = {
    "descent": descent,
    "structured": structured,
    "products": products,
    "growth": growth,
    "methods": methods,
    "index": index,
    "imputers": imputers,
    "posterior_growth": posterior_growth,
    "posterior_queries": posterior_queries,
    "values": values,
    "correlation": correlation,
}
HIDDEN = ("times",)  # in the JSON only


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios against peers, side by side.")
    parser.add_argument("--quick", action="store_true", help="small sizes, in a minute: a smoke test, no result")
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="one benchmark; may be given again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every row, with machine facts, here")
    parser.add_argument("--threads", type=int, default=cores(), help="threads of every side (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (default: 0)")
    told = parser.parse_args()
    settings = Settings(quick=told.quick, threads=told.threads, seed=told.seed)
    machine = facts(settings)
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    if settings.quick:
        print("--quick: sizes are too small to judge by, and descent makes 200 steps instead of 10,000")
    written: list[dict[str, Any]] = []
    for name in told.only or BENCHMARKS:
        began = time.perf_counter()
        # A load above the threads in use tells that something else was running.
        busy = {"load_before": os.getloadavg()[0]} if hasattr(os, "getloadavg") else {}
        rows = BENCHMARKS[name].run(settings)
        print(f"\n{name}: {BENCHMARKS[name].TITLE} ({time.perf_counter() - began:.0f} s)\n  {BENCHMARKS[name].NOTE}")
        print(table(rows))
        written += [{"benchmark": name, **row, **machine, **busy} for row in rows]
        if told.json:  # after every benchmark, so that an interrupted run keeps what it has
            told.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def table(rows: list[dict[str, Any]]) -> str:
    """Aligned columns: numbers to the right, text to the left."""
    names = [name for name in rows[0] if name not in HIDDEN]
    cells = [names, *([cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    left = [isinstance(rows[0][name], str) for name in names]
    return "\n".join(
        "  " + "  ".join(c.ljust(w) if t else c.rjust(w) for c, w, t in zip(line, widths, left, strict=True)).rstrip()
        for line in cells
    )


def cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1e5 else f"{value:.4g}"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


if __name__ == "__main__":
    main()
