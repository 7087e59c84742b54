"""Messages of the library in words of the command line: ``rank=4`` becomes ``--rank 4``.

An error names the parameters that its message speaks of (`InputError.about`); here, and only here, they are given the
names of the command's options. Parameters without an option of their own are those of ``--param``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from simcomplete._rows.square import DISTANCES, SIMILARITIES

SHELL_SIMILARITIES = (
    "this command, whose rows are samples and whose columns are their features; to repair a similarity or correlation "
    "matrix: simcomplete repair MATRIX -o OUT (in Python also sc.complete_similarity(S, method='dmc'))"
)
SHELL_DISTANCES = (
    "give the samples themselves, or in Python similarities to sc.complete_similarity(): 1 - D for cosine distances, "
    "for others for example numpy.exp(-(D / numpy.median(D)) ** 2)"
)
# Parameters of the library whose option has another name.
OTHER_NAMES = {"random_state": "seed"}
OPTIONS_OF_WARNINGS = "id|drop|center|scale"
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
    >>> in_options("memory='lots' is not an amount of memory", ["memory"], {"memory": "--memory"})
    '--memory lots is not an amount of memory'
    >>> in_options("method='foo' is unknown", ["method"], {"methods": "--methods"})
    '--methods foo is unknown'
    """
    for name in sorted(about, key=len, reverse=True):
        option = options.get(OTHER_NAMES.get(name, name), options.get(f"{name}s"))  # a command may take several
        word = re.escape(name)
        if option is None:
            message = re.sub(rf"(?<![\w=-]){word}=({VALUE})", lambda m: f"--param {name}={_bare(m[1])}", message)  # noqa: B023
            message = message.replace(f"{name!r}", f"--param {name}=...")
        else:
            message = re.sub(rf"(?<![\w=-]){word}=({VALUE})", lambda m: f"{option} {_bare(m[1])}".rstrip(), message)  # noqa: B023
            message = message.replace(" or None", ", or leave it out")
            message = re.sub(rf"'{word}'|(?<!of )(?<![\w=<>'-]){word}(?![\w='-])", option, message)
    return message


def warning_in_options(message: str) -> str:
    """A warning about what was given, with options in place of parameters.

    Examples
    --------
    >>> warning_in_options("An id? Use id='no', or use id=False if it is a feature; center= takes means away")
    'An id? Use --id no; --center takes means away'
    >>> warning_in_options("Use id='Unnamed: 0' if it does")
    "Use --id 'Unnamed: 0' if it does"
    """
    message = message.replace(", or use id=False if it is a feature", "")  # on the command line, without --id
    message = re.sub(rf"(id=({VALUE}) if it names the rows), leave it out", r"\1, drop=\2", message)
    return re.sub(rf"\b({OPTIONS_OF_WARNINGS})=({VALUE})", lambda m: f"--{m[1]} {_quoted(m[2])}".rstrip(), message)


def _quoted(value: str) -> str:
    """A value as a shell takes it: a name with a blank in it is quoted."""
    return shlex.quote(_bare(value)) if value else ""


def of_the_shell(message: str) -> str:
    """A message about a matrix that was given as samples, with the command for it in the place of functions."""
    message = message.replace(SIMILARITIES, SHELL_SIMILARITIES).replace(DISTANCES, SHELL_DISTANCES)
    return message.replace("was given to complete(),", "was given to this command,")


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value
