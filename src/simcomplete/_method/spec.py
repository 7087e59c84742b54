"""A method is a row of data: what it is called, what it promises, how it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from simcomplete._method.problem import Task
from simcomplete._result.completion import Completion


@dataclass(frozen=True)
class Method:
    """One row of the registry.

    Attributes
    ----------
    name, family : str
        How it is called and what kind it is.
    acts_on : {"similarities", "samples", "both"}
        Whether the similarity matrix is enough for it, or it needs the samples, or can take either.
    regularizer, solver : str
        What it penalises and how it finds its answer; "none" where there is nothing.
    psd, low_rank, keeps_candidates : bool
        Whether its result is positive semi-definite, of bounded rank, exact on candidates.
    random : bool
        Whether `random_state` changes the answer.
    out_of_sample : bool
        Whether new rows can be added after fitting.
    reference : str
        Where it comes from.
    parameters : mapping
        Its own parameters and their defaults.
    original : mapping
        The parameters of the method's own authors, where they do not fit cosines: `preset="original"`.
    grid : tuple of mapping
        Settings that `tune=True` tries.
    uses : frozenset of str
        Which of the hints `known` and `overlap` it can use.
    run : callable
        Takes a Task and the parameters, gives a Completion.
    """

    name: str
    family: str
    acts_on: Literal["similarities", "samples", "both"]
    regularizer: str
    solver: str
    psd: bool
    low_rank: bool
    keeps_candidates: bool
    random: bool
    out_of_sample: bool
    reference: str
    run: Callable[[Task, dict[str, Any]], Completion] = field(repr=False, compare=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    original: Mapping[str, Any] = field(default_factory=dict, repr=False)
    grid: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    uses: frozenset[str] = field(default=frozenset(), repr=False)

    def row(self) -> dict[str, Any]:
        """The public columns, as plain values."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = (
    "name",
    "family",
    "acts_on",
    "regularizer",
    "solver",
    "psd",
    "low_rank",
    "keeps_candidates",
    "random",
    "out_of_sample",
    "reference",
)
