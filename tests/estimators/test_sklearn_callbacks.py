"""scikit-learn's callbacks, where the installed version has them; no trouble where it has not."""

import builtins
import importlib
import sys

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import simcomplete as sc
from simcomplete.estimators import SMCNN, SimilarityCompleter
from simcomplete.scorers import hidden_value_scorer, relative_error_scorer

X = np.random.default_rng(0).random((20, 6))


class Log:
    """Writes down what it is told; asks to stop after a number of iterations."""

    max_propagation_depth = None

    def __init__(self, patience=None):
        self.patience = patience
        self.lines = []
        self.fitted = None

    def setup(self, estimator, context):
        self.lines.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator, context):
        self.lines.append(("teardown", context.task_name, None))

    def on_fit_task_begin(self, estimator, context):
        self.lines.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.lines.append(("end", context.task_name, context.task_id))
        self.fitted = fitted_estimator or self.fitted
        return context.task_name == "iteration" and self.patience == context.task_id + 1

    def count(self, *line):
        return sum(entry[: len(line)] == line for entry in self.lines)


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 and later")


def test_a_direct_solution_is_one_task(callback):
    log = Log()
    SMCNN().set_callbacks(log).fit(X)
    names = [line[0] for line in log.lines]
    assert names == ["setup", "begin", "end", "teardown"]
    assert log.lines[0] == ("setup", "fit", 0)
    assert log.fitted.transform(X).shape == (20, 20)


def test_every_iteration_is_a_subtask(callback):
    log = Log()
    model = SMCNN(rank=2, solver="descent", max_iter=30, tol=1e-12).set_callbacks(log)
    with pytest.warns(sc.errors.NotConvergedWarning):
        model.fit(X)
    assert model.n_iter_ == 30
    assert log.lines[0] == ("setup", "fit", 30)
    assert log.count("begin", "iteration") == log.count("end", "iteration") == 30


def test_a_callback_can_stop_the_iterations(callback):
    log = Log(patience=5)
    params = {"solver": "descent", "max_iter": 30, "tol": 1e-12}
    seen = []
    params["callback"] = lambda iteration, facts: seen.append(iteration)
    model = SimilarityCompleter(rank=2, params=params).set_callbacks(log)
    with pytest.warns(sc.errors.NotConvergedWarning):
        model.fit(X)
    assert model.completion_.status.code == "stopped"
    assert model.n_iter_ == 5
    assert seen == [1, 2, 3, 4, 5]  # the method's own callback is called all the same
    assert log.count("begin") == log.count("end")
    assert log.lines[-1] == ("teardown", "fit", None)


def test_callbacks_are_closed_when_fitting_fails(callback):
    log = Log()
    with pytest.raises(sc.errors.InputError):
        SMCNN(rank=21).set_callbacks(log).fit(X)
    assert log.lines[-1] == ("teardown", "fit", None)


def test_callbacks_reach_into_pipelines_and_searches(callback):
    log = Log()
    make_pipeline(SMCNN()).set_callbacks(log).fit(X)
    assert log.count("end", "fit") >= 1
    log = Log()
    GridSearchCV(SMCNN(), {"rank": [2, 3]}, scoring=hidden_value_scorer(), cv=2).set_callbacks(log).fit(X)
    assert log.count("begin") == log.count("end") > 4


def test_progress_bar(callback, capsys):
    pytest.importorskip("rich")
    SMCNN(rank=2).set_callbacks(callback.ProgressBar()).fit(X)
    assert "SMCNN - fit" in capsys.readouterr().out


def test_scoring_monitor(callback):
    monitor = callback.ScoringMonitor(scoring={"error": relative_error_scorer()})
    rows = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    model = SMCNN().set_callbacks(monitor).fit(rows, X)
    logged = monitor.get_logs().data
    assert [line["error"] for line in logged] == [relative_error_scorer()(model, rows, X)]


def test_without_callbacks_in_scikit_learn(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **more):
        if name == "sklearn.callback":
            raise ImportError(name)
        return real(name, *args, **more)

    ours = [name for name in sys.modules if name.startswith("simcomplete.estimators")]
    kept = {name: sys.modules.pop(name) for name in ours}
    monkeypatch.setattr(builtins, "__import__", absent)
    try:
        old = importlib.import_module("simcomplete.estimators")
        model = old.SMCNN().fit(X)
        assert not hasattr(model, "set_callbacks")
        assert np.array_equal(model.factor_, SMCNN().fit(X).factor_)
    finally:
        sys.modules.update(kept)
