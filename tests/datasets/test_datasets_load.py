"""Data sets by name, or from a file."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from simcomplete import datasets
from simcomplete.datasets import Table, files
from simcomplete.errors import InputError


def test_digits():
    data = datasets.load("digits")
    assert data.X.shape == (1797, 64)
    assert data.X.dtype == np.float64
    assert data.y.shape == (1797,)
    assert data.image_shape == (8, 8)
    assert data.name == "digits"


def test_unknown_names_are_answered_with_the_known():
    with pytest.raises(InputError, match="'mnits'; known are digits"):
        datasets.load("mnits")


def test_a_file_under_a_name_of_ones_own(tmp_path):
    (tmp_path / "x.csv").write_text("id,a\nu,1\nv,\n")
    data = datasets.load("mine", path=tmp_path / "x.csv")
    assert data.name == "mine"
    assert_array_equal(data.X, [[1], [np.nan]])
    assert data.labels == ["u", "v"]
    assert data.y is None


def test_a_table_answers_like_a_frame():
    table = Table(np.ones((2, 1)), ["u", "v"])
    assert table.index == ["u", "v"]
    assert table.to_numpy() is table.values


@pytest.mark.parametrize("module", [datasets, files])
def test_examples(module):
    assert doctest.testmod(module).failed == 0
