"""Every example runs, and says what it is there to say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "agg"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_transformed_queries_find_what_others_do_not():
    example = next(path for path in EXAMPLES if path.stem == "vector_search")
    told = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True).stdout
    sqlite = told.split("SQLite")[1]
    found = {
        line.split("  ")[1].strip(): float(line.split("%")[0].split()[-1])
        for line in sqlite.splitlines()
        if "%" in line
    }
    assert found["model.transform(Q)"] > 3 * max(found["filled with means"], found["NaN as it is"])
