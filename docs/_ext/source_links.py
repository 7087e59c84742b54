"""Links from inherited methods and from properties to their source, which viewcode looks for in the class alone."""

import importlib
import inspect
from collections import defaultdict

from sphinx.pycode import ModuleAnalyzer

# By module: the name of a member as documented, and its name where it is defined.
INHERITED = defaultdict(dict)


def defining_module(app, modname, fullname):
    """Return the module that defines a member of a class, and remember under which name; None for anything else."""
    if not modname or "." not in fullname:
        return None
    path, member = fullname.rsplit(".", 1)
    owner = importlib.import_module(modname)
    for name in path.split("."):
        owner = getattr(owner, name, None)
    for one in getattr(owner, "__mro__", ()):
        if member in vars(one):
            found = vars(one)[member]
            # Of a property the function behind it; some methods are functions of another module.
            function = inspect.unwrap(getattr(found, "fget", None) or getattr(found, "func", None) or found)
            module = getattr(function, "__module__", None) or one.__module__
            if not module.startswith("simcomplete."):
                return None
            INHERITED[module][fullname] = getattr(function, "__qualname__", f"{one.__qualname__}.{member}")
            return module
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
