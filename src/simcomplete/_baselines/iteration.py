"""How the parameters that every iterative method shares reach the iteration driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._method.iterate import Limits
from simcomplete._method.problem import Settings


def limits(settings: Settings, params: Mapping[str, Any], label: str) -> Limits:
    """What ends a run besides its own stop test."""
    seconds = params["time_limit"]
    seconds = None if seconds is None else float(seconds)
    return Limits(int(params["max_iter"]), seconds, params["callback"], label, settings.progress)


def as_recorded(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they go on a result: plain values, arrays and functions only by a word."""
    return {
        name: value if isinstance(value, (int, float, str, bool, type(None), list, tuple)) else "given"
        for name, value in params.items()
    }
