"""What incomplete rows lose to learn from, and what is learnt: by plain loops over rows."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_rows import drawn_model, incomplete

from simcomplete._posterior.all_rows import calibrate, split
from simcomplete._posterior.all_rows.calibrate import Calibration, RowsHoldout

# Holdouts


def plain_holdout(X, masks, rng, judged_at_most):
    n, d = X.shape
    known = ~np.isnan(X)
    bytes_of = [np.packbits(~k).tobytes() + (np.nan_to_num(x) + 0.0).tobytes() for x, k in zip(X, known, strict=True)]
    distinct = sorted(set(bytes_of))
    first = rng.permutation([bytes_of.index(key) for key in distinct])
    masks = known[~known.all(axis=1)] if masks is None else masks
    ways = [masks[rng.integers(len(masks), size=len(first))]] if len(masks) else []
    noise = rng.random((len(first), d))
    ways.append(noise > rng.uniform(0.1, 0.95, size=(len(first), 1)))
    for shown in ways:
        usable = [
            i
            for i, row in enumerate(first)
            if (known[row] & ~shown[i]).any() and (known[row] & shown[i]).any() and np.nan_to_num(X[row]).any()
        ][: min(judged_at_most, len(first) // 4)]
        if len(usable) >= 10:
            break
    else:
        return None
    left = X.copy()
    for i in usable:
        for row in range(n):
            if bytes_of[row] == bytes_of[first[i]]:
                left[row, ~shown[i]] = np.nan
    half = rng.permutation(d)[: d // 2]
    return left, first[usable], half, rng.permutation(first)[:500]


@pytest.mark.parametrize("case", ["own masks", "given masks", "complete rows", "few rows", "few usable"])
def test_what_rows_lose_in_a_loop(case, monkeypatch):
    monkeypatch.setattr(calibrate, "HIDDEN_ROWS", 11)
    X, masks = incomplete(), None
    X = np.concatenate([X, X[:3]])
    X[5] = np.where(np.isnan(X[5]), np.nan, 0.0)  # points nowhere
    if case == "given masks":
        masks = np.random.default_rng(8).random((3, 7)) < 0.6
    elif case == "complete rows":
        X = np.nan_to_num(X, nan=0.5)
    elif case == "few rows":
        X = X[:39]
    elif case == "few usable":
        masks = np.ones((1, 7), dtype=bool)  # nothing would be lost: masks are drawn
    expected = plain_holdout(X, masks, np.random.default_rng(1), 11)
    found = RowsHoldout.of(X, masks, np.random.default_rng(1))
    if case == "few rows":  # a quarter of 39 is fewer than ten
        assert found is expected is None
        return
    left, scored, half, others = expected
    np.testing.assert_array_equal(found.X, left)
    assert found.hidden_rows.tolist() == scored.tolist()
    assert np.flatnonzero(found.half).tolist() == sorted(half.tolist())
    assert found.others.tolist() == others.tolist()
    np.testing.assert_array_equal(found.known, ~np.isnan(X[scored]))
    length = np.sqrt(np.nansum(X[scored] ** 2, axis=1, keepdims=True))
    np.testing.assert_allclose(found.truth, np.nan_to_num(X[scored]) / length)


def errors_of(holdout, model, features):
    """|error| over sqrt(1 - |u|^2) of every pair of a scored row and another one, and the squared errors."""
    done = model.fill(holdout.X[holdout.hidden_rows])
    others = replace(model, local=None).fill(holdout.X[holdout.others]).values
    m, V = model.values(done), done.variance * model.factor(done)[:, None]
    ratios, squares, shares = [], [], []
    for i, row in enumerate(holdout.hidden_rows):
        o = np.flatnonzero(holdout.known[i] & features)
        whole = m[i, o] @ m[i, o] + V[i, o].sum()
        truth = holdout.truth[i, o]
        truth = truth / (np.sqrt(truth @ truth) or 1.0)
        gap = m[i, o] / np.sqrt(whole or 1.0) - truth
        for j, other in enumerate(holdout.others):
            if other != row:
                error = abs(gap @ others[j, o]) / (np.sqrt(others[j, o] @ others[j, o]) or 1.0)
                squares.append(error**2)
                ratios.append(error / np.sqrt(max(1 - (m[i, o] @ m[i, o]) / (whole or 1.0), 1e-4)))
                shares.append(holdout.known[i].mean())
    return np.mean(squares), np.array(ratios), np.array(shares)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("seed", [0, 3, 11, 17])  # powers 0, 1, 0.75 and 0.25 without neighbours, else 0, 1, 0.5, 0
def test_calibration_in_a_loop(local, seed):
    X = incomplete(seed=seed)
    holdout = RowsHoldout.of(X, None, np.random.default_rng(seed))
    model = drawn_model(X=X)
    if local:
        model = model.with_local(holdout.X, np.random.default_rng(0))
    found = holdout.calibrate(model)
    done = model.fill(holdout.X[holdout.hidden_rows])
    every = np.ones(7, dtype=bool)
    settings = [(s, p) for s in ((0.0, 0.5, 0.75) if local else (0.0,)) for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
    errors = [errors_of(holdout, model.tuned(*setting, done), every)[0] for setting in settings]
    best = settings[int(np.argmin(errors))]
    assert (found.strength, found.power) == best
    _, ratios, shares = errors_of(holdout, model.tuned(*best, done), every)
    _, halved, _ = errors_of(holdout, model.tuned(*best, done), holdout.half)
    exponent = np.clip(np.log2(np.mean(halved**2) / np.mean(ratios**2)), 0.0, 1.0)
    ratios = ratios * shares ** (exponent / 2)
    assert found.square == pytest.approx(np.mean(ratios**2))
    np.testing.assert_allclose(found.quantiles, np.quantile(ratios, np.arange(1001) / 1000))


def test_expected_error_by_hand():
    U = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.6]])  # squared lengths 1, 0.5, 0.36
    both = (0.5 + 0.36 + 0.18) / 3
    assert Calibration(0.0, 0.0, 2.0, np.zeros(1)).expected(U) == pytest.approx(2 * (1 - both))
    assert Calibration(0.0, 0.0, 2.0, np.zeros(1)).expected(U[:1]) == pytest.approx(2.0)
    assert Calibration(0.0, 0.0, 2.0, np.zeros(1)).expected(2 * U[:2]) == 0.0


# Complete rows among others


@pytest.mark.parametrize(
    ("complete", "rows", "observed", "enough"),
    [(100, 101, 1, True), (99, 101, 1, False), (100, 100, 1, False), (100, 400, 2, True), (100, 401, 2, False)],
)
def test_when_complete_rows_are_candidates(complete, rows, observed, enough):
    """A hundred at least, not all, and with 2/5 of all observed values: 100 * 4 of 1000 with 300 rows of 2 values."""
    X = np.full((rows, 4), np.nan)
    X[:, :observed] = 1.0
    X[:complete] = 1.0
    found = split.candidates_among(X)
    assert (found is not None) is enough
    if enough:
        assert np.flatnonzero(found).tolist() == list(range(complete))
