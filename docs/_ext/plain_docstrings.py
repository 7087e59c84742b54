"""Docstrings write |x| and n_features_in_ for readers of `help()`; reStructuredText would take these for markup."""

import re

PARAMETERS = re.compile(r"(\s*)- ([\w, ]+): (\w+=.*)")
CONTINUED = re.compile(r"\s*\w+=")
MARKUP = re.compile(r"(?<!\\)\||(?<=\w)_(?=\W|$)|(?<![\w*])\*(?=[^*\s])")


def escaped(line):
    """Return a line with what looks like markup escaped, but for what is in backticks."""
    parts = re.split(r"(`+[^`]*`+_?)", line)
    return "".join(part if at % 2 else MARKUP.sub(r"\\\g<0>", part) for at, part in enumerate(parts))


def with_code(lines):
    """Return lines in which the parameters of methods, "- lr: eps=0.001" over one line or more, are code."""
    made = []
    for line in lines:
        listed = PARAMETERS.match(line)
        if made and made[-1].lstrip().startswith("- ") and made[-1].endswith("``") and CONTINUED.match(line):
            made[-1] = f"{made[-1][:-2]} {line.strip()}``"
        else:
            made.append(f"{listed[1]}- {listed[2]}: ``{listed[3]}``" if listed else line)
    return made


def on_docstring(app, what, name, obj, options, lines):
    """Escape a docstring's prose; examples stay as they are."""
    lines[:] = with_code(lines)
    in_example = False
    for at, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example and not line.lstrip().startswith(".. "):
            lines[at] = escaped(line)


def setup(app):
    """Run before numpydoc puts docstrings into its own form."""
    app.connect("autodoc-process-docstring", on_docstring, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
