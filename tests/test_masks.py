"""Patterns of missing values: exact counts, the promised draws, and what must be refused."""

from __future__ import annotations

import doctest
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masked_data import X
from simcomplete import masks
from simcomplete.errors import InputError

PATTERNS = [masks.random, masks.square, masks.stripes, masks.by_value]


def test_examples_in_the_docstrings() -> None:
    result = doctest.testmod(masks)
    assert result.attempted >= 5
    assert result.failed == 0


# --- every pattern ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mask_is_boolean_of_the_shape_of_x_and_writable(pattern: Any) -> None:
    mask = pattern(X)
    assert isinstance(mask, np.ndarray)
    assert mask.dtype == np.bool_
    assert mask.shape == X.shape
    mask[0] = True  # a broadcast view would refuse


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nothing_and_everything_missing(pattern: Any) -> None:
    assert pattern(X, missing=0).all()
    assert not pattern(X, missing=1).any()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_seed_decides_and_rows_differ(pattern: Any) -> None:
    first = pattern(X, 0.5, random_state=7)
    np.testing.assert_array_equal(first, pattern(X, 0.5, random_state=7))
    np.testing.assert_array_equal(first, pattern(X, 0.5, random_state=np.random.default_rng(7)))
    np.testing.assert_array_equal(pattern(X, 0.5), pattern(X, 0.5, random_state=0))
    assert (first != pattern(X, 0.5, random_state=8)).any()
    assert len(np.unique(first, axis=0)) > 1
    assert pattern(X, 0.5, random_state=None).shape == X.shape


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_generator_goes_on_where_it_was(pattern: Any) -> None:
    rng = np.random.default_rng(7)
    assert (pattern(X, 0.5, random_state=rng) != pattern(X, 0.5, random_state=rng)).any()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_first_rows_do_not_depend_on_later_ones(pattern: Any) -> None:
    np.testing.assert_array_equal(pattern(X[:9], 0.3), pattern(X, 0.3)[:9])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_frames_and_lists_give_the_mask_of_the_array(pattern: Any) -> None:
    expected = pattern(X)
    for same in (pd.DataFrame(X), pl.DataFrame(X, orient="row"), X.tolist(), np.asfortranarray(X)):
        np.testing.assert_array_equal(pattern(same), expected)


