"""Data sets from OpenML, downloaded by scikit-learn on request."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.datasets._catalogue import CatalogueEntry
from simcomplete.datasets._table import Table
from simcomplete.errors import InputError


def fetch(entry: CatalogueEntry) -> Table:
    """Download a data set, or read it from scikit-learn's cache."""
    from sklearn.datasets import fetch_openml

    # The parser of pandas is several times faster; the other one needs no pandas.
    parser = "auto" if find_spec("pandas") else "liac-arff"
    try:
        bunch = fetch_openml(data_id=entry.openml, as_frame=False, parser=parser)
    except (OSError, ValueError) as error:  # no network, no such data, a wrong checksum
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{entry.name} (number {entry.openml} at OpenML) cannot be downloaded ({reason}); "
            f"get {entry.source} instead"
        ) from error
    return Table(np.asarray(bunch.data, dtype=np.float64), y=_classes(np.asarray(bunch.target)))


def _classes(target: NDArray[Any]) -> NDArray[Any]:
    """Return classes, which OpenML has as text, as whole numbers where possible."""
    try:
        return target.astype(np.int64)
    except ValueError:
        return target.astype(np.str_)
