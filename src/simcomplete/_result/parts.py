"""A completion taken apart into arrays and plain values, for files and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.xp import to_numpy

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

# What is stored as it is, once made plain; the constructor of Completion takes them back by the same names.
SIMPLE = ("method", "params", "n_candidates", "together", "history", "labels", "choice", "election")


def to_parts(done: Completion) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the facts of a completion, without its exact candidates."""
    S = done.matrix
    found = {
        "factor": S.factor,
        "signs": S.signs,
        "diagonal": S.diagonal,
        "dense": S.dense,
        "order": done.order,
    }
    if done.bars is not None:
        found |= {"spread": done.bars.spread, "quantiles": done.bars.quantiles}
    arrays = {name: to_numpy(array) for name, array in found.items() if array is not None}
    facts = {name: plain(getattr(done, name)) for name in SIMPLE}
    facts["bounds"], facts["unit"] = plain(S.bounds), S.unit
    facts["status"] = done.status.as_dict()
    facts["certificate"] = None if done.certificate is None else plain(done.certificate.as_dict())
    facts["evidence"] = None if done.evidence is None else done.evidence.as_dict()
    facts["exact"] = None
    return arrays, facts


def summary(done: Completion) -> dict[str, Any]:
    """Everything small about a completion, as plain values."""
    facts = to_parts(done)[1]
    small = ("method", "params", "n_candidates", "status", "certificate", "evidence", "choice")
    return {
        **{name: facts[name] for name in small},
        "n_queries": done.n_queries,
        "rank": done.rank,
        "validity": plain(done.validity.as_dict()),
    }


def plain(value: Any) -> Any:
    """Turn NumPy numbers, tuples and infinities into what JSON can say."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return str(value)
