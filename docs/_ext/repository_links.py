"""Links that work in the repository, made to work in the site.

Pages of the repository's root are included by pages of the site; their links start from another folder, and some lead
to source files, which the site shows by its own pages of the reference.
"""

import re

# A page of the repository and its page in the site.
PAGES = {"CONTRIBUTING.md": "contribute.md", "CHANGELOG.md": "changes.md", "README.md": "index.md"}
SOURCE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*(?:src|tests|benchmarks|examples|\.github|\.ci)/[^)]*\)")
FOLDER = re.compile(r"\[([^\]]+)\]\((?:reproduction|docs/methods)/?\)")


def mended(text):
    """Return a page with links that hold in the site."""
    text = text.replace("](../examples)", "](gallery/index.rst)")  # made from them
    text = SOURCE.sub(r"\1", text)
    text = FOLDER.sub(r"\1", text)
    text = text.replace("](docs/", "](")
    for name, page in PAGES.items():
        text = text.replace(f"](../{name}", f"]({page}").replace(f"]({name}", f"]({page}")
    return text


def on_read(app, docname, source):
    """Mend a page as it is read."""
    source[0] = mended(source[0])


def on_include(app, path, parent, source):
    """Mend a page as it is included in another."""
    source[0] = mended(source[0])


def setup(app):
    """Tell Sphinx of both."""
    app.connect("source-read", on_read)
    app.connect("include-read", on_include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
