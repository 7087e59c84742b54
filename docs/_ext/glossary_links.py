"""The first use of a glossary's word on a page leads to the glossary."""

import re

from docutils import nodes

# A word of the glossary, and how it is found in a text.
WORDS = {
    "candidates": r"(?<![\w-])candidates?(?![\w-])",
    "queries": r"(?<![\w-])quer(?:ies|y)(?![\w-])",
    "overlap similarity": r"\boverlap similarit(?:y|ies)\b|\boverlap cosine\b|\bS0\b",
    "evidence": r"(?<![\w-])evidence(?![\w-])",
    "coverage": r"(?<![\w-])coverage(?![\w-])",
    "certificate": r"(?<![\w-])certificate(?![\w-])",
    "posterior": r"(?<![\w-])posterior(?![\w-])",
}
# The method of this name is written as code, and is a word of the glossary all the same.
CODE = {"posterior": "posterior"}
WITHIN = (nodes.paragraph,)
# Emphasis is what names of parameters become in docstrings.
NOT_WITHIN = (nodes.reference, nodes.literal, nodes.title, nodes.literal_block, nodes.term, nodes.caption, nodes.topic)
NOT_WITHIN += (nodes.emphasis, nodes.title_reference)


def allowed(text):
    """Say whether a text may hold a link: running prose, and no link, code or heading."""
    above = text.parent
    prose = False
    while above is not None:
        if isinstance(above, NOT_WITHIN):
            return False
        prose = prose or isinstance(above, WITHIN)
        above = above.parent
    return prose


def link_first_uses(app, doctree, docname):
    """Put the links into a page."""
    if docname == "glossary":
        return
    left = dict(WORDS)
    for text in list(doctree.findall(nodes.Text)):
        code = text.parent
        if isinstance(code, nodes.literal) and CODE.get(str(text)) in left and allowed(code):
            link = link_to(app, docname, CODE[str(text)])
            code.parent.replace(code, link)
            link += code
            del left[CODE[str(text)]]
        elif left and allowed(text):
            made, left = linked(app, docname, str(text), left)
            if made is not None:
                text.parent.replace(text, made)


def link_to(app, docname, word, text=""):
    """Return a link from a page to a word of the glossary."""
    base = app.builder.get_relative_uri(docname, "glossary")
    link = nodes.reference("", text, internal=True, refuri=f"{base}#term-{word.replace(' ', '-')}")
    link["classes"].append("glossary-link")
    return link


def linked(app, docname, text, left):
    """Return a text as nodes with links, or None, and the words that are still to be found."""
    found = []
    for word, pattern in left.items():
        match = re.search(pattern, text, re.IGNORECASE)
        if match and not any(match.start() < end and start < match.end() for start, end, _ in found):
            found.append((*match.span(), word))
    if not found:
        return None, left
    made, at = [], 0
    for start, end, word in sorted(found):
        made += [nodes.Text(text[at:start]), link_to(app, docname, word, text[start:end])]
        at = end
    made.append(nodes.Text(text[at:]))
    return made, {word: pattern for word, pattern in left.items() if word not in {each for *_, each in found}}


def setup(app):
    """Tell Sphinx of it."""
    app.connect("doctree-resolved", link_first_uses)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
