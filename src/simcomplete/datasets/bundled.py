"""Data that comes with what is installed already; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """Samples with what is known about them.

    Attributes
    ----------
    name : str
        What the data are called.
    X : ndarray, shape (n, d)
        The samples; NaN where a value is missing.
    y : ndarray, shape (n,), optional
        The class of each sample.
    image_shape : tuple of int, optional
        Height and width where each sample is a picture.
    labels : list of str, optional
        One name per sample.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any] | None = None
    image_shape: tuple[int, int] | None = None
    labels: list[str] | None = None


def digits() -> Dataset:
    """Scikit-learn's bundled handwritten digits: 1797 pictures of 8 x 8 grey values from 0 to 16."""
    # Here and not above: loading scikit-learn's readers takes longer than reading most files.
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return Dataset("digits", np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target), (8, 8))


LOADERS: dict[str, Callable[[], Dataset]] = {"digits": digits}
