"""List all methods' parameters in a docstring, and suggest the nearest name for one that is misspelt."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from simcomplete.errors import InputError

if TYPE_CHECKING:
    from simcomplete._method.spec import Method

# Accepted by every method in addition to its own parameters.
BESIDE = ("preset", "tune")
WIDTH = 112


def unknown_parameter(
    name: str, own: Iterable[str], function: Callable[..., Any], of: str, shown: Iterable[str] | None = None
) -> InputError:
    """Return the error for an unknown keyword, with the nearest name among the method's and the function's parameters.

    `own` are the names that may have been meant, `shown` those to list in the message if `own` are too many.

    Examples
    --------
    >>> def complete(candidates, *, method="auto", **params): ...
    >>> print(unknown_parameter("metod", ["effort"], complete, "method 'posterior'"))
    method 'posterior' has no parameter 'metod'; did you mean 'method'? Its own parameters are effort
    """
    shared = [n for n, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]
    near = difflib.get_close_matches(name, [*own, *shared, *BESIDE], n=1)
    hint = f"did you mean {near[0]!r}? Its" if near else "its"
    listed = ", ".join(own if shown is None else shown) or "none"
    return InputError(f"{of} has no parameter {name!r}; {hint} own parameters are {listed}", about=tuple(near))


def with_own_parameters(doc: str | None, methods: Iterable[Method]) -> str | None:
    r"""Return a docstring with a section on the methods' own parameters, from their specifications.

    Examples
    --------
    >>> from simcomplete._registry import REGISTRY
    >>> print(with_own_parameters("Do it.\n\n    Examples\n    --------\n    None.", [REGISTRY["posterior"]]))
    Do it.
    <BLANKLINE>
        Notes
        -----
        The methods' own parameters, with their defaults; ``sc.methods()["posterior"].parameters`` explains them.
    <BLANKLINE>
        - posterior: effort='full', objective='error', mechanism='auto', copies=None, prior=None
    <BLANKLINE>
        Examples
        --------
        None.
    """
    if doc is None:  # python -OO
        return None
    alike: dict[str, list[str]] = {}
    for method in methods:
        if method.parameters:
            alike.setdefault(_signature(method.parameters.defaults), []).append(method.name)
    where = '``sc.methods()["posterior"].parameters``'
    said = f"The methods' own parameters, with their defaults; {where} explains them."
    lines = [
        textwrap.fill(f"- {', '.join(names)}: {text}", WIDTH, subsequent_indent="  ") for text, names in alike.items()
    ]
    # The margin is the docstring's own: from Python 3.13 on the compiler takes it away.
    margin, examples = re.search(r"\n( *)Examples\n", doc).group(1, 0)  # type: ignore[union-attr]
    notes = textwrap.indent("\n".join(["Notes", "-----", said, "", *lines]), margin)
    return doc.replace(examples, f"\n{notes}\n{examples}", 1)


def _signature(defaults: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in defaults.items())
