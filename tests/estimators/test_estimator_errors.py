"""Errors that say what was given, what is needed, what to try."""

import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import simcomplete as sc
from simcomplete.errors import InputError
from simcomplete.estimators import SMCNN, SimilarityCompleter

X = np.random.default_rng(0).random((8, 5))


def test_a_method_without_out_of_sample_form_names_those_that_have_one():
    model = SimilarityCompleter(method="overlap").fit(X)
    assert model.factor_ is None
    assert np.allclose(model.similarity(), sc.overlap_similarity(X))
    assert not hasattr(model, "transform")
    with pytest.raises(InputError, match=r"'overlap' has no out-of-sample form.*complete\(P, Q\).*smcnn, smcnmf"):
        model.similarity(X)


def test_a_method_without_a_factor_has_no_rows_to_return():
    assert not hasattr(SimilarityCompleter(method="overlap"), "fit_transform")
    assert hasattr(SimilarityCompleter(method="lr"), "fit_transform")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rank": 9}, "rank=9 exceeds the 8 samples given"),
        ({"rank": 0}, "rank=0 is too small"),
        ({"rank": 2.5}, "rank=2.5 is not a whole number"),
        ({"penalty": -1}, "penalty=-1 is not a number at least 0"),
        ({"metric": "euclidean"}, "metric='euclidean' is unknown"),
        ({"min_overlap": 6}, "min_overlap=6 must be"),
        ({"solver": "magic"}, "solver='magic' is unknown"),
        ({"step": 0.1}, "solver='exact' does not use step"),
        ({"solver": "descent", "max_iter": "many"}, "max_iter='many' is unknown; use a whole number"),
        ({"solver": "descent", "max_iter": -1}, "max_iter=-1 must be"),
    ],
)
def test_parameters_are_checked_when_fitting(params, message):
    model = SMCNN(**params)
    with pytest.raises(InputError, match=message):
        model.fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "smcn"}, "did you mean 'smcnn'"),
        ({"params": {"solvr": "exact"}}, "no parameter 'solvr'"),
        ({"params": {"rank": 3}}, "'rank', which is a parameter of SimilarityCompleter"),
        ({"params": {"clip": True}}, r"completion_.view\(clip=True\)"),
        ({"params": [1]}, "is not a dict"),
    ],
)
def test_methods_and_their_parameters_are_checked(params, message):
    with pytest.raises(InputError, match=message):
        SimilarityCompleter(**params).fit(X)


def test_positional_parameters_are_refused():
    with pytest.raises(TypeError):
        SMCNN(3)


def test_infinities_are_refused_and_nan_is_not():
    model = SMCNN().fit(np.where(np.eye(8, 5) > 0, np.nan, X))
    for call in (model.fit, model.transform):
        with pytest.raises(ValueError, match="infinity"):
            call(np.where(np.eye(8, 5) > 0, np.inf, X))


def test_before_fitting():
    for call in (SMCNN().similarity, lambda: SMCNN().similarity(X), lambda: SMCNN().transform(X)):
        with pytest.raises(NotFittedError):
            call()


def test_questions_before_fitting():
    model = sc.PosteriorCompleter()
    for call in (model.match, model.interval, model.std, model.search, partial(model.search, above=0.9)):
        with pytest.raises(NotFittedError):
            call(X)


def test_too_much_memory_is_refused_beforehand(monkeypatch):
    model = SMCNN().fit(X)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "100")
    with pytest.raises(sc.errors.MemoryLimitError, match="8 x 8 similarities of new with fitted rows"):
        model.similarity(X)


@pytest.mark.parametrize(
    "kind", [sc.PosteriorCompleter, sc.PosteriorImputer, sc.SMCNN, sc.SMCNmF, sc.SimilarityCompleter]
)
def test_a_misspelt_parameter_gets_the_nearest(kind):
    with pytest.raises(
        InputError, match=f"{kind.__name__} has no parameter 'randomstate'; did you mean 'random_state'"
    ):
        kind(randomstate=1)
    assert "random_state" in inspect.signature(kind).parameters
    assert clone(kind(random_state=3)).random_state == 3
