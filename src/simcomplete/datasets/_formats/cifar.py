"""CIFAR-10 in its binary version: records of one label and 3072 colour values (data_batch_1.bin).

Images are converted to grey, 1024 values, as in the paper: round(.299 R + .587 G + .114 B). The version for Python
consists of pickles. A pickle is a program that can run anything, so it is refused without being opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._formats.source import Source
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError

SIDE = 32
PIXELS = SIDE * SIDE
RECORD_BYTES = 1 + 3 * PIXELS
CLASSES = 10
GREY_WEIGHTS = (0.299, 0.587, 0.114)
# A batch of the original has 10,000 images, 31 MB.
MAX_BYTES = 2**30
IMAGES_PER_BLOCK = 2048


def to_grey(colours: NDArray[Any]) -> NDArray[np.float64]:
    """Convert rows of 1024 red, 1024 green and 1024 blue values to grey.

    Examples
    --------
    >>> to_grey(np.repeat([[200, 100, 50]], 1024, axis=1))[0, :2]
    array([124., 124.])
    """
    out = np.empty((len(colours), PIXELS))
    for start in range(0, len(colours), IMAGES_PER_BLOCK):  # in blocks: three copies in float64 would be the peak
        block = slice(start, start + IMAGES_PER_BLOCK)
        red, green, blue = np.moveaxis(colours[block].reshape(-1, 3, PIXELS).astype(float), 1, 0)
        out[block] = np.rint(GREY_WEIGHTS[0] * red + GREY_WEIGHTS[1] * green + GREY_WEIGHTS[2] * blue)
    return out


def read_cifar(path: Path, options: Options) -> Table:
    """Read a binary batch of CIFAR-10; images become grey."""
    what = f"records of {RECORD_BYTES} bytes"
    with Source(path) as source:
        if not source.compressed and source.size % RECORD_BYTES:
            raise source.truncated(-(-source.size // RECORD_BYTES) * RECORD_BYTES, source.size, what)
        data = source.read(MAX_BYTES if options.limit is None else options.limit * RECORD_BYTES)
        if len(data) == MAX_BYTES or len(data) % RECORD_BYTES:
            raise source.truncated(-(-len(data) // RECORD_BYTES) * RECORD_BYTES, len(data), what)
    records = np.frombuffer(data, np.uint8).reshape(-1, RECORD_BYTES)
    labels, colours = records[:, 0], records[:, 1:]
    if labels.size and labels.max() >= CLASSES:
        raise FileFormatError(f"{path}: a label is {labels.max()}; CIFAR-10 has 0 to {CLASSES - 1}; is it CIFAR-100?")
    n = options.rows(len(records))
    require(10 * n * PIXELS, f"{path} with {n} images", "give limit= for fewer")
    return as_table(path, to_grey(colours[:n]), y=labels[:n], image_shape=(SIDE, SIDE))


def refuse_pickle(path: Path, options: Options) -> Table:
    """Raise FileFormatError for a batch of the version for Python; nothing of it is read."""
    raise FileFormatError(
        f"{path}: is a batch of CIFAR-10 for Python, a pickle, which is never read because it can run any program; "
        "use the binary version, cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html "
        "(data_batch_1.bin), or sc.datasets.load('cifar10', download=True), which downloads it from OpenML"
    )
