"""Relative squared error and rank against numbers worked by hand."""

from __future__ import annotations

import doctest
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcomplete import metrics
from simcomplete.errors import InputError


def test_examples_in_the_docstrings() -> None:
    result = doctest.testmod(metrics)
    assert result.attempted >= 4
    assert result.failed == 0


# --- relative_squared_error -------------------------------------------------------------------------------


def four_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two candidates, two queries; each block has an error of its own, in S_hat and in S0."""
    truth = np.eye(4)
    hat, zero = truth.copy(), truth.copy()
    for matrix, pp, pq, qq in ((hat, 0.5, 0.1, 0.2), (zero, 0.25, 0.2, 0.1)):
        matrix[0, 1] += pp
        matrix[1, 0] += pp
        matrix[:2, 2:] += pq
        matrix[2:, :2] += pq
        matrix[2, 3] += qq
        matrix[3, 2] += qq
    return hat, zero, truth


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        # 2 entries in pp, 4 in pq, 4 in qp, 2 in qq.
        # all: (2 * .25 + 8 * .01 + 2 * .04) / (2 * .0625 + 8 * .04 + 2 * .01) = .66 / .465
        ("all", 0.66 / 0.465),
        # without pp: (8 * .01 + 2 * .04) / (8 * .04 + 2 * .01) = .16 / .34
        ("off_candidates", 0.16 / 0.34),
        # qp alone: 4 * .01 / (4 * .04) = 1/4
        ("queries_candidates", 0.25),
        # qq alone: 2 * .04 / (2 * .01) = 4
        ("queries", 4.0),
    ],
)
def test_relative_squared_error_by_hand(block: str, expected: float) -> None:
    value = metrics.relative_squared_error(*four_rows(), n_candidates=2, block=block)
    assert isinstance(value, float)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("block", ["all", "off_candidates", "queries_candidates", "queries"])
@pytest.mark.parametrize("entries", [1, 7, 10**6])
def test_relative_squared_error_does_not_depend_on_the_row_blocks(
    block: str, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    hat, zero, true = rng.normal(size=(3, 11, 11))
    count = np.ones((11, 11), dtype=bool)  # the other route: a weight per entry, whole matrices at once
    if block != "all":
        count[:4, :4] = False
    if block.startswith("queries"):
        count[:4] = False
        count[:, slice(4, None) if block == "queries_candidates" else slice(0, 4)] = False
    expected = np.sum((hat - true)[count] ** 2) / np.sum((zero - true)[count] ** 2)
    monkeypatch.setattr(metrics, "_BLOCK_ENTRIES", entries)
    value = metrics.relative_squared_error(hat, zero, true, n_candidates=4, block=block)
    assert value == pytest.approx(expected, rel=1e-12)


def test_relative_squared_error_when_s0_is_exact() -> None:
    truth = np.eye(3)
    assert metrics.relative_squared_error(truth, truth, truth) == 0.0
    assert metrics.relative_squared_error(truth + 0.1, truth, truth) == math.inf
    assert metrics.relative_squared_error(truth, truth + 0.1, truth) == 0.0


def test_relative_squared_error_accumulates_in_float64() -> None:
    # float32 differences or sums would be off by 1e-7; the same values as float64 must agree far closer.
    matrices = np.random.default_rng(0).normal(size=(3, 50, 50)).astype(np.float32)
    expected = metrics.relative_squared_error(*matrices.astype(np.float64))
    assert metrics.relative_squared_error(*matrices) == pytest.approx(expected, rel=1e-13)


def test_relative_squared_error_of_a_rectangle_of_integers_and_of_a_file(tmp_path: Path) -> None:
    # differences 1 in two entries against 2 in one: 2/4
    assert metrics.relative_squared_error([[1, 1, 0]], [[2, 0, 0]], [[0, 0, 0]]) == 0.5
    hat, zero, true = four_rows()
    np.save(tmp_path / "hat.npy", hat)
    stored = np.load(tmp_path / "hat.npy", mmap_mode="r")
    assert metrics.relative_squared_error(stored, zero, true) == metrics.relative_squared_error(hat, zero, true)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S_hat": np.eye(3)}, r"the shapes differ: S_hat \(3, 3\), S0 \(4, 4\)"),
        ({"S0": np.ones(4)}, "S0"),
        ({"S_true": np.empty((0, 4))}, "S_true"),
        ({"S_true": np.full((4, 4), "a")}, "S_true"),
        ({"S_hat": np.eye(4) * 1j}, "S_hat"),
        ({"S_hat": np.full((4, 4), np.nan)}, "not finite"),
        ({"S0": np.full((4, 4), np.inf)}, "S0"),
        ({"S0": np.full((4, 4), 1e200)}, "too large to square"),
        ({"S0": np.ma.masked_array(np.eye(4), mask=np.eye(4))}, "not finite"),
        ({"block": "candidates"}, "use one of all, off_candidates, queries_candidates, queries"),
        ({"block": "queries"}, "n_candidates=None"),
        ({"block": "queries", "n_candidates": 0}, "an int from 1 to 3"),
        ({"block": "queries", "n_candidates": 4}, "an int from 1 to 3"),
        ({"block": "queries", "n_candidates": True}, "an int from 1 to 3"),
        ({"block": "queries", "n_candidates": 2.0}, "an int from 1 to 3"),
    ],
)
def test_relative_squared_error_refuses(change: dict[str, Any], message: str) -> None:
    hat, zero, true = four_rows()
    with pytest.raises(InputError, match=message):
        metrics.relative_squared_error(**({"S_hat": hat, "S0": zero, "S_true": true} | change))


def test_relative_squared_error_refuses_blocks_of_a_rectangle() -> None:
    part = np.zeros((2, 3))
    with pytest.raises(InputError, match="use block='all'"):
        metrics.relative_squared_error(part, part, part, n_candidates=1, block="queries")


# --- rank -------------------------------------------------------------------------------------------------


def test_rank_where_the_papers_rule_counts_noise() -> None:
    V = np.random.default_rng(0).normal(size=(300, 20))
    S = V @ V.T
    assert np.count_nonzero(np.linalg.eigvalsh(S) > 1e-15) > 100  # the paper's rule
    assert metrics.rank(S) == metrics.rank(factor=V) == 20
    assert metrics.rank(1e-18 * S) == metrics.rank(factor=1e-9 * V) == 20  # the paper's rule: close to none


def test_rank_threshold_by_hand() -> None:
    # n = 2, so the threshold is 2 eps = 4.44e-16 of the largest in float64 and 2.38e-7 in float32.
    assert metrics.rank(np.diag([1, 5e-16])) == 2
    assert metrics.rank(np.diag([1, 4e-16])) == 1
    assert metrics.rank(np.diag([1, 3e-7]).astype(np.float32)) == 2
    assert metrics.rank(np.diag([1, 2e-7]).astype(np.float32)) == 1
    # Of a factor the singular values count squared: 2.2e-8^2 = 4.84e-16, 2.0e-8^2 = 4.0e-16.
    assert metrics.rank(factor=np.diag([1, 2.2e-8])) == 2
    assert metrics.rank(factor=np.diag([1, 2.0e-8])) == 1
    assert metrics.rank(factor=np.diag([1e-200, 1e-200])) == 2  # the squares would be zero


def test_rank_counts_negative_eigenvalues_and_no_zeros() -> None:
    assert metrics.rank([[0, 1], [1, 0]]) == 2  # eigenvalues 1 and -1
    assert metrics.rank(np.diag([-2.0, 1e-3, 0.0])) == 2
    assert metrics.rank(np.zeros((3, 3))) == metrics.rank(factor=np.zeros((3, 2))) == 0
    assert metrics.rank([[7]]) == 1


def test_rank_of_a_wide_factor_is_at_most_n() -> None:
    # V V^T = [[3, 3], [3, 3]] for two equal rows of three ones
    assert metrics.rank(factor=np.ones((2, 3))) == 1
    assert metrics.rank(factor=np.random.default_rng(1).normal(size=(4, 9))) == 4


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32))
def test_rank_of_matrix_and_factor_agree(n: int, r: int, seed: int) -> None:
    V = np.random.default_rng(seed).integers(-3, 4, size=(n, r)).astype(float)
    assert metrics.rank(V @ V.T) == metrics.rank(factor=V) == np.linalg.matrix_rank(V)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither S nor factor"),
        ({"S": np.eye(2), "factor": np.eye(2)}, "both S and factor"),
        ({"S": np.ones((2, 3))}, r"S has shape \(2, 3\)"),
        ({"S": np.ones(3)}, "S has shape"),
        ({"S": [[1.0, 0.5], [0.0, 1.0]]}, "S is not symmetric"),
        ({"S": [[1.0, np.nan], [np.nan, 1.0]]}, "not finite"),
        ({"factor": [[1.0], [np.nan]]}, "factor has NaN in 1 of 2 rows .* row 1"),
        ({"factor": [[np.inf]]}, "factor"),
        ({"factor": np.ones(3)}, "factor"),
        ({"factor": np.ones((3, 0))}, "factor"),
        ({"factor": [["a"]]}, "factor"),
    ],
)
def test_rank_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        metrics.rank(**arguments)
