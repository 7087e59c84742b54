"""Reading what was saved: completions and models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcomplete._result import store
from simcomplete._result.archive import COMPLETION, MODEL
from simcomplete._result.completion import Completion
from simcomplete._rows.atomic import as_path
from simcomplete.errors import FileFormatError


def load(path: str | Path) -> Any:
    """Load a completion or a model written by `save`; nothing in the files is executed.

    Every file is checked against its checksum. Large tables stay in their files, which must not change while they are
    in use, and are read block by block.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    Completion or estimator
        Of the kind that was saved.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc, tempfile
    >>> done = sc.complete(np.eye(3), method="smcnn")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done.save(folder + "/done")
    ...     sc.load(folder + "/done").rank
    3
    """
    folder = as_path(path)
    if (folder / MODEL.file).is_file():
        from simcomplete.estimators._save import read_model  # scikit-learn takes a second to import

        return read_model(folder)
    try:
        return Completion(**store.read(folder, _model))
    except FileFormatError:
        # Asked only now: while a folder is replaced there is none for a moment, for which reading waits.
        if folder.exists() and not (folder / COMPLETION.file).exists():
            raise FileFormatError(
                f"{folder} is not a saved model or completion: it has no {MODEL.file} and no {COMPLETION.file}"
            ) from None
        raise


def _model(stored: dict[str, Any], arrays: dict[str, Any]) -> Any:
    from simcomplete._posterior.layout import completion_model  # only needed where there is one

    return completion_model(stored, arrays)
