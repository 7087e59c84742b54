"""Every method by name. A new method is a new row; nothing else asks which method it is."""

from __future__ import annotations

import difflib
from typing import Any

from simcomplete._baselines import overlap
from simcomplete._baselines.ablation import mc_fon, mc_on, smc_gd
from simcomplete._baselines.completion import bpmf, facnnfn, fgsr, nnfn
from simcomplete._baselines.imputation import gr, kfmc, lr, mean, zero
from simcomplete._baselines.psd import cmc, dmc, fmc
from simcomplete._method.spec import COLUMNS, Method
from simcomplete._posterior import method as posterior
from simcomplete._spectral import methods as spectral
from simcomplete.errors import InputError

FAMILIES = (
    *(overlap, zero, mean, lr, gr, kfmc),
    *(bpmf, fgsr, nnfn, facnnfn),
    *(dmc, cmc, fmc),
    *(spectral, smc_gd, mc_on, mc_fon),
    posterior,
)
REGISTRY: dict[str, Method] = {method.name: method for family in FAMILIES for method in family.METHODS}


class MethodTable(tuple[Method, ...]):
    """The rows of the registry; prints as an aligned table."""

    def __repr__(self) -> str:
        rows = [COLUMNS, *(tuple(_cell(value) for value in method.row().values()) for method in self)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def methods() -> MethodTable:
    """All methods, one row each.

    Returns
    -------
    MethodTable
        A tuple of `Method`: name, family, acts_on, regularizer, solver, psd, low_rank, keeps_candidates, random,
        out_of_sample, reference.

    Examples
    --------
    >>> import simcomplete as sc
    >>> [method.name for method in sc.methods() if method.family == "spectral"]
    ['smcnn', 'smcnmf', 'smc_nr', 'smc_f']
    """
    return MethodTable(REGISTRY.values())


def find(name: str) -> Method:
    """Return the row of a name, or suggest the nearest one."""
    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    near = difflib.get_close_matches(str(name), REGISTRY, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"method={name!r} is unknown; {hint}use one of {', '.join(REGISTRY)}")


def parameters(method: Method, given: dict[str, Any]) -> dict[str, Any]:
    """The method's own parameters: its defaults or a preset, overridden by what was given; others are refused."""
    given = dict(given)
    preset = given.pop("preset", "default")
    if preset not in ("default", "original"):
        raise InputError(f"preset={preset!r} is unknown; use 'default' or 'original'")
    for name in given:
        if name not in method.parameters:
            known = ", ".join(method.parameters) or "none of its own"
            raise InputError(f"method {method.name!r} has no parameter {name!r}; its parameters are {known}")
    return {**method.parameters, **(method.original if preset == "original" else {}), **given}


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
