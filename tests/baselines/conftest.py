"""Matrices and calls that tests of the baselines share."""

import pytest

import simcomplete as sc


@pytest.fixture(scope="module")
def family(golden):
    return golden("smc_family")


@pytest.fixture(scope="module")
def go(family):
    """Run a method on the golden similarities with their rank and weight."""

    def call(method, **given):
        theirs = {"rank": int(family["r"]), "penalty": float(family["lam"])}
        given = {name: value for name, value in theirs.items() if name in sc.methods()[method].shared} | given
        return sc.complete_similarity(family["S0"], method=method, **given)

    return call
