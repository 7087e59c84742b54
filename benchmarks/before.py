"""Two versions of the library side by side: ``python -m benchmarks.before REVISION [--repeats N]``.

Both run in turn, each in a fresh process with one thread, on the same data; CPU seconds are compared, because wall
times of a busy machine say little. A ratio above 1 means that the present version is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.__main__ import table
from benchmarks.measure import ROOT

# Name, candidates, queries and features (64: digits), and what `sc.complete` is told. Without queries, two fifths of
# all values are missing.
TRIALS: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    ("posterior, fast", (1000, 200, 64), {"method": "posterior", "effort": "fast"}),
    ("posterior", (1000, 200, 64), {"method": "posterior"}),
    ("posterior", (1000, 200, 784), {"method": "posterior"}),
    ("smcnn", (1000, 200, 64), {"method": "smcnn"}),
    ("smcnn", (1000, 200, 784), {"method": "smcnn"}),
    ("smcnn", (10_000, 200, 784), {"method": "smcnn"}),
    ("auto", (1000, 200, 64), {"method": "auto"}),
    ("every row, fast", (200, 0, 64), {"method": "posterior", "effort": "fast"}),
    ("every row, fast", (1000, 0, 64), {"method": "posterior", "effort": "fast"}),
    ("every row", (200, 0, 64), {"method": "posterior"}),
    ("every row", (1000, 0, 64), {"method": "posterior"}),
    ("every row", (200, 0, 256), {"method": "posterior"}),
]
WORKER = """
import gc, json, sys, time
import numpy as np
import simcomplete as sc
from benchmarks.data import digits, imagelike
(n_p, n_q, d), params = json.loads(sys.argv[1])
P, Q = digits(n_p, max(n_q, 5), 0) if d == 64 else imagelike(n_p, max(n_q, 5), d, 0)
few = sc.complete(P[:60], Q[:5], progress=False, **params)  # imports, and the first calls of BLAS
if not n_q:
    P, Q = np.where(np.random.default_rng(0).random(P.shape) < 0.4, np.nan, P), None
gc.collect()  # of what imports left: it falls into the first call or not, and takes as long as a small one
began = time.process_time()
done = sc.complete(P, Q, progress=False, **params)
seconds = time.process_time() - began
block = done.similarity("queries" if n_q else slice(0, 50), slice(0, 50))
print(json.dumps({"seconds": seconds, "block": block.tolist()}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description="This version and an older one.")
    parser.add_argument("revision", help="of the older version, as git knows it")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each side (5)")
    parser.add_argument("--only", default="", help="methods whose name begins so (all)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        older = Path(folder) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(older), asked.revision], cwd=ROOT, check=True
        )
        try:
            print(
                table([compared(older, *trial, asked.repeats) for trial in TRIALS if trial[0].startswith(asked.only)])
            )
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(older)], cwd=ROOT, check=True)


def compared(
    older: Path, name: str, sizes: tuple[int, int, int], params: dict[str, Any], repeats: int
) -> dict[str, Any]:
    """One row: the median CPU seconds of both sides, their ratio, and how far the answers are apart."""
    answers = [(measured(older, sizes, params), measured(ROOT, sizes, params)) for _ in range(repeats)]
    before, now = ([side["seconds"] for side in sides] for sides in zip(*answers, strict=True))
    blocks = [side["block"] for side in answers[0]]
    apart = max(abs(a - b) for rows in zip(*blocks, strict=True) for a, b in zip(*rows, strict=True))
    return {
        "method": name,
        "size": "{}+{}x{}".format(*sizes),
        "before_s": statistics.median(before),
        "now_s": statistics.median(now),
        "ratio": statistics.median(now) / statistics.median(before),
        "apart": apart,
    }


def measured(tree: Path, sizes: tuple[int, int, int], params: dict[str, Any]) -> dict[str, Any]:
    """One run of the library in a tree, in a process of its own."""
    # The problems come from this tree for both sides.
    paths = os.pathsep.join([str(tree / "src"), str(ROOT)])
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
    done = subprocess.run(
        [sys.executable, "-c", WORKER, json.dumps([sizes, params])],
        env={**os.environ, "PYTHONPATH": paths, **threads},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    main()
