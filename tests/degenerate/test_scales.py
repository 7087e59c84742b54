"""The cosine does not know how long a row is: rows times powers of two have the same answers, wherever they lie."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy, unit_array

pytestmark = pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
# Methods that see rows through their cosines only.
COSINES = {
    **{method.name: {} for method in sc.methods() if method.acts_on == "similarities"},
    **{name: {"mode": "S", "max_iter": 3} for name in ("bpmf", "fgsr", "nnfn", "facnnfn")},
    "bpmf": {"mode": "S", "max_iter": 3, "burn_in": 1},
    "posterior": {"effort": "fast", "copies": False},  # a copy has the same values; these rows are not of one size
}
SAME = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 8)), rng.random((5, 8))
    return P, np.where(rng.random(Q.shape) < 0.5, np.nan, Q)


@pytest.fixture(scope="module")
def far(data):
    """The same rows, each times a power of two."""
    rng = np.random.default_rng(1)
    return tuple(X * 2.0 ** rng.integers(-500, 501, (len(X), 1)) for X in data)


def as_path(X, folder):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


KINDS = {
    "array": lambda X, folder: X,
    "path": as_path,
    "dask": lambda X, folder: pytest.importorskip("dask.array").from_array(X, chunks=(25, X.shape[1])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COSINES)
def test_powers_of_two_change_nothing(name, kind, data, far, tmp_path):
    plain = sc.complete(*data, method=name, **COSINES[name])
    done = sc.complete(KINDS[kind](far[0], tmp_path), far[1], method=name, **COSINES[name])
    np.testing.assert_allclose(np.asarray(done.similarity()), plain.similarity(), **SAME)
    exact = done.exact.similarity(slice(0, 60), slice(0, 60))
    np.testing.assert_allclose(np.asarray(exact), plain.exact.similarity(slice(0, 60), slice(0, 60)), **SAME)
    np.testing.assert_array_equal(done.search(k=3).ids, plain.search(k=3).ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("name", [method.name for method in sc.methods()])
def test_all_rows_together_may_be_in_any_unit(name, size, kind, data, tmp_path):
    short = {"max_iter": 3, "burn_in": 1, "atoms": 8}
    method = sc.methods()[name]
    given = {} if method.parameters.defaults.get("solver") == "exact" else short
    given = {key: value for key, value in given.items() if key in method.parameters}
    P, Q = (X * size for X in data)
    plain, done = (
        sc.complete(*data, method=name, **given),
        sc.complete(KINDS[kind](P, tmp_path), Q, method=name, **given),
    )
    np.testing.assert_allclose(np.asarray(done.similarity()), plain.similarity(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("stream", [False, True])
def test_posterior_of_one_huge_cell(stream, data, monkeypatch):
    from simcomplete._posterior.candidates import fitting

    if stream:
        monkeypatch.setattr(fitting, "STREAM_ABOVE_VALUES", 0)
    P, Q = data[0].copy(), data[1]
    P[3, 4] = 1e300
    done = sc.complete(P, Q, method="posterior")
    S = np.asarray(done.similarity("candidates", "candidates"))
    Z = P.copy()
    Z[3] = np.eye(8)[4]  # the rest of the row is nothing beside that cell
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    np.testing.assert_allclose(S, Z @ Z.T, rtol=0, atol=1e-12)


def test_unit_rows_of_every_length(library):
    X = np.array([[3.0, 4.0], [3e300, 4e300], [3e-300, 4e-300], [5e-324, 0.0], [0.0, 0.0]])
    expected = [[0.6, 0.8], [0.6, 0.8], [0.6, 0.8], [1.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(to_numpy(unit_array(library.array(X))), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(to_numpy(UnitRows(HeldRows(library.array(X)))[1:3]), expected[1:3], rtol=0, atol=1e-15)


@pytest.mark.parametrize("form", ["together", "apart"])
def test_a_part_of_a_row_that_is_nothing_beside_the_rest_is_no_evidence(form):
    """By the same rule in a block of ordinary rows, and in one that had to be scaled first."""
    P = np.array([[1.0, 1e-150], [1.0, 0.5], [1e200, 1e50]])
    Q = np.array([[np.nan, 1.0]])
    rows = P if form == "together" else P[:2]
    S = sc.complete(rows, Q, method="overlap").similarity("queries", "candidates")
    np.testing.assert_array_equal(S[0, :2], [0.0, 1.0])
