"""What people bring: frames, permuted frames, gaps, weights and bounds of every kind; and what is refused, by name."""

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete.errors import InputError

A = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])
NAMES = ["oil", "gas", "gold"]
FRAME = pd.DataFrame(A, index=NAMES, columns=NAMES)
TIN = FRAME.rename(index={"oil": "tin"}, columns={"oil": "tin"})
X = sc.nearest_correlation(A).matrix


STAYS = np.array([[False, True, False], [True, False, False], [False, False, False]])


def test_a_value_beyond_the_possible_by_rounding_is_taken_for_it():
    first = sc.nearest_correlation([[1, -1], [-1, 1]], min_eigenvalue=0.9)  # 0.1, or the next number above 1 - 0.9
    larger = np.eye(3)
    larger[:2, :2] = [[1, -0.1], [-0.1, 1]]
    larger[0, 2] = larger[2, 0] = 0.3
    block = sc.nearest_correlation(larger, block=2, min_eigenvalue=0.9)
    assert block.values[0, 1] == pytest.approx(-0.1, abs=1e-15)
    assert first.values[0, 1] == pytest.approx(-0.1, abs=1e-9)
    over = np.nextafter(1, 2)
    assert sc.nearest_correlation(A, fixed=np.where(STAYS, over, np.nan)).values[0, 1] == 1


def test_unknown_entries_have_no_weight():
    gap = FRAME.copy()
    gap.loc["oil", "gas"] = gap.loc["gas", "oil"] = np.nan
    repair = sc.nearest_correlation(gap)
    assert "1 unknown pair (NaN) has" in repair.notes[0]
    assert repair.distance < 1e-7, "0.9 and 0.2 can be, whatever the third is"
    assert np.isfinite(repair.values).all()
    assert np.linalg.eigvalsh(repair.values)[0] > -1e-9
    gap.loc["gas", "oil"] = 0.9
    repair = sc.nearest_correlation(gap)
    np.testing.assert_allclose(repair.values, X, atol=1e-9)
    assert "missing on one side" in repair.notes[0]


def test_every_mending_is_noted():
    off = A.copy()
    off[0, 1] += 1e-12
    assert "made symmetric" in sc.nearest_correlation(off).notes[0]
    sd = np.array([1.0, 10.0, 3.0])
    scaled = sc.nearest_correlation(A * np.outer(sd, sd), rescale=True)
    np.testing.assert_allclose(scaled.matrix, X, atol=1e-9)
    assert "divided by standard deviations" in scaled.notes[0]
    halved = A.copy()
    halved[1, 1] = 0.5
    assert "1 of 3 diagonal entries were not 1 (the first, A[1, 1], was 0.5)" in sc.nearest_correlation(halved).notes[0]


def test_a_frame_of_some_labels_holds_and_bounds_these_only():
    names = list(FRAME.columns)
    whole = FRAME * np.nan
    two = FRAME.loc[[names[2], names[0]], [names[2], names[0]]] * 0 + 0.3
    whole.loc[two.index, two.columns] = two
    for name in ("fixed", "lower", "upper"):
        one, other = (sc.nearest_correlation(FRAME, **{name: given}).matrix for given in (two, whole))
        np.testing.assert_array_equal(one, other)
    assert sc.nearest_correlation(FRAME, fixed=two).matrix.loc[names[0], names[2]] == 0.3
    held = sc.nearest_correlation(FRAME, fixed=two > 0).matrix
    assert held.loc[names[0], names[2]] == FRAME.loc[names[0], names[2]]


