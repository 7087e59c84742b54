"""Ways to call dmc, for the tests beside it."""

import simcomplete as sc


def dmc(S0, **given):
    return sc.complete_similarity(S0, method="dmc", **given)
