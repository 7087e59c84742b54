"""The examples of docs/imputation.md run, one after the other, and are right."""

import re
from pathlib import Path

import numpy as np

GUIDE = (Path(__file__).parent.parent / "docs" / "imputation.md").read_text(encoding="utf-8")


def test_the_examples_run(capsys):
    names = {}
    for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(compile(code, "docs/imputation.md", "exec"), names)
    X, missing = names["X"], np.isnan(names["X"])
    np.testing.assert_array_equal(names["filled"][~missing], X[~missing])
    assert (names["low"] <= names["high"]).all()
    assert list(names["filled_frame"].columns) == ["height", "weight"]
    heights = names["filled_frame"]["height"].to_numpy()[missing[:, 0]]
    np.testing.assert_array_equal(heights, np.round(heights))
    truth = 0.9 * names["height"] - 80
    assert abs(names["pooled"].estimate - truth.mean()) < 3
    assert "+-" in capsys.readouterr().out
    assert 0.1 < names["filled_matrix"][0, 1] < 0.9  # two columns with one common factor: .5
