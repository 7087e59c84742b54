"""Messages of the library in words of the command line: ``rank=4`` becomes ``--rank 4``.

An error names the parameters that its message speaks of (`InputError.about`); here, and only here, they are given the
names of the command's options. Parameters without an option of their own are those of ``--param``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

# Parameters of the library whose option has another name.
OTHER_NAMES = {"random_state": "seed"}
OPTIONS_OF_WARNINGS = "id|center|scale"
VALUE = r"(?:'[^']*'|[^\s;,()]*)"  # as repr writes it


def in_options(message: str, about: Sequence[str], options: Mapping[str, str]) -> str:
    """A message with options in place of the parameters that it is about.

    Parameters
    ----------
    message : str
        As the library wrote it.
    about : sequence of str
        Parameters that it names.
    options : mapping of str to str
        The options of the command, by the names of their variables.

    Examples
    --------
    >>> in_options("rank=4 exceeds the 3 samples given; use rank <= 3", ["rank"], {"rank": "--rank"})
    '--rank 4 exceeds the 3 samples given; use --rank <= 3'
    >>> in_options("effort='huge' is unknown; use 'full' or 'fast'", ["effort"], {})
    "--param effort=huge is unknown; use 'full' or 'fast'"
    >>> in_options("memory='lots' is no amount of memory", ["memory"], {"memory": "--memory"})  # a word, no parameter
    '--memory lots is no amount of memory'
    """
    for name in sorted(about, key=len, reverse=True):
        option = options.get(OTHER_NAMES.get(name, name))
        word = re.escape(name)
        if option is None:
            message = re.sub(rf"(?<![\w=-]){word}=({VALUE})", lambda m: f"--param {name}={_bare(m[1])}", message)  # noqa: B023
            message = message.replace(f"{name!r}", f"--param {name}=...")
        else:
            message = re.sub(rf"(?<![\w=-]){word}=({VALUE})", lambda m: f"{option} {_bare(m[1])}".rstrip(), message)  # noqa: B023
            message = re.sub(rf"'{word}'|(?<!of )(?<![\w=<>'-]){word}(?![\w='-])", option, message)
    return message


def warning_in_options(message: str) -> str:
    """A warning about what was given, with options in place of parameters.

    Examples
    --------
    >>> warning_in_options("An id? Say id='no', or say id=False if it is a feature; center= takes means away")
    'An id? Say --id no; --center takes means away'
    """
    message = message.replace(", or say id=False if it is a feature", "")  # on the command line, without --id
    return re.sub(rf"\b({OPTIONS_OF_WARNINGS})=({VALUE})", lambda m: f"--{m[1]} {_bare(m[2])}".rstrip(), message)


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value
