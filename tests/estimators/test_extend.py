"""Out of sample: a fitted row gets its own row of the factor back, whatever the penalty, measure or rotation."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._registry import find
from simcomplete._rows.table import HeldRows
from simcomplete._similarity import overlap
from simcomplete._similarity.measure import Measure
from simcomplete._spectral import extend
from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, SquaredFrobenius

METHODS = {
    "smcnn": Nuclear(),
    "smcnmf": NuclearMinusFrobenius(),
    "smc_nr": NoPenalty(),
    "smc_f": SquaredFrobenius(),
}


def extension(done, rows, measure):
    return find(done.method).extend(done, HeldRows(rows), measure)


every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def rows(digits):
    """150 rows with 60 percent missing, one with nothing observed and one that is zero."""
    X = sc.masks.apply(digits[:150], sc.masks.random(digits[:150], missing=0.6))
    X[5] = np.nan
    X[6, ~np.isnan(X[6])] = 0.0
    return X


@every_method
@pytest.mark.parametrize("rank", [1, 20, 150])
@pytest.mark.parametrize("weight", [0.0, 1e-3, 2.0, 1e3])  # 1e3: everything (SMCNmF: all but one) is shrunk away
def test_fitted_rows_come_back(rows, method, rank, weight):
    done = sc.complete(rows, method=method, rank=rank, penalty=weight)
    new = extension(done, rows, Measure()).transform(rows)
    assert np.abs(new - done.factor).max() < 1e-10


@pytest.mark.parametrize(
    "measure",
    [
        Measure("pearson"),
        Measure(min_overlap=6),
        Measure(epsilon=1e-8),
        Measure(positive=True),
        Measure("pearson", min_overlap=8, positive=True),
    ],
    ids=repr,
)
def test_fitted_rows_come_back_under_every_measure(rows, measure):
    done = sc.complete(rows, method="smcnn", **vars(measure))
    new = extension(done, rows, measure).transform(rows)
    assert np.abs(new - done.factor).max() < 1e-10


@every_method
def test_a_rotated_factor_is_extended_as_well(rows, method):
    # Descent ends anywhere among V R, R a rotation: all of them have the same products.
    done = sc.complete(rows, method=method, rank=20, penalty=0.5)
    R = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 20)))[0]
    V = done.factor @ R
    K = extend.inverse(V, METHODS[method], 0.5)
    assert np.abs(extend.SpectralExtension(rows, Measure(), V, K).transform(rows) - V).max() < 1e-9


def test_the_two_variants_of_smc_f_are_told_apart(rows):
    done = sc.complete(rows, method="smc_f", penalty=2.0, variant="paper")
    new = extension(done, rows, Measure()).transform(rows)
    assert np.abs(new - done.factor).max() < 1e-10


def test_smcnn_is_the_ridge_solution(rows, digits):
    done = sc.complete(rows, method="smcnn", rank=10, penalty=3.0)
    V, model = done.factor, extension(done, rows, Measure())
    s0 = model.overlap(digits[200:203])
    ridge = np.linalg.solve(V.T @ V + 1.5 * np.eye(10), V.T @ s0.T).T
    assert np.allclose(model.transform(digits[200:203]), ridge, atol=1e-12)


def test_overlap_is_the_similarity_over_common_features(rows):
    done = sc.complete(rows[10:], method="smcnn")
    S0 = sc.overlap_similarity(rows)
    assert np.allclose(extension(done, rows[10:], Measure()).overlap(rows[:10]), S0[:10, 10:], atol=1e-14)


def test_blocks_do_not_change_the_answer(rows, monkeypatch):
    done = sc.complete(rows, method="smcnn")
    model = extension(done, rows, Measure())
    whole = model.transform(rows)
    monkeypatch.setattr(
        overlap,
        "row_blocks",
        lambda n, size: [slice(i, min(i + 7, n)) for i in range(0, n, 7)],
    )
    assert len(list(overlap.overlap_blocks(rows, rows, Measure()))) == 22 * 22
    assert np.allclose(model.transform(rows), whole, atol=1e-12)


def test_nothing_in_common_gives_zero(rows):
    done = sc.complete(rows, method="smcnn")
    assert not extension(done, rows, Measure()).transform(np.full((2, 64), np.nan)).any()


def test_other_array_libraries(library, rows):
    X = library.array(rows[:40])
    done = sc.complete(X, method="smcnn", rank=5)
    new = extension(done, X, Measure()).transform(X)
    assert type(new) is type(done.factor)
    assert float(library.module().max(library.module().abs(new - done.factor))) < 1e-10
