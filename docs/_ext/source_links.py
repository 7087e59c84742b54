"""Links from inherited methods and from properties to their source, which viewcode looks for in the class alone."""

import importlib
from collections import defaultdict

from sphinx.pycode import ModuleAnalyzer

# By module: the name of a member as documented, and its name where it is defined.
INHERITED = defaultdict(dict)


def defining_module(app, modname, fullname):
    """Return the module of the class that defines a member, and remember under which name; None for anything else."""
    if not modname or "." not in fullname:
        return None
    path, member = fullname.rsplit(".", 1)
    owner = importlib.import_module(modname)
    for name in path.split("."):
        owner = getattr(owner, name, None)
    for one in getattr(owner, "__mro__", ()):
        if member in vars(one):
            INHERITED[one.__module__][fullname] = f"{one.__qualname__}.{member}"
            return one.__module__
    return None


def source_with_inherited(app, modname):
    """Return a module's source and the lines of its names, those of inherited members under their documented names."""
    if modname not in INHERITED:
        return None
    analyzer = ModuleAnalyzer.for_module(modname)
    analyzer.find_tags()
    for documented, defined in INHERITED[modname].items():
        if defined in analyzer.tags:
            analyzer.tags.setdefault(documented, analyzer.tags[defined])
    return analyzer.code, analyzer.tags


def setup(app):
    """Tell viewcode of both."""
    app.connect("viewcode-follow-imported", defining_module)
    app.connect("viewcode-find-source", source_with_inherited)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
