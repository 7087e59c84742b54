"""Two versions side by side: here the same one twice."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.before import compared  # noqa: E402


def test_the_same_version_gives_the_same_answer():
    row = compared(ROOT, "overlap", (100, 5, 64), {"method": "overlap"}, repeats=1)
    assert row["apart"] == 0
    assert row["before_s"] > 0
    assert row["ratio"] > 0
    assert row["size"] == "100+5x64"
