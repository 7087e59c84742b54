"""Matrices of other array libraries: repaired where they are, to the same matrix."""

import sys
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._correlation.on_device import newton_on_device

ROOT = Path(__file__).parents[2]


def noisy(n, seed=0):
    A = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1)
    return A


@pytest.fixture
def counted(monkeypatch):
    """Runs on a device."""
    made = []
    monkeypatch.setattr(
        "simcomplete._correlation.nearest.newton_on_device", lambda *args: made.append(1) or newton_on_device(*args)
    )
    return made


@pytest.mark.parametrize("n", [25, 310])
@pytest.mark.parametrize("more", [{}, {"min_eigenvalue": 1e-6, "weights": True}])
def test_the_same_matrix_in_the_same_library(library, counted, n, more):
    A = noisy(n)
    more = {**more, "weights": np.linspace(0.5, 2, n)} if "weights" in more else more
    given = library.array(A)
    repair, expected = sc.nearest_correlation(given, **more), sc.nearest_correlation(A, **more)
    assert type(repair.matrix) is type(given)
    assert counted == ([] if isinstance(given, np.ndarray) else [1])
    np.testing.assert_allclose(repair.values, expected.values, atol=1e-9)
    assert repair.certificate.relative_gap < 1e-8
    assert repair.distance == pytest.approx(expected.distance)
    assert repair.status.code == "optimal"
    again = sc.nearest_correlation(given, start=repair, **more)
    assert again.n_iter <= 1


def test_what_is_mended_or_asked_for_is_told_as_ever(library):
    A = noisy(12)
    A[0, 0] = 2.0
    repair = sc.nearest_correlation(library.array(A))
    assert "1 of 12 diagonal entries were not 1" in repair.notes[0]
    A[0, 0], A[3, 4] = 1.0, np.nan
    A[4, 3] = np.nan
    unknown = sc.nearest_correlation(library.array(A))
    np.testing.assert_allclose(unknown.values, sc.nearest_correlation(A).values, atol=1e-9)
    assert type(unknown.matrix) is type(library.array(A))
    A[3, 4] = A[4, 3] = np.inf
    with pytest.raises(sc.errors.InputError, match=r"A\[3, 4\] is inf"):
        sc.nearest_correlation(library.array(A))
    bounded = sc.nearest_correlation(library.array(noisy(12)), upper=0.3)
    assert bounded.values[~np.eye(12, dtype=bool)].max() <= 0.3
    with pytest.raises(sc.errors.InputError, match=r"weights has shape \(2,\)"):
        sc.nearest_correlation(library.array(noisy(12)), weights=[1, 2])


def test_no_step_copies_a_matrix_between_the_device_and_numpy():
    pytest.importorskip("torch")
    sys.path.insert(0, str(ROOT))
    from benchmarks.correlation_tensors import counted

    found = counted(310, "cpu")
    assert (found["matrices to NumPy"], found["back"]) == (2, 0), "the one to look at, and the result"
    assert found["decompositions, double"] <= 2
    assert found["decompositions, double"] + found["single"] <= 6
    assert found["n x n at most"] <= 10


@pytest.mark.parametrize("n", [25, 310])
def test_a_valid_tensor_stays_and_every_result_is_symmetric_to_the_last_bit(library, n):
    valid = np.corrcoef(np.random.default_rng(0).standard_normal((n, 2 * n)))
    valid = (valid + valid.T) / 2
    np.fill_diagonal(valid, 1.0)
    repair = sc.nearest_correlation(library.array(valid))
    np.testing.assert_array_equal(repair.values, valid)
    assert repair.distance == repair.certificate.objective == 0
    moved = sc.nearest_correlation(library.array(noisy(n)), weights=np.linspace(0.5, 2, n)).values
    np.testing.assert_array_equal(moved, moved.T)
