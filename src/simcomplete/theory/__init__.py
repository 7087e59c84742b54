"""The paper's theorems as functions that check each statement on given matrices.

Every check returns a small frozen dataclass with its numbers. `holds` is the statement that is true,
`holds_as_printed` the paper's own wording where that differs; `docs/deviations.md` explains the differences.

==========================  ====================================================================================
the paper                   here
==========================  ====================================================================================
Lemma, |V V^T|_* <= |V|^2   `nuclear_norm_identity`: it is an equality
Theorem, smaller error      `psd_projection`: true on the positive semi-definite cone, `rank_counterexample`
Lemmas, 3 G^2 and 12 G^2    `cubic_constant`, `printed_constant`, `corrected_constant`, `sharp_constant`,
                            checked by `gradient_lipschitz`, `lipschitz_counterexample`
Theorem, O(1/T)             `convergence`, `paper_step`, `guaranteed_decrease`, `convergence_counterexample`
Theorem, rank < r           `global_optimality`, `stationary_counterexample`
==========================  ====================================================================================

Examples
--------
>>> import numpy as np
>>> from simcomplete import theory
>>> theory.nuclear_norm_identity(np.array([[1.0, 0.0], [1.0, 1.0]])).holds
True
>>> theory.rank_counterexample().check.holds_as_printed
False
"""

from simcomplete.theory._convergence import (
    Convergence,
    ConvergenceCounterexample,
    convergence,
    convergence_counterexample,
    guaranteed_decrease,
    paper_step,
)
from simcomplete.theory._lipschitz import (
    GradientLipschitz,
    LipschitzCounterexample,
    corrected_constant,
    cubic_constant,
    gradient_lipschitz,
    lipschitz_counterexample,
    printed_constant,
    sharp_constant,
)
from simcomplete.theory._nuclear import NuclearNorm, nuclear_norm_identity
from simcomplete.theory._optimality import (
    GlobalOptimality,
    StationaryCounterexample,
    global_optimality,
    stationary_counterexample,
)
from simcomplete.theory._projection import (
    Projection,
    RankCounterexample,
    psd_projection,
    rank_counterexample,
)

__all__ = [
    "Convergence",
    "ConvergenceCounterexample",
    "GlobalOptimality",
    "GradientLipschitz",
    "LipschitzCounterexample",
    "NuclearNorm",
    "Projection",
    "RankCounterexample",
    "StationaryCounterexample",
    "convergence",
    "convergence_counterexample",
    "corrected_constant",
    "cubic_constant",
    "global_optimality",
    "gradient_lipschitz",
    "guaranteed_decrease",
    "lipschitz_counterexample",
    "nuclear_norm_identity",
    "paper_step",
    "printed_constant",
    "psd_projection",
    "rank_counterexample",
    "sharp_constant",
    "stationary_counterexample",
]
