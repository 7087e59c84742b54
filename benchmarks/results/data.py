"""The data sets by name: digits comes with scikit-learn, the others are files of the folder SIMCOMPLETE_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

COMPLETE = (
    "digits",
    "usps",
    "protein",
    "googlenews300",
    "agnews_minilm384",
    "mnist",
    "cifar10_gray",
    "imagenet_bovw1000",
    "imagenet_cnn1000",
)
IMAGES = {"digits": (8, 8), "usps": (16, 16), "mnist": (28, 28), "cifar10_gray": (32, 32)}
NATURAL = (
    "beijing_pm25",
    "communities_crime",
    "hela_proteomics",
    "jester",
    "kiba_affinity",
    "lymphoma_dlbcl",
    "mice_protein",
    "movielens_small",
    "sp500_returns",
)
GIVEN = ("davis_kinases", "davis_drugs", "methylation_ge")
BUNDLED = "digits"


def folder() -> Path | None:
    """Return the folder of the files, or None where there is none."""
    told = os.environ.get("SIMCOMPLETE_DATA")
    return Path(told) if told and Path(told).is_dir() else None


def path(name: str) -> Path | None:
    """Return the file of a data set, or None where it is not there."""
    stem = f"{name}_natural" if name in NATURAL else f"sim_{name}" if name in GIVEN else name
    file = None if folder() is None else Path(os.environ["SIMCOMPLETE_DATA"]) / f"{stem}.npz"
    return file if file is not None and file.is_file() else None


def there(name: str) -> bool:
    """Whether a data set can be loaded here."""
    return name == BUNDLED or path(name) is not None


def load(name: str) -> NDArray[np.float64]:
    """Return the samples (or the similarities) of a data set as float64."""
    if name == BUNDLED:
        return np.asarray(load_digits().data, dtype=np.float64)
    file = path(name)
    if file is None:
        raise FileNotFoundError(f"{name} is not in the folder SIMCOMPLETE_DATA; set it to the folder of the .npz files")
    with np.load(file, allow_pickle=False) as arrays:
        return np.asarray(arrays["S" if name in GIVEN else "X"], dtype=np.float64)
