"""Warnings name the line of the person who called, for every way in."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import simcomplete as sc
from simcomplete.errors import InputError, NotConvergedWarning


@pytest.fixture(scope="module")
def rows(digits, hide):
    return digits[:40], hide(digits[40:50], 0.6)


def line_of(call):
    """File and line that the one warning of a call names, and the line of the call itself."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    named = [(warning.filename, warning.lineno) for warning in seen if warning.category is NotConvergedWarning]
    first = inspect.getsourcelines(call)[1]
    return named, (__file__, first)


SHORT = {"smcnn": {"solver": "descent"}, "smc_gd": {"variant": "paper"}, "mc_fon": {"variant": "paper"}}
STOPPING = ["smcnn", "smc_gd", "mc_fon", "fgsr", "facnnfn", "nnfn"]


@pytest.mark.parametrize("method", STOPPING)
def test_complete(rows, method):
    own = SHORT.get(method, {})
    named, here = line_of(lambda: sc.complete(*rows, method=method, max_iter=2, **own))
    assert named == [here]


def test_complete_similarity(rows):
    S0 = sc.overlap_similarity(np.vstack(rows))
    named, here = line_of(lambda: sc.complete_similarity(S0, method="smcnn", solver="lbfgs", max_iter=1))
    assert named == [here]


def test_auto(rows):
    named, here = line_of(lambda: sc.complete(*rows, budget=0))
    assert named == [here]


@pytest.mark.parametrize("make", [lambda model: model, lambda model: make_pipeline(FunctionTransformer(), model)])
@pytest.mark.parametrize("call", ["fit", "fit_transform"])
def test_estimators(rows, make, call):
    model = make(sc.SMCNN(solver="descent", max_iter=2, rank=3))
    named, here = line_of(lambda: getattr(model, call)(rows[0]))
    assert named == [here]


def test_estimators_that_complete(rows):
    named, here = line_of(lambda: sc.SMCNN(solver="descent", max_iter=2, rank=3).complete(*rows))
    assert named == [here]


def test_scoring_methods_for_auto_does_not_warn(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = sc.complete(*rows)
    assert done.method == "posterior"


def test_unknown_names_are_refused_before_any_work(rows):
    with pytest.raises(InputError, match="did you mean 'smcnn'"):
        sc.complete(*rows, method="smcn")


@pytest.mark.parametrize("call", [sc.complete, lambda P, Q, method: sc.SimilarityCompleter(method=method).fit(P)])
def test_auto_is_among_the_names_that_are_suggested(rows, call):
    with pytest.raises(InputError, match="did you mean 'auto'\\? use one of auto, overlap, "):
        call(*rows, method="atuo")
