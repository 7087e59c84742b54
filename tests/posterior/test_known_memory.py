"""The memory that `posterior` states, in numbers of 8 bytes, worked out by hand for small sizes of every kind.

That these are what a run takes is measured by tests/method/test_memory.py.
"""

import pytest

from simcomplete._method.spec import Sizes
from simcomplete._posterior.method import memory_of_copies, posterior_memory


def stated(n_p, n_q, d, missing=0.5, form="candidates", **params):
    return posterior_memory(Sizes(n_p, n_q, d, 0, form, missing), {"effort": "fast", "copies": False, **params})


@pytest.mark.parametrize(
    ("effort", "numbers"),
    [
        # 200 queries are simulated: cosines of 300 with 1000 rows, five times. Rows twice and nine matrices of features
        # (sixteen and rows four times in two spaces). Half of 100 values are shown: for each of 100 masks half of
        # 50^2 and half of 100^2 - 50 * 50, in each space.
        ("fast", 5 * 1000 * 300 + (2 * 1000 * 100 + 9 * 100**2) + 100 * 5000),
        ("full", 5 * 1000 * 300 + (4 * 1000 * 100 + 16 * 100**2) + 2 * 100 * 5000),
        # Instead of the cosines, which are fewer, what is learnt of simulated queries and 500 others.
        ("best", 85 * 200 * 100 + 29 * 200 * 500 + (4 * 1000 * 100 + 16 * 100**2) + 2 * 100 * 5000),
    ],
)
def test_candidates_in_memory(effort, numbers):
    assert stated(900, 100, 100, effort=effort) == pytest.approx(numbers, rel=1e-12)


@pytest.mark.parametrize(
    ("shape", "effort", "numbers"),
    [
        # A quarter of 300 candidates is simulated, and 400 - 75 rows are others.
        ((300, 100, 100), "best", 85 * 75 * 100 + 29 * 75 * 325 + (4 * 400 * 100 + 16 * 100**2) + 2 * 100 * 5000),
        # Of few features cosines are more than what is learnt: 5 * 8900 * 1224 with 1024 queries at a time, and 200.
        ((1700, 7200, 2), "best", 5 * 8900 * 1224 + (4 * 8900 * 2 + 16 * 2**2) + 2 * 256 * (0.5 * 1 + 0.5 * 3)),
    ],
)
def test_what_is_learnt_or_cosines_whichever_is_more(shape, effort, numbers):
    assert stated(*shape, effort=effort) == pytest.approx(numbers, rel=1e-12)


@pytest.mark.parametrize(
    ("missing", "each"),
    [
        (0.8, 20**2),  # the factor of what is shown
        (0.6, 40**2),
        (0.55, 45**2),
        (0.45, 100**2 - 55 * 45),  # and of what is hidden the precision as well
        (0.2, 100**2 - 80 * 20),
    ],
)
def test_masks_are_factorised_256_at_a_time(missing, each):
    rest = 5 * 1200 * 500 + (2 * 1200 * 100 + 9 * 100**2)
    assert stated(900, 300, 100, missing) == pytest.approx(rest + 256 * each, rel=1e-12)


def test_wide_rows_have_96_directions_instead_of_a_covariance():
    wide = 5 * 120 * 45 + 9 * 120 * 2001 + 20 * (0.2 * 2001 + 96) * 96
    assert stated(100, 20, 2001, 0.8) == pytest.approx(wide, rel=1e-12)
    narrow = 5 * 120 * 45 + 2 * 120 * 2000 + 9 * 2000**2 + 20 * 400**2
    assert stated(100, 20, 2000, 0.8) == pytest.approx(narrow, rel=1e-12)


@pytest.mark.parametrize(("effort", "largest", "spaces"), [("fast", 2**22, 1), ("full", 2**22, 2), ("best", 2**25, 2)])
def test_of_candidates_by_block_a_sample_and_a_block_are_there(effort, largest, spaces, monkeypatch):
    """4000 rows are kept, 1.8 cosines with each, half a number for every row, and of a block .6 of what it takes."""
    monkeypatch.setattr("simcomplete._method.memory.block_bytes", lambda: 8 * 10**5)
    n = largest // 64
    rest = spaces * 10 * (0.5 * 32**2 + 0.5 * (64**2 - 32**2))
    learnt = 85 * 200 * 64 + 29 * 200 * 500 if effort == "best" else 0

    def table(rows):
        return 2 * spaces * rows * 64 + (7 * spaces + 2) * 64**2

    held = table(n + 10) + rest + max(5 * (n + 10) * 210, learnt)
    assert stated(n, 10, 64, effort=effort) == pytest.approx(held, rel=1e-12)
    cosines = 1.8 * 4000 * 210 + 4 * (n + 11) + 0.6 * 10**5
    streamed = table(4000) + rest + max(cosines, 85 * 200 * 64 + 29 * 200 * 500 if effort == "best" else 0)
    assert stated(n + 1, 10, 64, effort=effort) == pytest.approx(streamed, rel=1e-12)


