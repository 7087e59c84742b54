"""Figures: no global state, the right pixels, and what to install where matplotlib is missing."""

from __future__ import annotations

import base64
import doctest
import io
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from simcomplete._report import figures
from simcomplete.errors import MissingExtraError


def test_figures_leave_no_global_state():
    figures.spectrum({"S0": np.array([2.0, 0.5, -0.3])}, figures.DARK)
    figures.error_maps({"one": np.zeros((3, 3))}, boundary=2)
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_hidden_pixels_have_a_colour_of_their_own():
    matplotlib = pytest.importorskip("matplotlib.image")
    uri = figures.picture(np.array([[0.0, 16.0], [8.0, 4.0]]), np.array([[True, True], [True, False]]))
    pixels = matplotlib.imread(io.BytesIO(base64.b64decode(uri.partition(",")[2])))[:, :, :3] * 255
    assert_array_equal(pixels.round()[:, :, 0], [[255, 0], [127, figures.HIDDEN[0]]])
    assert_array_equal(pixels.round()[1, 1], figures.HIDDEN)


def test_a_missing_matplotlib_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"simcomplete\[cli\]"):
        figures.spectrum({"S0": np.ones(2)})


def test_examples():
    assert doctest.testmod(figures).failed == 0
