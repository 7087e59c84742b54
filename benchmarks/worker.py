"""The other side of `measure.fresh`: one solve in a process of its own, answered as JSON."""

from __future__ import annotations

import importlib
import json
import sys

from benchmarks.measure import peak_mib, timed


def main() -> None:
    told = json.loads(sys.argv[1])
    module, name = told["function"].split(":")
    solve = getattr(importlib.import_module(module), name)(**told["arguments"])
    before = peak_mib()
    timing = timed(solve, told["repeats"], told["threads"])
    print(json.dumps({**timing._asdict(), "peak_mib": peak_mib(), "before_mib": before}))


if __name__ == "__main__":
    main()
