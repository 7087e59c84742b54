"""Data that comes with what is installed already; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from simcomplete.datasets._formats.cifar import WEIGHTS
from simcomplete.datasets._table import Table
from simcomplete.errors import optional

SIDE = 16


def digits() -> Table:
    """Scikit-learn's bundled handwritten digits: 1797 pictures of 8 x 8 grey values from 0 to 16."""
    # Here and not above: loading scikit-learn's readers takes longer than reading most files.
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return Table(np.asarray(bunch.data, dtype=np.float64), y=np.asarray(bunch.target), image_shape=(8, 8))


def patches() -> Table:
    """Grey patches of 16 x 16 that tile scikit-learn's two bundled photographs; the class is the photograph.

    They do not overlap, so that no patch is a shifted copy of another.
    """
    optional("PIL", extra="cli", purpose="the data set 'patches' (two photographs)")
    from sklearn.datasets import load_sample_images

    rows = []
    for picture in load_sample_images().images:
        grey = np.rint(picture.astype(np.float64) @ WEIGHTS)
        down, across = grey.shape[0] // SIDE, grey.shape[1] // SIDE
        tiles = grey[: down * SIDE, : across * SIDE].reshape(down, SIDE, across, SIDE)
        rows.append(tiles.transpose(0, 2, 1, 3).reshape(-1, SIDE * SIDE))
    y = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    return Table(np.concatenate(rows), y=y, image_shape=(SIDE, SIDE))


LOADERS: dict[str, Callable[[], Table]] = {"digits": digits, "patches": patches}


def usable(name: str) -> bool:
    """Tell whether what the data set needs is installed."""
    return name != "patches" or find_spec("PIL") is not None
