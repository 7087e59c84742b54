"""What the paper printed, by data set, missing ratio and method. Numbers that its source lacks are not invented."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

# The paper's names beside ours.
SETS = {
    "imagenet": "ImageNet",
    "mnist": "MNIST",
    "protein": "PROTEIN",
    "cifar10": "CIFAR10",
    "googlenews": "GoogleNews",
}
METHODS = {
    "overlap": "S0",
    "mean": "Mean",
    "lr": "LR",
    "gr": "GR",
    "facnnfn": "facNNFN",
    "smcnmf": "SMCNmF",
    "mc_fon": "MC_fON",
    "posterior": "posterior",
}
MEASURES = {"error": "rmse", "recall_fifth": "recall", "ndcg": "ndcg", "rank": "rank"}


def method_label(name: str) -> str:
    """Return how the paper writes a method.

    Examples
    --------
    >>> method_label("smcnmf"), method_label("smc_f")
    ('SMCNmF', 'SMC_F')
    """
    return METHODS.get(name, name.upper())


def set_label(name: str) -> str:
    """Return how the paper writes a data set."""
    return SETS.get(name, name)


def printed(table: str | None, method: str, at: Mapping[str, Any]) -> dict[str, float]:
    """Return the paper's numbers for one cell by our names of measures; empty where it printed none.

    Examples
    --------
    >>> printed("ablation", "smcnn", {"dataset": "mnist", "missing": 0.7})["error"]
    0.8233
    """
    found = _tables().get(table or "", {}).get(_key(method, at), {})
    return {ours: found[theirs] for ours, theirs in MEASURES.items() if theirs in found}


def _key(method: str, at: Mapping[str, Any]) -> tuple[Any, ...]:
    return set_label(at["dataset"]), at["missing"], method_label(method), at.get("penalty")


@cache
def _tables() -> dict[str, dict[tuple[Any, ...], dict[str, float]]]:
    text = files(__package__).joinpath("reported.json").read_text(encoding="utf-8")
    return {name: {_place(row): row for row in table["rows"]} for name, table in json.loads(text).items()}


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    method = row.get("method", "NNFN")  # the table of thresholds is about that one alone
    # The rank table's "SMC" is no method of the paper; it is taken for FMC.
    return row["dataset"], row["rho"], "FMC" if method == "SMC" else method, row.get("tau")
