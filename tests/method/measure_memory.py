"""Measure what methods take at their peak, in a process of its own: `python measure_memory.py CASES`, JSON in and out.

The peak of the resident set also counts what LAPACK allocates past NumPy. glibc is told to hand freed memory back at
once, and every method runs on a small problem first, so that neither old memory nor imports blur the numbers.
"""

import ctypes
import gc
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

import simcomplete as sc
from simcomplete._method.given import problem_of_rows, problem_of_similarities
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Sizes
from simcomplete._rows.budget import working_memory
from simcomplete._similarity.measure import Measure


def rows(n, d):
    """Positive rows near a space of eight dimensions."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) + 0.3 * rng.standard_normal((n, d))
    return np.abs(X) + 0.1


def pose(form, n_p, n_q, d, missing):
    """A problem: candidates and queries, rows of which n_p are complete, or a matrix of n_p exact rows."""
    X = rows(n_p + n_q, d)
    hidden = np.random.default_rng(1).random((n_q, d)) < missing
    X[n_p:][hidden] = np.nan
    if form == "candidates":
        return problem_of_rows(X[:n_p], X[n_p:], Measure(), False)
    if form == "rows":
        return problem_of_rows(X, None, Measure(), False)
    return problem_of_similarities(sc.overlap_similarity(X, progress=False), n_p or None, None, None, False)


def kilobytes(name):
    """A line of /proc/self/status."""
    return int(re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def measured(method, form, shape, rank=None, missing=0.7, block="64 MiB", **params):
    """Bytes at the peak beyond what was there before, and bytes stated."""
    method = sc.methods()[method]
    own = method.own(params)
    for n_p, n_q, d in ((40 if shape[0] else 0, 30, 12), shape):
        problem = pose(form, n_p, n_q, d, missing)
        settings = Settings(
            min(rank or 100, problem.n), 1e-3, np.random.default_rng(0), rank_given=rank is not None, progress=False
        )
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        with working_memory(block):
            stated = method.peak_bytes(Sizes.of(problem, settings), own)
            Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
            before = kilobytes("VmRSS")
            done = method.run(problem, settings, own)
            peak = kilobytes("VmHWM") - before
            del done
    return 1024 * peak, stated


def measure(cases):
    """Run the cases in a fresh process."""
    quiet = {"MALLOC_MMAP_THRESHOLD_": "65536", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    source = str(Path(sc.__file__).parents[1])
    environment = {**os.environ, **quiet, "PYTHONPATH": source}
    environment.pop("SIMCOMPLETE_MEMORY", None)
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(cases)], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # iterations are cut short here
    json.dump([measured(**case) for case in json.loads(sys.argv[1])], sys.stdout)
