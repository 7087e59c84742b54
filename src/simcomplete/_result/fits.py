"""Check that the parts of a saved completion fit together, by shapes and types, before they are used.

Checksums show that a file is unchanged, not that this program wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcomplete._result.pair_spread import PARTS
from simcomplete.errors import FileFormatError

RANKED = ("rank_shares", "rank_quantiles", "residuals", "simulated")
PAIR_ARRAYS = {f"pair_{name}": name for name in ("vectors", "variances", "loadings", "weights", "doubt")}
PAIR_VECTORS = "pair_vectors"  # missing if they are the factor
FLOATS = (
    "factor",
    "factor_below",
    "dense",
    "candidates",
    "diagonal",
    "spread",
    "quantiles",
    *RANKED,
    "match_probabilities",
    *PAIR_ARRAYS,
)
TABLES = (
    *("pair_vectors", "pair_variances", "pair_loadings"),
    *("factor", "factor_below", "dense", "candidates", "rank_quantiles", "residuals", "simulated"),
)


def check_fit(arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Raise FileFormatError if the shape or type of a part does not fit the others.

    Examples
    --------
    >>> facts = {"n_candidates": 2, "all_rows_are_queries": False, "labels": ["a"], "exact": None}
    >>> try:
    ...     check_fit({"factor": np.eye(3)}, facts)
    ... except FileFormatError as error:
    ...     print(error)
    labels are 1 of 3 rows
    """
    _check_types(arrays)
    n, width = _size(arrays)
    m, all_queries = metadata["n_candidates"], metadata["all_rows_are_queries"]
    _need(_is_whole(m) and 0 <= m <= n, f"n_candidates={m!r} is not a number of candidates among {n} rows")
    _need(isinstance(all_queries, bool), f"all_rows_are_queries={all_queries!r} is neither true nor false")
    n_queries = n if all_queries else n - m
    expected = {
        "dense": (n, n),
        "diagonal": (n,),
        "order": (n,),
        "signs": (width,),
        "spread": (n_queries,),
        "match_ids": (n_queries,),
        "match_probabilities": (n_queries, 3),
        "factor_below": (n - m, width),
    }
    for name, shape in expected.items():
        if name in arrays:
            found = tuple(arrays[name].shape)
            _need(found == shape, f"{name}.npy holds {found}, and {shape} fits the other arrays")
    _check_candidates(arrays, metadata, m)
    _need(("spread" in arrays) == ("quantiles" in arrays), "spread.npy and quantiles.npy go together")
    if "quantiles" in arrays:
        _need(
            arrays["quantiles"].ndim == 1 and len(arrays["quantiles"]) > 1, "quantiles.npy is not a list of quantiles"
        )
    _check_ranked(arrays, width)
    _check_pairs(arrays, n_queries, width)
    both = ("match_ids" in arrays) == ("match_probabilities" in arrays)
    _need(both, "one of match_ids and match_probabilities is missing")
    if "match_ids" in arrays:
        _need("spread" in arrays, "match_ids.npy needs spread.npy")
        inside = bool(((arrays["match_ids"] >= -1) & (arrays["match_ids"] < m)).all())
        _need(inside, f"match_ids.npy names rows that are not among the {m} candidates")
    if "order" in arrays:
        same = np.array_equal(np.sort(arrays["order"]), np.arange(n))
        _need(same, f"order.npy does not have every position of {n} rows once")
    blind = metadata.get("unobserved")
    if blind is not None:
        rows = isinstance(blind, list) and blind and all(_is_whole(row) and 0 <= row < n for row in blind)
        _need(
            bool(rows) and blind == sorted(set(blind)), f"unobserved is not a list of some of the {n} rows, each once"
        )
    labels = metadata["labels"]
    if labels is not None:
        _need(isinstance(labels, list) and all(isinstance(label, str) for label in labels), "labels are not text")
        _need(len(labels) == n, f"labels are {len(labels)} of {n} rows")


def _check_ranked(arrays: Mapping[str, Any], width: int) -> None:
    """Check errors by rank: as many shares as quantiles, and two tables of simulated queries."""
    found = set(RANKED) & set(arrays)
    _need(len(found) in (0, len(RANKED)), "some arrays of the errors by rank are missing")
    if found:
        _need("spread" in arrays, "rank_quantiles.npy needs spread.npy")
        shares, table, residuals, simulated = (arrays[name] for name in RANKED)
        fits = shares.ndim == 1 and len(shares) == len(table) > 0 and table.shape[1] > 1
        _need(fits, "rank_shares.npy and rank_quantiles.npy do not fit each other")
        same = residuals.shape == simulated.shape and residuals.shape[1] in (width, width or residuals.shape[1])
        _need(same, f"residuals.npy, simulated.npy hold {residuals.shape}, {simulated.shape}, not (rows, {width})")


