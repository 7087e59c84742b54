"""Formulae as MathML, which browsers draw themselves: no script, no font, no picture."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def mathml(node, display):
    """The formula as MathML; the bars of a norm are as high as letters, also where they have an index."""
    text = convert(node.astext(), display=display)
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
