"""Parameters that a person can find: in help, and by the nearest name."""

import inspect

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._api import complete, complete_similarity

P = np.random.default_rng(0).random((12, 4))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"metod": "smcnn"}, "method"),
        ({"rnk": 3}, "rank"),
        ({"method": "smcnn", "solvr": "exact"}, "solver"),
        ({"method": "smcnn", "penality": 1.0}, "penalty"),
        ({"method": "posterior", "efort": "fast"}, "effort"),
        ({"centre": "mean"}, "center"),
        ({"method": "lr", "tunee": True}, "tune"),
        ({"budgt": 3}, "budget"),
    ],
)
def test_the_nearest_name_is_told(given, meant):
    with pytest.raises(sc.errors.InputError, match=f"did you mean '{meant}'") as caught:
        sc.complete(P, **given)
    assert caught.value.about == (meant,)


@pytest.mark.parametrize(("given", "meant"), [({"metod": "dmc"}, "method"), ({"candidate": 3}, "candidates")])
def test_the_nearest_name_for_a_matrix(given, meant):
    with pytest.raises(sc.errors.InputError, match=f"did you mean '{meant}'"):
        sc.complete_similarity(np.eye(4), **given)


def test_a_name_like_no_other_gets_no_hint():
    with pytest.raises(
        sc.errors.InputError, match="has no parameter 'xyzzy'; its own parameters are effort, objective"
    ):
        sc.complete(P, method="posterior", xyzzy=1)


def test_params_of_an_estimator_get_the_nearest_name():
    with pytest.raises(sc.errors.InputError, match="did you mean 'solver'"):
        sc.SimilarityCompleter(method="smcnn", params={"solvr": "exact"}).fit(P)


@pytest.mark.parametrize("method", sc.methods(), ids=lambda method: method.name)
def test_help_has_every_parameter(method):
    docs = [complete.__doc__, sc.SimilarityCompleter.__doc__]
    if method.acts_on != "samples":
        docs.append(complete_similarity.__doc__)
    for doc in docs:
        words = " ".join(doc.split())
        (told,) = [part for part in words.split(" - ") if method.name in part.split(":")[0].split(", ")] or [""]
        for name, default in method.parameters.defaults.items():
            assert f"{name}={default!r}" in told, (method.name, name)


@pytest.mark.parametrize(
    ("estimator", "method"), [(sc.SMCNN, "smcnn"), (sc.SMCNmF, "smcnmf"), (sc.PosteriorCompleter, "posterior")]
)
def test_estimators_have_every_parameter_of_their_method(estimator, method):
    signature = inspect.signature(estimator).parameters
    for name, default in sc.methods()[method].parameters.defaults.items():
        if name != "callback":  # scikit-learn has callbacks of its own
            assert signature[name].default == default, name
            assert name in estimator.__doc__


def test_every_argument_is_explained():
    for function in (sc.complete, sc.complete_similarity, sc.SimilarityCompleter, sc.SMCNN, sc.PosteriorCompleter):
        head = function.__doc__.split("Returns" if function is sc.complete else "Examples")[0]
        for name in inspect.signature(function).parameters:
            assert name in head, (function, name)
