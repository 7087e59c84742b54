"""Data sets that come with installed packages; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from simcomplete.datasets._formats.cifar import GREY_WEIGHTS
from simcomplete.datasets._table import Table
from simcomplete.errors import optional

PATCH_SIDE = 16


def digits() -> Table:
    """Scikit-learn's bundled handwritten digits: 1797 pictures of 8 x 8 grey values from 0 to 16."""
    # Imported here: scikit-learn's readers take longer to load than most files.
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return Table(np.asarray(bunch.data, dtype=np.float64), y=np.asarray(bunch.target), image_shape=(8, 8))


def patches() -> Table:
    """Grey patches of 16 x 16 pixels that tile scikit-learn's two bundled photographs; the class is the photograph.

    Patches do not overlap, so that none is a shifted copy of another.
    """
    optional("PIL", extra="cli", purpose="the data set 'patches' (two photographs)")
    from sklearn.datasets import load_sample_images

    rows = []
    for picture in load_sample_images().images:
        grey = np.rint(picture.astype(np.float64) @ GREY_WEIGHTS)
        down, across = grey.shape[0] // PATCH_SIDE, grey.shape[1] // PATCH_SIDE
        tiles = grey[: down * PATCH_SIDE, : across * PATCH_SIDE].reshape(down, PATCH_SIDE, across, PATCH_SIDE)
        rows.append(tiles.transpose(0, 2, 1, 3).reshape(-1, PATCH_SIDE * PATCH_SIDE))
    y = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    return Table(np.concatenate(rows), y=y, image_shape=(PATCH_SIDE, PATCH_SIDE))


LOADERS: dict[str, Callable[[], Table]] = {"digits": digits, "patches": patches}


def usable(name: str) -> bool:
    """Return whether the packages that a data set needs are installed."""
    return name != "patches" or find_spec("PIL") is not None
