"""Rows of svmlight (LIBSVM): a label, then index:value for what is not zero.

scikit-learn reads them. The original file of PROTEIN has a blank after each colon (`21: .5`) and two between fields,
which that reader refuses, so blanks are normalised before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._formats.source import Source
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError

GAP = re.compile(rb"\s*:\s*")


class _Lines:
    """Normalised lines of a file, in the form that scikit-learn accepts, and the number of the current line."""

    def __init__(self, source: Source, limit: int | None) -> None:
        self.source = source
        self.limit = limit
        self.number = 0

    def read(self, size: int = -1) -> bytes:
        """Raise: scikit-learn checks for this method, and reads lines only."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[bytes]:
        rows = 0
        for line in self.source.lines():
            if rows == self.limit:
                return
            self.number += 1
            text = line.partition(b"#")[0].strip()
            if not text:
                continue
            if b"\0" in text or b"_" in text:  # Python accepts 1_000 as a number, tables do not
                raise ValueError(f"{text[:40]!r} is not a label and index:value pairs")
            rows += 1
            yield GAP.sub(b":", text) + b"\n"


def read_svmlight(path: Path, options: Options) -> Table:
    """Read rows and their labels; values that are not given are zero."""
    # Imported here: scikit-learn's readers take longer to load than most files.
    from sklearn.datasets import load_svmlight_file

    with Source(path) as source:
        lines = _Lines(source, options.limit)
        try:
            rows, y = load_svmlight_file(lines, n_features=options.features, zero_based="auto")
        except FileFormatError:
            raise
        except (ValueError, OverflowError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise FileFormatError(
                f"{path}: line {lines.number}: {reason}; rows are 'label index:value ...' with rising indices"
            ) from error
    n, d = rows.shape
    require(8 * n * d, f"{path} with {n} rows of {d} features", "give limit= for fewer rows, or check the indices")
    return as_table(path, rows.toarray(), y=_as_integers(y))


def _as_integers(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as integers where they are whole numbers."""
    with np.errstate(invalid="ignore"):
        whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y
