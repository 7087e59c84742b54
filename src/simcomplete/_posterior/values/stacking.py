"""How several expectations of the same values are combined: weights of at least 0, learnt from hidden values."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from simcomplete._types import Matrix, Vector

PRIOR_VALUES = 50.0  # hidden values that the prior, the best member alone, counts for


def stacked_weights(members: Matrix, truth: Vector) -> Vector:
    """Weights w >= 0 with the least squared error of sum_k w_k members_k, drawn to the best member alone.

    Parameters
    ----------
    members : array of shape (members, values)
        What each expects of the hidden values.
    truth : array of shape (values,)
        The values.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal(4000)
    >>> stacked_weights(np.stack([2 * x, np.zeros(4000)]), x).round(2)
    array([0.51, 0.  ])
    """
    count = len(members)
    errors = np.mean((members - truth) ** 2, axis=1)
    start = np.eye(count)[int(np.argmin(errors))]
    # Rows of weight sqrt(PRIOR_VALUES * mean square) per member stand for the prior.
    size = np.sqrt(PRIOR_VALUES * np.maximum(np.mean(members**2, axis=1), 1e-300))
    A = np.vstack([members.T, np.diag(size)])
    b = np.concatenate([truth, size * start])
    return np.asarray(scipy.optimize.nnls(A, b)[0])
