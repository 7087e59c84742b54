"""NaN is never an answer: what a method found is checked once, and auto goes on to the next method."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete import _registry as registry
from simcomplete._auto import all_rows
from simcomplete._method.problem import CandidatesQueries
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import rows_not_finite
from simcomplete.errors import DiskFullError, NotConvergedWarning, NotFiniteError


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.random((30, 6)), np.where(rng.random((4, 6)) < 0.5, np.nan, rng.random((4, 6)))


def breaks(monkeypatch, name, value=np.nan):
    """Let a method of the registry answer as before, with one value of the second query's row replaced."""
    row = registry.REGISTRY[name]

    def run(problem, settings, params):
        done = row.run(problem, settings, params)
        F = np.array(done.matrix.factor)
        F[problem.n_candidates + 1 if problem.n > problem.n_candidates else 1, 0] = value
        return problem.result(name, params, SymmetricMatrix(factor=F, unit=done.matrix.unit))

    monkeypatch.setitem(registry.REGISTRY, name, type(row)(**{**vars(row), "run": run}))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_named_method_is_refused_with_the_row(monkeypatch, data, value):
    breaks(monkeypatch, "mean", value)
    with pytest.raises(NotFiniteError, match=r"method 'mean' has no finite similarities for row 31, query 1 \(1 of 34"):
        sc.complete(*data, method="mean")


def test_the_label_of_the_row_is_told(monkeypatch, data):
    pd = pytest.importorskip("pandas")
    breaks(monkeypatch, "mean")
    P, Q = pd.DataFrame(data[0]), pd.DataFrame(data[1], index=list("abcd"))
    with pytest.raises(NotFiniteError, match="row 31, query 1, labelled 'b'"):
        sc.complete(P, Q, method="mean")


def test_auto_takes_the_next(monkeypatch, data):
    """Right on the simulated queries, wrong on the real ones."""
    P, Q = data
    row = registry.REGISTRY["lr"]

    def run(problem, settings, params):
        done = row.run(problem, settings, params)
        if problem.n_candidates < len(P):
            return done
        return problem.result("lr", params, SymmetricMatrix(factor=np.array(done.matrix.factor) * np.nan))

    monkeypatch.setitem(registry.REGISTRY, "lr", type(row)(**{**vars(row), "run": run}))
    with pytest.warns(NotConvergedWarning, match="lr chosen, but failed: .*row 0, candidate 0.*taking the next best"):
        done = sc.complete(P, Q, elect=["lr", "mean"], random_state=3, budget=5)
    assert done.method == "mean"
    assert np.isfinite(done.similarity()).all()


def test_auto_does_not_go_on_where_the_disk_is_full(monkeypatch, data):
    row = registry.REGISTRY["lr"]

    def run(problem, settings, params):
        if problem.n_candidates == 30:
            raise DiskFullError("no room")
        return row.run(problem, settings, params)

    monkeypatch.setitem(registry.REGISTRY, "lr", type(row)(**{**vars(row), "run": run}))
    with pytest.raises(DiskFullError, match="no room"):
        sc.complete(*data, elect=["lr"])


def test_a_method_that_fails_on_hidden_values_is_not_chosen(monkeypatch, data):
    breaks(monkeypatch, "lr")
    done = sc.complete(*data, elect=["lr", "mean"])
    assert done.method == "mean"
    assert "no finite similarities" in next(row["note"] for row in done.election if row["method"] == "lr")


@pytest.mark.parametrize("few", [True, False], ids=["too few to compare", "every row incomplete"])
def test_auto_without_comparison_falls_back_to_s0(monkeypatch, data, few):
    P, Q = data[0][:5], data[1]
    breaks(monkeypatch, "posterior")
    # Where it is compared, it is called by itself, so that what it hides can be used for the others too.
    run = registry.REGISTRY["posterior"].run
    monkeypatch.setattr(all_rows, "from_rows", lambda problem, settings, own, **_: run(problem, settings, own))
    given = (P, Q) if few else (np.concatenate([Q, Q[::-1]]),)
    with pytest.warns(NotConvergedWarning, match="auto: posterior failed: .* row .*; this is S0"):
        done = sc.complete(*given)
    assert done.method == "overlap"


