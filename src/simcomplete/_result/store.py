"""Save a completion to a folder as arrays and metadata, and load it.

A factor whose first rows are the candidates made unit (`UnitRows`) is stored as the candidates and the rows below
them: the candidates are in one file, for the factor and for the exact block.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simcomplete._result.archive import Stored, check_target, read_archive, write_archive
from simcomplete._result.certificate import Certificate
from simcomplete._result.fits import PAIR_ARRAYS, PAIR_VECTORS, RANKED, check_facts, check_fit
from simcomplete._result.html import Election
from simcomplete._result.intervals import IntervalModel, Match, RankedErrors
from simcomplete._result.layout import Parts
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.pair_spread import PairSpread
from simcomplete._result.plain import plain
from simcomplete._result.status import Status
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.scaling import scaling_from_dict
from simcomplete._rows.table import as_row_table
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity import exact as exact_candidates
from simcomplete._similarity.measure import Evidence
from simcomplete.errors import FileFormatError, SimcompleteError

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

# Stored as plain values under the names that the constructor of Completion takes.
SAME_NAME = ("method", "params", "n_candidates", "all_rows_are_queries", "history", "labels", "choice", "election")
ModelReader = Callable[[dict[str, Any], dict[str, Any]], Any]  # makes a model from its metadata and all arrays
# How a factor is stored: as it is, or as the candidates made unit and the rows below them.
AS_IT_IS, UNIT_CANDIDATES = "rows", "unit candidates, and rows below"


def write(done: Completion, path: Path, *, overwrite: bool = False, candidates: bool = True) -> None:
    """Write a completion to a folder, block by block; without `candidates` exact block and model are left out."""
    check_target(path, overwrite)  # checked before the evidence is counted
    arrays, metadata = to_arrays_and_metadata(done, candidates=candidates)
    write_archive(path, arrays, metadata, overwrite=overwrite)


def to_arrays_and_metadata(done: Completion, *, candidates: bool = True) -> tuple[dict[str, Stored], dict[str, Any]]:
    """Take a completion apart: arrays and row tables by name, and plain values. No table is read."""
    S, model = done.matrix, done.interval_model
    short = {"signs": S.signs, "diagonal": S.diagonal, "order": done.order}
    if model is not None:
        short |= {"spread": model.spread, "quantiles": model.quantiles}
        if model.ranked is not None:
            short |= dict(zip(RANKED, _tables(model.ranked), strict=True))
        if model.pairs is not None:
            short |= {name: getattr(model.pairs, part) for name, part in PAIR_ARRAYS.items()}
            if model.pairs.vectors is S.factor:
                del short[PAIR_VECTORS]  # they are in factor.npy
        if model.match is not None:
            short |= {"match_ids": model.match.ids, "match_probabilities": model.match.probabilities}
    arrays: dict[str, Stored] = {name: to_numpy(array) for name, array in short.items() if array is not None}
    metadata = {name: plain(getattr(done, name)) for name in SAME_NAME}
    metadata |= {
        "bounds": plain(S.bounds),
        "unit": S.unit,
        "status": done.status.as_dict(),
        "certificate": None if done.certificate is None else plain(done.certificate.as_dict()),
        "evidence": None if done.evidence is None else done.evidence.as_dict(),
        "exact": None,
        "factor": AS_IT_IS,
        "unobserved": plain(done.unobserved),
        "frame": done.frame,
        "scaling": None if done.scaling is None else done.scaling.as_dict(),
        "model": None,
    }
    if candidates and done.exact is not None:
        arrays["candidates"], metadata["exact"] = done.exact.to_table_and_metadata()
    if S.factor is None:
        arrays["dense"] = as_row_table(S.dense)
    elif candidates and done.exact is not None and done.exact.are_first_rows_of(S.factor):
        metadata["factor"] = UNIT_CANDIDATES
        arrays["factor_below"] = as_row_table(S.factor[done.n_candidates :, :])
    else:
        arrays["factor"] = as_row_table(S.factor)
    if candidates and hasattr(done.model, "to_arrays"):
        parts = Parts()
        for name, array in arrays.items():  # arrays that are already included are not written again
            parts.put(name, array)
        metadata["model"], arrays = done.model.to_arrays(parts), parts.arrays
    return arrays, metadata


def read(path: Path, model: ModelReader) -> dict[str, Any]:
    """Read and check a folder; return what the constructor of Completion takes."""
    arrays, metadata, version = read_archive(path)
    try:
        return made_of(arrays, _from_version_1(metadata) if version == 1 else metadata, model)
    except SimcompleteError as error:
        raise FileFormatError(f"{path}: its parts do not fit each other: {error}; save the completion again") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileFormatError(
            f"{path} does not describe a whole completion: {error!r}; save the completion again"
        ) from error


def made_of(arrays: dict[str, Any], metadata: dict[str, Any], model: ModelReader) -> dict[str, Any]:
    """Check parts that were read; return what the constructor of Completion takes."""
    check_facts(metadata)
    check_fit({name: array for name, array in arrays.items() if not name.startswith("model.")}, metadata)
    found = from_arrays_and_metadata(arrays, metadata)
    stored = metadata.get("model")  # folders of simcomplete 0.2 have none
    return found if stored is None else {**found, "model": model(stored, arrays)}


def from_arrays_and_metadata(arrays: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """Reverse `to_arrays_and_metadata`; return the arguments of Completion."""
    bounds, certificate, evidence = metadata["bounds"], metadata["certificate"], metadata["evidence"]
    scaling = metadata.get("scaling")  # folders of simcomplete 0.2 have none
    exact, factor = None, arrays.get("factor")
    if "candidates" in arrays:
        table = as_row_table(arrays["candidates"])
        exact = exact_candidates.from_table_and_metadata(table, metadata["exact"])
        factor = (
            UnitRows(table, as_row_table(arrays["factor_below"]).whole())
            if metadata["factor"] == UNIT_CANDIDATES
            else factor
        )
    if factor is None and "dense" not in arrays:
        raise KeyError("factor")
    matrix = SymmetricMatrix(
        factor=factor,
        **{name: arrays.get(name) for name in ("signs", "diagonal", "dense")},
        bounds=None if bounds is None else (bounds[0], bounds[1]),
        unit=metadata["unit"],
    )
    if evidence is not None:
        evidence = Evidence(**{**evidence, "rows_without": tuple(evidence["rows_without"])})
    blind = metadata.get("unobserved")  # this and the kind of frame: simcomplete 0.2 did not write them
    return {
        **{name: metadata[name] for name in SAME_NAME},
        "election": None if metadata["election"] is None else Election(metadata["election"]),
        "unobserved": None if blind is None else np.array(blind, dtype=np.int64),
        "frame": metadata.get("frame"),
        "matrix": matrix,
        "order": arrays.get("order"),
        "status": Status(**metadata["status"]),
        "certificate": None if certificate is None else Certificate(**certificate),
        "evidence_source": evidence,
        "exact": exact,
        "scaling": None if scaling is None else scaling_from_dict(scaling),
        "interval_model": _interval_model(arrays),
    }


def _tables(ranked: RankedErrors) -> tuple[Any, ...]:
    return ranked.shares, ranked.table, ranked.residuals, ranked.simulated


def _interval_model(arrays: dict[str, Any]) -> IntervalModel | None:
    if "spread" not in arrays:
        return None
    ranked = RankedErrors(*(np.asarray(to_numpy(arrays[name])) for name in RANKED)) if RANKED[0] in arrays else None
    match = Match(arrays["match_ids"], arrays["match_probabilities"]) if "match_ids" in arrays else None
    pairs = None
    if all(name in arrays for name in PAIR_ARRAYS if name != PAIR_VECTORS):
        parts: dict[str, Any] = {part: arrays.get(name) for name, part in PAIR_ARRAYS.items()}
        vectors = arrays["factor"] if parts["vectors"] is None else parts["vectors"]
        pairs = PairSpread(**{**parts, "vectors": np.asarray(to_numpy(as_row_table(vectors).whole()))})
    return IntervalModel(arrays["spread"], arrays["quantiles"], ranked, match, pairs)


def _from_version_1(metadata: dict[str, Any]) -> dict[str, Any]:
    """Rename metadata written by simcomplete 0.1."""
    return {**metadata, "all_rows_are_queries": metadata["together"], "factor": AS_IT_IS}
