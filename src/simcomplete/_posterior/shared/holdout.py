"""What is held out to learn from: rows whose similarities are known lose values, and are to be found again.

No ground truth about the real queries is needed. Held-out rows, and copies of them, are taken out of what the models
see, or they would find themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcomplete._posterior.shared.rows import Matrix

COPY = 1 - 1e-6  # cosine above which two rows are the same
QUANTILES = np.linspace(0.0, 1.0, 1001)
LEAST_GAP = 1e-4  # of 1 - length^2 in an error's scale
SAME_ERROR = 1e-9  # mean squared errors that differ by less than this part are the same
NO_ERROR = 1e-24  # and so are those below this


def first_best(errors: Sequence[float]) -> int:
    """Where the smallest mean squared error is; of those that differ by rounding only, the first.

    Examples
    --------
    >>> first_best([2.0, 1.0 + 1e-15, 1.0, float("nan")])
    1
    """
    values = np.where(np.isnan(errors), np.inf, errors)
    return int(np.argmax(values <= values.min() * (1 + SAME_ERROR) + NO_ERROR))


def error_quantiles(truth: Matrix, estimate: Matrix, length: Matrix) -> Matrix:
    """Quantiles of |error| / sqrt(1 - length^2) over simulated pairs, for intervals."""
    scale = np.sqrt(np.maximum(1 - length**2, LEAST_GAP))[:, None]
    return np.quantile(np.abs(truth - estimate) / scale, QUANTILES)
