"""`simcomplete match`: copies with gaps, as JSON or .csv."""

import csv
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def tables(folder):
    rng = np.random.default_rng(0)
    P = rng.random((120, 12))
    Q = np.where(rng.random((6, 12)) < 0.3, np.nan, np.concatenate([P[[5, 9, 70]], rng.random((3, 12))]))
    np.save("many.npy", P)
    np.save("some.npy", Q)


def test_sources_are_named(tables, as_json, run):
    document = as_json("match", "many.npy", "some.npy", "--effort", "fast", "-o", "m.csv")
    assert [entry["candidate"] for entry in document["matches"]][:3] == [5, 9, 70]
    assert [entry["kind"] for entry in document["matches"]] == ["exact"] * 3 + ["fresh"] * 3
    with Path("m.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["query"] for line in lines] == list("012345")
    assert [float(line["copy"]) for line in lines] == [entry["copy"] for entry in document["matches"]]
    only = as_json("match", "many.npy", "some.npy", "--effort", "fast", "--above", "0.5")
    assert [entry["query"] for entry in only["matches"]] == [0, 1, 2]


def test_what_is_refused(tables, run):
    np.save("few.npy", np.random.default_rng(0).random((10, 12)))
    refused = run("match", "few.npy", "some.npy", code=2)
    assert "from 40 complete candidates on" in refused.stderr
    assert "0.5,0,0" in run("match", "many.npy", "some.npy", "--prior", "half", code=2).stderr
    refused = run("match", "many.npy", "some.npy", "--prior", "0.5,0.5", code=2)
    assert "--prior [0.5, 0.5] is not a number between 0 and 0.99 or the shares of exact" in refused.stderr


def test_how_common_each_kind_is(tables, as_json):
    document = as_json("match", "many.npy", "some.npy", "--effort", "fast", "--prior", "0.5,0,0")
    assert [entry["copy"] > 0.9 for entry in document["matches"]] == [True] * 3 + [False] * 3
    assert not any(entry["near"] or entry["rough"] for entry in document["matches"])


@pytest.mark.filterwarnings("always::simcomplete.errors.InputWarning")
def test_features_in_their_own_units(folder, run, as_json):
    rng = np.random.default_rng(3)
    P = np.column_stack([rng.random((90, 8)), 1000 + rng.random(90)])
    np.save("many.npy", P)
    np.save("some.npy", np.where(np.arange(9) < 3, np.nan, P[:5]))
    advice = run("match", "many.npy", "some.npy", "--effort", "fast").stderr
    assert "--center subtracts the means, and --scale gives" in advice
    asked = ("match", "many.npy", "some.npy", "--effort", "fast", "--center", "mean", "--scale", "sd")
    assert not run(*asked).stderr
    assert [entry["candidate"] for entry in as_json(*asked)["matches"]] == [0, 1, 2, 3, 4]
    assert "--scale huge" in run(*asked[:-1], "huge", code=2).stderr
