"""Models written to a folder and read back; `_layouts` says what of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from simcomplete._result.archive import MODEL, check_target, read_archive, write_archive
from simcomplete._result.layout import Parts
from simcomplete._rows.atomic import as_path
from simcomplete.errors import FileFormatError, SimcompleteError


class Saved:
    """Estimators that can be saved."""

    def save(self: Any, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder of `.npy` and JSON files, completely or not at all; `simcomplete.load`
        reads it.

        Parameters that cannot be written as JSON (a Generator, a callback) and callbacks of scikit-learn are not saved.

        Parameters
        ----------
        path, overwrite : path, bool
            The folder to make, and whether to replace a model saved there before.

        Examples
        --------
        >>> import numpy as np, simcomplete as sc, tempfile
        >>> rng = np.random.default_rng(0)
        >>> model = sc.PosteriorCompleter(effort="fast").fit(rng.random((60, 4)))
        >>> Q = [[0.9, np.nan, 0.1, np.nan]]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(folder + "/my.model")
        ...     same = sc.load(folder + "/my.model")
        >>> bool((same.transform(Q) == model.transform(Q)).all())
        True
        """
        from simcomplete.estimators._layouts import ESTIMATOR  # it stands on every estimator

        check_is_fitted(self)
        target = as_path(path)
        check_target(target, overwrite, MODEL)
        parts = Parts()
        write_archive(
            target, *_arrays_and_facts(ESTIMATOR.write(self, "", parts), parts), overwrite=overwrite, kind=MODEL
        )


def _arrays_and_facts(stored: Any, parts: Parts) -> tuple[dict[str, Any], dict[str, Any]]:
    return parts.arrays, {"model": stored}


def read_model(path: Path) -> Any:
    """Read a model that `save` wrote, or say what is wrong with it."""
    from simcomplete.estimators._layouts import ESTIMATOR  # it stands on every estimator

    found = read_archive(path, MODEL)
    try:
        return ESTIMATOR.read(found.metadata["model"], "", Parts(found.arrays))
    except SimcompleteError as error:
        raise FileFormatError(f"{path}: its parts do not fit each other: {error}; {MODEL.again}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileFormatError(f"{path} does not describe a whole model: {error!r}; {MODEL.again}") from error
