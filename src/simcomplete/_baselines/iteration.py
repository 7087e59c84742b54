"""Parameters that every iterative method shares, and how they reach the iteration driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._method.iterate import Limits
from simcomplete._method.problem import Task
from simcomplete._rows.validate import check_number
from simcomplete.errors import InputError

# A method's row takes these with its own max_iter (and tol, where it has a stop test).
ITERATION: dict[str, Any] = {"time_limit": None, "callback": None}


def limits(task: Task, params: Mapping[str, Any], label: str) -> Limits:
    """Check the shared parameters and hand them to the driver."""
    most = params["max_iter"]
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"max_iter={most!r} must be a whole number of at least 1")
    seconds = params["time_limit"]
    if seconds is not None:
        seconds = check_number(seconds, "time_limit")
    return Limits(most, seconds, params["callback"], label, task.progress)


def told(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they go on a result: plain values, arrays and functions only by a word."""
    return {
        name: value if isinstance(value, (int, float, str, bool, type(None), list, tuple)) else "given"
        for name, value in params.items()
    }
