"""Defaults that users rely on, draws, views that copy, spectra and tables in files, by hand."""

import inspect
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result import top, validity
from simcomplete._result.completion import Completion
from simcomplete._result.frames import SearchResult
from simcomplete._result.intervals import IntervalModel, RankedErrors
from simcomplete._result.layout import Parts
from simcomplete._result.layout_values import TableOf
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.recalibration import of_place
from simcomplete._result.store import _interval_model
from simcomplete._result.top import TopDraws
from simcomplete._result.views import with_exact_candidates
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.exact import CandidateBlock

FALSE_VIEWS = {"unit_diagonal": False, "keep_candidates": False, "clip": False}


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (
            Completion,
            {
                "export_index": {"kind": "flat", "overwrite": False},
                "imputed": {"return_std": False},
                "interval": {"level": 0.9},
                "plot_intervals": {"level": 0.9},
                "plot_neighbours": {"k": 10, "level": 0.9},
                "sample": {"random_state": 0},
                "save": {"overwrite": False, "candidates": True},
                "search": {"k": 10, "order": "similarity"},
                "similarity": FALSE_VIEWS,
                "top_probability": {"k": 10},
                "view": FALSE_VIEWS,
            },
        ),
        (SearchResult, {key: {"level": 0.9} for key in ("bounds", "columns", "to_frame", "to_pandas", "to_polars")}),
    ],
)
def test_defaults_that_users_rely_on(owner, expected):
    """A default that changes gives other numbers to a program that was not changed."""
    found = {}
    for name, function in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_"):
            set_ = {p.name: p.default for p in inspect.signature(function).parameters.values()}
            set_ = {key: value for key, value in set_.items() if value is not inspect.Parameter.empty}
            found[name] = {key: value for key, value in set_.items() if value is not None}
    assert {name: {key: found[name][key] for key in values} for name, values in expected.items()} == expected


def completion(n=4, n_p=2, spread=(0.3, 0.5)):
    F = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0] * 0.9
    model = IntervalModel(np.array(spread), np.linspace(0, 2, 1001))
    return Completion(SymmetricMatrix(factor=F), n_p, "posterior", interval_model=model)


def test_draws_by_hand():
    """Errors are uniform between -2 and 2 spreads: a level u is an error of 4 u - 2 spreads."""
    done = completion()
    u = np.random.default_rng(5).random((7, 2, 2))
    S = done.matrix.block(slice(2, 4), slice(0, 2))
    expected = np.clip(S + np.array([[0.3], [0.5]]) * (4 * u - 2), -1, 1)
    np.testing.assert_allclose(done.sample(7, random_state=5), expected, atol=1e-12)
    np.testing.assert_allclose(done.sample(7, random_state=np.random.default_rng(5)), expected, atol=1e-12)


def test_levels_of_few_candidates_are_kept_and_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    F = rng.standard_normal((30, 4))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    ranked = RankedErrors(np.array([1.0]), np.linspace(-1, 1, 9)[None], rng.standard_normal((6, 4)) / 3, 0.8 * F[:6])
    model = IntervalModel(np.zeros(1), np.linspace(0, 2, 1001), ranked)
    done = SimpleNamespace(matrix=SymmetricMatrix(factor=F), n_candidates=30)
    order, S = np.arange(12)[::-1], np.linspace(0.9, 0.1, 12)
    kept = TopDraws(done, model, 3, 12)
    assert kept.levels.shape == (30, 6) and kept.levels.dtype == np.float32
    monkeypatch.setattr(top, "LEVELS_HELD", 30 * 6)
    assert TopDraws(done, model, 3, 12).levels is not None
    monkeypatch.setattr(top, "LEVELS_HELD", 30 * 6 - 1)
    each = TopDraws(done, model, 3, 12)
    assert each.levels is None
    np.testing.assert_array_equal(each.features(S, order, 0.2, None), kept.features(S, order, 0.2, None))


def test_exact_candidates_are_put_into_a_copy():
    dense = np.full((3, 3), 0.5)
    exact = CandidateBlock(np.array([[1.0, 0.2], [0.2, 1.0]]))
    found = with_exact_candidates(SymmetricMatrix(dense=dense), exact)
    np.testing.assert_array_equal(found.dense, [[1.0, 0.2, 0.5], [0.2, 1.0, 0.5], [0.5, 0.5, 0.5]])
    assert (dense == 0.5).all()


