"""Parts of a saved completion that fit each other, and parts that do not."""

import numpy as np
import pytest

from simcomplete._result.fits import check_facts, check_fit
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
        ({"dense": np.ones((1, 1))}, {"n_candidates": 1}),
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
        ({"dense": np.zeros((5, 5)), "signs": np.ones(1)}, {}, r"signs.npy holds \(1,\), and \(0,\) fits"),
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


# What goes with intervals: errors by rank, matches, what is uncertain of pairs; 5 rows, 3 candidates, 2 queries

BARS = {"spread": np.zeros(2), "quantiles": np.zeros(11)}
RANKS = {
    "rank_shares": np.array([0.1, 1.0]),
    "rank_quantiles": np.zeros((2, 9)),
    "residuals": np.zeros((7, 2)),
    "simulated": np.zeros((7, 2)),
}
MATCHES = {"match_ids": np.array([-1, 2]), "match_probabilities": np.zeros((2, 3))}
PAIRS = {
    "pair_vectors": np.zeros((2, 6)),
    "pair_variances": np.zeros((2, 6)),
    "pair_loadings": np.zeros((6, 4)),
    "pair_weights": np.zeros(3),
    "pair_doubt": np.zeros(2),
}


def without(parts, *names):
    return {name: array for name, array in parts.items() if name not in names}


@pytest.mark.parametrize(
    "more",
    [
        BARS | RANKS,
        BARS | MATCHES,
        BARS | PAIRS,
        BARS | RANKS | MATCHES | PAIRS,
        BARS | {name: array[:1] for name, array in RANKS.items()},  # one bucket is a table, too
        BARS | RANKS | {"rank_quantiles": np.zeros((2, 2))},
    ],
)
def test_what_goes_with_intervals_is_accepted(more):
    check_fit(parts(**more), FACTS)


def test_vectors_of_pairs_are_left_out_where_they_are_the_factor():
    """Then there are as many of them as the factor has columns, 2; with vectors of their own any number will do."""
    narrow = PAIRS | {"pair_variances": np.zeros((2, 2)), "pair_loadings": np.zeros((2, 4))}
    check_fit(parts(**BARS, **without(narrow, "pair_vectors")), FACTS)
    with pytest.raises(FileFormatError, match="the arrays of pairs do not fit each other"):
        check_fit(parts(**BARS, **without(PAIRS, "pair_vectors")), FACTS)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        *((BARS | without(RANKS, name), "some arrays of .* are missing") for name in RANKS),
        (RANKS, "rank_quantiles.npy needs spread.npy"),
        (BARS | RANKS | {"rank_shares": np.zeros((2, 1))}, "do not fit each other"),
        (BARS | RANKS | {"rank_shares": np.zeros(3)}, "do not fit each other"),
        (BARS | RANKS | {"rank_quantiles": np.zeros((2, 1))}, "do not fit each other"),
        (BARS | RANKS | {"rank_shares": np.zeros(0), "rank_quantiles": np.zeros((0, 9))}, "do not fit each other"),
        (BARS | RANKS | {"residuals": np.zeros((6, 2))}, "residuals.npy, simulated.npy hold"),
        (BARS | RANKS | {"residuals": np.zeros((7, 3)), "simulated": np.zeros((7, 3))}, r"not \(rows, 2\)"),
        (BARS | without(MATCHES, "match_ids"), "one of match_ids and match_probabilities is missing"),
        (BARS | without(MATCHES, "match_probabilities"), "one of match_ids and match_probabilities is missing"),
        (MATCHES, "match_ids.npy needs spread.npy"),
        (BARS | MATCHES | {"match_ids": np.array([-2, 0])}, "not among the 3 candidates"),
        (BARS | MATCHES | {"match_ids": np.array([0, 3])}, "not among the 3 candidates"),
        (BARS | MATCHES | {"match_ids": np.array([0.0, 1.0])}, "whole numbers are needed"),
        (BARS | MATCHES | {"match_probabilities": np.zeros((2, 2))}, r"and \(2, 3\) fits"),
        (BARS | MATCHES | {"match_probabilities": np.zeros((2, 3), dtype=int)}, "floating point numbers are needed"),
        *((BARS | without(PAIRS, name), "some arrays of .* are missing") for name in PAIRS if name != "pair_vectors"),
        (PAIRS, "some arrays of the intervals of pairs are missing"),
        (BARS | PAIRS | {"pair_variances": np.zeros((3, 6))}, "do not fit each other"),
        (BARS | PAIRS | {"pair_vectors": np.zeros((2, 5))}, "do not fit each other"),
        (BARS | PAIRS | {"pair_loadings": np.zeros((5, 4))}, "do not fit each other"),
        (BARS | PAIRS | {"pair_weights": np.zeros(4)}, "do not fit each other"),
        (BARS | PAIRS | {"pair_doubt": np.zeros(3)}, "do not fit each other"),
        (BARS | {"quantiles": np.zeros((11, 1))}, "is not a list of quantiles"),
    ],
)
def test_what_does_not_go_with_intervals_is_refused(more, message):
    with pytest.raises(FileFormatError, match=message):
        check_fit(parts(**more), FACTS)


