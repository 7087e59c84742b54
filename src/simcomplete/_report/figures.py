"""Figures as data URIs, drawn by matplotlib without the global state of pyplot."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import optional

# Colours that people with colour blindness can tell apart; the line styles differ, too.
CURVES = (("#d1495b", "-"), ("#2a9d8f", "-"), ("#8d99ae", "--"))
HIDDEN = (240, 161, 58)


@dataclass(frozen=True)
class Theme:
    """The colours of text and background of a page."""

    ink: str
    paper: str


LIGHT = Theme(ink="#1d2733", paper="#ffffff")
DARK = Theme(ink="#e4e9ef", paper="#171c23")


def data_uri(raw: bytes, kind: str = "image/png") -> str:
    """Encode bytes as a data URI.

    Examples
    --------
    >>> data_uri(b"abc")
    'data:image/png;base64,YWJj'
    """
    return f"data:{kind};base64,{base64.b64encode(raw).decode('ascii')}"


def spectrum(spectra: Mapping[str, NDArray[Any]], theme: Theme = LIGHT) -> str:
    """Draw eigenvalues in falling order, one curve per matrix, on a scale that shows small and negative ones.

    Parameters
    ----------
    spectra : mapping of str to array
        Eigenvalues by the name of their matrix; up to three.
    theme : Theme
        Colours of text and background.

    Returns
    -------
    str
        A data URI.

    Examples
    --------
    >>> spectrum({"S0": np.array([2.0, -0.1])})[:22]
    'data:image/png;base64,'
    """
    figure, axes = drawing(6.4, 4, theme)
    # Linear between -0.1 and 0.1, because a logarithmic scale has no negative values.
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.6)
    for (name, values), (colour, style) in zip(spectra.items(), CURVES, strict=False):
        falling = np.sort(values)[::-1]
        axes.plot(np.arange(1, len(falling) + 1), falling, style, color=colour, label=name, linewidth=1.8)
    low = min(float(values.min()) for values in spectra.values())
    if low < -1e-9:
        axes.axhspan(1.5 * low, 0, color=CURVES[0][0], alpha=0.12, linewidth=0)
        axes.text(1, 0.75 * low, " below zero: no matrix of cosines has these", color=theme.ink, va="center")
    axes.axhline(0, color=theme.ink, linewidth=0.8)
    axes.set_xlabel("eigenvalues, largest first")
    axes.set_ylabel("eigenvalue")
    axes.legend(facecolor=theme.paper, edgecolor=theme.ink, labelcolor=theme.ink)
    return encode(figure)


def error_maps(maps: Mapping[str, NDArray[Any]], boundary: int, theme: Theme = LIGHT) -> str:
    """Draw matrices of absolute errors side by side on one colour scale.

    Parameters
    ----------
    maps : mapping of str to array
        Square matrices by title.
    boundary : int
        How many leading rows are candidates; lines divide them from the queries.
    theme : Theme
        Colours of text and background.

    Returns
    -------
    str
        A data URI.

    Examples
    --------
    >>> error_maps({"before": np.eye(4), "after": np.eye(4) / 2}, boundary=2)[:22]
    'data:image/png;base64,'
    """
    figure, grid = drawing(6.4, 3.4, theme, columns=len(maps))
    # The scale ends at the 99 % quantile: a few huge entries, often on the diagonal, would make all others look small.
    top = float(np.quantile(np.concatenate([m.ravel() for m in maps.values()]), 0.99)) or 1.0
    image = None
    for axes, (title, values) in zip(np.atleast_1d(grid), maps.items(), strict=True):
        image = axes.imshow(values, vmin=0, vmax=top, cmap="viridis", interpolation="nearest")
        axes.axhline(boundary - 0.5, color="white", linewidth=0.8)
        axes.axvline(boundary - 0.5, color="white", linewidth=0.8)
        middle = [(boundary - 1) / 2, (boundary + len(values) - 1) / 2]
        axes.set_xticks(middle, ["candidates", "queries"])
        axes.set_yticks(middle, ["candidates", "queries"], rotation=90, va="center")
        axes.tick_params(length=0)
        axes.set_title(title, color=theme.ink, fontsize=11)
    bar = figure.colorbar(image, ax=np.atleast_1d(grid).tolist(), extend="max", shrink=0.85)
    bar.ax.tick_params(colors=theme.ink)
    bar.outline.set_edgecolor(theme.ink)
    return encode(figure)


def picture(values: NDArray[np.float64], observed: NDArray[np.bool_] | None = None) -> str:
    """Draw a small picture pixel by pixel, dark on white, with hidden pixels in another colour.

    Parameters
    ----------
    values : array of shape (height, width)
        Grey values, 0 is white.
    observed : array of bool, same shape, optional
        False where a pixel is hidden.

    Returns
    -------
    str
        A data URI.

    Examples
    --------
    >>> picture(np.eye(8))[:22]
    'data:image/png;base64,'
    """
    grey = 255 - np.round(255 * values / max(float(values.max()), 1e-300))
    pixels = np.repeat(grey[:, :, None], 3, axis=2).astype(np.uint8)
    if observed is not None:
        pixels[~observed] = HIDDEN
    buffer = io.BytesIO()
    image = optional("matplotlib.image", extra="cli", purpose="drawing pictures")
    image.imsave(buffer, pixels, format="png", metadata={"Software": None})
    return data_uri(buffer.getvalue())


def drawing(width: float, height: float, theme: Theme, columns: int = 1) -> tuple[Any, Any]:
    """Make an empty figure and its axes in the colours of a page."""
    figure = optional("matplotlib.figure", extra="cli", purpose="drawing figures").Figure(
        figsize=(width, height), layout="constrained", facecolor=theme.paper
    )
    grid = figure.subplots(1, columns)
    for axes in np.atleast_1d(grid):
        axes.set_facecolor(theme.paper)
        axes.tick_params(which="both", colors=theme.ink)
        axes.xaxis.label.set_color(theme.ink)
        axes.yaxis.label.set_color(theme.ink)
        for edge in axes.spines.values():
            edge.set_color(theme.ink)
    return figure, grid


def encode(figure: Any) -> str:
    """Turn a figure into a data URI."""
    buffer = io.BytesIO()
    # No date and no program name, so that the same data give the same bytes.
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return data_uri(buffer.getvalue())
