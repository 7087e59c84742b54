"""Data sets from OpenML, through scikit-learn, when one asks for a download."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.datasets._catalogue import Entry
from simcomplete.datasets._table import Table
from simcomplete.errors import InputError


def fetch(entry: Entry) -> Table:
    """Download a data set, or take it from scikit-learn's cache."""
    from sklearn.datasets import fetch_openml

    # The parser of pandas is several times faster; without pandas the slow one does the same.
    parser = "auto" if find_spec("pandas") else "liac-arff"
    try:
        bunch = fetch_openml(data_id=entry.openml, as_frame=False, parser=parser)
    except (OSError, ValueError) as error:  # no net, no such data, a checksum that differs
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{entry.name} (number {entry.openml} at OpenML) cannot be downloaded ({reason}); "
            f"get {entry.source} instead"
        ) from error
    return Table(np.asarray(bunch.data, dtype=np.float64), y=_classes(np.asarray(bunch.target)))


def _classes(target: NDArray[Any]) -> NDArray[Any]:
    """OpenML writes classes as text; make them whole numbers where they are."""
    try:
        return target.astype(np.int64)
    except ValueError:
        return target.astype(np.str_)
