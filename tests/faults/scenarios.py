"""What is hit: calls and commands that write, each with what must be on disk before, after, and whatever happens."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import simcomplete as sc

from .processes import call, command


class FaultError(AssertionError):
    """What is on disk, or what was said, is not what was promised."""


@dataclass(frozen=True)
class Scenario:
    """Something that writes.

    Attributes
    ----------
    name, script : str
        What it is, and the process that does it.
    prepare : callable
        Puts into an empty folder what it needs.
    state : callable
        Reads what is on disk, raises FaultError where something is half, and returns what it is in a word or a digest:
        equal where it is the same.
    grows : bool
        Whether it adds to a file: then states between the old one and the new one are sound, and not only these two.
    """

    name: str
    script: str
    prepare: Callable[[Path], None]
    state: Callable[[Path], str]
    grows: bool = False


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Digits: 240 candidates, and 24 queries of which seven tenths are missing."""
    X = load_digits().data[:264]
    Q = X[240:].copy()
    Q[np.random.default_rng(0).random(Q.shape) < 0.7] = np.nan
    return X[:240], Q


def inputs(folder: Path) -> None:
    """The two files of rows."""
    np.save(folder / "p.npy", rows()[0])
    np.save(folder / "q.npy", rows()[1])


def inputs_and_result(folder: Path) -> None:
    """The files, and a completion from before."""
    inputs(folder)
    sc.complete(*rows(), method="smcnn", rank=3).save(folder / "done")


def inputs_and_model(folder: Path) -> None:
    """The files, and a model from before, of half of the candidates."""
    inputs(folder)
    sc.PosteriorCompleter(effort="fast").fit(rows()[0][:120]).save(folder / "model")


def tables(folder: Path) -> None:
    """A table with gaps in which a row is there twice, and a matrix that is not a correlation matrix."""
    inputs(folder)
    table = np.concatenate([rows()[0][:100], rows()[0][:1]])[:, 2:6] + np.arange(4)
    np.save(folder / "table.npy", np.where(np.random.default_rng(1).random(table.shape) < 0.1, np.nan, table))
    np.save(
        folder / "A.npy", np.where(np.eye(30) > 0, 1.0, np.sign(np.add.outer(np.arange(30), np.arange(30)) % 3 - 1))
    )


