"""The process that runs one case: what it would import anyway is imported before anything is measured."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import simcomplete as sc

from .case import measured


def warm_up() -> None:
    """Read and write one small file of each format that needs a library."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "t.csv"
        text.write_text("a,b\n1,2\n")
        sc.datasets.read_table(text)
        np.save(Path(folder) / "t.npy", np.eye(3))
        sc.complete(Path(folder) / "t.npy", np.ones((1, 3)), method="smcnn", rank=2).save(Path(folder) / "s")
        for module in ("pyarrow.parquet", "zarr", "sklearn.datasets"):
            importlib.import_module(module)


def main(module: str, name: str, folder: str) -> None:
    """Run a case and print what came of it."""
    case = next(case for case in importlib.import_module(module).CASES if case.name == name)
    if not module.endswith("commands"):  # which start processes of their own
        warm_up()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        print(json.dumps(measured(lambda: case.act(Path(folder)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
