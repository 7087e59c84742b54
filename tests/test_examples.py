"""Every example runs without a warning, and says what it is there to say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, room):
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        cwd=room,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted({path.name for path in EXAMPLES.glob("*.py")} - {"vector_search.py"}))
def test_it_runs(name, tmp_path):
    if name == "stock_correlation.py":
        pytest.importorskip("skfolio", reason="prices come with skfolio (extra `docs`)")
    assert len(run(name, tmp_path).splitlines()) >= 5


def test_transformed_queries_find_what_others_do_not(tmp_path):
    pytest.importorskip("faiss", reason="the index of the example (extra `faiss`)")
    lines = [line for line in run("vector_search.py", tmp_path).splitlines() if "%" in line]
    found = {line.split("  ")[1].strip(): float(line.split("%")[0].split()[-1]) for line in lines}
    assert found["model.transform(Q)"] > 3 * max(found["filled with means"], found["filled with zeros"])
    assert found["model.search(Q)"] == found["model.transform(Q)"]
