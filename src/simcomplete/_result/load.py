"""Reading saved completions."""

from __future__ import annotations

from pathlib import Path

from simcomplete._result import store
from simcomplete._result.completion import Completion


def load(path: str | Path) -> Completion:
    """Read a completion that `Completion.save` wrote; nothing in it is ever executed.

    Every file is checked against its checksum. Large tables stay in their files, which must not change while the
    completion is in use, and are read block by block.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done.save(folder + "/done")
    ...     sc.load(folder + "/done").rank
    3
    """
    return Completion(**store.read(Path(path)))
