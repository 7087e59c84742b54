"""Fewer rows and columns, the same answer: the reduced problem against the whole one, step by step."""

import numpy as np
import pytest
from scipy.linalg import svd

import simcomplete as sc
from simcomplete._baselines.completion import fgsr, nnfn
from simcomplete._baselines.completion.fgsr_palm import palm
from simcomplete._baselines.completion.modes import MaskedMatrix
from simcomplete._baselines.completion.nnfn import MatrixProx, prox, proximal_gradient
from simcomplete._baselines.completion.reduced import reduced
from simcomplete._method.iterate import Limits


@pytest.fixture(name="data", params=[(60, 12), (8, 12)], ids=["more rows", "fewer rows"], scope="module")
def data_fixture(request):
    """Complete rows, more or fewer than columns, incomplete ones, and two columns with nothing but 0."""
    n, d = request.param
    rng = np.random.default_rng(n)
    values = rng.standard_normal((n + 6, 4)) @ rng.standard_normal((4, d)) + 0.1 * rng.standard_normal((n + 6, d))
    values[:, [3, 7]] = 0.0
    mask = np.ones_like(values)
    mask[n:] = rng.random((6, d)) < 0.5
    return MaskedMatrix(values * mask, mask)


def test_it_is_smaller(data):
    small = reduced(data)
    n, d = data.values.shape
    assert small.data.values.shape == (min(n - 6, d - 2) + 6, d - 2)
    # The same products of columns, which is all that a penalty on singular values sees of complete rows.
    live = data.values[:, small.columns]
    np.testing.assert_allclose(small.data.values.T @ small.data.values, live.T @ live, atol=1e-12)
    assert small.restored(small.data.values)[-6:] == pytest.approx(data.values[-6:])


def test_there_may_be_nothing_to_leave_out():
    assert reduced(MaskedMatrix(np.ones((5, 3)))) is None
    mask = np.ones((4, 3))
    mask[2:, 0] = 0
    assert reduced(MaskedMatrix(np.arange(1.0, 13.0).reshape(4, 3) * mask, mask)) is None


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("weight", [1e-3, 0.5])
def test_nnfn_makes_the_same_steps(data, accelerate, weight):
    small = reduced(data)
    whole = proximal_gradient(data, weight, Limits(50), 1e-9, accelerate=accelerate)
    part = proximal_gradient(small.data, weight, Limits(50), 1e-9, accelerate=accelerate)
    assert whole.n_iter == part.n_iter
    for name in ("objective", "change", "rank"):
        assert [now[name] for now in part.history] == pytest.approx([now[name] for now in whole.history], rel=1e-6)
    np.testing.assert_allclose(small.restored(part.state.X)[-6:], whole.state.X[-6:], atol=1e-9)


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("kind", ["2/3", "1/2"])
def test_fgsr_makes_the_same_steps(data, accelerate, kind):
    small = reduced(data)
    given = {"kind": kind, "accelerate": accelerate, "tol": 1e-9}
    whole = palm(data, 5, 100.0, Limits(40), **given)
    part = palm(small.data, 5, 100.0, Limits(40), **given)
    assert whole.n_iter == part.n_iter
    assert part.facts["objective"] == pytest.approx(whole.facts["objective"], rel=1e-9)
    found = small.restored(part.state.A @ part.state.B)[-6:]
    np.testing.assert_allclose(found, (whole.state.A @ whole.state.B)[-6:], atol=1e-7)


@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
@pytest.mark.parametrize(("module", "name"), [(nnfn, "nnfn"), (fgsr, "fgsr")])
@pytest.mark.parametrize("preset", [{}, {"preset": "original"}])
def test_the_methods_answer_as_without(module, name, preset, monkeypatch):
    P, Q = sc.datasets.load("digits").X[:150].copy(), sc.datasets.load("digits").X[150:170].copy()
    Q[np.random.default_rng(0).random(Q.shape) < 0.6] = np.nan
    given = {"method": name, "progress": False, "max_iter": 40, **preset}
    with_it = sc.complete(P, Q, **given)
    monkeypatch.setattr(module, "reduced", lambda data: None)
    without = sc.complete(P, Q, **given)
    assert with_it.status.code == without.status.code
    np.testing.assert_allclose(with_it.similarity("queries"), without.similarity("queries"), atol=1e-7)


class TestMatrixProx:
    """Singular values from the Gram matrix where they are precise enough, and by a decomposition where not."""

    @pytest.mark.parametrize("t", [1e-9, 1e-5, 1e-3, 0.5, 50.0])
    @pytest.mark.parametrize("precision", [2e-8, 1e-4])
    def test_it_is_the_prox_of_the_singular_values(self, t, precision):
        rng = np.random.default_rng(1)
        Z = rng.standard_normal((40, 15)) * np.logspace(0, -6, 15)
        U, s, Vt = svd(Z, full_matrices=False)
        X, x = MatrixProx(t, precision)(Z)
        # What the penalty takes off each value is t: that must be right to the precision asked for.
        assert np.linalg.norm(X - (U * prox(s, t)) @ Vt) <= 15 * precision * t + 1e-14
        assert np.count_nonzero(x) == np.count_nonzero(prox(s, t))

    def test_small_thresholds_need_a_decomposition(self, monkeypatch):
        Z = np.random.default_rng(1).standard_normal((40, 15)) * np.logspace(0, -6, 15)
        made = []
        monkeypatch.setattr(nnfn, "svd", lambda *given, **more: made.append(1) or svd(*given, **more))
        shrink = MatrixProx(1e-2)
        shrink(Z)
        assert made == []
        shrink = MatrixProx(1e-7)
        shrink(Z)
        shrink(Z)
        assert made == [1, 1]