@pytest.mark.parametrize("pattern", [masks.random, masks.square, masks.stripes])
def test_the_shape_is_enough_where_values_do_not_matter(pattern: Any) -> None:
    np.testing.assert_array_equal(pattern(X.shape), pattern(X))
    holes = np.where(X > 0, X, np.nan)
    np.testing.assert_array_equal(pattern(holes), pattern(X))  # the pattern alone


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones(64)}, "X has"),
        ({"X": np.ones((2, 8, 8))}, "X has"),
        ({"X": np.ones((0, 64))}, "X has"),
        ({"X": np.ones((3, 0))}, "X has"),
        ({"X": [[1.0, 2.0], [3.0]]}, "X"),
        ({"X": 5}, "X has"),
        ({"missing": -0.1}, "missing=-0.1"),
        ({"missing": 1.01}, "missing=1.01"),
        ({"missing": 80}, "missing=80"),
        ({"missing": math.nan}, "missing=nan"),
        ({"missing": True}, "missing=True"),
        ({"missing": "0.5"}, "missing='0.5'"),
        ({"missing": None}, "missing=None"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": "seed"}, "random_state='seed'"),
    ],
)
def test_every_pattern_refuses(pattern: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pattern(**({"X": X} | change))


# --- random -----------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**32))
def test_random_draws_as_promised(n: int, d: int, missing: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected = np.ones((n, d), dtype=bool)
    for i in range(n):
        expected[i, rng.choice(d, round(missing * d), replace=False)] = False
    np.testing.assert_array_equal(masks.random((n, d), missing, random_state=seed), expected)


def test_random_hides_exactly_the_rounded_share() -> None:
    # 0.8 * 64 = 51.2 gives 51 hidden and 13 left; halves go to the even number: 0.5 * 5 = 2.5 gives 2
    assert set(masks.random(X).sum(axis=1)) == {13}
    assert set(masks.random((9, 5), 0.5).sum(axis=1)) == {3}


def test_random_is_uniform() -> None:
    share = masks.random((4000, 10), 0.3).mean(axis=0)
    np.testing.assert_allclose(share, 0.7, atol=0.03)  # four standard deviations: 4 * sqrt(.21 / 4000) = .029


# --- square -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "missing", "sides"),
    [
        ((28, 28), 0.8, (25, 25)),  # 627.2; 25 * 25 = 625
        ((28, 28), 0.5, (19, 21)),  # 392, side 19.8; 19 * 21 = 399 is closer than 20 * 20 = 400
        ((8, 8), 0.8, (7, 7)),  # 51.2, side 7.2; 7 * 7 = 49 is closer than 8 * 6 = 48
        ((4, 4), 0.25, (2, 2)),
        ((2, 8), 0.75, (2, 6)),  # 12 pixels, side 3.5 does not fit
        ((8, 2), 0.75, (6, 2)),
        ((1, 10), 0.33, (1, 3)),
        ((3, 3), 0.01, (0, 0)),  # 0.09 of a pixel is none
    ],
)
def test_square_sides_by_hand(shape: tuple[int, int], missing: float, sides: tuple[int, int]) -> None:
    d = math.prod(shape)
    hidden = ~masks.square((50, d), missing, shape=shape).reshape(50, *shape)
    for image in hidden:
        assert (image.any(axis=1).sum(), image.any(axis=0).sum()) == sides
        assert image.sum() == math.prod(sides)  # so the rectangle is full


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32))
def test_square_is_one_full_rectangle_of_about_the_area(rows: int, cols: int, missing: float, seed: int) -> None:
    mask = masks.square((3, rows * cols), missing, shape=(rows, cols), random_state=seed)
    hidden = ~mask.reshape(3, rows, cols)
    for image in hidden:
        down, right = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
        assert image.sum() == down.size * right.size
        if image.any():
            assert np.ptp(down) + 1 == down.size
            assert np.ptp(right) + 1 == right.size
        # The width is rounded, so the area is off by at most half a column of the side above the ideal one.
        side = max(math.sqrt(missing * rows * cols), missing * rows)
        assert abs(image.sum() - missing * rows * cols) <= math.ceil(min(side, rows)) / 2 + 1e-9


def test_square_lies_anywhere() -> None:
    # 2 x 2 in 3 x 3 has four places; 400 draws miss one with probability 4 * .75^400 < 1e-49
    assert len(np.unique(masks.square((400, 9), 4 / 9), axis=0)) == 4


@pytest.mark.parametrize("pattern", [masks.square, masks.stripes])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (None, r"60 features do not form a square image; give shape=\(height, width\)"),
        ((8, 8), "does not hold the 60 features"),
        ((-6, -10), "does not hold"),
        ((60,), "is not the shape of an image"),
        ((3, 4, 5), "is not the shape of an image"),
        (60, "is not the shape of an image"),
        ((6.0, 10.0), "is not the shape of an image"),
    ],
)
def test_images_refuse_shapes(pattern: Any, shape: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pattern((2, 60), shape=shape)


# --- stripes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("direction", "axis", "lines"), [("horizontal", 1, 4), ("vertical", 0, 6)])
def test_stripes_hide_whole_distinct_lines(direction: str, axis: int, lines: int) -> None:
    hidden = ~masks.stripes((60, 24), 0.5, shape=(4, 6), direction=direction).reshape(60, 4, 6)
    for image in hidden:
        line = image.all(axis=axis)
        np.testing.assert_array_equal(line, image.any(axis=axis))  # a line is hidden as a whole or not at all
        assert line.sum() == lines // 2


def test_stripes_round_the_number_of_lines() -> None:
    # 0.8 of 28 lines = 22.4 gives 22 hidden, 6 * 28 = 168 pixels left
    assert set(masks.stripes((5, 784)).sum(axis=1)) == {168}


def test_stripes_refuse_an_unknown_direction() -> None:
    with pytest.raises(InputError, match="use 'horizontal' or 'vertical'"):
        masks.stripes(X, direction="either")
