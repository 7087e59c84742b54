"""Every method by name. A new method is one file and one name in `FAMILIES`; nothing else asks which method it is."""

from __future__ import annotations

import difflib

from simcomplete._baselines import overlap
from simcomplete._baselines.ablation import mc_fon, mc_on, smc_gd
from simcomplete._baselines.completion import bpmf, facnnfn, fgsr, nnfn
from simcomplete._baselines.imputation import gr, kfmc, lr, mean, zero
from simcomplete._baselines.psd import cmc, dmc, fmc
from simcomplete._method.spec import Method, MethodTable
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


def methods() -> MethodTable:
    """All methods, one row each.

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


def find(name: str) -> Method:
    """Return the method of a name, or suggest the nearest one."""
    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    near = difflib.get_close_matches(str(name), REGISTRY, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"method={name!r} is unknown; {hint}use one of {', '.join(REGISTRY)}")
