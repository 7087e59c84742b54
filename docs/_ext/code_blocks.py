"""Indented examples are shown like fenced ones, and numbers such as 1e-12 are not broken at their hyphen."""

import re

from docutils import nodes

NUMBER = re.compile(r"(\d+(?:\.\d+)?e-\d+)")


def finish(app, doctree):
    """Give examples that begin with a prompt their language, without the empty line that ends a doctest."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if text.startswith(">>>"):
            block["language"] = "pycon"
            block.clear()
            block += nodes.Text(text.rstrip())
            block.rawsource = text.rstrip()
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block)):
            parts = NUMBER.split(text)
            if len(parts) > 1:
                text.parent.replace(
                    text, [whole(part) if NUMBER.fullmatch(part) else nodes.Text(part) for part in parts]
                )


def whole(number):
    """Return a number that stays on one line."""
    return nodes.inline("", number, classes=["number"])


def setup(app):
    """Tell Sphinx of it."""
    app.connect("doctree-read", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
