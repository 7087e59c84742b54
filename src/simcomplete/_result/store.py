"""Bringing a saved completion back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from simcomplete._result.certificate import Certificate
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import Bars
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.parts import SIMPLE
from simcomplete._result.status import Status
from simcomplete._result.storage import read_folder
from simcomplete._similarity.exact import revive
from simcomplete._similarity.measure import Evidence
from simcomplete.errors import FileFormatError


def load(path: str | Path) -> Completion:
    """Read a completion that `Completion.save` wrote; nothing in it is ever executed.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    Completion

    Examples
    --------
    >>> import numpy as np, simcomplete as sc, tempfile
    >>> done = sc.complete(np.eye(3), method="smcnn")
    >>> with tempfile.TemporaryDirectory() as room:
    ...     done.save(room + "/done")
    ...     sc.load(room + "/done").rank
    3
    """
    arrays, facts = read_folder(Path(path))
    try:
        return revived(arrays, facts)
    except (KeyError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path} lacks or misspells a fact: {error}; save the completion anew") from error


def revived(arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> Completion:
    """Build a completion from what was stored."""
    bounds, certificate, evidence = facts["bounds"], facts["certificate"], facts["evidence"]
    matrix = SymmetricMatrix(
        **{name: arrays.get(name) for name in ("factor", "signs", "diagonal", "dense")},
        bounds=None if bounds is None else (bounds[0], bounds[1]),
        unit=facts["unit"],
    )
    if evidence is not None:
        evidence = Evidence(**{**evidence, "rows_without": tuple(evidence["rows_without"])})
    return Completion(
        matrix=matrix,
        order=arrays.get("order"),
        status=Status(**facts["status"]),
        certificate=None if certificate is None else Certificate(**certificate),
        counted=evidence,
        exact=revive(arrays["candidates"], facts["exact"]) if "candidates" in arrays else None,
        bars=Bars(arrays["spread"], arrays["quantiles"]) if "spread" in arrays else None,
        **{name: facts[name] for name in SIMPLE},
    )
