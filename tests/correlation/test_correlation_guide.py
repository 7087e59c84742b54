"""Every example of docs/correlation.md runs, in order, and says what it is there to say."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "correlation.md"


def test_the_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 8
    names = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    said = capsys.readouterr().out
    assert said.startswith("optimal: ")
    assert "Move(row=" in said
    assert "contradict each other" in names["message"]
    assert "A['bonds', 'credit']" in names["message"]
