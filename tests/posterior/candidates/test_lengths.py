"""How long a query's vector is: the regression against its definition, the clip, the weights, the scale; its errors."""

import numpy as np
import pytest

from simcomplete._posterior.candidates.grid import (
    LEAST_SD,
    Lengths,
    best_lengths,
    error_quantiles,
    first_best,
    learn,
    widened,
)

RNG = np.random.default_rng(11)


def rule(**changes):
    """log V = 0.5 + 2 * (f - 1) / 4 of one feature, between -1 and 1."""
    numbers = {"intercept": 0.5, "slopes": np.array([2.0]), "mean": np.array([1.0]), "sd": np.array([4.0])}
    return Lengths(**{**numbers, "low": -1.0, "high": 1.0, **changes})


@pytest.mark.parametrize(
    ("feature", "log_v"),
    [(1.0, 0.5), (1.5, 0.75), (0.0, 0.0), (3.0, 1.0), (300.0, 1.0), (-300.0, -1.0)],  # 1.5 and -149.0 are clipped
)
@pytest.mark.parametrize("size", [1.0, 4.0])
def test_the_rule_by_hand_clipped_to_the_range_that_was_seen(feature, log_v, size):
    length = rule().of(np.array([[feature]]), np.array([size]))
    np.testing.assert_allclose(length, [1 / np.sqrt(1 + np.exp(log_v) / size)], rtol=1e-12)


def test_the_scale_lengthens_up_to_one():
    f, size = np.array([[1.0], [1.0]]), np.array([1.0, 1e9])
    np.testing.assert_allclose(rule(scale=0.5).of(f, size), [0.5 / np.sqrt(1 + np.exp(0.5)), 0.5], rtol=1e-6)
    np.testing.assert_allclose(rule(scale=1.5).of(f, size), [1.5 / np.sqrt(1 + np.exp(0.5)), 1.0], rtol=1e-6)


def test_a_completion_without_size_has_no_length():
    assert rule().of(np.array([[1.0]]), np.array([0.0]))[0] == pytest.approx(0, abs=1e-100)


