"""Parameters of estimators that are misspelt: the nearest name, where Python would only say that there is no such."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any

from simcomplete.errors import InputError


class NamedParameters:
    """Estimators whose constructor suggests the nearest name for one that it does not have.

    Examples
    --------
    >>> import simcomplete as sc
    >>> try:
    ...     sc.PosteriorCompleter(efort="fast")
    ... except sc.errors.InputError as error:
    ...     print(str(error).split("?")[0])
    PosteriorCompleter has no parameter 'efort'; did you mean 'effort'
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _suggesting(vars(cls)["__init__"]))  # noqa: B010 - mypy forbids the assignment


def _suggesting(construct: Any) -> Any:
    """A constructor that takes the same parameters, which scikit-learn reads from its signature."""
    own = [name for name in inspect.signature(construct).parameters if name != "self"]

    @functools.wraps(construct)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in own:
                near = difflib.get_close_matches(name, own, n=1)
                hint = f"did you mean {near[0]!r}? Its" if near else "its"
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; {hint} parameters are {', '.join(own)}"
                )
        construct(self, *args, **given)

    return checked