@pytest.mark.parametrize("blind", [[0], [1, 4], None])
def test_rows_of_which_nothing_is_known(blind):
    check_fit(parts(), FACTS | {"unobserved": blind})


@pytest.mark.parametrize("blind", [[], [5], [-1], [1, 1], [4, 1], (1,), [True], [1.0]])
def test_rows_of_which_nothing_is_known_are_listed_once_and_rising(blind):
    with pytest.raises(FileFormatError, match="unobserved is not a list of some of the 5 rows"):
        check_fit(parts(), FACTS | {"unobserved": blind})


# Plain values

PLAIN = {
    "method": "posterior",
    "params": {},
    "history": [{"iteration": 1}],
    "choice": None,
    "election": None,
    "unit": False,
    "status": {"code": "computed", "message": "expected similarities", "ok": True},
    "certificate": None,
    "evidence": None,
    "exact": None,
    "bounds": None,
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"frame": "polars", "bounds": [-1, 0.5], "choice": {}, "election": [{"method": "mean"}], "exact": {}},
        {"bounds": [0.5, 0.5]},
        {"certificate": {"gap": 1e-9, "optimal": True, "residual": None}},
        {"evidence": {"pairs": 3, "rows_without": [0, 2]}},
    ],
)
def test_plain_values_as_they_are_written(more):
    check_facts(PLAIN | more)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        *(({name: 7}, f"{name} is '7'") for name in ("method", "params", "history", "choice", "election", "unit")),
        *(({name: 7}, f"{name} is '7'") for name in ("status", "certificate", "evidence", "exact")),
        *(({name: None}, f"{name} is 'None'") for name in ("method", "params", "history", "unit", "status")),
        ({"frame": "excel"}, "frame='excel' is not a kind of frame"),
        ({"status": PLAIN["status"] | {"code": 3}}, "status is not a code, a message and ok"),
        ({"status": PLAIN["status"] | {"message": 3}}, "status is not a code, a message and ok"),
        ({"status": PLAIN["status"] | {"ok": 1}}, "status is not a code, a message and ok"),
        ({"bounds": [1.0]}, "are not two numbers that rise"),
        ({"bounds": (-1, 1)}, "are not two numbers that rise"),
        ({"bounds": [-1, "1"]}, "are not two numbers that rise"),
        ({"bounds": [1, -1]}, "are not two numbers that rise"),
        ({"history": [1]}, "history and election are tables"),
        ({"election": ["mean"]}, "history and election are tables"),
        ({"certificate": {"gap": "small"}}, "certificate.gap is not a number"),
        ({"evidence": {"rows_without": 3}}, "evidence is not counts"),
        ({"evidence": {"rows_without": [0.5]}}, "evidence is not counts"),
        ({"evidence": {"pairs": "many"}}, "evidence is not counts"),
    ],
)
def test_plain_values_of_another_type_are_refused(more, message):
    with pytest.raises(FileFormatError, match=message):
        check_facts(PLAIN | more)