def inputs_and_rows(folder: Path) -> None:
    """The files, and rows of the paper's experiments."""
    inputs(folder)
    row = {"dataset": "digits", "candidates": 120, "queries": 24, "missing": 0.8, "seed": 0, "method": "smcnn"}
    row |= {"params": {"rank": 10, "penalty": 0.001}, "outcome": "done", "error": 0.7, "seconds": 0.1, "limit": 4.0}
    (folder / "paper").mkdir()
    (folder / "paper" / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def saved(folder: Path) -> str:
    """A completion that loads, by its rank and numbers; or nothing."""
    path = folder / "done"
    if not path.exists():
        return "nothing"
    try:
        done = sc.load(path)
        S = np.asarray(done.similarity())
    except Exception as error:
        raise FaultError(f"what was saved does not load: {type(error).__name__}: {error}") from error
    return f"rank {done.rank}, {float(np.abs(S).sum()):.12g}"


def model(folder: Path) -> str:
    """A model that loads and answers."""
    try:
        found = sc.load(folder / "model")
        u = found.transform(rows()[1])
    except Exception as error:
        raise FaultError(f"the model does not load: {type(error).__name__}: {error}") from error
    return f"{len(found.candidates_)} candidates, {float(np.abs(u).sum()):.12g}"


def written(name: str) -> Callable[[Path], str]:
    """What a file of numbers or lines holds, whole or not there."""

    def state(folder: Path) -> str:
        path = folder / name
        if not path.exists():
            return "nothing"
        if path.suffix != ".npy":
            return f"{len(path.read_text(encoding='utf-8').splitlines())} lines"
        try:
            return f"{float(np.abs(np.load(path)).sum()):.12g}"
        except ValueError as error:
            raise FaultError(f"{name} does not load: {error}") from error

    return state


def factor(folder: Path) -> str:
    """A factor that loads, or nothing."""
    path = folder / "factor.npy"
    if not path.exists():
        return "nothing"
    try:
        F = np.load(path)
    except ValueError as error:
        raise FaultError(f"the factor does not load: {error}") from error
    return f"{F.shape}, {float(np.abs(F).sum()):.12g}"


def neighbours(folder: Path) -> str:
    """A whole table of neighbours, or nothing."""
    path = folder / "near.csv"
    if not path.exists():
        return "nothing"
    with path.open(newline="", encoding="utf-8") as file:
        return f"{len(list(csv.reader(file)))} lines"


def ledger(folder: Path) -> str:
    """The trials in a file of rows; a last line that was cut off is not one."""
    found: Counter[str] = Counter()
    for path in sorted(folder.glob("*/rows.jsonl")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for line in lines[:-1]:
            try:
                row = json.loads(line)
            except ValueError as error:
                raise FaultError(f"{path.name} holds a broken line: {line[:80]!r}") from error
            found[f"{row['method']} {row['seed']} {row['outcome']}"] += 1
    twice = [name for name, count in found.items() if count > 1]
    if twice:
        raise FaultError(f"trials were stored twice: {twice}")
    return ", ".join(sorted(found)) or "nothing"


def page(folder: Path) -> str:
    """A whole page, or nothing."""
    pages = sorted(folder.glob("*/index.html")) + sorted(folder.glob("*/demo.html"))
    for path in pages:
        if not path.read_text(encoding="utf-8").rstrip().endswith("</html>"):
            raise FaultError(f"{path.name} is half a page")
    return f"{len(pages)} pages"


COMPLETE = ("-o", "done", "--overwrite", "--method", "smcnn", "--rank", "5", "--no-progress")
COMPARE = ("compare", "p.npy", "-o", "table", "--methods", "overlap,mean,smcnn", "--repeats", "3", "--no-progress")
# Commands that write one file each, which must be whole or not there.
WRITERS = {
    "impute": ("table.npy", "-o", "full.npy"),
    "repair": ("A.npy", "-o", "valid.npy"),
    "duplicates": ("table.npy", "-o", "same.csv"),
    "match": ("p.npy", "q.npy", "-o", "found.csv"),
}
SMALL = ("--candidates", "60", "--queries", "10")
PAPER = ("complexity", "--quick", "-o", "paper")
METHODS = [word for name in ("smcnn", "smcnmf", "fmc") for word in ("--only", f"method={name}")]
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "save",
            call(
                'done.save("done", overwrite=True)',
                'done = sc.complete(np.load("p.npy"), np.load("q.npy"), method="smcnn", rank=5)',
            ),
            inputs_and_result,
            saved,
        ),
        Scenario(
            "out=",
            call(
                'sc.complete("p.npy", Q, method="smcnn", rank=5, out="factor.npy", memory="16 KiB")',
                'Q = np.load("q.npy")',
            ),
            inputs,
            factor,
        ),
        Scenario(
            "complete",
            command(
                *[
                    "complete",
                    "p.npy",
                    "q.npy",
                    "-o",
                    "done",
                    "--overwrite",
                    "--method",
                    "smcnn",
                    "--rank",
                    "5",
                    "--no-progress",
                ]
            ),
            inputs_and_result,
            saved,
        ),
        Scenario(
            "search",
            command(*["search", "done", "-k", "3", "-o", "near.csv", "--overwrite"]),
            inputs_and_result,
            neighbours,
        ),
        Scenario("compare", command(*COMPARE, *SMALL), inputs, ledger, grows=True),
        Scenario("demo", command(*["demo", "-o", "page", "--candidates", "60", "--queries", "10"]), inputs, page),
        Scenario(
            "paper run",
            command("paper", "run", *PAPER, "--no-progress", *METHODS),
            inputs,
            ledger,
            grows=True,
        ),
        Scenario(
            "model",
            call(
                'model.save("model", overwrite=True)',
                'model = sc.PosteriorCompleter(effort="fast").fit(np.load("p.npy"))',
            ),
            inputs_and_model,
            model,
        ),
        *(
            Scenario(name, command(name, *arguments, "--overwrite"), tables, written(arguments[-1]))
            for name, arguments in WRITERS.items()
        ),
        Scenario("paper report", command("paper", "report", *PAPER), inputs_and_rows, page),
    )
}
