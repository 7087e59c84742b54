"""Every method by name. A new method is one file and one name in `FAMILIES`; nothing else asks which method it is."""

from __future__ import annotations

from typing import Any

from simcomplete._baselines import overlap, shrunk
from simcomplete._baselines.ablation import mc_fon, mc_on, smc_gd
from simcomplete._baselines.completion import bpmf, facnnfn, fgsr, nnfn
from simcomplete._baselines.imputation import gr, kfmc, lr, mean, zero
from simcomplete._baselines.psd import cmc, dmc, fmc
from simcomplete._method.spec import COLUMNS, Method, Registry
from simcomplete._posterior import method as posterior
from simcomplete._result.html import html_table
from simcomplete._result.text import aligned
from simcomplete._spectral import methods as spectral

FAMILIES = (
    *(overlap, shrunk, zero, mean, lr, gr, kfmc),
    *(bpmf, fgsr, nnfn, facnnfn),
    *(dmc, cmc, fmc),
    *(spectral, smc_gd, mc_on, mc_fon),
    posterior,
)
REGISTRY = Registry((method.name, method) for family in FAMILIES for method in family.METHODS)
find = REGISTRY.find
# Of the columns, what a notebook shows: all of them would not fit beside each other.
SHORT = ("name", "family", "acts_on", "psd", "keeps_candidates", "out_of_sample", "reference")


class MethodTable(tuple[Method, ...]):
    """The rows of the registry, by position or by name; prints as an aligned table."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for method in self:
            if method.name == key:
                return method
        raise KeyError(key)

    def _repr_html_(self) -> str:
        return html_table("Methods", ([method.row()[name] for name in SHORT] for method in self), SHORT)

    def __repr__(self) -> str:
        return aligned([COLUMNS, *(tuple(_cell(value) for value in method.row().values()) for method in self)])


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def methods() -> MethodTable:
    """List all methods, one row each.

    Returns
    -------
    MethodTable
        A tuple of `Method`: name, family, acts_on, regularizer, solver, psd, low_rank, keeps_candidates, random,
        out_of_sample, reference; by position or by name. `parameters` of a row prints the method's own parameters.

    Examples
    --------
    >>> import simcomplete as sc
    >>> [method.name for method in sc.methods() if method.family == "spectral"]
    ['smcnn', 'smcnmf', 'smc_nr', 'smc_f']
    >>> sc.methods()["fmc"].parameters["variant"].default
    'batch'
    """
    return MethodTable(REGISTRY.values())