@pytest.mark.parametrize("wide", [True, False])
def test_a_spectrum_has_an_eigenvalue_for_each_row_or_column(wide):
    """Of a factor with more columns than rows there are only as many as rows."""
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()  # of no window
    F = np.random.default_rng(0).standard_normal((4, 6) if wide else (6, 4))
    done = replace(completion(6, 2), matrix=SymmetricMatrix(factor=F), n_candidates=2, interval_model=None)
    drawn = np.concatenate([line.get_ydata() for line in done.plot_spectrum(ax=axes).get_lines()])
    np.testing.assert_allclose(drawn, np.sort(np.linalg.svd(F, compute_uv=False) ** 2)[::-1], rtol=1e-9)


def test_tables_in_files_are_held_in_memory_where_that_is_asked_for():
    table = UnitRows(np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]]))
    parts = Parts({"rows": table})
    assert TableOf(("n", "d")).read({"array": "rows"}, "model", parts) is table
    held = TableOf(("n", "d"), in_memory=True).read({"array": "rows"}, "model", parts)
    assert isinstance(held, HeldRows) and parts.sides == {"n": 3, "d": 2}
    np.testing.assert_array_equal(held.array, [[0.6, 0.8], [0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("stored", [True, False])
def test_vectors_of_pairs_that_a_file_lacks_are_the_factor(stored):
    rng = np.random.default_rng(0)
    arrays = {name: rng.random(shape) for name, shape in (("spread", 5), ("quantiles", 11), ("factor", (5, 3)))}
    assert _interval_model(arrays).pairs is None
    pairs = {"variances": (5, 3), "loadings": (3, 2), "weights": (3,), "doubt": (5,), "vectors": (5, 3)}
    arrays |= {f"pair_{name}": rng.random(shape) for name, shape in pairs.items()}
    if not stored:
        del arrays["pair_vectors"]
    found = _interval_model(arrays).pairs
    np.testing.assert_array_equal(found.vectors, arrays["pair_vectors" if stored else "factor"])
    np.testing.assert_array_equal(found.doubt, arrays["pair_doubt"])
    del arrays["pair_doubt"]
    assert _interval_model(arrays).pairs is None


@pytest.mark.parametrize(("largest", "tolerated"), [(0.5, 2e-10), (1.0, 2e-10), (30.0, 6e-9)])
def test_how_far_below_0_an_eigenvalue_is_rounding(largest, tolerated):
    """1e-10 for each of two rows, in units of the largest entry of the diagonal, at least of 1."""
    for share, psd in ((0.9, True), (1.1, False)):
        S = SymmetricMatrix(dense=np.diag([largest, -share * tolerated]))
        assert validity.validate(S, None).psd.ok is psd


def test_the_only_simulated_query_has_its_own_error():
    """Without it there would be no draw at all: the three largest draws are the first three in the only one."""
    F = np.random.default_rng(0).standard_normal((33, 4))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    done = SimpleNamespace(matrix=SymmetricMatrix(factor=F), n_candidates=30)
    R = np.array([[0.3, -0.1, 0.2, 0.1]])
    table = np.linspace(-1.0, 1.0, len(RankedErrors.edges(30)) + 2)[:, None]
    model = SimpleNamespace(ranked=SimpleNamespace(residuals=R), table=lambda levels, n: table)
    S = F[31] @ F[:30].T
    order = np.argsort(-S)[:12]
    draws = TopDraws(done, model, 3, 12)
    drawn = S[order] + 0.2 * table[np.searchsorted(RankedErrors.edges(30), np.arange(12), side="right"), 0]
    first = np.zeros(12)
    first[np.argsort(-drawn)[:3]] = 1
    expected = of_place(first, np.arange(1.0, 13), (S[order] - S[order][2]) / 0.2)
    for own in (0, None):
        np.testing.assert_allclose(draws.features(S[order], order, 0.2, own), expected)


def test_the_neighbours_of_a_complete_query_are_certain():
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 8)), rng.random((3, 8))
    Q[[0, 2], 3:] = np.nan
    done = sc.complete(P, Q, method="posterior", effort="fast", copies=False, progress=False)
    p = done.top_probability(5)
    expected = np.zeros(60)
    expected[np.argsort(-done.similarity(rows="queries", cols="candidates")[1])[:5]] = 1
    np.testing.assert_array_equal(p[1], expected)
    assert ((p[[0, 2]] > 0) & (p[[0, 2]] < 1)).any(axis=1).all()
