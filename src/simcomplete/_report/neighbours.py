"""Cards of single queries: what was seen, the truth, and the nearest candidates before and after."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from simcomplete._report.demo import Demo
from simcomplete._report.figures import HIDDEN, picture
from simcomplete._result.search import top_k

QUERIES = 6
NEAREST = 5
TRUE = 10


def neighbours(demo: Demo) -> str:
    """Show the first queries with the nearest candidates by S0 and by the completion."""
    count = min(QUERIES, demo.queries)
    true = top_k(demo.query_block(demo.truth)[:count], min(TRUE, demo.candidates)).ids
    methods = {"S0": demo.before, demo.featured: demo.after}
    found = {name: top_k(demo.query_block(S)[:count], min(NEAREST, demo.candidates)) for name, S in methods.items()}
    cards = []
    for i in range(count):
        strips = [_strip(demo, name, ids[i], scores[i], set(true[i].tolist())) for name, (ids, scores) in found.items()]
        cards.append(f'<article class="query">\n{_query(demo, i)}\n{"".join(strips)}\n</article>')
    swatch = f'<span class="swatch" style="background: rgb{HIDDEN}"></span>'
    intro = (
        f"<p>The first {count} queries, not chosen. {swatch} marks hidden pixels. A green frame and the word "
        f"true mark candidates that are among the query's {true.shape[1]} nearest by S*. The number is the "
        "similarity: above 1 it is no cosine any more, and only the order counts.</p>"
    )
    return f'{intro}\n<div class="queries">\n' + "\n".join(cards) + "\n</div>"


def _query(demo: Demo, i: int) -> str:
    row = demo.candidates + i
    values, seen = demo.X[row].reshape(demo.image_shape), demo.observed[i].reshape(demo.image_shape)
    digit = escape(str(demo.y[row]))
    hidden = f"query {i + 1} as seen, {int((~seen).sum())} of {seen.size} pixels hidden"
    return (
        f'<h3>Query {i + 1}</h3>\n<ul class="strip">'
        f'<li><img src="{picture(values, seen)}" alt="{hidden}" width="8" height="8">seen</li>'
        f'<li><img src="{picture(values)}" alt="query {i + 1} complete: a {digit}" width="8" height="8">'
        f"truth: {digit}</li></ul>"
    )


def _strip(demo: Demo, name: str, ids: NDArray[np.int64], scores: NDArray[np.floating], true: set[int]) -> str:
    items = []
    for place, (j, score) in enumerate(zip(ids.tolist(), scores.tolist(), strict=True), start=1):
        digit, hit = escape(str(demo.y[j])), j in true
        alt = f"number {place} by {escape(name)}: a {digit}{', among the true nearest' if hit else ''}"
        items.append(
            f"<li{' class=hit' * hit}>"
            f'<img src="{picture(demo.X[j].reshape(demo.image_shape))}" alt="{alt}" width="8" height="8">'
            f"{score:.2f}{'<br>true' if hit else ''}</li>"
        )
    hits = sum(j in true for j in ids.tolist())
    title = f"Nearest by {escape(name)}: {hits} of {len(ids)} true"
    return f'<h4>{title}</h4>\n<ol class="strip">{"".join(items)}</ol>\n'
