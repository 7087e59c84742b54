"""Which modules are changed, and which tests are asked about each, quickest first."""

from __future__ import annotations

PACKAGES = ["_spectral", "_posterior", "_result"]

# The longest beginning of a module's path decides. A mutant's run ends at the first test that fails, so what is quick
# and likely to notice comes first.
TESTS = {
    "_spectral": [
        "tests/spectral/test_certificate_boundaries.py",
        "tests/spectral/test_known_steps.py",
        "tests/spectral/test_certificate.py",
        "tests/spectral/test_exact.py",
        "tests/spectral/test_krylov.py",
        "tests/spectral/test_two_routes.py",
        "tests/estimators/test_extend.py",
        "tests/spectral/test_penalties.py",
        "tests/spectral/test_descent.py",
    ],
    "_spectral/penalties": ["tests/spectral/test_penalties.py"],
    "_spectral/problem": ["tests/spectral/test_known_steps.py", "tests/spectral/test_certificate.py"],
    "_spectral/certify": [
        "tests/spectral/test_certificate_boundaries.py",
        "tests/spectral/test_certificate.py",
        "tests/spectral/test_exact.py",
    ],
    "_spectral/certify_passes": ["tests/spectral/test_certify_passes.py"],
    "_spectral/extend": ["tests/estimators/test_extend.py"],
    "_spectral/eigen/krylov": ["tests/spectral/test_krylov.py"],
    "_spectral/eigen": ["tests/spectral/test_certificate.py", "tests/spectral/test_exact.py"],
    "_spectral/solvers": [
        "tests/spectral/test_known_steps.py",
        "tests/spectral/test_descent.py",
        "tests/spectral/test_two_routes.py",
    ],
    "_posterior": [
        "tests/posterior/shared",
        "tests/posterior/candidates/test_choice.py",
        "tests/posterior/candidates/test_conditional_means.py",
        "tests/posterior/candidates/test_streaming.py",
        "tests/posterior/candidates/test_posterior_guarantees.py",
        "tests/posterior/all_rows/test_posterior_rows.py",
        "tests/posterior/similarities",
        "tests/posterior/all_rows/test_all_rows.py",
    ],
    "_posterior/shared/lengths": ["tests/posterior/shared/test_lengths.py"],
    "_result": ["tests/result/test_known_results.py", "tests/result"],
    "_result/certificate": ["tests/spectral/test_certificate_boundaries.py", "tests/spectral/test_certificate.py"],
    "metrics": ["tests/test_metrics.py"],
}


def asked_about(module: str) -> list[str]:
    """The tests to ask about a module, given as a path below the package."""
    return TESTS[max((name for name in TESTS if module.startswith(name)), key=len)]
