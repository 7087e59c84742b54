"""Everything the README says is run: its example, its commands, its table, its links, its targets."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._report import demo
from simcomplete._report.results import HEAD, cells

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands():
    lines = [
        line.split("#")[0].removeprefix("$ ").strip() for block in blocks("console") for line in block.splitlines()
    ]
    return [line for line in lines if line]


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 12
    assert "interval" in code
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["ids"].shape == (200, 10)
    assert names["S"].shape == (200, 1000)
    assert capsys.readouterr().out.startswith("symmetric         yes")
    assert sc.load("digits-completed").n_queries == 200


def test_the_first_table_is_true():
    truth = sc.datasets.load("digits").X[:300]
    X = sc.masks.apply(truth, sc.masks.random(truth, missing=0.4))
    for row in X[:3, 18:24]:
        assert f"`{' '.join('NaN' if np.isnan(x) else f'{x:.0f}' for x in row)}`" in README
    unit = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    for name, S in (
        ("over the pixels that both have", sc.overlap_similarity(X)),
        ("`sc.complete(X)`", sc.complete(X).similarity([0, 1, 2], [0, 1, 2])),
        ("over all pixels (the truth)", unit @ unit.T),
    ):
        line = next(line for line in README.splitlines() if line.startswith(f"| {name} |"))
        told = [float(cell) for cell in line.split("|")[2:5]]
        np.testing.assert_allclose(told, [S[0, 1], S[0, 2], S[1, 2]], atol=0.0051)


def test_the_short_forms_run():
    X = np.random.default_rng(0).random((10, 4))
    X[X < 0.3] = np.nan
    assert "`sc.complete(X)`" in README
    assert sc.complete(X).n == 10
    assert "`sc.complete_similarity(S0)`" in README
    S0 = sc.overlap_similarity(X)
    assert sc.complete_similarity(S0).n == 10
    assert '`sc.complete(X, center="mean", scale="sd")`' in README
    assert sc.complete(X, center="mean", scale="sd").scaling is not None
    assert '`sc.complete(df, id="name").to_frame()`' in README
    df = pd.DataFrame(X, columns=list("abcd")).assign(name=list("klmnopqrst"))
    assert list(sc.complete(df, id="name").to_frame().index) == list("klmnopqrst")
    assert '`sc.complete(P, Q, method="posterior").match`' in README
    P = np.random.default_rng(1).random((60, 8))
    Q = np.where(np.arange(8) < 3, np.nan, P[:2])
    done = sc.complete(P, Q, method="posterior")
    assert done.match.ids.tolist() == [0, 1]
    assert "`done.probability(above=0.9)`" in README
    assert done.probability(above=0.9).shape == (2, 60)
    assert "`sc.PosteriorImputer()`" in README
    assert not np.isnan(sc.PosteriorImputer().fit_transform(X)).any()
    assert "`sc.nearest_correlation(A)`" in README
    A = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert np.linalg.eigvalsh(sc.nearest_correlation(A).matrix)[0] > -1e-9


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    wanted = re.findall(r"(?:`|\$ )make (\w+)", README)
    assert {"demo", "test", "bench"} <= set(wanted)
    for target in wanted:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_shell_commands_run(tmp_path, monkeypatch, capsys):
    from simcomplete._cli import main

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, rows in (("candidates.csv", 20), ("queries.csv", 4)):
        X = rng.random((rows, 6)).round(3).astype(str)
        if name == "queries.csv":
            X[rng.random(X.shape) < 0.3] = ""
        Path(name).write_text("\n".join(["a,b,c,d,e,f", *(",".join(row) for row in X)]) + "\n")
    shell = [line for line in commands() if line.startswith("simcomplete")]
    assert len(shell) == 5
    for line in shell:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, line
        assert capsys.readouterr().out.strip(), line
    assert sc.load("completed").params["chosen_by"] == "auto"


def test_the_table_is_what_the_demo_prints():
    printed = [cells(row) for row in demo.run(progress=False).rows]
    head = [*HEAD[:-1]]
    table = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("|")
    ]
    start = table.index(head)
    said = table[start + 2 : start + 2 + len(printed)]
    for row, expected in zip(said, printed, strict=True):
        for cell, value in zip(row, expected[:-1], strict=True):
            try:
                assert abs(float(cell) - float(value)) <= 0.0021, (row, expected)
            except ValueError:
                assert cell == value


def test_every_method_named_in_how_to_choose_exists():
    section = README.split("## How to choose")[1].split("##")[0]
    names = {method.name for method in sc.methods()}
    named = set(re.findall(r"`(\w+)`", section.split("`sc.methods()`")[0]))
    assert len(named & names) >= 7
    assert named - names == {"auto"}


def test_estimators_and_solvers_it_names_exist():
    for name in re.findall(r"`sc\.(SM\w+|Sim\w+)`", README):
        assert hasattr(sc, name)
    assert sc.complete(np.eye(4), solver="descent").certificate.optimal


@pytest.mark.parametrize("document", sorted(["README.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]))
def test_links_lead_somewhere(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert ((ROOT / document).parent / target).exists(), target


def test_the_pictures_can_be_drawn_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import picture

    picture.main(tmp_path / "spectrum.png", candidates=40, queries=10)
    picture.queries(tmp_path / "queries.png", candidates=60, number=10)
    for file in (folder / f"{name}.png" for folder in (tmp_path, ROOT / "docs") for name in ("spectrum", "queries")):
        assert f"docs/{file.name}" in README
        assert file.read_bytes().startswith(b"\x89PNG")