def test_weights_and_held_values_follow_labels():
    w = pd.Series([3.0, 1.0, 2.0], index=["gold", "oil", "gas"])
    expected = sc.nearest_correlation(A, weights=[1, 2, 3]).matrix
    np.testing.assert_array_equal(sc.nearest_correlation(FRAME, weights=w).values, expected)
    fixed = pd.DataFrame(np.nan, index=NAMES[::-1], columns=NAMES[::-1])
    fixed.loc["oil", "gas"] = 0.9
    assert sc.nearest_correlation(FRAME, fixed=fixed).matrix.loc["gas", "oil"] == 0.9
    held = FRAME > 2
    held.loc["oil", "gas"] = True
    pd.testing.assert_frame_equal(
        sc.nearest_correlation(FRAME, fixed=held).matrix, sc.nearest_correlation(FRAME, fixed=fixed).matrix
    )


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        (np.ones((2, 3)), {}, r"A has shape \(2, 3\); a square matrix is needed"),
        (np.zeros((0, 0)), {}, "A has shape"),
        (A + 0j, {}, "A is complex"),
        (np.array([[1, np.inf], [np.inf, 1]]), {}, r"A\[0, 1\] is inf"),
        (np.array([["a", "b"], ["c", "d"]]), {}, "numbers are needed"),
        (A + np.diag([1, 0.5], 1), {}, r"A is not symmetric: A\[0, 1\] = 1.9 but A\[1, 0\] = 0.9"),
        (FRAME.rename(columns={"oil": "coal"}), {}, "'oil' only in rows; 'coal' only in columns"),
        (FRAME.rename(columns={"oil": "gas"}), {}, "have different labels"),
        (A * 1e5, {}, r"A\[0, 1\] = 9e\+04 is not a correlation; rescale=True"),
        (A * [[1], [1], [-1]], {"rescale": True}, "not symmetric"),
        (np.diag([1.0, -1]), {"rescale": True}, r"A\[1, 1\] = -1 is negative"),
        (np.diag([1.0, 0]), {"rescale": True}, r"A\[1, 1\] = 0 is not a variance"),
        (pd.DataFrame(np.diag([1.0, -1]), list("ab"), list("ab")), {}, r"A\['b', 'b'\] = -1 is negative"),
        (A[0], {}, "A has 1 dimension; a square matrix is needed"),
        (None, {}, "A has 0 dimensions; a square matrix is needed"),
        (np.ones((2, 2, 2)), {}, "A has 3 dimensions; a square matrix is needed"),
        (A, {"rescale": "no"}, "rescale='no' is neither True nor False"),
        (FRAME, {"weights": pd.Series([1, 2, 3], ["tin", "gas", "gold"])}, "'tin' only in weights; 'oil' only in A"),
        (FRAME, {"weights": pd.Series([1, 2, 3], ["oil", "oil", "gold"])}, "weights and A have different labels"),
        (A, {"weights": [1, 2]}, r"weights has shape \(2,\); give 3 positive numbers"),
        (A, {"weights": [1, 2, 0]}, "holds a 0"),
        (A, {"weights": "high"}, "weights is 'high'; give 3 positive numbers"),
        (A, {"weights": -np.ones((3, 3))}, "negative or not finite"),
        (A, {"weights": np.zeros((3, 3))}, "leaves no entry"),
        (A, {"weights": [1e-300, 1, 1]}, "weights has a largest number above 1e\\+12 times the smallest"),
        (A, {"weights": np.full((3, 3), 1e200)}, "weights holds 1.0e\\+200, of which squares are beyond the range"),
        (A, {"weights": [[1, 2], [3]]}, "the rows of weights have different lengths"),
        ([[1, 2], [3]], {}, "the rows of A have different lengths"),
        (A, {"fixed": STAYS.astype(int)}, "fixed holds a 0 or a 1 for every entry; give True and False"),
        (A, {"weights": np.triu(np.ones((3, 3)))}, "weights is not symmetric"),
        (A, {"fixed": np.ones((2, 2), dtype=bool)}, r"fixed has shape \(2, 2\)"),
        (FRAME, {"fixed": FRAME * 0 + 1.5}, r"fixed\['oil', 'gas'\] = 1.5 is not possible"),
        (A, {"fixed": np.triu(A * 0.5) + np.tril(A, -1)}, "its mirror image has another value"),
        (A, {"fixed": A, "upper": 0.5}, r"fixed\[0, 1\] = 0.9 is not possible: it is outside the bounds"),
        (A, {"lower": 0.5, "upper": 0.1}, r"lower\[0, 1\] = 0.5 is not possible: it is above the upper bound"),
        (A, {"lower": 1.5}, "no valid matrix has an entry beyond 1"),
        (A, {"lower": np.ones((2, 2))}, r"lower has shape \(2, 2\)"),
        (A, {"block": 4}, "block=4 is not a number of leading rows"),
        (A, {"rank": 9}, "rank=9 is not a rank; give a whole number from 1 to 3"),
        (FRAME, {"fixed": TIN}, "'tin' only in fixed; 'oil' only in A; give some of those of A"),
        (A, {"block": 3}, "the leading block of 3 rows has a smallest eigenvalue of -0.17"),
        (A, {"min_eigenvalue": 1.0}, "min_eigenvalue=1.0 is not a number between 0 and 0.999"),
        (A, {"min_eigenvalue": -1}, "min_eigenvalue=-1"),
        (A, {"rank": 2, "block": 1, "min_eigenvalue": 0.1}, "rank cannot be combined"),
        (A, {"rank": 5}, "rank=5 is not a rank"),
        (A, {"max_iter": 0}, "max_iter=0 must be a whole number"),
        (A, {"start": 3}, "start is int"),
        (A, {"start": sc.nearest_correlation(np.eye(2))}, "start is a Repair of 2 rows"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(given, more, message):
    with pytest.raises(sc.errors.InputError, match=message):
        sc.nearest_correlation(given, **more)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((2, 3)), r"has shape \(2, 3\); a square matrix is needed"),
        (A + 0j, "is complex"),
        (np.where(A == 0.2, np.inf, A), r"\[0, 2\] is inf"),
        (FRAME.rename(columns={"oil": "coal"}), "'oil' only in rows; 'coal' only in columns"),
        (FRAME.where(FRAME.loc["gas", "gas"] != FRAME, -1.0), r"'oil'.* -1"),
        (A + np.diag([1, 0.5], 1), "is not symmetric"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        sc.nearest_correlation,
        sc.nearest_covariance,
        sc.shrink_to_valid,
        lambda M: sc.factor_correlation(M, 1),
        lambda M: sc.NearestCorrelation(precomputed=True).fit(M),
    ],
)
def test_every_door_refuses_the_same(call, given, message):
    with pytest.raises(sc.errors.InputError, match=message):
        call(given)


