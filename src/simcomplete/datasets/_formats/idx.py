"""IDX, the format of MNIST: a magic number, the sizes and the values, all big-endian.

The labels are in a separate file, which has labels and idx1 in its name in place of images and idx3.
"""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._formats.source import COMPRESSED_ENDINGS, Source
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError

DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Path, options: Options) -> Table:
    """Read images or rows, and their labels where the file of labels is in the same folder."""
    array = _read_array(path, options)
    if array.ndim < 2:
        raise FileFormatError(f"{path}: holds {array.shape} values, labels it seems; give the file of images")
    shape = (int(array.shape[1]), int(array.shape[2])) if array.ndim == 3 else None
    labels = _labels_path(path)
    y = None if labels is None else _read_array(labels, options)
    if y is not None and y.shape != array.shape[:1]:
        raise FileFormatError(f"{labels}: holds {y.shape} labels for the {len(array)} images of {path.name}")
    return as_table(path, array.reshape(len(array), math.prod(array.shape[1:])), y=y, image_shape=shape)


def _read_array(path: Path, options: Options) -> NDArray[Any]:
    """Read the array, or its first rows."""
    with Source(path) as source:
        zeros, code, dimensions = struct.unpack(">HBB", source.read_exactly(4, "a magic number"))
        if zeros or code not in DTYPES or not 1 <= dimensions <= 8:
            raise FileFormatError(
                f"{path}: begins with {zeros:04x}{code:02x}{dimensions:02x}, an IDX file with 0000, a type "
                f"({', '.join(f'{c:02x}' for c in DTYPES)}) and the number of dimensions; is it another format?"
            )
        shape = struct.unpack(f">{dimensions}I", source.read_exactly(4 * dimensions, "the sizes"))
        dtype = np.dtype(DTYPES[code])
        row = math.prod(shape[1:]) * dtype.itemsize
        expected = source.n_read + shape[0] * row
        source.check_size(expected, f"values of shape {shape}")
        n = options.rows(shape[0])
        require(9 * n * row // dtype.itemsize, f"{path} with {n} rows", "give limit= for fewer rows")
        data = source.read_exactly(n * row, f"values of shape {(n, *shape[1:])}")
        if n == shape[0]:
            source.check_end(f"values of shape {shape}")
    return np.frombuffer(data, dtype).reshape((n, *shape[1:])).astype(dtype.newbyteorder("="))


def _labels_path(path: Path) -> Path | None:
    """Return the file of labels for a file of images, compressed or not, or None."""
    name = re.sub(r"idx\d", "idx1", path.name.replace("images", "labels"))
    for ending in COMPRESSED_ENDINGS:
        name = name.removesuffix(ending)
    if "images" not in path.name:
        return None
    choices = [path.with_name(name + ending) for ending in (*COMPRESSED_ENDINGS, "")]
    # Prefer the same compression.
    choices.sort(key=lambda choice: choice.suffix != path.suffix)
    return next((choice for choice in choices if choice.is_file()), None)
