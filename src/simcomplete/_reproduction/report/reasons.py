"""Why claims do not hold: one sentence each, the mathematics where it is known."""

from __future__ import annotations

# By the name of the function that checks the claim.
REASONS = {
    "better_than_start": (
        "Matrices of rank at most 100 do not form a convex set: the one nearest to S0 may be farther from the truth "
        "than S0, because it loses what S0 has exactly, the similarities among candidates."
    ),
    "trend_in_rank": (
        "A larger rank keeps more eigenvalues of S0, and where most values are missing the smaller ones are mostly "
        "error."
    ),
    "trend_in_weight": (
        "A weight lowers eigenvalues by half of itself: where the small ones are mostly error, up to 5 less of each "
        "helps, and it hurts only where the leading ones are not much larger."
    ),
    "order_of_methods": (
        "At their optima SMC_F, SMC_NR, SMC_GD and SMCNN are nearly the same matrix, so that printed differences among "
        "them cannot come from converged solutions."
    ),
    "ranks_below_bound": (
        "The optimum has rank r whenever S0 has r eigenvalues above half the weight, 0.0005, and these data have "
        "hundreds."
    ),
    "projection_above_one": "A projection onto a convex set that holds the truth cannot be farther from it than S0.",
    "ahead_of_baselines": (
        "Rank 100 changes the similarities among candidates, which were exact; methods that keep them or project onto "
        "all valid matrices do not make that error."
    ),
    "penalty_matters": "A weight of 0.001 lowers every eigenvalue by 0.0005, which no error shows.",
    "literal_step": (
        "A fixed step settles only below 1/(4 lambda_max(S0)); with lambda_max in the hundreds, 0.001 is above that."
    ),
    "steps_are_stable": "Steps above 1/(4 lambda_max(S0)) cannot settle, and lambda_max(S0) is tens to hundreds.",
    "threshold_lowers_error": (
        "A threshold of 0.01 takes 0.01 off every eigenvalue of S0, of which the largest are tens to hundreds."
    ),
    "classes_found_best": (
        "Similarities weigh all features alike, also those that do not tell classes apart: on PROTEIN no method is far "
        "from chance, and on others an imputer that fits the values well finds classes as well."
    ),
    "readings": (
        "Neither reading of error, recall or nDCG comes near to the printed numbers; what else could have been "
        "measured, the paper's source does not say."
    ),
}
