"""Arrays and plain values out of a pickle, without unpickling it.

A pickle is a program. Python's own machine runs it, may import anything, and even restricted to a few names it
can be made to crash. This small machine knows only the instructions that make bytes, text, numbers, lists,
tuples, dicts and NumPy arrays of numbers; whatever else the file asks for is named in the error. Nothing is
imported or called on behalf of the file.
"""

from __future__ import annotations

import pickletools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import FileFormatError

# By the name a pickle has for it: which part of the machine stands in for it. Nothing is ever looked up.
STAND_INS = {
    "_codecs encode": "encode",
    "__builtin__ bytes": "empty",
    "builtins bytes": "empty",
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy.core.numeric _frombuffer": "frombuffer",
    "numpy._core.numeric _frombuffer": "frombuffer",
}
CONSTANTS = re.compile(
    r"INT|BININT[12]?|LONG[14]?|(BIN)?FLOAT|UNICODE|(SHORT_)?BINUNICODE|BINUNICODE8|(SHORT_)?BINBYTES|BINBYTES8|BYTEARRAY8"
)
# Texts of Python 2: bytes, which the disassembler shows as Latin-1.
OLD_TEXTS = ("STRING", "BINSTRING", "SHORT_BINSTRING")
FIXED = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}


@dataclass(frozen=True)
class _StandIn:
    """What the file believes to be a function."""

    part: str


@dataclass
class _Shell:
    """An array or a dtype that gets its content later, as pickles do it."""

    value: Any = None


class _Mark:
    """Where a list or dict began on the stack."""


def unpickle(data: bytes, path: Path) -> Any:
    """Return the value that a pickle describes; arrays come as NumPy arrays, read-only.

    Parameters
    ----------
    data : bytes
        The pickle.
    path : Path
        What to call it in errors.

    Examples
    --------
    >>> unpickle(b"\\x80\\x02}q\\x00X\\x01\\x00\\x00\\x00aq\\x01K\\x05s.", Path("x"))
    {'a': 5}
    """
    machine = _Machine(path, len(data))
    try:
        for code, argument, position in pickletools.genops(data):
            machine.step(code.name, argument, position)
    except FileFormatError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(
            f"{path}: is not a pickle, or is truncated or damaged ({reason}); fetch it again"
        ) from error
    return machine.stack[-1]


