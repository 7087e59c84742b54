"""Ratios against peers, side by side in one run: ``python -m benchmarks`` (see ``--help``).

One file per benchmark; `measure` has the clocks, `data` the problems. A benchmark is a module with `TITLE`, `NOTE`
and `run(settings)`, which gives rows of plain values. Only the solve is timed, never the making of the data.
"""
