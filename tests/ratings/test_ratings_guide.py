"""The example of docs/ratings.md runs, and is right."""

import re
from pathlib import Path

import numpy as np

GUIDE = (Path(__file__).parents[2] / "docs" / "ratings.md").read_text(encoding="utf-8")


def test_the_example_runs():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(compile(code, "docs/ratings.md", "exec"), names)
    known = names["R"][[0, 1]].toarray()
    np.testing.assert_array_equal(names["predicted"][known > 0], known[known > 0])
    assert names["std"].shape == (2, 80)
    assert names["alike"].ids.shape == (2, 5)
    assert names["things"].n == 80
    unknown = names["whole"][:2][known == 0]
    error = names["predicted"][known == 0] - unknown
    assert np.mean(error**2) < np.var(unknown)
