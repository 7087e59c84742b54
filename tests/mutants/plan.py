"""Which modules are changed, and which tests are asked about each, quickest first."""

from __future__ import annotations

# The longest beginning of a module's path decides. A mutant's run ends at the first test that fails.
TESTS = {
    "_spectral": ["tests/spectral"],
    "_posterior": ["tests/posterior"],
    "_result": ["tests/result"],
    "metrics": ["tests/test_metrics.py"],
}
PACKAGES = ["_spectral", "_posterior", "_result"]


def tests_of(module: str) -> list[str]:
    """The tests to ask about a module, given as a path below the package."""
    return TESTS[max((name for name in TESTS if module.startswith(name)), key=len)]
