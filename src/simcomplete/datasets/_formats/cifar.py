"""CIFAR-10 in both forms its authors give: records of bytes (.bin) and pickled batches of Python.

Pictures are made grey, 1024 values, as in the paper: round(.299 R + .587 G + .114 B).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._formats.source import Source
from simcomplete.datasets._formats.unpickle import unpickle
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError

SIDE = 32
PIXELS = SIDE * SIDE
CLASSES = 10
WEIGHTS = (0.299, 0.587, 0.114)
# A batch of the original has 10,000 pictures, 31 MB.
LARGEST = 2**30
BLOCK = 2048


def gray(colours: NDArray[Any]) -> NDArray[np.float64]:
    """Make rows of 1024 red, 1024 green and 1024 blue values grey.

    Examples
    --------
    >>> gray(np.repeat([[200, 100, 50]], 1024, axis=1))[0, :2]
    array([124., 124.])
    """
    out = np.empty((len(colours), PIXELS))
    for start in range(0, len(colours), BLOCK):  # in blocks: three copies in float64 would be the peak
        red, green, blue = np.moveaxis(colours[start : start + BLOCK].reshape(-1, 3, PIXELS).astype(float), 1, 0)
        out[start : start + BLOCK] = np.rint(WEIGHTS[0] * red + WEIGHTS[1] * green + WEIGHTS[2] * blue)
    return out


def read_binary(path: Path, options: Options) -> Table:
    """Read records of one label and 3072 colour values."""
    size = 1 + 3 * PIXELS
    with Source(path) as source:
        if not source.packed and source.size % size:
            raise source.truncated(-(-source.size // size) * size, source.size, f"records of {size} bytes")
        data = source.read(LARGEST if options.limit is None else options.limit * size)
        if len(data) == LARGEST or len(data) % size:
            raise source.truncated(-(-len(data) // size) * size, len(data), f"records of {size} bytes")
    records = np.frombuffer(data, np.uint8).reshape(-1, size)
    return _table(path, records[:, 1:], records[:, 0], options)


def read_batch(path: Path, options: Options) -> Table:
    """Read a pickled batch, without trusting it."""
    with Source(path) as source:
        if source.size > LARGEST:
            raise FileFormatError(f"{path}: has {source.size} bytes; a batch of CIFAR-10 has 31 million")
        data = source.read(LARGEST)
        source.ends("a batch")
    batch = unpickle(data, path)
    given = [key for key in batch if isinstance(key, (str, bytes))] if isinstance(batch, dict) else []
    names = {key.decode("latin-1") if isinstance(key, bytes) else key: key for key in given}  # bytes from Python 2
    if "data" not in names or "labels" not in names:
        listed = ", ".join(names) or f"only a {type(batch).__name__}"
        raise FileFormatError(f"{path}: a batch has 'data' and 'labels'; this file has: {listed[:200]}")
    colours, labels = batch[names["data"]], batch[names["labels"]]
    if isinstance(labels, list) and all(isinstance(label, int) and 0 <= label < CLASSES for label in labels):
        labels = np.array(labels, dtype=np.int64)
    if not isinstance(colours, np.ndarray) or colours.dtype != np.uint8 or colours.shape[1:] != (3 * PIXELS,):
        shape = getattr(colours, "shape", type(colours).__name__)
        raise FileFormatError(f"{path}: 'data' is {shape}; bytes of shape (n, {3 * PIXELS}) are needed")
    return _table(path, colours, labels, options)


def _table(path: Path, colours: NDArray[Any], labels: Any, options: Options) -> Table:
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iu" or labels.shape != (len(colours),):
        raise FileFormatError(f"{path}: needs one label from 0 to {CLASSES - 1} for each of {len(colours)} pictures")
    if labels.size and not 0 <= labels.min() <= labels.max() < CLASSES:
        raise FileFormatError(f"{path}: a label is {labels.max()}; CIFAR-10 has 0 to {CLASSES - 1}; is it CIFAR-100?")
    n = options.rows(len(colours))
    require(10 * n * PIXELS, f"{path} with {n} pictures", "give limit= for fewer")
    return as_table(path, gray(colours[:n]), y=labels[:n], image_shape=(SIDE, SIDE))
