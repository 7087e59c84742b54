"""PosteriorCompleter: scikit-learn's contract, stateless rows, streaming, search."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import simcomplete as sc
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete.estimators import PosteriorCompleter


@parametrize_with_checks([PosteriorCompleter(), PosteriorCompleter(effort="fast"), PosteriorCompleter(effort="best")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data(digits, hide):
    return digits[:200], hide(digits[200:230], 0.7), digits[200:230]


@pytest.fixture(scope="module", params=["full", "fast", "best"])
def model(request, data):
    return PosteriorCompleter(effort=request.param).fit(data[0])


def test_fitted_rows_come_back(model, data):
    P = data[0]
    np.testing.assert_allclose(model.transform(P), unit_rows(P), atol=1e-12)
    np.testing.assert_allclose(model.candidates_, unit_rows(P), atol=1e-12)
    np.testing.assert_allclose(clone(model).fit_transform(P), model.transform(P), atol=1e-12)


def test_rows_do_not_depend_on_each_other(model, data):
    Q = data[1]
    whole = model.transform(Q)
    for i in range(0, 30, 7):
        np.testing.assert_allclose(model.transform(Q[i : i + 1])[0], whole[i], atol=1e-10)
    assert (np.linalg.norm(whole, axis=1) <= 1 + 1e-12).all()


def test_it_is_better_than_the_overlap(model, data):
    P, Q, Q_true = data
    truth = unit_rows(Q_true) @ unit_rows(P).T
    S0 = sc.overlap_similarity(np.vstack([P, Q]))[200:, :200]
    assert sc.metrics.relative_squared_error(model.transform(Q) @ model.candidates_.T, S0, truth) < 0.4


def test_search_finds_what_the_products_say(model, data):
    Q = data[1]
    found = model.search(Q, k=5)
    scores = model.transform(Q) @ model.candidates_.T
    np.testing.assert_array_equal(found.ids, np.argsort(-scores, axis=1, kind="stable")[:, :5])
    assert model.search(Q, k=1000).ids.shape == (30, 200)
    with pytest.raises(sc.errors.InputError, match="k="):
        model.search(Q, k=0)


def test_candidates_come_and_go_exactly(data):
    P, Q, _ = data
    # How copies look is learnt in units of the first candidates.
    own = {"effort": "fast", "copies": False}
    grown = PosteriorCompleter(**own).fit(P[:150]).partial_fit(P[150:180]).partial_fit(P[180:])
    assert len(grown.candidates_) == 200
    shrunk = PosteriorCompleter(effort="fast").fit(np.vstack([P[:150], Q_rows(P)]))
    shrunk.forget(np.arange(150, 160))
    # The same candidates with the same calibration give the same vectors, however they came to be there.
    choice = PosteriorCompleter(**own).fit(P[:150])._model.choice
    whole = PosteriorCompleter(**own).fit(P)
    whole._keep_candidates(replace(whole._model, choice=choice))
    np.testing.assert_allclose(grown.transform(Q), whole.transform(Q), atol=1e-8)
    back = PosteriorCompleter(effort="fast").fit(P[:150]).partial_fit(P[150:]).forget(slice(150, 200))
    np.testing.assert_allclose(
        back.transform(Q), PosteriorCompleter(effort="fast").fit(P[:150]).transform(Q), atol=1e-8
    )
    assert len(shrunk.candidates_) == 150


def Q_rows(P):
    return P[:10] + 1.0


def test_forgetting_too_much_or_nowhere(data):
    model = PosteriorCompleter(effort="fast").fit(data[0])
    with pytest.raises(sc.errors.InputError, match="all 200 candidates"):
        model.forget(slice(None))
    with pytest.raises(sc.errors.InputError, match="does not fit"):
        model.forget([500])


def test_partial_fit_alone_is_a_fit(data):
    P, Q, _ = data
    a, b = PosteriorCompleter(effort="fast").partial_fit(P), PosteriorCompleter(effort="fast").fit(P)
    np.testing.assert_array_equal(a.transform(Q), b.transform(Q))


def test_masks_to_calibrate_for(data):
    P, Q, _ = data
    told = PosteriorCompleter(effort="fast").fit(P, masks=~np.isnan(Q))
    again = PosteriorCompleter(effort="fast").fit(P).recalibrate(~np.isnan(Q))
    np.testing.assert_array_equal(told.transform(Q), again.transform(Q))
    for masks in (np.ones((3, 5), bool), np.ones((3, 64)), np.ones((0, 64), bool)):
        with pytest.raises(sc.errors.InputError, match="masks must be booleans"):
            PosteriorCompleter().fit(P, masks=masks)


def test_types_frames_and_pickles(data):
    P, Q, _ = data
    single = PosteriorCompleter(effort="fast").fit(P.astype(np.float32)).transform(Q.astype(np.float32))
    assert single.dtype == np.float32
    frame = pd.DataFrame(P, columns=[f"f{i}" for i in range(64)])
    model = PosteriorCompleter(effort="fast").set_output(transform="pandas").fit(frame)
    out = model.transform(pd.DataFrame(Q, columns=frame.columns, index=[f"q{i}" for i in range(30)]))
    assert list(out.index[:2]) == ["q0", "q1"]
    again = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.transform(frame), model.transform(frame))


def test_complete_is_the_method(data):
    P, Q, _ = data
    done = PosteriorCompleter(effort="fast").complete(P, Q)
    np.testing.assert_array_equal(done.similarity(), sc.complete(P, Q, method="posterior", effort="fast").similarity())
    assert done.interval()[0].shape == (30, 200)