def test_a_block_is_no_larger_than_what_there_is(monkeypatch):
    """Candidates, their products with 210 queries: 5 numbers for each value and 4 for each cosine."""
    monkeypatch.setattr("simcomplete._method.memory.block_bytes", lambda: 8 * 10**12)
    n = 2**22 // 64 + 1
    cosines = 1.8 * 4000 * 210 + 4 * (n + 10) + 0.6 * n * (5 * 64 + 4 * 210)
    rest = 10 * (0.5 * 32**2 + 0.5 * (64**2 - 32**2)) + 2 * 4000 * 64 + 9 * 64**2
    assert stated(n, 10, 64) == pytest.approx(rest + cosines, rel=1e-12)


def test_copies_take_rows_of_neighbours_and_of_simulated_kinds():
    """Neighbours of 256 rows at a time or of 200 simulated ones, 48 each, twice; 12 tables of 100 simulated queries."""
    assert memory_of_copies(Sizes(900, 100, 100, 0)) == 2 * 900 * 100 + 12 * 100 * 100
    assert memory_of_copies(Sizes(20_000, 300, 10, 0)) == 2 * 256 * 48 * 10 + 12 * 100 * 10
    assert memory_of_copies(Sizes(20_000, 30, 10, 0)) == 2 * 200 * 48 * 10 + 12 * 100 * 10
    assert memory_of_copies(Sizes(200, 30, 10, 0)) == 2 * 200 * 10 + 12 * 50 * 10
    for copies in (True, None):
        assert stated(900, 100, 100, copies=copies) == stated(900, 100, 100) + 300_000


def test_rows_that_are_all_incomplete():
    """Rows eleven times, second moments of each row's factors (20 and the mean) within a block, and of each feature."""
    own = 11 * 700 * 40 + 7 * 700 * 21**2 + 5 * 40 * 21**2
    assert stated(0, 700, 40, form="rows") == pytest.approx(own, rel=1e-12)
    few = 11 * 10 * 40 + 7 * 10 * 11**2 + 5 * 40 * 11**2  # no more factors than rows
    assert stated(0, 10, 40, form="rows") == pytest.approx(few, rel=1e-12)
    many = 11 * 4000 * 40 + 2**23 + 5 * 40 * 21**2
    assert stated(0, 4000, 40, form="rows") == pytest.approx(many, rel=1e-12)


@pytest.mark.parametrize(("n", "some", "scored"), [(500, 500, 500), (700, 700, 600), (4000, 3000, 600)])
def test_more_where_settings_are_chosen(n, some, scored):
    """40 factors; rows six times more, two models over features of some rows, and twenty times the rows scored."""
    own = 11 * n * 40 + min(7 * n * 41**2, 2**23) + 5 * 40 * 41**2
    more = 6 * n * 40 + 3 * (some + 40) * 41**2 + 20 * scored * 40
    for effort in ("full", "best"):
        assert stated(0, n, 40, form="rows", effort=effort) == pytest.approx(own + more, rel=1e-12)


def test_complete_rows_that_are_enough_are_candidates():
    """100 complete rows and 300 of which half is seen: 100 of 250 rows are 40 percent. Rows are there three times."""
    assert stated(100, 300, 50, form="rows") == pytest.approx(stated(100, 300, 50) + 3 * 400 * 50, rel=1e-12)
    alone = stated(0, 402, 50, form="rows")
    assert stated(100, 302, 50, form="rows") == pytest.approx(alone, rel=1e-12)
    assert stated(99, 303, 50, 0.99, form="rows") == pytest.approx(alone, rel=1e-12)


def test_given_similarities_are_copied_and_decomposed():
    assert stated(600, 60, 0, form="similarities") == 660**2 + 8 * 600**2
