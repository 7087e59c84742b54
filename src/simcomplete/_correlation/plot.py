"""Heat maps of a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simcomplete.errors import optional

if TYPE_CHECKING:
    from simcomplete._correlation.repair import Repair

NAMED = 30  # up to so many variables have their names at the axes


def heat_maps(repair: Repair) -> Any:
    """Before, after and change, side by side, in a matplotlib Figure."""
    figures = optional("matplotlib.figure", extra="cli", purpose="a heat map")
    figure = figures.Figure(figsize=(13, 4.2), layout="constrained")
    size = float(np.nanmax(np.abs(repair.given), initial=1e-300))
    change = np.nan_to_num(repair.change)
    parts = [("before", repair.given, size), ("after", repair.values, size), ("change", change, np.abs(change).max())]
    for axes, (title, values, limit) in zip(figure.subplots(1, 3), parts, strict=True):
        limit = float(limit) or 1.0
        image = axes.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set_title(title)
        if repair.labels is not None and len(repair.labels) <= NAMED:
            axes.set_xticks(range(len(repair.labels)), repair.labels, rotation=90)
            axes.set_yticks(range(len(repair.labels)), repair.labels)
        figure.colorbar(image, ax=axes, shrink=0.8)
    return figure
