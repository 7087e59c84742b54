"""Which modules are changed, and which tests are asked about each, quickest first."""

from __future__ import annotations

PACKAGES = ["_spectral", "_posterior", "_result"]

# The longest beginning of a module's path decides. A mutant's run ends at the first test that fails, so what is quick
# and likely to notice comes first: the files that work answers out by hand or in plain loops, `test_known_*.py`.
TESTS = {
    "_spectral": ["tests/spectral/test_known_spectral.py"],
    "_spectral/methods": [
        "tests/spectral/test_known_spectral_calls.py",
        "tests/method/test_memory.py::test_the_table_in_the_documentation_is_that_of_the_registry",
    ],
    "_spectral/complete": [
        "tests/spectral/test_known_spectral_calls.py",
        "tests/spectral/test_certify_passes.py",
        "tests/spectral/test_certificate.py",
    ],
    "_spectral/penalties": [
        "tests/spectral/test_penalties.py",
        "tests/spectral/test_known_steps.py",
        "tests/spectral/test_certificate.py",
    ],
    "_spectral/certify": ["tests/spectral/test_certificate_boundaries.py", "tests/spectral/test_certificate.py"],
    "_spectral/certify_passes": ["tests/spectral/test_known_spectral.py", "tests/spectral/test_certify_passes.py"],
    "_spectral/extend": ["tests/spectral/test_known_spectral.py", "tests/estimators/test_extend.py"],
    "_spectral/eigen": ["tests/spectral/test_known_spectral.py", "tests/spectral/test_certificate.py"],
    "_spectral/eigen/routes": [
        "tests/spectral/test_known_spectral.py",
        "tests/spectral/test_certificate.py",
        "tests/spectral/test_krylov.py",
    ],
    "_spectral/eigen/krylov": ["tests/spectral/test_known_products.py", "tests/spectral/test_krylov.py"],
    "_spectral/solvers": [
        "tests/spectral/test_known_steps.py",
        "tests/spectral/test_known_products.py",
        "tests/spectral/test_descent.py",
        "tests/spectral/test_descent_ends.py",
    ],
    "_posterior": ["tests/posterior/test_known_posterior_method.py", "tests/posterior/shared"],
    "_posterior/shared": ["tests/posterior/shared", "tests/posterior/candidates/test_known_candidate_model.py"],
    "_posterior/incomplete_rows": ["tests/posterior/test_known_posterior_method.py"],
    "_posterior/method": [
        "tests/posterior/test_known_posterior_method.py",
        "tests/posterior/test_known_memory.py",
        "tests/method/test_memory.py::test_the_table_in_the_documentation_is_that_of_the_registry",
    ],
    "_posterior/similarities": ["tests/posterior/similarities/test_known_filter.py"],
    "_posterior/similarities/given": ["tests/posterior/test_known_posterior_method.py"],
    **{
        f"_posterior/similarities/{name}": ["tests/posterior/similarities/test_known_calibration.py"]
        for name in ("calibrate", "filtering")
    },
    "_posterior/all_rows": [
        "tests/posterior/all_rows/test_known_row_models.py",
        "tests/posterior/all_rows/test_known_holdout.py",
    ],
    "_posterior/all_rows/layout": ["tests/posterior/all_rows/test_known_layouts.py", "tests/estimators/test_save.py"],
    **{
        f"_posterior/all_rows/{name}": [
            "tests/posterior/all_rows/test_known_stack_parts.py",
            "tests/posterior/all_rows/test_known_mixture.py",
            "tests/posterior/all_rows/test_mixture.py",
        ]
        for name in ("combine", "member_fits", "members", "mixture", "scored_pairs", "stack", "tilt")
    },
    **{
        f"_posterior/all_rows/{name}": [
            "tests/posterior/all_rows/test_known_row_models.py",
            "tests/posterior/all_rows/test_known_holdout.py",
            "tests/posterior/all_rows/test_by_block.py",
        ]
        for name in ("block_work", "by_block", "packing", "row_order")
    },
    "_posterior/all_rows/on_device": ["tests/posterior/all_rows/test_on_device.py"],
    "_posterior/all_rows/pair_errors": [
        "tests/posterior/all_rows/test_pair_errors.py",
        "tests/posterior/all_rows/test_mixture.py",
    ],
    "_posterior/all_rows/split": [
        "tests/posterior/shared/test_row_values.py",
        "tests/posterior/all_rows/test_posterior_rows.py",
    ],
    "_posterior/all_rows/hidden_values": [
        "tests/posterior/all_rows/test_known_hidden_values.py",
        "tests/posterior/all_rows/test_mixture.py",
    ],
    "_posterior/all_rows/em": ["tests/posterior/all_rows/test_known_factors.py"],
    "_posterior/all_rows/select": ["tests/posterior/all_rows/test_known_row_choice.py"],
    "_posterior/candidates": [
        "tests/posterior/candidates/test_known_candidate_parts.py",
        "tests/posterior/candidates/test_known_candidate_model.py",
        "tests/posterior/candidates/test_choice.py",
        "tests/posterior/candidates/test_streaming.py",
    ],
    "_posterior/candidates/stack": [
        "tests/posterior/candidates/test_known_stack.py",
        "tests/posterior/shared/test_row_values.py",
    ],
    "_posterior/candidates/conditional": [
        "tests/posterior/candidates/test_known_holdout_errors.py",
        "tests/posterior/candidates/test_known_candidate_parts.py",
        "tests/posterior/candidates/test_known_candidate_model.py",
        "tests/posterior/candidates/test_conditional_means.py",
    ],
    "_posterior/candidates/grid": [
        "tests/posterior/candidates/test_conditional_means.py",
        "tests/posterior/candidates/test_lengths.py",
        "tests/posterior/candidates/test_known_candidate_parts.py",
        "tests/posterior/candidates/test_known_candidate_model.py",
        "tests/posterior/candidates/test_choice.py",
        "tests/degenerate/test_small_intervals.py",
    ],
    "_posterior/candidates/ranked_errors": ["tests/posterior/candidates/test_known_ranked_errors.py"],
    "_posterior/candidates/ridge": [
        "tests/posterior/candidates/test_conditional_means.py",
        "tests/posterior/candidates/test_known_candidate_parts.py",
    ],
    "_posterior/candidates/covariance": [
        "tests/posterior/candidates/test_known_candidate_parts.py",
        "tests/posterior/shared/test_row_values.py",
    ],
    **{
        f"_posterior/candidates/{name}": [
            "tests/posterior/candidates/test_known_copies.py",
            "tests/posterior/candidates/test_known_copy_cost.py",
            "tests/posterior/candidates/test_copies.py",
        ]
        for name in ("copies", "likely_sources")
    },
    "_posterior/candidates/fitting": [
        "tests/posterior/candidates/test_known_candidate_model.py",
        "tests/posterior/candidates/test_streaming.py",
        "tests/posterior/test_centred.py",
    ],
    "_posterior/candidates/model": [
        "tests/posterior/candidates/test_known_candidate_model.py",
        "tests/posterior/candidates/test_choice.py",
        "tests/posterior/candidates/test_streaming.py",
        "tests/posterior/candidates/test_batches.py",
    ],
    "_posterior/extend": [
        "tests/posterior/test_known_restricted.py",
        "tests/result/test_new_queries.py",
        "tests/result/test_imputed.py",
        "tests/estimators/test_save.py",
    ],
    "_posterior/candidates/layout": [
        "tests/estimators/test_save.py",
        "tests/posterior/candidates/test_copies.py::test_how_common_each_kind_of_copy_is_can_be_told",
    ],
    "_posterior/layout": ["tests/estimators/test_save.py"],
    "_posterior/query": ["tests/result/test_new_queries.py"],
    "_posterior/values/layout": ["tests/estimators/test_save.py"],
    "_posterior/same_rows": [
        "tests/posterior/same_rows/test_known_same_rows.py",
        "tests/posterior/same_rows/test_known_same_learning.py",
        "tests/posterior/same_rows/test_duplicates.py",
    ],
    "_posterior/shared/copy_classes": [
        "tests/posterior/shared/test_known_copy_classes.py",
        "tests/posterior/candidates/test_copies.py",
    ],
    "_posterior/centred": ["tests/posterior/test_centred.py"],
    "_posterior/values": ["tests/posterior/values"],
    "_posterior/values/members": ["tests/posterior/values", "tests/posterior/all_rows/test_known_mixture.py"],
    "_result": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_results.py",
        "tests/result/test_known_result_blocks.py",
        "tests/result/test_known_views.py",
        "tests/result/test_known_store.py",
        "tests/result/test_completion.py",
        "tests/result/test_completed_views.py",
        "tests/result/test_summary.py",
    ],
    "_result/fits": ["tests/result/test_known_fits.py", "tests/result/test_store.py"],
    "_result/search": [
        "tests/result/test_known_results.py",
        "tests/result/test_known_result_blocks.py",
        "tests/result/test_known_details.py",
        "tests/result/test_unobserved.py",
    ],
    "_result/rows": ["tests/result/test_rows.py"],
    "_result/pair_spread": ["tests/result/test_pair_spread.py"],
    "_result/summary": ["tests/result/test_known_store.py", "tests/result/test_summary.py"],
    "_result/store": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_store.py",
        "tests/result/test_store.py",
        "tests/result/test_formats.py",
    ],
    "_result/archive": ["tests/result/test_known_store.py", "tests/result/test_store.py"],
    "_result/probabilities": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_probabilities.py",
        "tests/result/test_known_thresholds.py",
        "tests/result/test_probabilities.py",
        "tests/result/test_searching.py",
    ],
    "_result/pairs": ["tests/result/test_known_probabilities.py", "tests/result/test_probabilities.py"],
    "_result/thresholds": ["tests/result/test_known_thresholds.py", "tests/result/test_probabilities.py"],
    "_result/top": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_details.py",
        "tests/result/test_known_probabilities.py",
        "tests/result/test_probabilities.py",
    ],
    "_result/recalibration": [
        "tests/result/test_known_details.py",
        "tests/result/test_known_probabilities.py",
        "tests/result/test_known_thresholds.py",
        "tests/result/test_probabilities.py",
    ],
    "_result/validity": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_details.py",
        "tests/result/test_completed_views.py",
    ],
    "_result/views": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_views.py",
        "tests/result/test_known_details.py",
        "tests/result/test_completed_views.py",
    ],
    "_result/intervals": [
        "tests/result/test_known_details.py",
        "tests/result/test_known_probabilities.py",
        "tests/result/test_known_thresholds.py",
        "tests/result/test_probabilities.py",
        "tests/result/test_known_results.py",
    ],
    "_result/duplicates": ["tests/posterior/same_rows"],
    "_result/layout": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_details.py",
        "tests/estimators/test_save.py",
    ],
    "_result/new_queries": ["tests/result/test_new_queries.py"],
    "_result/searching": [
        "tests/result/test_searching.py",
        "tests/result/test_known_probabilities.py",
        "tests/result/test_unobserved.py",
    ],
    "_result/imputed": ["tests/result/test_known_details.py", "tests/result/test_imputed.py"],
    "_result/frames": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_details.py",
        "tests/result/test_result_frames.py",
    ],
    "_result/html": ["tests/result/test_html.py"],
    "_result/plots": [
        "tests/result/test_known_parts.py",
        "tests/result/test_known_details.py",
        "tests/result/test_plots.py",
    ],
    "_result/unobserved": ["tests/result/test_unobserved.py"],
    "_result/certificate": ["tests/spectral/test_certificate_boundaries.py", "tests/spectral/test_certificate.py"],
    "metrics": ["tests/test_metrics_ranking.py", "tests/test_metrics.py"],
}


def asked_about(module: str) -> list[str]:
    """The tests to ask about a module, given as a path below the package."""
    return TESTS[max((name for name in TESTS if module.startswith(name)), key=len)]
