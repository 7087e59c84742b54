"""One trial on labelled data: hide values of the queries, or of all rows; complete; find the classes again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete import datasets, masks
from simcomplete._api import complete
from simcomplete._reproduction.labels.measures import label_measures
from simcomplete._reproduction.labels.others import BOOSTING, IMPUTERS, boosting_predictions, with_gaps_of
from simcomplete._similarity.overlap import overlap_similarity
from simcomplete._types import Matrix
from simcomplete.errors import InputError, InputWarning, NotConvergedWarning, SimcompleteError

# The parameters of a trial that say what is done, and are not the method's own.
TASK_PARAMETERS = ("task", "gaps")


@dataclass(frozen=True)
class LabelledRows:
    """Rows with gaps and their classes: those of the first `n_train` are known; `gaps` is "queries" or "all"."""

    X: Matrix
    y: NDArray[np.int64]
    n_train: int
    gaps: str
    seed: int

    def similarity(self, method: str, params: Mapping[str, Any]) -> Matrix:
        """Complete the similarities of all rows by a method of ours or by an imputer."""
        if method in IMPUTERS:
            return np.asarray(overlap_similarity(IMPUTERS[method](self.X, self.seed), progress=False))
        given = {"method": method, "random_state": self.seed, "progress": False, **params}
        if self.gaps == "all":
            return np.asarray(complete(self.X, **given).similarity())
        return np.asarray(complete(self.X[: self.n_train], self.X[self.n_train :], **given).similarity())

    def boosted(self) -> float:
        """Accuracy of boosting; where candidates are complete it learns from copies that have the queries' gaps."""
        train, test = self.X[: self.n_train], self.X[self.n_train :]
        if self.gaps == "queries":
            train = with_gaps_of(train, test, np.random.default_rng(self.seed))
        found = boosting_predictions(train, self.y[: self.n_train], test, self.seed)
        return float(np.mean(found == self.y[self.n_train :]))


def labelled_rows(trial: Mapping[str, Any]) -> LabelledRows:
    """Draw rows of a labelled data set and hide values."""
    data = datasets.load(trial["dataset"])
    if data.y is None:
        raise InputError(f"data set {trial['dataset']!r} has no labels; use one that has, such as digits")
    X, y = np.asarray(data.X, dtype=np.float64), np.unique(np.asarray(data.y), return_inverse=True)[1]
    rng = np.random.default_rng(trial["seed"])
    order = rng.permutation(len(X))
    order = order[X[order].any(axis=1)]
    n_train = min(trial["candidates"], len(order) - trial["queries"])
    order = order[: n_train + trial["queries"]]
    rows, gaps = X[order], trial["params"].get("gaps", "queries")
    first = 0 if gaps == "all" else n_train
    part = rows[first:]
    rows[first:] = masks.apply(part, masks.random(part, missing=trial["missing"], random_state=rng))
    return LabelledRows(rows, y[order].astype(np.int64), n_train, gaps, trial["seed"])


def run_labels(
    trial: Mapping[str, Any], facts: Mapping[str, Any], report_stage: Callable[[str], None]
) -> dict[str, Any]:
    """Run one trial on labels; like `run_trial`, which calls it.

    Examples
    --------
    >>> at = {"dataset": "digits", "candidates": 200, "queries": 40, "missing": 0.3, "seed": 0}
    >>> row = run_labels({**at, "method": "overlap", "params": {"task": "labels"}}, {}, print)
    solving
    solved
    >>> row["outcome"], row["nn1"] > 0.5
    ('done', True)
    """
    row: dict[str, Any] = {**facts, "outcome": "done", "reason": None, "seconds": None}
    params = {name: value for name, value in trial["params"].items() if name not in TASK_PARAMETERS}
    try:
        data = labelled_rows(trial)
    except SimcompleteError as error:
        return {**row, "outcome": "failed", "reason": " ".join(str(error).split())}
    row |= {"candidates_used": data.n_train, "features": data.X.shape[1], "mask": "labels"}
    report_stage("solving")
    start, began = time.process_time(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            warnings.simplefilter("ignore", InputWarning)
            S = None if trial["method"] == BOOSTING else data.similarity(trial["method"], params)
            measured = {"own_classifier": data.boosted()} if S is None else {}
    except (SimcompleteError, ArithmeticError, ValueError, MemoryError) as error:
        return {**row, "outcome": "failed", "reason": " ".join(str(error).split()) or type(error).__name__}
    row |= {"cpu_seconds": time.process_time() - start, "seconds": time.perf_counter() - began}
    report_stage("solved")
    if S is not None:
        measured = label_measures(S, data.y, data.n_train, int(data.y.max()) + 1, data.seed)
    return row | measured
