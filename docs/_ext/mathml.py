"""Formulae as MathML, which browsers draw themselves: no script, no font, no picture."""

import html
import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

IDENTIFIER = re.compile(r"<mi>(&#x[0-9A-F]+;)</mi>")
NAMED = re.compile(
    r'(<mrow>|<munder>|</mo>)?<mo>([a-zA-Z]{2,})</mo>(?=(<mo stretchy="false">&#x00028;|(?:<msub>)?<mrow><mo )?)'
)
THIN, THICK = "0.167em", "0.278em"


def relation(match):
    """A sign that the converter takes for an identifier, such as that of positive semi-definite, as a relation."""
    sign = html.unescape(match[1])
    if unicodedata.category(sign) != "Sm" or sign in "∞∅":
        return match[0]
    # A plain tilde is an accent in MathML, and has no space around it.
    return f'<mo lspace="{THICK}" rspace="{THICK}">{"&#x0223C;" if sign == "~" else match[1]}</mo>'


def named(match):
    """A function such as diag or max: a thin space before and after it, none before its parenthesis."""
    before, name, parenthesis = match.groups()
    left, right = ("0" if before else THIN), ("0" if parenthesis else THIN)
    return f'{before or ""}<mo lspace="{left}" rspace="{right}">{name}</mo>'


def mathml(text, display):
    """A formula in LaTeX as MathML, with the spaces that LaTeX would put around its operators."""
    text = NAMED.sub(named, IDENTIFIER.sub(relation, convert(text, display=display)))
    # The bars of a norm have the height of letters, and those of an absolute value no space.
    text = text.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')
    # A slash has no space, as in LaTeX.
    text = text.replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">/</mo>')
    return text.replace('<mo stretchy="false">&#x0007C;</mo>', '<mo stretchy="false" lspace="0" rspace="0">|</mo>')


def visit_math(self, node):
    """Write a formula within a line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def visit_math_block(self, node):
    """Write a formula on a line of its own, which scrolls where the page is narrow."""
    self.body.append(f'<div class="math-block">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def setup(app):
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
