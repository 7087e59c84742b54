"""A dask worker that dies in the middle of a completion."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from .faults import require
from .processes import Process
from .scenarios import inputs

SCRIPT = """
if __name__ == "__main__":
    import logging, threading, time
    import dask.array as da, distributed, numpy as np, simcomplete as sc
    from simcomplete.errors import SimcompleteError
    logging.disable(logging.CRITICAL)
    def slow(block):
        time.sleep(0.05)
        return block
    P, Q = np.load("p.npy"), np.load("q.npy")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
    ):
        lazy = da.from_array(P, chunks=(20, 64)).map_blocks(slow, dtype=P.dtype)
        pid = next(iter(client.run(os.getpid).values()))
        ready()
        threading.Timer({wait}, os.kill, (pid, signal.SIGKILL)).start()
        try:
            done = sc.complete(lazy, Q, method="smcnn", rank=5, progress=False)
            S = np.asarray(done.similarity())
        except SimcompleteError as error:
            print("refused:", error, file=sys.stderr)
            sys.exit(2)
    expected = np.asarray(sc.complete(P, Q, method="smcnn", rank=5).similarity())
    sys.exit(0 if np.allclose(S, expected, rtol=0, atol=1e-8) else 3)
"""


def worker_killed(name: str, random: Random) -> None:
    """The answer is right all the same, or an error of ours says what happened."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name_of_folder:
        folder = Path(name_of_folder)
        inputs(folder)
        with Process(SCRIPT.format(wait=round(1.5 * random.random(), 3)), folder) as process:
            code, said = process.end()
    require(code in (0, 2), f"ended with {code} (3: a wrong answer): {said}")
