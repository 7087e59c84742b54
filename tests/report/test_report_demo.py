"""The demonstration's experiment, its words and its figures."""

from __future__ import annotations

import doctest
import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import simcomplete as sc
from simcomplete._report import demo, figures, page, results, words
from simcomplete._report.demo import Row
from simcomplete.errors import InputError, MissingExtraError


@pytest.fixture(scope="module")
def result():
    return demo.run(candidates=50, queries=10, missing=0.5, seed=3, methods=["overlap", "smcnn"])


def test_the_data_are_shuffled_digits_with_hidden_pixels(result):
    X = sc.datasets.load("digits").X
    order = np.random.default_rng(3).permutation(len(X))[:60]
    assert_array_equal(result.X, X[order])
    assert_array_equal(result.observed, sc.masks.random(result.X[50:], missing=0.5, random_state=3))
    assert_array_equal(result.truth, sc.overlap_similarity(result.X))


def test_the_rows_are_what_the_library_says(result):
    done = sc.complete(result.X[:50], sc.masks.apply(result.X[50:], result.observed), method="smcnn")
    S = done.similarity()
    overlap, smcnn = result.rows
    assert overlap.error == pytest.approx(1.0, abs=1e-12)  # S0 by two ways of summing
    assert smcnn.method == "smcnn"
    assert smcnn.error == pytest.approx(sc.metrics.relative_squared_error(S, result.before, result.truth))
    scores, truth = S[50:, :50], result.truth[50:, :50]
    assert smcnn.recall_fifth == pytest.approx(sc.metrics.recall_at(scores, truth, k=0.2))
    assert smcnn.recall_ten == pytest.approx(sc.metrics.recall_at(scores, truth, k=10))
    assert smcnn.ndcg == pytest.approx(sc.metrics.ndcg_at(scores, truth, k=0.2))
    assert smcnn.rank == done.rank
    assert smcnn.fails == done.validity.failures()
    np.testing.assert_allclose(result.after, S)


def test_it_can_be_told_as_json(result):
    told = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert told["candidates"] == 50
    assert [row["method"] for row in told["rows"]] == ["overlap", "smcnn"]


def test_every_listed_method_exists():
    known = {method.name for method in sc.methods()}
    assert set(demo.METHODS) <= known
    assert demo.FEATURED in demo.METHODS


@pytest.mark.parametrize(("candidates", "queries"), [(0, 5), (5, 0), (1700, 200)])
def test_numbers_of_digits_that_cannot_be(candidates, queries):
    with pytest.raises(InputError, match=f"candidates={candidates} and queries={queries}"):
        demo.run(candidates, queries)


def row(method="a", error=1.0, recall=0.5, ten=0.3, fails=(), value=2.0):
    checks = {name: {"ok": name not in fails, "value": value} for name in words.FAULTS}
    return Row(method, error, recall, ten, 0.6, 5, not fails, list(fails), checks, 0.1)


def test_words_follow_the_numbers():
    good, bad = row("good", 0.5, 0.6, 0.3), row("bad", 1.5, 0.4, 0.2)
    assert words.comparison(row(), good) == (
        "From a to good the error falls from 1.000 to 0.500, recall@20% rises from 0.500 to 0.600, "
        "recall@10 stays at 0.300."
    )
    assert "the error rises from 1.000 to 1.500, recall@20% falls" in words.comparison(row(), bad)
    assert "The least error: good (0.500). The best recall@10: a (0.300)." in words.summary([row(), good, bad], "good")
    assert words.summary([row()], "a") == ["a: valid in all five senses."]


def test_methods_with_the_same_faults_are_told_together_by_the_worst():
    fails = ["unit_diagonal", "bounded"]
    told = words.verdicts([row("a", fails=fails), row("b"), row("c", fails=fails, value=5.5)])
    assert told[0].startswith("a, c: not a valid matrix of cosines (a diagonal off by up to 5.5 ")
    assert told[1] == "b: valid in all five senses."


def test_every_check_of_validity_has_words():
    names = set(sc.complete(np.eye(2)).validity.as_dict())
    assert names == set(words.FAULTS) == set(results.SHORT)


def test_figures_leave_no_global_state():
    figures.spectrum({"S0": np.array([2.0, 0.5, -0.3])}, figures.DARK)
    figures.error_maps({"one": np.zeros((3, 3))}, boundary=2)
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_hidden_pixels_have_a_colour_of_their_own():
    matplotlib = pytest.importorskip("matplotlib.image")
    import base64
    import io

    uri = figures.picture(np.array([[0.0, 16.0], [8.0, 4.0]]), np.array([[True, True], [True, False]]))
    pixels = matplotlib.imread(io.BytesIO(base64.b64decode(uri.partition(",")[2])))[:, :, :3] * 255
    assert_array_equal(pixels.round()[:, :, 0], [[255, 0], [127, figures.HIDDEN[0]]])
    assert_array_equal(pixels.round()[1, 1], figures.HIDDEN)


def test_a_missing_matplotlib_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"simcomplete\[cli\]"):
        figures.spectrum({"S0": np.ones(2)})


@pytest.mark.parametrize("module", [demo, figures, page, results, words])
def test_examples(module):
    assert doctest.testmod(module).failed == 0