def test_an_unknown_entry_cannot_be_held():
    gap = A.copy()
    gap[0, 1] = gap[1, 0] = np.nan
    with pytest.raises(sc.errors.InputError, match=r"A\[0, 1\] = nan is not possible: unknown, so it cannot be held"):
        sc.nearest_correlation(gap, block=2)
    held = np.full((3, 3), np.nan)
    held[0, 1] = 0.4
    assert sc.nearest_correlation(gap, fixed=held).matrix[1, 0] == 0.4


def test_a_run_cut_short_is_told_on_the_line_of_the_caller():
    A = np.random.default_rng(0).uniform(-1, 1, (30, 30))
    np.fill_diagonal(A, 1.0)
    with pytest.warns(sc.errors.NotConvergedWarning, match="max_iter") as told:
        repair = sc.nearest_correlation((A + A.T) / 2, max_iter=1)
    assert told[0].filename == __file__
    assert not repair.status.ok
    assert np.linalg.eigvalsh(repair.matrix)[0] > -1e-12


def test_the_result_tells_about_itself():
    repair = sc.nearest_correlation(FRAME)
    assert repair.min_eigenvalue_before < -0.1
    assert abs(repair.min_eigenvalue_after) < 1e-9
    assert repair.relative_change == pytest.approx(repair.distance / np.linalg.norm(A))
    assert "gold" in repair._repr_html_()
    assert repr(repair).startswith("Repair(n=3, distance=0.")
    assert repair.summary()["status"]["code"] == "optimal"
    with pytest.raises(sc.errors.InputError, match="min_eigenvalue=1e-8"):
        sc.nearest_correlation([[1.0, 1.0], [1.0, 1.0]]).cholesky()
    figure = repair.plot()
    assert [axes.get_title() for axes in figure.axes[:3]] == ["before", "after", "change"]
    figure.canvas.draw()


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_matrices(n):
    repair = sc.nearest_correlation(np.full((n, n), 7.0))
    np.testing.assert_allclose(repair.matrix, np.ones((n, n)), atol=1e-9)


def test_what_would_not_fit_is_refused(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1 MiB")
    with pytest.raises(sc.errors.MemoryLimitError, match="a repair of 200 x 200 entries"):
        sc.nearest_correlation(np.eye(200))


def test_distances_are_refused():
    D = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    with pytest.raises(InputError, match="looks like distances"):
        sc.nearest_correlation(D)


def test_an_asymmetry_of_rounding_is_mended_and_another_is_shown():
    A = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
    A[0, 1] += 1e-7
    assert any("made symmetric" in note for note in sc.nearest_correlation(A).notes)
    A[0, 1] = 0.50001
    with pytest.raises(InputError, match=r"= 0\.50001 but .* = 0\.5;"):
        sc.nearest_correlation(A)
