"""Parts of a saved completion that fit each other, and parts that do not."""

import numpy as np
import pytest

from simcomplete._result.fits import check_fit
from simcomplete.errors import FileFormatError

FACTS = {"n_candidates": 3, "all_rows_are_queries": False, "labels": None, "exact": None}
ROWS = {"kind": "rows", "metric": "cosine", "min_overlap": 1, "epsilon": 0.0, "positive": False}


def parts(**more):
    """A factor of five rows, three of them candidates, and what may go with it."""
    return {"factor": np.zeros((5, 2)), **more}


@pytest.mark.parametrize(
    ("arrays", "facts"),
    [
        (parts(), {}),
        (parts(diagonal=np.zeros(5), signs=np.ones(2), order=np.arange(5)[::-1]), {}),
        (parts(spread=np.zeros(2), quantiles=np.zeros(11)), {}),
        (parts(spread=np.zeros(5), quantiles=np.zeros(11)), {"all_rows_are_queries": True, "n_candidates": 5}),
        (parts(), {"labels": list("abcde")}),
        ({"dense": np.zeros((5, 5))}, {}),
        ({"candidates": np.zeros((3, 4)), "factor_below": np.zeros((2, 4))}, {"exact": ROWS}),
    ],
)
def test_what_fits_is_accepted(arrays, facts):
    check_fit(arrays, FACTS | facts)


@pytest.mark.parametrize(
    ("arrays", "facts", "message"),
    [
        (parts(diagonal=np.zeros(4)), {}, r"diagonal.npy holds \(4,\), and \(5,\) fits"),
        (parts(signs=np.ones(5)), {}, r"signs.npy holds \(5,\), and \(2,\) fits"),
        (parts(order=np.array([0, 1, 2, 3, 3])), {}, "every position of 5 rows once"),
        (parts(spread=np.zeros(5), quantiles=np.zeros(11)), {}, r"spread.npy holds \(5,\), and \(2,\) fits"),
        (parts(spread=np.zeros(2)), {}, "go together"),
        (parts(spread=np.zeros(2), quantiles=np.zeros(1)), {}, "is not a list of quantiles"),
        (parts(), {"labels": list("abcd")}, "labels are 4 of 5 rows"),
        (parts(), {"labels": [1, 2, 3, 4, 5]}, "labels are not text"),
        (parts(), {"n_candidates": 6}, "n_candidates=6 is not a number of candidates among 5 rows"),
        (parts(), {"n_candidates": True}, "n_candidates=True"),
        (parts(), {"all_rows_are_queries": 1}, "neither true nor false"),
        ({"factor": np.zeros((5, 2), dtype=complex)}, {}, "floating point numbers are needed"),
        ({"factor": np.zeros(5)}, {}, "a table is needed"),
        ({"dense": np.zeros((5, 4))}, {}, r"dense.npy holds \(5, 4\), and \(5, 5\) fits"),
        ({"factor": np.zeros((0, 2))}, {"n_candidates": 0}, "there are no rows"),
        ({}, {}, "neither factor.npy nor dense.npy"),
        (
            {"candidates": np.zeros((3, 4)), "factor_below": np.zeros((2, 3))},
            {"exact": ROWS},
            r"factor_below.npy holds \(2, 3\), and \(2, 4\) fits",
        ),
    ],
)
def test_what_does_not_fit_is_refused(arrays, facts, message):
    with pytest.raises(FileFormatError, match=message):
        check_fit(arrays, FACTS | facts)
