"""Neighbours of rows: the recall that settings are chosen by is the public one."""

import numpy as np
import pytest

from simcomplete._posterior.shared.neighbours import share_found
from simcomplete.metrics import recall_at


@pytest.mark.parametrize("k", [1, 3, 10, 50])
def test_recall_is_that_of_the_metrics_ties_included(k):
    rng = np.random.default_rng(k)
    scores, truth = np.round(rng.random((2, 20, 12)), 1)
    assert share_found(scores, truth, k) == recall_at(scores, truth, k=k)
