"""Values hidden because of what they are, and masks applied to arrays and frames."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from masked_data import X
from simcomplete import masks
from simcomplete.errors import InputError

# --- by_value ---------------------------------------------------------------------------------------------


def test_by_value_hides_large_values_exactly_as_many_as_asked() -> None:
    mask = masks.by_value(X, 0.5)
    assert set(mask.sum(axis=1)) == {32}
    assert X[~mask].mean() - X[mask].mean() > 0.5
    small = masks.by_value(X, 0.5, strength=-1)
    assert X[~small].mean() - X[small].mean() < -0.5


def test_by_value_draws_in_proportion_to_exp_of_the_standardised_value() -> None:
    # The row (0, 1) has z = (-1, 1); with strength 1 the second is hidden with e / (e + 1/e) = 0.8808.
    share = 1 - masks.by_value(np.tile([0.0, 1.0], (20000, 1)), 0.5)[:, 1].mean()
    assert share == pytest.approx(math.e / (math.e + 1 / math.e), abs=0.01)  # four deviations: .0092


@pytest.mark.parametrize("row", [[3.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.1]])
def test_by_value_of_a_constant_row_is_uniform(row: list[float]) -> None:
    share = masks.by_value(np.tile(row, (4000, 1)), 0.5, strength=1000).mean(axis=0)
    np.testing.assert_allclose(share, 0.5, atol=0.035)


def test_by_value_of_no_strength_is_uniform() -> None:
    share = masks.by_value(np.tile([0.0, 1.0, 2.0, 9.0], (4000, 1)), 0.5, strength=0).mean(axis=0)
    np.testing.assert_allclose(share, 0.5, atol=0.035)


def test_by_value_counts_nan_as_hidden_already() -> None:
    nan = np.nan
    rows = np.array([[nan, 1, 2, 3], [nan, nan, 2, 3], [nan, nan, nan, 3], [nan] * 4])
    expected = [[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]  # two each, unless more are gone
    np.testing.assert_array_equal(masks.by_value(rows, 0.5, strength=1000), np.array(expected, dtype=bool))
    frame = pd.DataFrame(rows).astype("Float64")  # with pd.NA, and polars with null
    np.testing.assert_array_equal(masks.by_value(frame, 0.5, strength=1000), np.array(expected, dtype=bool))
    nulls = pl.DataFrame(rows, orient="row").fill_nan(None)
    np.testing.assert_array_equal(masks.by_value(nulls, 0.5, strength=1000), np.array(expected, dtype=bool))
    masked = np.ma.masked_invalid(rows)
    np.testing.assert_array_equal(masks.by_value(masked, 0.5, strength=1000), np.array(expected, dtype=bool))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_by_value_does_not_depend_on_the_scale(scale: float) -> None:
    np.testing.assert_array_equal(masks.by_value(X * scale, 0.5), masks.by_value(X, 0.5))


@pytest.mark.parametrize("strength", [math.nan, math.inf, 1e6, "strong", None])
def test_by_value_refuses_a_strength(strength: Any) -> None:
    with pytest.raises(InputError, match="strength="):
        masks.by_value(X, strength=strength)


@pytest.mark.parametrize("bad", [(40, 64), [["a", "b"]], [[1.0, np.inf]], [[1j, 2]]])
def test_by_value_refuses_what_has_no_values(bad: Any) -> None:
    with pytest.raises(InputError, match="X"):
        masks.by_value(bad)


# --- apply ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_dtype", "dtype"),
    [(np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64), (np.uint8, np.float64)],
)
def test_apply_keeps_precision_and_the_original(given_dtype: Any, dtype: Any) -> None:
    rows = np.arange(6).reshape(2, 3).astype(given_dtype)
    rows.flags.writeable = False
    mask = np.array([[True, False, True], [False, True, True]])
    out = masks.apply(rows, mask)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, [[0, np.nan, 2], [np.nan, 4, 5]])
    out[:] = 9
    np.testing.assert_array_equal(rows, np.arange(6).reshape(2, 3))


def test_apply_takes_frames_and_keeps_what_is_missing_already() -> None:
    expected = [[np.nan, 1.0], [2.0, np.nan]]
    mask = np.array([[True, True], [True, False]])
    rows = {"a": [None, 2.0], "b": [1.0, 3.0]}
    for frame in (pd.DataFrame(rows), pd.DataFrame(rows).astype("Float64"), pl.DataFrame(rows)):
        np.testing.assert_array_equal(masks.apply(frame, mask), expected)
        np.testing.assert_array_equal(masks.apply(frame, type(frame)(mask)), expected)


@pytest.mark.parametrize(
    "mask",
    [
        np.ones((40, 63), dtype=bool),
        np.ones((64, 40), dtype=bool),
        np.ones(64, dtype=bool),
        np.ones((40, 64)),
    ],
)
def test_apply_refuses_a_mask_of_another_shape_or_type(mask: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"X has shape \(40, 64\); give a boolean mask"):
        masks.apply(X, mask)


def test_apply_refuses_a_ragged_mask() -> None:
    with pytest.raises(InputError, match="the mask is not a table"):
        masks.apply([[1, 2], [3, 4]], [[True], [True, False]])
