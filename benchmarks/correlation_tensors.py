"""What a repair of a torch tensor asks of its device: ``python -m benchmarks.correlation_tensors --size 2000``.

Counted, not timed, on any device that torch has (the CPU by default): eigendecompositions by precision, products of
matrices, matrices that travel between the device and NumPy, and the largest memory that is held at one time, in n x n
arrays of double precision besides the input. What a library of the device needs inside a decomposition is not seen.
"""

from __future__ import annotations

import argparse
import importlib
import weakref
from collections import Counter
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.correlation import returns_with_gaps
from simcomplete._correlation import newton, on_device, refined
from simcomplete._rows import xp

SMALL = 0.25  # of n: the matrices of a few eigenvalues, which NumPy decomposes, are smaller


def watcher() -> Any:
    """A mode of torch that counts operations and the bytes of tensors that are alive."""
    base: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

    class Watcher(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.calls: Counter[str] = Counter()
            self.alive: dict[int, int] = {}
            self.most = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            name = str(function).split(".")[1]
            self.calls[name + (f" {args[0].dtype}" if "eigh" in name else "")] += 1
            for one in out if isinstance(out, (tuple, list)) else (out,):
                if hasattr(one, "untyped_storage"):
                    self.keep(one.untyped_storage())
            return out

        def keep(self, storage: Any) -> None:
            """Count a piece of memory until it is freed."""
            place = storage.data_ptr()
            if place and place not in self.alive:
                self.alive[place] = storage.nbytes()
                weakref.finalize(storage, self.alive.pop, place, 0)
                self.most = max(self.most, sum(self.alive.values()))

    return Watcher()


def counted(n: int, device: str, seed: int = 0) -> dict[str, Any]:
    """One repair of returns with gaps, plain."""
    A = importlib.import_module("torch").asarray(returns_with_gaps(n, seed), device=device)
    travels: Counter[str] = Counter()

    def noting(function: Any, way: str) -> Any:
        def noted(*args: Any) -> Any:
            shape = args[0].shape
            travels[way] += len(shape) == 2 and min(shape) > SMALL * n
            return function(*args)

        return noted

    watch, both = watcher(), {"to_numpy": noting(xp.to_numpy, "to NumPy"), "like": noting(xp.like, "back")}
    with ExitStack() as noted:
        for module, names in ((on_device, both), (refined, both), (newton, {"like": both["like"]})):
            noted.enter_context(patch.multiple(module, **names))
        noted.enter_context(watch)
        repair = sc.nearest_correlation(A, progress=False)
    calls = watch.calls
    return {
        "n": n,
        "decompositions, double": calls["_linalg_eigh torch.float64"],
        "single": calls["_linalg_eigh torch.float32"],
        "products": calls["mm"],
        "matrices to NumPy": travels["to NumPy"],
        "back": travels["back"],
        "n x n at most": round(watch.most / (8 * n * n), 1),
        "gap": repair.certificate.relative_gap,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.correlation_tensors")
    parser.add_argument("--size", type=int, action="append", help="rows of the matrix (default: 500)")
    parser.add_argument("--device", default="cpu", help="of torch (default: cpu)")
    asked = parser.parse_args()
    print(table([counted(n, asked.device) for n in asked.size or [500]]))


if __name__ == "__main__":
    main()
