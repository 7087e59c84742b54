"""Parameters of methods as data: accepted values, default and meaning, and the function that checks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from simcomplete._result.text import aligned
from simcomplete.errors import InputError

FEW = 8  # numbers that an error message repeats


class Constraint(Protocol):
    """A set of accepted values."""

    def holds(self, value: Any) -> bool:
        """Whether it is."""

    def __str__(self) -> str:
        """Describe the accepted values, in words that continue "must be"."""


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`.

    Examples
    --------
    >>> str(Whole(1)), Whole(1).holds(True), Whole(1, 3).holds(3)
    ('a whole number of at least 1', False, True)
    """

    low: int = 0
    high: int | None = None

    def holds(self, value: Any) -> bool:
        """Whether the value is accepted; True and False are not numbers."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            return False
        return bool(self.low <= value and (self.high is None or value <= self.high))

    def __str__(self) -> str:
        return f"a whole number {f'of at least {self.low}' if self.high is None else f'from {self.low} to {self.high}'}"


@dataclass(frozen=True)
class Number:
    """A finite number from `low` to `high`; `above` leaves `low` itself out."""

    low: float = 0.0
    high: float = np.inf
    above: bool = False

    def holds(self, value: Any) -> bool:
        """Whether the value is accepted; text, True and False are not numbers."""
        if isinstance(value, (bool, np.bool_, str)) or is_arrays(value):
            return False
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return False
        large = number > self.low if self.above else number >= self.low
        return bool(np.isfinite(number) and large and number <= self.high)

    def __str__(self) -> str:
        if self.high < np.inf:
            return f"a number between {self.low:g} and {self.high:g}"
        return f"a number {'above' if self.above else 'at least'} {self.low:g}"


@dataclass(frozen=True, init=False)
class Words:
    """One of some words (or other fixed values)."""

    words: tuple[Any, ...]

    def __init__(self, *words: Any) -> None:
        object.__setattr__(self, "words", words)

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return any(type(value) is type(word) and value == word for word in self.words)

    def __str__(self) -> str:
        return listed([repr(word) for word in self.words])


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return isinstance(value, (bool, np.bool_))

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Function:
    """A callable."""

    what: str = "a function of iteration and facts"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return callable(value)

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Arrays:
    """Arrays; the method itself checks their shapes, which depend on the data."""

    what: str

    def holds(self, value: Any) -> bool:
        """Whether the value can be turned into arrays."""
        return is_arrays(value)

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Shares:
    """Named shares of a whole, whose sum is above 0 and at most `most`.

    Examples
    --------
    >>> Shares(("even", "odd"), 0.9).holds((0.5, 0.0)), Shares(("even", "odd"), 0.9).holds((0.5, 0.5))
    (True, False)
    >>> str(Shares(("even", "odd"), 0.9))
    'the shares of even and odd, in all above 0 and at most 0.9'
    """

    of: tuple[str, ...]
    most: float = 1.0

    def holds(self, value: Any) -> bool:
        """Whether the values are such shares."""
        if not is_arrays(value) or len(value) != len(self.of) or not all(map(Number(0.0, self.most).holds, value)):
            return False
        return 0 < sum(map(float, value)) <= self.most

    def __str__(self) -> str:
        names = f"{', '.join(self.of[:-1])} and {self.of[-1]}"
        return f"the shares of {names}, in all above 0 and at most {self.most:g}"


@dataclass(frozen=True)
class Nothing:
    """None."""

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return value is None

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method.

    Attributes
    ----------
    name, default
        Its name, and its value if none is given.
    accepts : tuple of Constraint
        The accepted values: those of any of these constraints.
    meaning : str
        What it does, in a sentence.

    Examples
    --------
    >>> Parameter("max_iter", 100, (Whole(1),), "most iterations").checked(0)
    Traceback (most recent call last):
    simcomplete.errors.InputError: max_iter=0 must be a whole number of at least 1
    """

    name: str
    default: Any
    accepts: tuple[Constraint, ...]
    meaning: str

    def checked(self, value: Any) -> Any:
        """Return the value, or raise an error that says what is needed."""
        if any(constraint.holds(value) for constraint in self.accepts):
            return value
        needed = [constraint for constraint in self.accepts if not isinstance(constraint, Nothing)]
        need = listed([str(constraint) for constraint in needed])
        short = (
            isinstance(value, (list, tuple)) and len(value) <= FEW and all(isinstance(v, (int, float)) for v in value)
        )
        whole = short or not is_arrays(value)
        given = f"{self.name}={value!r}" if whole else f"{self.name} of type {type(value).__name__}"
        if isinstance(value, str) or all(isinstance(constraint, Words) for constraint in needed):
            raise InputError(f"{given} is unknown; use {need}", about=(self.name,))
        if all(isinstance(constraint, Function) for constraint in needed):
            raise InputError(f"{given} cannot be called; give {need}", about=(self.name,))
        if any(isinstance(constraint, Number) for constraint in needed):
            raise InputError(f"{given} is not {need}; give one", about=(self.name,))
        raise InputError(f"{given} must be {need}", about=(self.name,))

    @property
    def type(self) -> str:
        """The accepted values, in words."""
        return listed([str(constraint) for constraint in self.accepts])


class Parameters(Mapping[str, Parameter]):
    """The parameters of a method by name; prints as a table.

    Examples
    --------
    >>> Parameters(Parameter("tol", 1e-6, (Number(),), "stop below this"))
    name  type                 default  meaning
    tol   a number at least 0  1e-06    stop below this
    """

    def __init__(self, *parameters: Parameter) -> None:
        self._by_name = {parameter.name: parameter for parameter in parameters}
        self.defaults = {parameter.name: parameter.default for parameter in parameters}

    def __getitem__(self, name: str) -> Parameter:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Check values; unknown names are returned unchanged."""
        return {name: self[name].checked(value) if name in self else value for name, value in values.items()}

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("name", "type", "default", "meaning")]
        rows += [(p.name, p.type, repr(p.default), p.meaning) for p in self._by_name.values()]
        return aligned(rows) if len(rows) > 1 else "no parameters of its own"


def is_arrays(value: Any) -> bool:
    """Whether a value is an array, or several in a list or tuple, which may differ in shape."""
    return isinstance(value, (list, tuple)) or len(getattr(value, "shape", ())) > 0


def listed(words: list[str]) -> str:
    """Return words joined as "a, b or c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def parameter(name: str, default: Any, *accepts: Constraint, meaning: str) -> Parameter:
    """Make a parameter; None is also accepted if it is the default."""
    constraints = accepts if default is not None else (*accepts, Nothing())
    return Parameter(name, default, constraints, meaning)


# What every iterative method takes besides its own max_iter and tol.
TIME_LIMIT = parameter("time_limit", None, Number(), meaning="seconds for the iterations")
CALLBACK = parameter(
    "callback",
    None,
    Function(),
    meaning="callback(iteration, facts) after every iteration; true ends the run",
)
ON_INTERRUPT = parameter(
    "on_interrupt",
    None,
    Words("raise", "return"),
    meaning="Ctrl-C: 'raise' KeyboardInterrupt, or 'return' the best so far; None: 'raise'",
)
ITERATION = (TIME_LIMIT, CALLBACK, ON_INTERRUPT)


def max_iter(default: int | None, meaning: str = "most iterations") -> Parameter:
    """The parameter max_iter with a method's own default."""
    return parameter("max_iter", default, Whole(1), meaning=meaning)


def tol(default: float | None, meaning: str) -> Parameter:
    """The parameter tol with a method's own default."""
    return parameter("tol", default, Number(), meaning=meaning)
