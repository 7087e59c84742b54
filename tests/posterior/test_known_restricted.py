"""What a completion tells of its fitted rows, one pair and one row at a time."""

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._posterior import extend
from simcomplete._posterior.extend import FittedRows, PosteriorExtension
from simcomplete._posterior.shared.rows import RowValues, Vectors
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.measure import Measure

RNG = np.random.default_rng(0)
X = np.where(RNG.random((9, 5)) < 0.4, np.nan, RNG.standard_normal((9, 5)) + 1)
X[0] = [1.0, 2.0, np.nan, np.nan, 3.0]


class Model:
    """Expected values that do not depend on other rows, and their variances."""

    unit = np.eye(5)[[0, 1, 2]]

    def values(self, rows):
        known = ~np.isnan(rows)
        return RowValues(np.where(known, rows, 0.5), np.where(known, 0.0, 1.0))

    def vectors(self, rows):
        u = np.nan_to_num(rows)
        return Vectors(u, np.linalg.norm(u, axis=1))


class Sums:
    """Spreads of pairs: sums of variances."""

    def deviations(self, one, other, rows, cols, doubted):
        assert doubted and one.counted is not None
        return one.variance.sum(axis=1)[:, None] + other.variance.sum(axis=1)


class Paired(Model):
    """A model that learnt how uncertain pairs are."""

    pairs = Sums()

    def moments(self, rows, by_value):
        mean, std = self.values(rows)
        return mean, mean**2 + std**2


def fitted(model, scale=2.0, tables=(X[:6], X[6:])):
    return FittedRows(model, scale, tuple(HeldRows(table) for table in tables), "fast")


@pytest.mark.parametrize("features", [None, "some", "by row"])
def test_restricted_similarities_one_pair_at_a_time(features):
    count = None
    if features == "some":
        count = np.array([True, True, False, True, False])
    if features == "by row":
        count = np.random.default_rng(1).random((9, 5)) < 0.7
        count[8] = False
    rows, cols = np.array([8, 0, 3]), np.array([0, 1, 7, 3])
    found = fitted(Model()).restricted(rows, cols, count)
    for i, a in enumerate(rows):
        for j, b in enumerate(cols):
            A, B = (~np.isnan(X[k]) if count is None else count if count.ndim == 1 else count[k] for k in (a, b))
            both = A & B
            mean, square, sure = [], [], []
            for k in (a, b):
                known = ~np.isnan(X[k])
                m = np.where(known, X[k] / 2, 0.5)
                mean.append(m[both])
                square.append(np.sum((m**2 + np.where(known, 0.0, 1.0))[both]))
                sure.append(np.sum(m[both] ** 2))
            if a == b and both.any():
                assert found.similarity[i, j] == 1 and found.spread[i, j] == 0
                continue
            if not both.any():
                assert found.spread[i, j] == np.inf and found.similarity[i, j] == 0
                continue
            whole = np.sqrt(square[0] * square[1])
            assert found.similarity[i, j] == pytest.approx(np.clip(mean[0] @ mean[1] / whole, -1, 1), abs=1e-12)
            left = np.sqrt(max(1 - sure[0] * sure[1] / whole**2, 0))
            assert found.spread[i, j] == pytest.approx(left, abs=1e-7)


def test_spreads_of_pairs_that_the_model_learnt():
    rows, cols = np.array([1, 2]), np.array([2, 5])
    found = fitted(Paired()).restricted(rows, cols, np.ones(5, dtype=bool))
    gaps = np.isnan(X).sum(axis=1)
    np.testing.assert_allclose(found.spread, [[gaps[1] + gaps[2], gaps[1] + gaps[5]], [0, gaps[2] + gaps[5]]])


def test_huge_rows_stay_in_range():
    huge = fitted(Model(), scale=1.0, tables=(np.array([[3e200, 4e200], [4e200, 3e200]]),))
    found = huge.restricted(np.array([0]), np.array([1]), None)
    assert found.similarity[0, 0] == pytest.approx(24 / 25)


def test_rows_of_several_tables_in_any_order():
    at = np.array([7, 0, 5, 6, 0])
    np.testing.assert_array_equal(fitted(Model())._rows(at), X[at])


def test_some_rows_of_every_table(monkeypatch):
    monkeypatch.setattr(extend, "LEARNT_VALUES", 20)
    monkeypatch.setattr(extend, "LEARNT_ROWS", 2)
    some = fitted(Model())._some()  # 20 values of 5 features are 4 rows
    assert len(some) == 4 + 3 and (np.diff(some) > 0).all()
    assert (some < 6).sum() == 4 and some.max() < 9
    monkeypatch.setattr(extend, "LEARNT_VALUES", 1)
    assert len(fitted(Model())._some()) == 2 + 2


def test_imputed_values_are_of_the_rows_asked_for():
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5))
    hidden = np.where(rng.random(truth.shape) < 0.2, np.nan, truth).astype(np.float32)
    hidden[:, 4] = np.nan
    own = FittedRows(Model(), 1.0, (HeldRows(hidden[:50]), HeldRows(hidden[50:])), "fast")
    values, std = own.imputed(np.array([60, 3]))
    assert values.dtype == std.dtype == np.float32
    known = ~np.isnan(hidden[[60, 3]])
    np.testing.assert_array_equal(values[known], hidden[[60, 3]][known])
    assert np.isnan(values[:, 4]).all() and np.isnan(std[:, 4]).all()
    assert np.isfinite(values[:, :4]).all() and (std[:, :4][known[:, :4]] == 0).all()
    assert own.d == 5


def test_extensions_divide_by_the_scale_and_have_ones_on_the_diagonal():
    model = PosteriorExtension(Model(), HeldRows(X[:3]), 2.0, Measure())
    Q = np.array([[2.0, np.nan, 0.0, 0.0, 0.0], [8.0, 0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.transform(Q), np.nan_to_num(Q) / 2)
    np.testing.assert_allclose(model.among(Q), [[1.0, 1.0], [1.0, 1.0]])  # 4 is no cosine
    assert model.factor is Model.unit
    np.testing.assert_allclose(
        model.overlap(X[4:6]), sc.overlap_similarity(np.vstack([X[:3], X[4:6]]))[3:, :3], atol=1e-12
    )


def test_features_are_selected_by_name_position_or_booleans():
    frame = pd.DataFrame(X, columns=list("abcde"))
    done = sc.complete(frame, method="posterior", copies=False)
    expected = done.restricted(np.array([True, False, False, True, False]))
    for features in (["a", "d"], [3, 0], [0, -2], np.array([0, 3])):
        np.testing.assert_array_equal(done.restricted(features), expected)
    np.testing.assert_array_equal(done.restricted("b"), done.restricted([1]))


@pytest.mark.parametrize("features", ["z", 5, -6, [0.5], [], [[0, 1]], [None], np.ones(4, dtype=bool)])
def test_features_that_do_not_exist_are_refused(features):
    done = sc.complete(pd.DataFrame(X, columns=list("abcde")), method="posterior")
    with pytest.raises(sc.errors.InputError, match="features"):
        done.restricted(features)
