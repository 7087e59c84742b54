"""How the parameters that every iterative method shares reach the iteration driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._method.iterate import Limits
from simcomplete._method.settings import Settings


def limits(settings: Settings, params: Mapping[str, Any], label: str) -> Limits:
    """What ends a run besides its own stop test."""
    seconds = params["time_limit"]
    seconds = None if seconds is None else float(seconds)
    keep = params["on_interrupt"] == "return"
    return Limits(int(params["max_iter"]), seconds, params["callback"], label, settings.progress, keep)