class _Machine:
    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.left = size  # bytes that texts may still be copied into
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any, position: int | None) -> None:
        """Do one instruction."""
        stack = self.stack
        if CONSTANTS.fullmatch(name):
            stack.append(argument)
        elif name in OLD_TEXTS:
            stack.append(argument.encode("latin-1") if isinstance(argument, str) else argument)
        elif name in FIXED:
            stack.append(FIXED[name])
        elif name in ("PROTO", "FRAME"):
            pass
        elif name == "STOP":
            self._finish()
        elif name == "MARK":
            stack.append(_Mark())
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if argument is None else argument] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            last = None if name == "GLOBAL" else _text(stack.pop())
            self._name(argument if last is None else f"{_text(stack.pop())} {last}")
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(self._call(stack.pop(), arguments))
        elif name == "BUILD":
            state = stack.pop()
            self._fill(stack[-1], state)
        elif not self._collect(name):
            raise self._refuse(f"the instruction {name} at byte {position}")

    def _collect(self, name: str) -> bool:
        """Make or lengthen a list, tuple or dict."""
        stack = self.stack
        if name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
            empty: Any = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}[name]
            stack.append(empty())
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            size = int(name[-1])
            if len(stack) < size:
                raise ValueError("a tuple of what is not there")
            stack[-size:] = [tuple(stack[-size:])]
        elif name in ("TUPLE", "LIST", "DICT"):
            items = self._since_mark()
            stack.append(tuple(items) if name == "TUPLE" else items if name == "LIST" else self._pairs({}, items))
        elif name in ("APPEND", "APPENDS"):
            items = self._since_mark() if name == "APPENDS" else [stack.pop()]
            _kind(stack[-1], list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self._since_mark() if name == "SETITEMS" else [stack.pop(), stack.pop()][::-1]
            self._pairs(_kind(stack[-1], dict), items)
        else:
            return False
        return True

    def _since_mark(self) -> list[Any]:
        items = []
        while not isinstance(item := self.stack.pop(), _Mark):
            items.append(item)
        return items[::-1]

    def _pairs(self, target: dict[Any, Any], items: list[Any]) -> dict[Any, Any]:
        for key, value in zip(items[::2], items[1::2], strict=True):
            # Only these: the hash of a tuple nested a million times would overflow the stack.
            if not isinstance(key, (str, bytes, int)):
                raise self._refuse(f"a dict key of type {type(key).__name__}")
            target[key] = value.value if isinstance(value, _Shell) else value
        return target

    def _name(self, wanted: str) -> None:
        if wanted not in STAND_INS:
            raise self._refuse(repr(wanted[:80].replace(" ", ".")))
        self.stack.append(_StandIn(STAND_INS[wanted]))

    def _call(self, function: Any, arguments: Any) -> Any:
        part = _kind(function, _StandIn).part
        arguments = _kind(arguments, tuple)
        if part == "encode" and arguments[1:] in (("latin1",), ("latin-1",)):
            self.left -= len(_kind(arguments[0], str))
            if self.left < 0:
                raise self._refuse("more copies of a text than the file is long")
            return arguments[0].encode("latin-1")
        if part == "empty" and not arguments:
            return b""
        if part == "array":
            return _Shell()
        if part == "dtype":
            return _Shell(self._dtype(arguments[0]))
        if part == "frombuffer":
            data, dtype, shape, order = arguments
            return _Shell(self._array(data, dtype, shape, fortran=order == "F"))
        raise self._refuse(f"a call of {part} with {len(arguments)} arguments")

    def _fill(self, shell: Any, state: Any) -> None:
        shell, state = _kind(shell, _Shell), _kind(state, tuple)
        if isinstance(shell.value, np.dtype):
            order = _text(state[1])
            if order not in ("<", ">", "|", "=") or any(part is not None for part in state[2:5]):
                raise self._refuse("an array with fields or sub-arrays")
            shell.value = np.dtype(f"{order}{shell.value.kind}{shell.value.itemsize}")
        else:
            _, shape, dtype, fortran, data = state
            shell.value = self._array(data, dtype, shape, fortran=bool(fortran))

    def _dtype(self, code: Any) -> np.dtype[Any]:
        text = _text(code)
        if not re.fullmatch(r"[<>|=]?(b1|[iu][1248]|f[248])", text):
            raise self._refuse(f"an array of {text[:20]!r}; numbers are needed")
        return np.dtype(text)

    def _array(self, data: Any, dtype: Any, shape: Any, *, fortran: bool) -> NDArray[Any]:
        kind = _kind(_kind(dtype, _Shell).value, np.dtype)
        sizes = [_kind(size, int) for size in _kind(shape, tuple)]
        flat = np.frombuffer(_kind(data, (bytes, bytearray)), kind)
        if any(size < 0 for size in sizes):
            raise ValueError(f"an array of shape {tuple(sizes)}")
        return flat.reshape(sizes, order="F" if fortran else "C")

    def _finish(self) -> None:
        if len(self.stack) != 1:
            raise ValueError(f"{len(self.stack)} values are left where there should be one")
        if isinstance(self.stack[0], (_StandIn, _Mark)):
            raise ValueError("it ends before it has made a value")
        if isinstance(self.stack[0], _Shell):
            self.stack[0] = self.stack[0].value

    def _refuse(self, what: str) -> FileFormatError:
        return FileFormatError(
            f"{self.path}: the pickle asks for {what}; only arrays of numbers, text, numbers, lists, tuples and "
            "dicts are read; do not open this file with pickle unless you trust it"
        )


def _kind(value: Any, kind: Any) -> Any:
    """Return a value of the kind that belongs here."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} where something else belongs")
    return value


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(_kind(value, str))
