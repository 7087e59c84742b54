"""Rubin's rules by known answers."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError


def test_known_answer():
    """Estimates 10, 12, 14 with variances 4, 5, 6: within 5, between 4, total 5 + (4/3) 4 = 31/3.

    The share of missing information is (16/3) / (31/3) = 16/31, and 2 (31/16)^2 degrees of freedom.
    """
    found = sc.pool([10.0, 12.0, 14.0], [4.0, 5.0, 6.0])
    assert found.estimate == pytest.approx(12.0)
    assert (found.within, found.between) == (pytest.approx(5.0), pytest.approx(4.0))
    assert found.variance == pytest.approx(31 / 3)
    assert found.missing_information == pytest.approx(16 / 31)
    assert found.df == pytest.approx(2 * (31 / 16) ** 2)


def test_degrees_of_freedom_are_never_more_than_on_complete_data():
    """Barnard and Rubin: 1/(1/nu_m + 1/nu_obs), nu_obs = (df + 1)/(df + 3) df (1 - lambda)."""
    found = sc.pool([10.0, 12.0, 14.0], [4.0, 5.0, 6.0], df=20.0)
    observed = 21 / 23 * 20 * (15 / 31)
    assert found.df == pytest.approx(1 / (1 / (2 * (31 / 16) ** 2) + 1 / observed))
    same = sc.pool([1.0, 1.0], [2.0, 2.0], df=20.0)
    assert same.df == pytest.approx(21 / 23 * 20)


def test_nothing_missing_and_several_estimates_at_once():
    found = sc.pool(np.array([[1.0, 2.0], [1.0, 4.0]]), np.array([[2.0, 0.0], [2.0, 0.0]]))
    np.testing.assert_allclose(found.variance, [2.0, 3.0])
    np.testing.assert_allclose(found.missing_information, [0.0, 1.0])
    np.testing.assert_allclose(found.df, [np.inf, 1.0])


@pytest.mark.parametrize(
    ("estimates", "variances", "message"),
    [
        ([1.0], [1.0], "at least two"),
        ([1.0, 2.0], [1.0], "cannot be pooled"),
        ([1.0, np.nan], [1.0, 1.0], "finite"),
        ([1.0, 2.0], [1.0, -1.0], "at least 0"),
    ],
)
def test_what_cannot_be_pooled(estimates, variances, message):
    with pytest.raises(InputError, match=message):
        sc.pool(estimates, variances)
    with pytest.raises(InputError, match="df="):
        sc.pool([1.0, 2.0], [1.0, 1.0], df=0.0)
