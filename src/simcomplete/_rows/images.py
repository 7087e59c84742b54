"""Height and width of images that are stored as rows."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from simcomplete.errors import InputError


def image_shape(shape: Any, d: int) -> tuple[int, int]:
    """Return the checked height and width of images of d pixels; by default they are square.

    Examples
    --------
    >>> image_shape(None, 64), image_shape([2, 3], 6)
    ((8, 8), (2, 3))
    """
    if shape is None:
        side = math.isqrt(d)
        if side * side != d:
            raise InputError(f"{d} features do not form a square image; give shape=(height, width) of {d} pixels")
        return side, side
    try:
        rows, cols = (index(side) for side in shape)
    except (TypeError, ValueError) as error:
        raise InputError(f"shape={shape!r} is not the shape of an image; give shape=(height, width)") from error
    if min(rows, cols) < 1 or rows * cols != d:
        raise InputError(f"shape={shape!r} does not hold the {d} features of X; give height * width = {d}")
    return rows, cols
