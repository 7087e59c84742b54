"""Mutants that no test can notice, each with the reason; they are not made and do not count.

An entry names the file, the line as it stands (without its indentation), what in it is replaced, and by what; an empty
`new` stands for every replacement. A test checks that every entry still matches a mutant, so that none outlives its line.
"""

from __future__ import annotations

from typing import NamedTuple


class Equivalent(NamedTuple):
    """One mutant, or all of one expression, and why it changes nothing that can be observed."""

    file: str
    line: str
    old: str
    new: str
    why: str


EQUIVALENT: list[Equivalent] = []
