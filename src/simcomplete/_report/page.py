"""One self-contained HTML page: nothing is loaded from anywhere, everything from outside is escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from simcomplete._report.figures import DARK, LIGHT, Theme
from simcomplete._rows.atomic import replacing


@dataclass(frozen=True)
class Section:
    """A part of the page: where links point to, its heading, and its body in HTML."""

    anchor: str
    title: str
    body: str


def page(title: str, lead: str, sections: Sequence[Section], foot: str) -> str:
    """Put sections into a page that reads on a phone, in light and in dark.

    Parameters
    ----------
    title : str
        Plain text.
    lead, foot : str
        HTML of the first paragraphs and of the footer.
    sections : sequence of Section
        What lies between, each with a link at the top.

    Returns
    -------
    str
        The whole document.

    Examples
    --------
    >>> html = page("A & B", "<p>lead</p>", [Section("one", "One", "<p>body</p>")], "<p>foot</p>")
    >>> "<h1>A &amp; B</h1>" in html, '<a href="#one">One</a>' in html
    (True, True)
    """
    style = files("simcomplete._report").joinpath("style.css").read_text(encoding="utf-8")
    links = "\n".join(f'<a href="#{escape(s.anchor)}">{escape(s.title)}</a>' for s in sections)
    body = "\n".join(
        f'<section id="{escape(s.anchor)}">\n<h2>{escape(s.title)}</h2>\n{s.body}\n</section>' for s in sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{lead}
<nav aria-label="Sections">
{links}
</nav>
</header>
<main>
{body}
</main>
<footer>
{foot}
</footer>
</body>
</html>
"""


def figure(draw: Callable[[Theme], str], alt: str, caption: str) -> str:
    """Show a drawing in the page's own light or dark.

    Parameters
    ----------
    draw : callable
        Takes a theme and returns a data URI.
    alt, caption : str
        Plain text.
    """
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{draw(DARK)}">'
        f'<img src="{draw(LIGHT)}" alt="{escape(alt)}"></picture>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def table(about: str, head: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int] = (0,)) -> str:
    """Write a table of plain text that scrolls by itself where the screen is narrow.

    Parameters
    ----------
    about : str
        What the table shows; stands above it.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        The cells; the first of each row names it.
    text : sequence of int
        Columns of words, aligned to the left.

    Examples
    --------
    >>> '<th scope="row">a &lt; b</th><td>1</td>' in table("about", ["name", "count"], [["a < b", "1"]])
    True
    """
    kinds = [' class="text"' if j in text else "" for j in range(len(head))]
    names = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for kind, name in zip(kinds, head, strict=True))
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td{kind}>{escape(c)}</td>" for kind, c in zip(kinds[1:], others, strict=True))
        lines.append(f'<tr><th scope="row">{escape(first)}</th>{cells}</tr>')
    return (
        f'<p class="soft">{escape(about)}</p>\n'
        f'<div class="wide" role="region" aria-label="{escape(about)}" tabindex="0"><table>\n'
        f"<thead><tr>{names}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table></div>"
    )


def write(path: Path, html: str) -> None:
    """Write a page to a temporary name and move it into place."""
    with replacing(path) as draft:
        draft.write_text(html, encoding="utf-8")
