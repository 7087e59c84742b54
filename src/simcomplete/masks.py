"""Patterns of missing values: boolean (n, d) arrays, True = observed.

A mask is the pattern alone. ``random``, ``square`` and ``stripes`` look only at the shape of X, so a tuple
``(n, d)`` does as well, and NaN already in X are not marked; ``by_value`` reads the values and marks them.
Every function draws row after row: the first rows of a longer X get the same mask.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcomplete._rows.images import image_shape
from simcomplete._rows.validate import as_array, as_rows, check_number
from simcomplete._types import Mask
from simcomplete.errors import InputError

__all__ = ["apply", "by_value", "random", "square", "stripes"]

RandomState: TypeAlias = int | np.random.Generator | None


def random(X: ArrayLike, missing: float = 0.8, random_state: RandomState = 0) -> Mask:
    """Hide exactly ``round(missing * d)`` features of every row, all equally likely.

    Parameters
    ----------
    X : array-like, frame, or tuple (n, d)
        The samples, or only their shape.
    missing : float
        Share of the features to hide, from 0 to 1.
    random_state : int, Generator or None
        A seed, or a generator to draw from. The draws are guaranteed: for each row in order
        ``rng.choice(d, round(missing * d), replace=False)``.

    Returns
    -------
    ndarray of bool, shape (n, d)
        True where observed.

    Examples
    --------
    >>> from simcomplete import masks
    >>> masks.random((2, 5), missing=0.6).sum(axis=1)  # round(0.6 * 5) = 3 hidden, 2 left
    array([2, 2])
    """
    (n, d), rng = _shape(X), _generator(random_state)
    return _draw(n, d, round(_share(missing) * d), rng)


def square(
    X: ArrayLike, missing: float = 0.8, shape: tuple[int, int] | None = None, random_state: RandomState = 0
) -> Mask:
    """Hide one rectangle of pixels per row, as square as possible, at a random position in the image.

    Parameters
    ----------
    X, missing, random_state
        As in `random`; the features are the pixels of an image, line by line.
    shape : tuple (height, width), optional
        Of the image. By default sqrt(d) by sqrt(d).

    Returns
    -------
    ndarray of bool, shape (n, d)
        True where observed. All rows lose the same number of pixels, close to ``missing * d``: of the square
        with that area (or the nearest rectangle, where the image is too narrow) the height is rounded down
        or up and the width to the integer that then fits best; of these two the one whose area is closer to
        ``missing * d`` is taken. 28 x 28 at 0.8: 627.2 pixels are asked for, 25 x 25 = 625 are hidden.

    Examples
    --------
    0.25 of 4 x 4 pixels is a square of 2 x 2.

    >>> from simcomplete import masks
    >>> masks.square((1, 16), missing=0.25).reshape(4, 4).astype(int)
    array([[1, 1, 1, 1],
           [1, 1, 1, 1],
           [1, 0, 0, 1],
           [1, 0, 0, 1]])
    """
    (n, d), rng = _shape(X), _generator(random_state)
    rows, cols = image_shape(shape, d)
    height, width = _sides(_share(missing) * d, rows, cols)
    corners = rng.integers(0, [rows - height + 1, cols - width + 1], size=(n, 2))
    down, right = np.arange(rows) - corners[:, :1], np.arange(cols) - corners[:, 1:]
    hidden_rows, hidden_cols = (down >= 0) & (down < height), (right >= 0) & (right < width)
    return ~(hidden_rows[:, :, None] & hidden_cols[:, None, :]).reshape(n, d)


def stripes(
    X: ArrayLike,
    missing: float = 0.8,
    shape: tuple[int, int] | None = None,
    random_state: RandomState = 0,
    direction: str = "horizontal",
) -> Mask:
    """Hide whole lines of pixels: ``round(missing * lines)`` distinct ones per row, all equally likely.

    Parameters
    ----------
    X, missing, shape, random_state
        As in `square`.
    direction : {"horizontal", "vertical"}
        Whether a stripe is a row or a column of the image.

    Returns
    -------
    ndarray of bool, shape (n, d)
        True where observed. The lines need not be neighbours.

    Examples
    --------
    >>> from simcomplete import masks
    >>> masks.stripes((1, 6), missing=0.5, shape=(2, 3)).reshape(2, 3)
    array([[ True,  True,  True],
           [False, False, False]])
    """
    (n, d), rng = _shape(X), _generator(random_state)
    rows, cols = image_shape(shape, d)
    if direction not in ("horizontal", "vertical"):
        raise InputError(f"direction={direction!r} is not known; use 'horizontal' or 'vertical'")
    lines = rows if direction == "horizontal" else cols
    observed = _draw(n, lines, round(_share(missing) * lines), rng)
    spread = observed[:, :, None] if direction == "horizontal" else observed[:, None, :]
    return np.broadcast_to(spread, (n, rows, cols)).reshape(n, d)


def by_value(X: ArrayLike, missing: float = 0.8, random_state: RandomState = 0, *, strength: float = 1.0) -> Mask:
    """Hide ``round(missing * d)`` features of every row, large values more likely than small ones.

    Values that are missing because of their size ("missing not at random") bias every method that uses only the
    remaining values. Features are drawn one after the other without replacement, each with a probability in proportion
    to exp(strength * z), z being the value standardised within its row.

    Parameters
    ----------
    X : array-like or frame, shape (n, d)
        The samples. NaN count as hidden already: they are False, and only the rest of ``round(missing * d)``
        is drawn. A row with more NaN than that keeps them all and loses nothing else.
    missing, random_state
        As in `random`.
    strength : float
        From -1000 to 1000; 0 is uniformly random, negative hides small values. A row of equal values is
        uniformly random.

    Returns
    -------
    ndarray of bool, shape (n, d)
        True where observed.

    Examples
    --------
    So strong that the order is certain, and once with a value that is missing from the start:

    >>> from simcomplete import masks
    >>> nan = float("nan")
    >>> masks.by_value([[3, 1, 4, 2], [nan, 1, 4, 2]], missing=0.5, strength=1000)
    array([[False,  True, False,  True],
           [False,  True, False,  True]])
    """
    values, rng, share = _values(X).astype(np.float64), _generator(random_state), _share(missing)
    strength = check_number(strength, "strength", -1000, 1000)
    n, d = values.shape
    gone = np.isnan(values)
    # Largest k of (logit + Gumbel noise) = k draws without replacement in proportion to exp(logit).
    keys = strength * _standardised(values, gone) + rng.gumbel(size=(n, d))
    keys[gone] = np.inf
    first = np.argsort(-keys, axis=1)[:, : round(share * d)]
    observed = ~gone
    np.put_along_axis(observed, first, False, axis=1)
    return observed


def apply(X: ArrayLike, mask: ArrayLike) -> NDArray[Any]:
    """Copy X into a float array with NaN wherever the mask is False.

    Parameters
    ----------
    X : array-like or frame, shape (n, d)
        Never changed. float32 and float64 stay what they are; integers and booleans become float64.
    mask : array-like of bool, shape (n, d)
        True where observed.

    Returns
    -------
    ndarray, shape (n, d)

    Examples
    --------
    >>> from simcomplete import masks
    >>> masks.apply([[1, 2], [3, 4]], [[True, False], [True, True]])
    array([[ 1., nan],
           [ 3.,  4.]])
    """
    values = _values(X)
    try:
        observed = np.asarray(mask)
    except ValueError as error:
        raise InputError(f"the mask is not a table ({error}); give a boolean one, True = observed") from error
    if observed.dtype != np.bool_ or observed.shape != values.shape:
        raise InputError(
            f"the mask is {observed.dtype} of shape {observed.shape}, but X has shape {values.shape}; give a "
            "boolean mask of that shape, True where observed"
        )
    out = values.copy()
    out[~observed] = np.nan
    return out


def _draw(n: int, d: int, hidden: int, rng: np.random.Generator) -> Mask:
    observed = np.ones((n, d), dtype=np.bool_)
    for row in observed:  # one call per row, because the order of the draws is the contract
        row[rng.choice(d, hidden, replace=False)] = False
    return observed


def _sides(area: float, rows: int, cols: int) -> tuple[int, int]:
    """Height and width, within (rows, cols), of the near-square whose area is closest to ``area``."""
    height = min(max(math.sqrt(area), area / cols), rows)
    sides = [(h, min(round(area / h), cols) if h else 0) for h in (math.floor(height), math.ceil(height))]
    return min(sides, key=lambda side: (abs(side[0] * side[1] - area), abs(side[0] - side[1])))


def _standardised(values: NDArray[np.float64], gone: Mask) -> NDArray[np.float64]:
    """Values minus the mean of their row, over its deviation; 0 where that is 0, and where gone."""
    filled = np.where(gone, 0.0, values)
    largest = np.abs(filled).max(axis=1, keepdims=True)
    filled /= np.where(largest > 0, largest, 1.0)  # so that no square overflows
    count = np.maximum((~gone).sum(axis=1, keepdims=True), 1)
    centred = np.where(gone, 0.0, filled - filled.sum(axis=1, keepdims=True) / count)
    deviation = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
    return np.asarray(centred / np.where(deviation > 0, deviation, 1.0))


def _shape(X: Any) -> tuple[int, int]:
    if isinstance(X, tuple) and len(X) == 2 and all(isinstance(size, int | np.integer) for size in X):
        shape = X
    else:  # only a nested list has to be read for its shape
        shape = tuple(X.shape if hasattr(X, "shape") else as_rows(X).shape)
    if len(shape) != 2 or min(shape) < 1:
        raise InputError(f"X has shape {shape}; give a 2-D X, or its shape (n, d), with n >= 1 and d >= 1")
    return int(shape[0]), int(shape[1])


def _values(X: Any) -> NDArray[Any]:
    return as_array(X)


def _share(missing: Any) -> float:
    return check_number(missing, "missing", 0, 1)


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"random_state={random_state!r} is not a seed; use an int or a Generator") from error
