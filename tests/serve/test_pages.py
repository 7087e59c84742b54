"""The code of docs/models.md and the client of docs/serving.md run and print what they say."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def test_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("models.md"))
    exec(compile(code, "models.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


def test_the_client_is_twenty_lines():
    pytest.importorskip("starlette")
    (code,) = blocks("serving.md")
    names = {}
    exec(compile(code, "serving.md", "exec"), names)
    assert {"ask", "search"} <= set(dir(names["Items"]))
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 22
