"""Pages from templates: self-contained HTML documents in which everything is escaped that is not a template's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcomplete._report.figures import DARK, LIGHT, Theme
from simcomplete._rows.atomic import replacing
from simcomplete._version import __version__
from simcomplete.errors import optional

PURPOSE = "writing pages"


@dataclass(frozen=True)
class ThemedFigure:
    """A drawing for light and for dark pages (data URIs), what it shows in words, and a caption."""

    light: str
    dark: str
    alt: str
    caption: str


def themed(draw: Callable[[Theme], str], alt: str, caption: str) -> ThemedFigure:
    """Draw a figure in both themes.

    Parameters
    ----------
    draw : callable
        Takes a theme and returns a data URI.
    alt, caption : str
        Plain text.

    Examples
    --------
    >>> themed(lambda theme: f"data:,{theme.paper}", "nothing", "Nothing.").light
    'data:,#ffffff'
    """
    return ThemedFigure(draw(LIGHT), draw(DARK), alt, caption)


def require_packages() -> None:
    """Raise MissingExtraError before any work is done where a page could not be written after it."""
    optional("jinja2", extra="cli", purpose=PURPOSE)
    optional("matplotlib", extra="cli", purpose="drawing figures")


def render_page(template: str, context: Mapping[str, Any], package: str = "simcomplete._report") -> str:
    """Fill in a template.

    Parameters
    ----------
    template : str
        The name of a file in the folder `templates` of the package. It can extend or import those of this package.
    context : mapping
        What the template refers to. Text is escaped; a name that is not given is an error.
    package : str
        Where the template is.

    Returns
    -------
    str
        The whole document.
    """
    jinja = optional("jinja2", extra="cli", purpose=PURPOSE)
    packages = dict.fromkeys([package, "simcomplete._report"])
    environment = jinja.Environment(
        loader=jinja.ChoiceLoader([jinja.PackageLoader(name) for name in packages]),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return str(environment.get_template(template).render(version=__version__, **context))


def write_page(path: Path, html: str) -> None:
    """Write a page to a temporary name and move it into place."""
    with replacing(path) as draft:
        draft.write_text(html, encoding="utf-8", errors="surrogateescape")  # names of files may have any bytes
