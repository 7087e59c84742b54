"""Matrices that the tests of descent share."""

import pytest
from threadpoolctl import threadpool_limits

import simcomplete as sc


@pytest.fixture(scope="module")
def one_thread():
    """Thousands of tiny products: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def z(golden):
    return golden("smc_family")


@pytest.fixture(scope="module")
def S0(digits):
    """Raw digits: a strong common direction, lambda_max far above the rest."""
    return sc.overlap_similarity(digits[:60])
