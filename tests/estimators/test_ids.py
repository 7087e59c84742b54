"""Ids that candidates keep while others come and go."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import fitting
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorCompleter

P = np.random.default_rng(0).random((60, 5))


@pytest.fixture
def model():
    return PosteriorCompleter(effort="fast").fit(P, ids=[f"row {i}" for i in range(60)])


def test_search_returns_the_ids_given(model, tmp_path):
    plain = PosteriorCompleter(effort="fast").fit(P)
    asked = np.where(np.arange(5) < 3, P[:4], np.nan)
    expected = plain.search(asked, k=7)
    found = model.search(asked, k=7)
    assert found.ids.tolist() == [[f"row {i}" for i in row] for row in expected.ids]
    np.testing.assert_array_equal(found.scores, expected.scores)
    model.save(tmp_path / "m")
    assert sc.load(tmp_path / "m").search(asked, k=7).ids.tolist() == found.ids.tolist()


def test_ids_stay_while_rows_move(model):
    model.forget(ids=["row 0", "row 3"]).partial_fit(P[:1] * [1, 2, 1, 2, 1], ids=["new"])
    assert model.search(P[[1]], k=1).ids.tolist() == [["row 1"]]
    assert model.search(P[[59]], k=1).ids.tolist() == [["row 59"]]
    assert model.search(P[:1] * [1, 2, 1, 2, 1], k=1).ids.tolist() == [["new"]]
    assert len(model.ids_) == len(model.candidates_) == 59
    model.forget([0])
    assert "row 1" not in model.ids_.as_list()


def test_whole_numbers_stay_whole_numbers():
    model = PosteriorCompleter(effort="fast").fit(P, ids=np.arange(100, 160))
    found = model.search(P[[7]], k=1).ids
    assert found.tolist() == [[107]] and found.dtype == np.int64


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a"] * 60, "several rows"),
        (["a", "b"], "each of the 60"),
        ([*range(59), 1.5], "neither text"),
        ([*range(59), None], "neither text"),
        ([*range(59), True], "neither text"),
        ([*range(59), 2**63], "neither text"),
        ([*range(59), "x" * 1001], "neither text"),
        ([*range(59), "\ud800"], "neither text"),
    ],
)
def test_ids_that_are_none(ids, words):
    with pytest.raises(InputError, match=words):
        PosteriorCompleter(effort="fast").fit(P, ids=ids)


def test_what_does_not_fit_is_refused_and_nothing_changes(model):
    before = model.ids_.as_list()
    for call, words in [
        (lambda: model.partial_fit(P[:1]), "need ids, too"),
        (lambda: model.partial_fit(P[:1], ids=["row 5"]), "already"),
        (lambda: model.forget(ids=["nobody"]), "no candidate with the id"),
        (lambda: model.forget(), "give either rows="),
        (lambda: model.forget([1], ids=["row 1"]), "give either rows="),
        (lambda: model.forget(ids=before), "all 60"),
    ]:
        with pytest.raises(InputError, match=words):
            call()
    assert model.ids_.as_list() == before and len(model.candidates_) == 60
    with pytest.raises(InputError, match="have no ids"):
        PosteriorCompleter(effort="fast").fit(P).forget(ids=["row 1"])
    with pytest.raises(InputError, match="have no ids"):
        PosteriorCompleter(effort="fast").fit(P).partial_fit(P[:1], ids=["a"])


def test_ids_of_any_sequence():
    given = [f"a {i}" for i in range(60)]
    for ids in (iter(given), tuple(given), np.array(given), np.array(given, dtype=object)):
        assert PosteriorCompleter(effort="fast").fit(P, ids=ids).ids_.as_list() == given


def test_streamed_candidates_have_ids_too(tmp_path, monkeypatch):
    """Rows outside memory: grown and shrunk by exact updates, and saved, as those in memory are."""
    np.save(tmp_path / "P.npy", P)
    ids = [f"row {i}" for i in range(60)]
    held = PosteriorCompleter(effort="fast").fit(P, ids=ids)
    monkeypatch.setattr(fitting, "STREAM_ABOVE_SEARCHED", 10)
    streamed = PosteriorCompleter(effort="fast").fit(tmp_path / "P.npy", ids=ids)
    assert not isinstance(streamed.candidates_, np.ndarray)
    for model in (held, streamed):
        model.partial_fit(2 * P[:3, ::-1], ids=[7, "7", "new"]).forget(ids=["row 5", 7])
    streamed.save(tmp_path / "m")
    asked = np.where(np.arange(5) < 3, P[:6], np.nan)
    for model in (streamed, sc.load(tmp_path / "m")):
        np.testing.assert_allclose(model.transform(asked), held.transform(asked), atol=1e-12)
        assert model.search(asked, k=9).ids.tolist() == held.search(asked, k=9).ids.tolist()
        assert model.ids_.as_list() == held.ids_.as_list() and len(model.candidates_) == 61


def test_sources_of_copies_have_the_ids_that_were_given():
    P = np.random.default_rng(0).random((80, 8))
    model = PosteriorCompleter(effort="fast").fit(P, ids=[f"row {i}" for i in range(80)])
    Q = np.stack([np.where(np.arange(8) < 6, P[7], np.nan), np.full(8, np.nan)])
    assert model.match(Q).ids.tolist() == ["row 7", None]
