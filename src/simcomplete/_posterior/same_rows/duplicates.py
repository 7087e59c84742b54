"""`duplicates`: what users call; it checks, `find` computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.given import generator, problem_of_rows
from simcomplete._method.problem import AllRows
from simcomplete._posterior.same_rows.find import same_pairs
from simcomplete._posterior.shared.copy_classes import MOST_COPIES
from simcomplete._result.duplicates import Duplicates
from simcomplete._rows.budget import working_memory
from simcomplete._rows.validate import check_number
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError


def duplicates(
    X: Any,
    *,
    above: float = 0.9,
    prior: float | None = None,
    min_overlap: int = 2,
    id: Any = None,
    labels: Any = None,
    missing: str | None = None,
    random_state: Any = 0,
    progress: bool | None = None,
    memory: int | str | None = None,
) -> Duplicates:
    """Find duplicate rows in a table with missing values.

    Two rows are duplicates if they have the same values in the features that both have, exactly or with noise, and are
    closer than different rows are by chance; the distances of different rows are learnt from the table. All pairs are
    compared, block by block; no n x n matrix is kept.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Rows, NaN where a value is missing. Features have equal weights, whatever their units.
    above : float
        Only pairs that are the same with at least this probability.
    prior : float, optional
        Share of rows that have a copy in the table; by default 0.04, or the share of obvious copies if that is larger.
    min_overlap : int
        Features that two rows need in common.
    id, labels, missing
        As in `simcomplete.complete`.
    random_state : int, Generator or None
        Seed of the sample of rows that the model is learnt from.
    progress : bool, optional
        None shows progress on a terminal, False never.
    memory : int or str, optional
        Memory for a block of rows and its temporaries, as in `simcomplete.complete`.

    Returns
    -------
    Duplicates
        `pairs`, likeliest first, with `probability`, `kinds`, `common`, `distances`; `groups` of rows that are the
        same; `to_frame()` with labels.

    Notes
    -----
    Rows with few informative values in common are not reported: three equal values that no other row has
    can be enough, ten equal yes-or-no answers cannot. Noise is assumed to be independent between features.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> X[150:153] = X[:3]
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> sc.duplicates(X).groups
    [[0, 150], [1, 151], [2, 152]]
    """
    above = check_number(above, "above", 0.0, 1.0)
    if prior is not None and check_number(prior, "prior", 0.0, MOST_COPIES) == 0:
        raise InputError(
            f"prior={prior!r} is not the share of rows that have a copy; give a number above 0", about=("prior",)
        )
    problem = problem_of_rows(
        X, None, Measure(min_overlap=min_overlap), progress, id=id, labels=labels, missing=missing
    )
    assert isinstance(problem, AllRows)  # there are no queries
    rows = np.asarray(problem.table, dtype=np.float64)
    with working_memory(memory):
        found = same_pairs(rows, above, prior, min_overlap, generator(random_state), progress)
    return Duplicates(*found, n=len(rows), labels=problem.labels, frame=problem.frame)
