"""Sentences say what the numbers say, and equal failures share a sentence."""

from __future__ import annotations

import doctest

import numpy as np

import simcomplete as sc
from simcomplete._report import results, sentences
from simcomplete._report.demo import Row


def row(method="a", error=1.0, recall=0.5, ten=0.3, fails=(), value=2.0):
    checks = {name: {"ok": name not in fails, "value": value} for name in sentences.FAILURES}
    return Row(method, error, recall, ten, 0.6, 5, not fails, list(fails), checks, 0.1)


def test_sentences_follow_the_numbers():
    good, bad = row("good", 0.5, 0.6, 0.3), row("bad", 1.5, 0.4, 0.2)
    assert sentences.change_sentence(row(), good) == (
        "From a to good the error falls from 1.000 to 0.500, recall@20% rises from 0.500 to 0.600, "
        "recall@10 stays at 0.300."
    )
    assert "the error rises from 1.000 to 1.500, recall@20% falls" in sentences.change_sentence(row(), bad)
    assert "The smallest error: good (0.500). The highest recall@10: a (0.300)." in sentences.summary_sentences(
        [row(), good, bad], "good"
    )
    assert sentences.summary_sentences([row()], "a") == ["a passes all five checks of validity."]


def test_methods_that_fail_the_same_checks_share_a_sentence():
    fails = ["unit_diagonal", "bounded"]
    shared = sentences.validity_sentences([row("a", fails=fails), row("b"), row("c", fails=fails, value=5.5)])
    assert shared[0].startswith("a and c are not a valid matrix of cosines (a diagonal off by up to 5.5 ")
    assert shared[1] == "b passes all five checks of validity."


def test_every_check_of_validity_has_words():
    names = set(sc.complete(np.eye(2)).validity.as_dict())
    assert names == set(sentences.FAILURES) == set(results.CHECK_WORDS)


def test_examples():
    for module in (results, sentences):
        assert doctest.testmod(module).failed == 0
