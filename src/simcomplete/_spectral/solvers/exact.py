"""The exact solver: the global optimum from one partial eigendecomposition.

Every objective ``|S - S0|_F^2 + weight * penalty(eigenvalues)`` over S positive semi-definite of rank at most r is
minimised by keeping the eigenvectors of the r largest eigenvalues of S0 and shrinking those eigenvalues
(Eckart-Young-Mirsky and the penalty's proximal map). It is the optimum whether or not the rank stays below r.
"""

from __future__ import annotations

from simcomplete._rows.xp import Array
from simcomplete._spectral.eigen.routes import Route, Spectrum, largest_eigenpairs
from simcomplete._spectral.penalties import SpectralProblem


def solve_exactly(problem: SpectralProblem, route: Route = "auto", seed: int = 0) -> tuple[Array, Spectrum]:
    """Return the optimal factor in float64, and the eigenvalues it was made from.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> S0 = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
    >>> V, _ = solve_exactly(SpectralProblem(DenseSimilarity(S0), Nuclear(), weight=1.0, rank=1))
    >>> (V @ V.T).round(3)  # 3 - 1/2, along (1, 1)/sqrt(2)
    array([[1.25, 1.25],
           [1.25, 1.25]])
    """
    spectrum = largest_eigenpairs(problem.operator, problem.rank, route, seed)
    return problem.factor(spectrum), spectrum