def test_best_lengths_by_hand():
    S = np.array([[1.0, 2.0], [1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [0.1, 0.0]])
    T = np.array([[0.5, 1.0], [9.0, 1.0], [-1.0, 0.0], [1.0, 1.0], [0.02, 5.0]])
    # (0.5 + 2)/5; 9 is too long; -3/25 too short; nothing to measure; 0.002/0.01
    np.testing.assert_allclose(best_lengths(S, T), [0.5, 0.9999, 0.03, 0.03, 0.2], rtol=1e-12)


def simulated(b, features, size=None):
    """Similarities S and T = b S of simulated queries."""
    S = RNG.standard_normal((len(b), 30))
    return features, np.ones(len(b)) if size is None else size, S, b[:, None] * S


def test_without_features_the_intercept_is_a_mean_weighted_by_how_much_a_length_tells():
    # Half of the rows have length 0.5, half 0.95: y = log(1/b^2 - 1), weights b^2 (1 - b^2).
    b = np.repeat([0.5, 0.95], 20)
    y, weight = np.log(1 / b**2 - 1), b**2 * (1 - b**2)
    lengths, _ = learn(*simulated(b, np.full((40, 2), 7.0)))
    assert lengths.intercept == pytest.approx(np.sum(weight * y) / np.sum(weight), rel=1e-9)
    np.testing.assert_allclose(lengths.slopes, 0, atol=1e-12)
    np.testing.assert_allclose(lengths.mean, 7)
    np.testing.assert_allclose(lengths.sd, LEAST_SD)
    assert (lengths.low, lengths.high) == (pytest.approx(y.min()), pytest.approx(y.max()))


def test_a_row_that_tells_nothing_still_weighs_a_little():
    # The clipped extremes 0.03 and 0.9999 weigh 0.001 or a little less, and are raised to 0.001.
    b = np.array([0.03, 0.9999, 0.0, 5.0])
    clipped = np.array([0.03, 0.9999, 0.03, 0.9999])
    y = np.log(1 / clipped**2 - 1)
    lengths, _ = learn(*simulated(b, np.zeros((4, 1))))
    assert lengths.intercept == pytest.approx(y.mean(), rel=1e-6)


def test_the_slopes_are_a_weighted_ridge_regression():
    f = RNG.standard_normal((60, 3)) * [1.0, 5.0, 0.2] + [3.0, 0.0, -1.0]
    size = np.exp(RNG.standard_normal(60))
    b = 1 / np.sqrt(1 + np.exp(0.4 * (f[:, 0] - 3) - 0.1 * f[:, 1] + 0.3 * RNG.standard_normal(60)))
    lengths, error = learn(*simulated(b, f, size))
    y, weight = np.log(1 / b**2 - 1) + np.log(size), b**2 * (1 - b**2)
    Z = (f - f.mean(axis=0)) / f.std(axis=0)
    # The same by stacked least squares: rows times the root of their weight, and a row per penalised slope.
    A = np.sqrt(weight)[:, None] * np.column_stack([np.ones(60), Z])
    penalty = np.sqrt(0.05 * weight.sum()) * np.eye(4)[1:]
    g = np.linalg.lstsq(np.vstack([A, penalty]), np.concatenate([np.sqrt(weight) * y, np.zeros(3)]), rcond=None)[0]
    np.testing.assert_allclose([lengths.intercept, *lengths.slopes], g, rtol=1e-8)
    np.testing.assert_allclose(lengths.sd, f.std(axis=0))
    assert 0 < error < 0.2


def test_the_scale_is_the_best_multiple_and_the_error_what_it_leaves():
    f = RNG.standard_normal((50, 2))
    b = 1 / np.sqrt(1 + np.exp(RNG.standard_normal(50)))
    _, size, S, T = simulated(b, f)
    lengths, error = learn(f, size, S, T)
    plain = Lengths(lengths.intercept, lengths.slopes, lengths.mean, lengths.sd, lengths.low, lengths.high)
    beta = plain.of(f, size)
    scaled = beta[:, None] * S
    assert lengths.scale == pytest.approx(np.sum(scaled * T) / np.sum(scaled * scaled), rel=1e-9)
    assert error == pytest.approx(np.mean((T - lengths.scale * scaled) ** 2), rel=1e-9)


def test_the_scale_never_makes_a_vector_longer_than_one_and_never_turns_it_round():
    f = np.zeros((6, 1))
    S = np.ones((6, 5))
    T = np.ones((6, 5))
    T[:3] = 40.0  # so much longer that the best multiple would leave the unit ball
    lengths, _ = learn(f, np.ones(6), S, T)
    assert lengths.of(f, np.ones(6)).max() == pytest.approx(1)
    assert lengths.scale == pytest.approx(1 / Lengths(*list(vars(lengths).values())[:-1]).of(f, np.ones(6)).max())
    lengths, error = learn(f, np.ones(6), S, -T)
    assert lengths.scale == 0
    assert error == pytest.approx(np.mean(T**2))


def test_nothing_to_compare_leaves_the_scale_alone():
    lengths, error = learn(np.zeros((3, 1)), np.ones(3), np.zeros((3, 2)), np.ones((3, 2)))
    assert lengths.scale == pytest.approx(1.0)
    assert error == 1.0


def test_a_feature_that_hardly_differs_between_simulated_queries_does_not_move_others_far():
    # It falls with the length by chance, and is 0.1 larger for real queries, whose candidates are a few more.
    b = np.linspace(0.7, 0.95, 40)
    lengths, _ = learn(*simulated(b, 3.0 + 0.01 * b[:, None]))
    seen, larger = lengths.of(np.array([[3.008], [3.108]]), np.ones(2))
    assert larger == pytest.approx(seen, rel=0.05)


# Errors


def test_the_first_of_errors_that_differ_by_rounding():
    assert first_best([3.0, 1.0 + 0.9e-9, 1.0]) == 1
    assert first_best([3.0, 1.0 + 1.1e-9, 1.0]) == 2
    assert first_best([1.0, 0.9e-24, 0.0]) == 1
    assert first_best([1.0, 1.1e-24, 0.0]) == 2
    assert first_best([np.nan, 2.0, np.nan]) == 1


def test_quantiles_of_errors_by_hand():
    truth, estimate = np.array([[0.5, 0.2], [1.0, 0.0]]), np.array([[0.2, 0.3], [0.99, 0.02]])
    found = error_quantiles(truth, estimate, np.array([0.6, 1.0]))
    # Over 0.8, and over 0.01: a length of 1 counts as one whose square lacks 1e-4.
    assert found.shape == (1001,)
    # Two rows are few: quantiles q grow by 3.6 q (1 / sqrt(2) - 1 / sqrt(50)), which is 3.6 q * 4 / sqrt(50).
    grow = 3.6 * 4 / 50**0.5
    np.testing.assert_allclose(found[[0, 1000]], [0.125, 2.0 * (1 + grow)])
    np.testing.assert_allclose(found[500], (0.375 + 1.0) / 2 * (1 + grow / 2))


@pytest.mark.parametrize("rows", [50, 51, 1000])
def test_quantiles_from_many_rows_are_as_they_are(rows):
    assert widened(np.arange(1001.0), rows).tolist() == list(range(1001))
