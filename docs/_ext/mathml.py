"""Formulae as MathML, which browsers draw themselves: no script, no font, no picture."""

import html
import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

IDENTIFIER = re.compile(r"<mi>(&#x[0-9A-F]+;)</mi>")


def operator(match):
    """A sign that the converter takes for an identifier, such as that of positive semi-definite, as an operator."""
    sign = html.unescape(match[1])
    mathematical = unicodedata.category(sign) == "Sm" and sign not in "∞∅"
    return f"<mo>{match[1]}</mo>" if mathematical else match[0]


def mathml(node, display):
    """The formula as MathML; signs have the space of operators, and the bars of a norm the height of letters."""
    text = IDENTIFIER.sub(operator, convert(node.astext(), display=display))
    return text.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')


def visit_math(self, node):
    """Write a formula within a line."""
    self.body.append(mathml(node, "inline"))
    raise SkipNode


def visit_math_block(self, node):
    """Write a formula on a line of its own, which scrolls where the page is narrow."""
    self.body.append(f'<div class="math-block">{mathml(node, "block")}</div>')
    raise SkipNode


def setup(app):
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