def _check_pairs(arrays: Mapping[str, Any], n: int, width: int) -> None:
    """Check the uncertainties of rows, from which the intervals of pairs are computed."""
    found = set(PAIR_ARRAYS) & set(arrays)
    if not found:
        return
    there = set(PAIR_ARRAYS) - found <= {PAIR_VECTORS} and "spread" in arrays
    _need(there, "some arrays of the intervals of pairs are missing")
    rows, columns = (int(size) for size in arrays["pair_variances"].shape)
    shapes = [tuple(arrays[name].shape) for name in ("pair_loadings", "pair_weights", "pair_doubt")]
    fits = rows == n and shapes == [(columns, shapes[0][1]), (PARTS,), (n,)]
    same = tuple(arrays[PAIR_VECTORS].shape) == (n, columns) if PAIR_VECTORS in found else columns == width
    _need(fits and same, "the arrays of pairs do not fit each other")


def check_facts(metadata: Mapping[str, Any]) -> None:
    """Raise FileFormatError if a plain value does not have the type that the program writes."""
    kinds: dict[str, tuple[type, ...]] = {
        "method": (str,),
        "params": (dict,),
        "history": (list,),
        "choice": (dict, type(None)),
        "election": (list, type(None)),
        "unit": (bool,),
        "status": (dict,),
        "certificate": (dict, type(None)),
        "evidence": (dict, type(None)),
        "exact": (dict, type(None)),
    }
    for name, kind in kinds.items():
        _need(isinstance(metadata[name], kind), f"{name} is {str(metadata[name])[:40]!r}")
    frame = metadata.get("frame")
    _need(frame in (None, "pandas", "polars", "pyarrow"), f"frame={str(frame)[:40]!r} is not a kind of frame")
    status = metadata["status"]
    words = isinstance(status.get("code"), str) and isinstance(status.get("message"), str)
    _need(words and isinstance(status.get("ok"), bool), "status is not a code, a message and ok")
    bounds = metadata["bounds"]
    two = bounds is None or (isinstance(bounds, list) and len(bounds) == 2 and all(map(_is_number, bounds)))
    _need(two and (bounds is None or bounds[0] <= bounds[1]), f"bounds={bounds!r} are not two numbers that rise")
    for row in (*metadata["history"], *(metadata["election"] or [])):
        _need(isinstance(row, dict), "history and election are tables")
    for name, value in (metadata["certificate"] or {}).items():
        _need(value is None or isinstance(value, bool) or _is_number(value), f"certificate.{name} is not a number")
    evidence = dict(metadata["evidence"] or {})
    rows = evidence.pop("rows_without", [])
    counts = isinstance(rows, list) and all(_is_whole(value) for value in [*rows, *evidence.values()])
    _need(counts, "evidence is not counts of pairs and rows")


def _check_types(arrays: Mapping[str, Any]) -> None:
    for name, array in arrays.items():
        kind = np.dtype(array.dtype)
        if name in (*FLOATS, "match_probabilities"):
            _need(kind.kind == "f", f"{name}.npy holds {kind}, and floating point numbers are needed")
        elif name in ("order", "match_ids"):
            _need(kind.kind in "iu", f"{name}.npy holds {kind}, and whole numbers are needed")
        else:
            _need(kind.kind in "fiu", f"{name}.npy holds {kind}, and numbers are needed")
        if name in TABLES:
            _need(len(array.shape) == 2, f"{name}.npy has the shape {tuple(array.shape)}, and a table is needed")


def _size(arrays: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of rows of the completion, and the columns of its factor (0 without one)."""
    if "factor" in arrays:
        n, width = arrays["factor"].shape
    elif "factor_below" in arrays and "candidates" in arrays:
        n = arrays["candidates"].shape[0] + arrays["factor_below"].shape[0]
        width = arrays["candidates"].shape[1]
    else:
        _need("dense" in arrays, "there is neither factor.npy nor dense.npy")
        n, width = arrays["dense"].shape[0], 0
    _need(n > 0, "there are no rows")
    return int(n), int(width)


def _check_candidates(arrays: Mapping[str, Any], metadata: Mapping[str, Any], m: int) -> None:
    if "candidates" not in arrays:
        return
    rows, width = (int(size) for size in arrays["candidates"].shape)
    _need(rows == m, f"candidates.npy has {rows} rows of {m} candidates")
    exact = metadata["exact"]
    _need(isinstance(exact, dict) and exact.get("kind") in ("rows", "block"), "exact does not say how to compare")
    _need(exact["kind"] == "rows" or width == m, f"candidates.npy has {width} columns of {m} candidates")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise FileFormatError(otherwise)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
