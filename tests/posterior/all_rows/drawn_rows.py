"""Incomplete rows, and a model of them that nobody fitted, for the tests beside it."""

import numpy as np

from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.em import Factors
from simcomplete._posterior.all_rows.packing import Scaling


def incomplete(n=48, d=7, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 1 + 0.3 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


def drawn_model(d=7, space="unit", X=None):
    rng = np.random.default_rng(2)
    factors = Factors(rng.standard_normal(d) * 0.2, rng.standard_normal((d, 2)) * 0.3, rng.uniform(0.02, 0.1, d))
    return RowModel(factors, Scaling.of(incomplete() if X is None else X, space))
