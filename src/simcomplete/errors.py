"""Every error and warning of the package, in one tree.

::

    SimcompleteError
    ├── InputError            (also a ValueError)   what was given cannot be used
    ├── FileFormatError       (also a ValueError)   a file is truncated, foreign or changed
    ├── MemoryLimitError      (also a MemoryError)  the request would not fit
    ├── NotFiniteError        (also an ArithmeticError) a method has no finite answer for these data
    ├── DiskFullError         (also an OSError)     there is no room for what is to be written
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
    "optional",
]


class SimcompleteError(Exception):
    """The root: catch this to catch everything the package raises on purpose."""


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
    """A file that is truncated, foreign, changed since it was written, or of no known format."""


class MemoryLimitError(SimcompleteError, MemoryError):
    """A request that would not fit, refused before anything is allocated."""


class NotFiniteError(SimcompleteError, ArithmeticError):
    """A method's answer that is not finite; it is refused, and the row named, instead of returned."""


class DiskFullError(SimcompleteError, OSError):
    """There is no room for what is to be written; nothing of it stays, and what was there before is as it was."""


class MissingExtraError(SimcompleteError, ImportError):
    """An optional package that this call needs is not installed."""


class InputWarning(UserWarning):
    """Data that can be used as given, and look as if something else was meant: the message says how to say which."""


class NotConvergedWarning(UserWarning):
    """An iterative method stopped before its optimum; the result says how far it came."""


def optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

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
