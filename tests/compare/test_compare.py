"""Comparisons: resumed where they stopped, and summarised."""

from __future__ import annotations

import numpy as np
import pytest

from simcomplete import _registry as registry
from simcomplete._compare.compare import compare_methods, summarise
from simcomplete._compare.gaps import hide_known
from simcomplete.errors import InputError, InputWarning

X = np.random.default_rng(0).random((66, 16))


GAPPED = np.where(X < 0.1, np.nan, X)


def test_data_with_gaps():
    rows = compare_methods(GAPPED, names=["overlap", "mean"], repeats=1)
    assert [row["error"] == 1 for row in rows] == [True, False]
    assert {row["missing"] for row in rows} == {0.2}
    assert rows[0]["common"] == 8  # half of the 16 features
    assert 0.8 < rows[0]["counted"] <= 1
    assert summarise(rows)[0]["ndcg"] is None


def test_hidden_values_were_known_and_some_complete_rows_stay():
    part = hide_known(GAPPED, missing=0.5, seed=3)
    left = ~np.isnan(part.X)
    np.testing.assert_array_equal(part.X[left], part.X_known[left])
    whole = ~np.isnan(part.X_known).any(axis=1)
    assert np.isnan(part.X[whole]).any(axis=1).sum() == whole.sum() // 2
    assert np.isnan(part.X[~whole]).sum() > np.isnan(part.X_known[~whole]).sum()


@pytest.mark.parametrize("settings", [{"pattern": "square"}, {"queries": 3}, {"shape": (4, 4)}, {"missing": 1.5}])
def test_what_gaps_do_not_allow(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        compare_methods(GAPPED, names=["mean"], repeats=1, **settings)


def test_no_pair_to_check():
    with pytest.raises(InputError, match="no two of the"):
        compare_methods(np.where(np.eye(8) > 0, 1.0, np.nan), names=["mean"], repeats=1)


def test_an_interrupted_comparison_resumes(tmp_path, monkeypatch):
    calls = []
    real = registry.REGISTRY["smcnn"].run

    def counted(problem, settings, params):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(problem, settings, params)

    row = registry.REGISTRY["smcnn"]
    monkeypatch.setitem(registry.REGISTRY, "smcnn", type(row)(**{**vars(row), "run": counted}))
    settings = {"names": ["overlap", "smcnn"], "repeats": 4, "path": tmp_path / "rows.jsonl"}
    with pytest.raises(KeyboardInterrupt):
        compare_methods(X, **settings)
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 5
    rows = compare_methods(X, **settings)
    assert len(rows) == 8
    assert len(calls) == 5  # 2 before, the interrupted one, and the 2 that were left
    assert len({(r["method"], r["seed"]) for r in rows}) == 8
    compare_methods(X, **settings)
    assert len(calls) == 5
    compare_methods(X, **{**settings, "missing": 0.5})  # other settings are other trials
    assert len(calls) == 9


def test_summary_by_hand():
    rows = [
        {"method": "a", "outcome": "done", "error": 0.5, "valid": True, "fails": [], "seconds": 1.0},
        {"method": "a", "outcome": "done", "error": 0.7, "valid": False, "fails": ["psd"], "seconds": 3.0},
        {"method": "b", "outcome": "failed", "reason": "no", "seconds": 0.1},
        {"method": "c", "outcome": "done", "error": 0.2, "valid": True, "fails": [], "seconds": 1.0},
    ]
    c, a, b = summarise(rows)
    assert [c["method"], a["method"], b["method"]] == ["c", "a", "b"]
    assert a["error"] == pytest.approx(0.6)
    assert a["error_spread"] == pytest.approx(np.std([0.5, 0.7], ddof=1))
    assert (a["valid"], a["fails"]) == (False, ["psd"])
    assert (b["error"], b["failed"], b["reason"]) == (None, 1, "no")
    assert c["error_spread"] is None


UNITS = np.random.default_rng(1).normal(size=(60, 6)) * [1, 1, 1, 100, 1, 10] + 200


@pytest.mark.parametrize("gaps", [False, True])
def test_features_are_scaled_in_the_truth_too(gaps):
    data = np.where(np.random.default_rng(2).random(UNITS.shape) < 0.1, np.nan, UNITS) if gaps else UNITS
    settings = {"names": ["overlap", "mean"], "repeats": 2, "missing": 0.3}
    rows = compare_methods(data, **settings, params={"center": "mean", "scale": "sd"})
    # S0 itself is as far from the truth as S0; it was hundreds of times as far from the cosines of unscaled rows.
    assert [row["error"] for row in rows if row["method"] == "overlap"] == pytest.approx([1, 1])
    # Units have no meaning then: the same in other units.
    other = compare_methods(data * 7 - 3, **settings, params={"center": "mean", "scale": "sd"})
    assert [row["error"] for row in other] == pytest.approx([row["error"] for row in rows])


@pytest.mark.parametrize("params", [{"metric": "pearson"}, {"positive": True}])
def test_the_truth_is_of_the_same_kind(params):
    rows = compare_methods(X, names=["overlap"], repeats=1, params=params)
    assert rows[0]["error"] == pytest.approx(1)


def test_questions_about_the_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).add_prefix("f")
    settings = {"names": ["mean"], "repeats": 1}
    with pytest.warns(InputWarning, match="user_id"):
        compare_methods(frame.assign(user_id=range(len(X))), **settings)
    with pytest.warns(InputWarning, match="center="):
        compare_methods(X + 100, **settings)
    with pytest.raises(InputError, match="nearest_correlation"):
        compare_methods(frame.corr(), **settings)
    with pytest.raises(InputError, match="center='means'"):
        compare_methods(X, **settings, params={"center": "means"})