def test_every_array_library(library):
    x = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, -np.inf], [1e300, 1e300]])
    assert rows_not_finite(library.array(x)).tolist() == [1, 2]
    assert rows_not_finite(library.array(x[:, 0])).tolist() == [1, 2]


def test_finite_values_whose_sum_is_not():
    assert rows_not_finite(np.full((2, 3), 1.7e308)).tolist() == []


@pytest.mark.parametrize("form", ["factor", "diagonal", "dense"])
def test_every_form_of_a_matrix(library, data, form):
    P, Q = (library.array(x) for x in data)
    problem = CandidatesQueries(HeldRows(P), HeldRows(Q))
    arrays = {"factor": np.ones((34, 2)), "diagonal": np.zeros(34), "dense": np.ones((34, 34))}
    arrays[form][33] = np.nan
    wanted = ("dense",) if form == "dense" else ("factor", "diagonal")
    with pytest.raises(NotFiniteError, match="row 33, query 3"):
        problem.result("mine", {}, SymmetricMatrix(**{name: arrays[name] for name in wanted}))


class CountedRows:
    """No array: a shape, a type and row slices, that counts what is read."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.read = X, X.shape, X.dtype, 0

    def __getitem__(self, rows):
        self.read += 1
        return self.X[rows]


def test_candidates_elsewhere_are_not_read_again(data):
    P, Q = CountedRows(data[0]), data[1]
    problem = CandidatesQueries(SourceRows(P, "candidates"), HeldRows(Q))
    below = np.ones(Q.shape)
    problem.result("mine", {}, SymmetricMatrix(factor=UnitRows(problem.candidates, below)))
    assert P.read == 0
    below[2, 1] = np.inf
    with pytest.raises(NotFiniteError, match="row 32, query 2"):
        problem.result("mine", {}, SymmetricMatrix(factor=UnitRows(problem.candidates, below)))
    assert P.read == 0


def test_new_rows_of_estimators(monkeypatch, data):
    X = np.concatenate(data)
    paper = sc.SMCNN(rank=3).fit(X)
    monkeypatch.setattr(
        type(paper._extension), "transform", lambda self, X, progress=None: np.full((len(X), 3), np.nan)
    )
    with pytest.raises(NotFiniteError, match=r"'smcnn' has no finite vector for row 0 of the new rows \(4 of 4"):
        paper.transform(data[1])
    model = sc.PosteriorCompleter(effort="fast").fit(np.random.default_rng(1).random((50, 6)))
    found = model._model.vectors(data[1])
    found.u[2, 3] = np.inf
    monkeypatch.setattr(type(model._model), "vectors", lambda self, X: found)
    for ask in (model.transform, model.search):
        with pytest.raises(NotFiniteError, match="the fitted 'posterior' has no finite vector for row 2"):
            ask(data[1])


@pytest.mark.filterwarnings("ignore::simcomplete.errors.InputWarning")  # the candidates are all alike
def test_a_single_value_where_candidates_hardly_differ():
    """The first case of the report: its row was NaN, and its search, its validity and its repr failed."""
    P, Q = np.ones((45, 12)), np.full((3, 12), np.nan)
    P[[0, 1, 2], [1, 3, 4]] = 0.0
    Q[0, 4] = 1.0
    done = sc.complete(P, Q)
    assert np.isfinite(done.similarity()).all()
    assert done.validity.ok, done.validity
    assert done.search(k=3).ids.shape == (3, 3)
    # All that is known speaks for a row of ones.
    np.testing.assert_allclose(done.similarity("queries", "candidates")[0, 3:], 1.0, atol=0.05)
