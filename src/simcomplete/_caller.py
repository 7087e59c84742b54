"""Warnings that name the line of the person who called, however deep inside the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

# Frames of these packages are skipped: this package, and packages that call estimators for the user.
ROOT = str(Path(__file__).parent)
BETWEEN = ("sklearn", "joblib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the innermost line outside this package, scikit-learn and joblib."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(file: str, module: str) -> bool:
    return file.startswith(ROOT) or module.split(".")[0] in BETWEEN
