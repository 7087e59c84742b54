"""The examples of docs/vector-search.md run, engine by engine, on the real ones."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc

PAGE = (Path(__file__).parents[2] / "docs" / "vector-search.md").read_text(encoding="utf-8")
X = sc.datasets.load("digits").X
P, NAMES = X[:200], [f"digit {i}" for i in range(200)]
ENGINES = {"SQLite": None, "FAISS": "faiss", "PostgreSQL with pgvector": "psycopg", "Qdrant": "qdrant_client"}
ENGINES["LanceDB"] = "lancedb"


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def section(title):
    return PAGE.split(f"\n### {title}\n")[1].split("\n##")[0]


@pytest.fixture(scope="module")
def fitted():
    asked = sc.masks.apply(X[300:306], sc.masks.random(X[300:306], missing=0.7))
    names = {"P": P, "Q": asked, "names": NAMES, "new_rows": X[400:402]}
    (first,) = blocks(PAGE.split("\n## ")[0])
    exec(first, names)
    assert names["vectors"].shape == asked.shape and not np.isnan(names["vectors"]).any()
    return names


def test_every_engine_has_a_section():
    there = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert set(ENGINES) <= set(there)
    assert all(len(blocks(section(name))) == 1 for name in ENGINES)


@pytest.mark.parametrize("name", ENGINES)
def test_its_example_runs(name, fitted, tmp_path, monkeypatch, request, capsys):
    if ENGINES[name] is not None:
        pytest.importorskip(ENGINES[name], reason=f"no {ENGINES[name]}")
    (code,) = blocks(section(name))
    if "postgresql://" in code:
        code = code.replace("postgresql://localhost/items", request.getfixturevalue("postgres"))
    monkeypatch.chdir(tmp_path)
    model = fitted["model"]
    names = {**fitted, "model": copy.copy(model)}  # which some examples change
    exec(code, names)
    found = names["found"]
    best = np.array(
        [len({*mine} & {*true}) for mine, true in zip(found.ids, model.search(fitted["Q"], 10).ids, strict=True)]
    )
    assert best.mean() >= (10 if name in ("SQLite", "Qdrant") else 9)
    names["held"].store.close()
