"""The numbers that the paper printed, by data set, missing ratio and method, as far as its source has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

# The paper's names by ours.
SET_LABELS = {
    "imagenet": "ImageNet",
    "mnist": "MNIST",
    "protein": "PROTEIN",
    "cifar10": "CIFAR10",
    "googlenews": "GoogleNews",
    "usps": "USPS",
    "agnews": "AG News",
}
METHOD_LABELS = {
    "overlap": "S0",
    "mean": "Mean",
    "lr": "LR",
    "gr": "GR",
    "facnnfn": "facNNFN",
    "smcnmf": "SMCNmF",
    "mc_fon": "MC_fON",
    "posterior": "posterior",
    "knn_imputer": "KNNImputer",
    "iterative_imputer": "IterativeImputer",
    "soft_impute": "SoftImpute",
    "boosting": "boosting",
}
PRINTED_MEASURES = {"error": "rmse", "recall_fifth": "recall", "ndcg": "ndcg", "rank": "rank"}


def method_label(name: str) -> str:
    """Return how the paper writes a method.

    Examples
    --------
    >>> method_label("smcnmf"), method_label("smc_f")
    ('SMCNmF', 'SMC_F')
    """
    return METHOD_LABELS.get(name, name.upper())


def set_label(name: str) -> str:
    """Return how the paper writes a data set."""
    return SET_LABELS.get(name, name)


def printed_numbers(table: str | None, method: str, at: Mapping[str, Any]) -> dict[str, float]:
    """Return the paper's numbers for one cell, by our names of measures; empty where it printed none.

    Examples
    --------
    >>> printed_numbers("ablation", "smcnn", {"dataset": "mnist", "missing": 0.7})["error"]
    0.8233
    """
    row = _tables().get(table or "", {}).get(_row_key(method, at), {})
    return {ours: row[theirs] for ours, theirs in PRINTED_MEASURES.items() if theirs in row}


def _row_key(method: str, at: Mapping[str, Any]) -> tuple[Any, ...]:
    return set_label(at["dataset"]), at["missing"], method_label(method), at.get("penalty")


@cache
def _tables() -> dict[str, dict[tuple[Any, ...], dict[str, float]]]:
    text = files(__package__).joinpath("reported.json").read_text(encoding="utf-8")
    return {name: {_printed_key(row): row for row in table["rows"]} for name, table in json.loads(text).items()}


def _printed_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    method = row.get("method", "NNFN")  # the table of thresholds has NNFN only
    # The rank table has a column "SMC", which is none of the paper's methods; it is read as FMC.
    return row["dataset"], row["rho"], "FMC" if method == "SMC" else method, row.get("tau")
