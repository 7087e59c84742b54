"""Smooth minimisation from several starts, for problems that are not convex."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from simcomplete._types import Matrix

SAME = 1e-6  # values this near, as a share, are the same optimum
MAX_STEPS = 3000  # steps from one start


def best_of(
    value: Callable[[Matrix], tuple[float, Matrix]], starts: Iterable[Matrix], scale: float = 1.0
) -> tuple[Matrix, float, int, int]:
    """The best optimum by L-BFGS, its value, how many starts there were, and how many ended in the same value.

    `scale` is the size of values that count as large: rounding is a share of it.

    Examples
    --------
    >>> W, low, starts, agreed = best_of(  # (x^2 - 1)^2 + x: minima near -1 and 1, the first is lower
    ...     lambda W: (float((W[0, 0] ** 2 - 1) ** 2 + W[0, 0]), 4 * W * (W**2 - 1) + 1),
    ...     [np.array([[-2.0]]), np.array([[2.0]]), np.array([[-0.5]])],
    ... )
    >>> W.round(3), starts, agreed
    (array([[-1.107]]), 3, 2)
    """
    from scipy.optimize import minimize  # not needed by whoever never asks for a rank

    found: list[tuple[float, Matrix]] = []
    for W0 in starts:
        shape = W0.shape

        def flat(x: Matrix, shape: tuple[int, ...] = shape) -> tuple[float, Matrix]:
            low, gradient = value(x.reshape(shape))
            return low, gradient.ravel()

        options = {"maxiter": MAX_STEPS, "maxfun": 2 * MAX_STEPS, "gtol": 1e-10, "ftol": 1e-15, "maxcor": 20}
        end = minimize(flat, W0.ravel(), jac=True, method="L-BFGS-B", options=options)
        found.append((float(end.fun), end.x.reshape(shape)))
    low, W = min(found, key=lambda pair: pair[0])
    agreed = sum(other <= low + SAME * max(abs(low), SAME * scale) for other, _ in found)
    return W, low, len(found), agreed


def leading_factors(A: Matrix, k: int) -> Matrix:
    """The k leading eigenvectors times the roots of their eigenvalues (0 where negative)."""
    w, U = np.linalg.eigh(A)
    return np.asarray(U[:, -k:] * np.sqrt(np.maximum(w[-k:], 1e-3)))
