"""Errors and warnings of the package.

::

    SimcompleteError
    ├── InputError            (also a ValueError)   what was given cannot be used
    ├── FileFormatError       (also a ValueError)   a file is truncated, foreign or changed
    ├── MemoryLimitError      (also a MemoryError)  the request would not fit
    ├── NotFiniteError        (also an ArithmeticError) a method has no finite answer for these data
    ├── DiskFullError         (also an OSError)     there is no room for what is to be written
    ├── StoreError            (also an OSError)     a vector store cannot be reached, or has drifted from its model
    └── MissingExtraError     (also an ImportError) an optional package is not installed

    NotConvergedWarning       (a UserWarning)       an answer, but not the optimum
    InputWarning              (a UserWarning)       an answer, but the data may not be what they were meant to be

Every message says what was given, what is needed and what to try.

Examples
--------
>>> import numpy as np, simcomplete as sc
>>> try:
...     sc.complete(np.eye(3), rank=4)
... except sc.errors.InputError as error:
...     print(error)
rank=4 exceeds the 3 samples given; use rank <= 3
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = [
    "DiskFullError",
    "FileFormatError",
    "InputError",
    "InputWarning",
    "MemoryLimitError",
    "MissingExtraError",
    "NotConvergedWarning",
    "NotFiniteError",
    "SimcompleteError",
    "StoreError",
    "optional",
]


class SimcompleteError(Exception):
    """Base class of all errors of the package."""


class InputError(SimcompleteError, ValueError):
    """Data or a parameter that cannot be used as given.

    Parameters
    ----------
    message : str
        What was given, what is needed, what to try.
    about : tuple of str
        Names of the parameters that the message speaks of, as arguments of the library: ``rank=4``. The command line
        writes its own options in their place.

    Examples
    --------
    >>> InputError("rank=0 is too small", about=("rank",)).about
    ('rank',)
    """

    def __init__(self, message: str = "", *, about: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.about = about


class FileFormatError(SimcompleteError, ValueError):
    """A file that is truncated, was changed, or has an unknown format."""


class MemoryLimitError(SimcompleteError, MemoryError):
    """A computation that would not fit into memory; raised before memory is allocated."""


class NotFiniteError(SimcompleteError, ArithmeticError):
    """A result that is not finite; the message names the row."""


class DiskFullError(SimcompleteError, OSError):
    """The disk is too full to write a file; no partial file is left, and existing files are unchanged."""


class StoreError(SimcompleteError, OSError):
    """A vector store that cannot be reached, rejects a request, or has other rows than its model."""


class MissingExtraError(SimcompleteError, ImportError):
    """An optional package that this call needs is not installed."""


class InputWarning(UserWarning):
    """Data that can be used but look like a mistake; the message says how to state what is meant."""


class NotConvergedWarning(UserWarning):
    """An iterative method stopped before convergence; the result has its status."""


def optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or name the extra that installs it.

    Parameters
    ----------
    module : str
        Dotted name of the module.
    extra : str
        The extra of this package that installs it.
    purpose : str
        What it is needed for, to begin the message with.

    Returns
    -------
    module
        The imported module.

    Examples
    --------
    >>> optional("json", extra="cli", purpose="writing results").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingExtraError(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'simcomplete[{extra}]'"
        ) from error
