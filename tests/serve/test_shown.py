"""What is answered beside neighbours: overlap, probabilities, values, rows, samples; and the files of the page."""

import base64

import numpy as np
import pytest

import simcomplete as sc
from serve.conftest import Client, P
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service, create_app
from simcomplete._serve.page import FILES
from simcomplete._serve.shown import Samples
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer

ROWS = [[0.1, None, 0.4, None, 0.9], [0.5, 0.5, None, 0.1, 0.2]]
X = np.array(ROWS, dtype=float)


def test_overlap_stands_beside_posterior(ask, model):
    found = ask("POST", "/v1/search", {"rows": ROWS, "k": 4, "overlap": True}).json
    S = sc.overlap_similarity(P, X)
    order = np.argsort(-S, axis=1, kind="stable")[:, :4]
    assert found["overlap"]["ids"] == [[f"row {j}" for j in line] for line in order]
    np.testing.assert_allclose(found["overlap"]["scores"], np.take_along_axis(S, order, axis=1), atol=1e-12)
    assert found["ids"] == model.search(X, k=4).ids.tolist()
    assert "overlap" not in ask("POST", "/v1/search", {"rows": ROWS}).json
    nothing = ask("POST", "/v1/search", {"rows": [[None] * 5], "k": 2, "overlap": True}).json
    assert nothing["overlap"] == {"ids": [[None, None]], "scores": [[None, None]]}


def test_overlap_of_scaled_rows_is_that_of_the_library():
    fitted = PosteriorCompleter(effort="fast", center="mean", scale="sd").fit(P * [1, 10, 100, 1, 1])
    ask = Client(create_app(Service(Served.of(fitted))))
    rows = [[0.1, None, 40.0, None, 0.9]]
    found = ask("POST", "/v1/search", {"rows": rows, "k": 60, "overlap": True}).json["overlap"]
    S = sc.overlap_similarity(fitted.scaling_(P * [1, 10, 100, 1, 1]), fitted.scaling_(np.array(rows, dtype=float)))
    np.testing.assert_allclose(found["scores"][0], S[0, found["ids"][0]], atol=1e-12)
    assert sorted(found["ids"][0]) == list(range(60))


def test_probability_is_that_of_the_library(ask, model):
    found = ask("POST", "/v1/search", {"rows": ROWS, "k": 4, "above": 0.9}).json
    np.testing.assert_allclose(found["probability"], model.search(X, k=4, above=0.9).probability, atol=1e-12)
    assert ask("POST", "/v1/search", {"rows": ROWS}).json.keys() == {"ids", "scores", "low", "high", "confidence"}


@pytest.mark.parametrize("own", [{}, {"center": "mean", "scale": "sd"}, {"metric": "pearson"}], ids=str)
def test_values_are_in_the_units_that_came(own):
    rng = np.random.default_rng(0)
    T = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 0.01 * rng.standard_normal((200, 6)) + 5
    T *= [1.0, 20.0, 1.0, 1.0, 3.0, 1.0] if "scale" in own else 1.0
    served = Served.of(PosteriorCompleter(effort="fast", **own).fit(T[:150]))
    Q = T[150:].copy()
    Q[:, 1] = np.nan
    found = served.impute(Q)
    np.testing.assert_array_equal(np.delete(found["values"], 1, axis=1), np.delete(Q, 1, axis=1))
    error = found["values"][:, 1] - T[150:, 1]
    assert np.std(error) < 0.2 * np.std(T[:, 1])
    assert (found["std"][:, 1] > 0).all() and (np.delete(found["std"], 1, axis=1) == 0).all()


def test_rows_by_id_and_samples(ask, service):
    found = ask("POST", "/v1/rows", {"ids": ["row 5", "row 2", "row 5"]}).json
    np.testing.assert_array_equal(found["rows"], P[[5, 2, 5]])
    assert found["payloads"] == [None] * 3
    some = ask("GET", "/v1/samples?start=58&count=10").json
    assert some["n"] == 60 and some["ids"] == some["names"] == ["row 58", "row 59"]
    np.testing.assert_array_equal(some["rows"], P[58:])
    assert ask("GET", "/v1/samples?start=1000").json["rows"] == []
    put = {"rows": [[9, 1, 1, 1, 1]], "ids": ["new"], "payloads": [{"label": "<b>"}]}
    assert ask("PUT", "/v1/candidates", put).status == 200
    assert ask("POST", "/v1/rows", {"ids": ["new"]}).json == {"rows": [[9, 1, 1, 1, 1]], "payloads": [{"label": "<b>"}]}
    ranges = ask("GET", "/v1/features").json
    assert ranges["names"] is None and ranges["high"][0] == 9 and ranges["low"] == P.min(axis=0).tolist()


def test_samples_that_were_held_out(model):
    service = Service(Served.of(model), samples=Samples(np.array([[1.0, np.nan, 3, 4, 5]] * 3), ("a", "b")))
    found = Client(create_app(service))("GET", "/v1/samples?count=3").json
    assert found["names"] == ["a", "b", "sample 2"] and found["ids"] is None and found["rows"][0][1] is None


def test_scaled_candidates_come_back_in_their_units():
    T = P * [1, 10, 100, 1, 1]
    served = Served.of(PosteriorCompleter(effort="fast", center="median", scale="robust").fit(T))
    found = Client(create_app(Service(served)))("POST", "/v1/rows", {"ids": [3]}).json["rows"]
    np.testing.assert_allclose(found, T[[3]], rtol=1e-12)


def test_an_imputer_has_ranges_and_no_samples():
    T = np.where(np.random.default_rng(1).random((60, 5)) < 0.2, np.nan, P)
    ask = Client(create_app(Service(Served.of(PosteriorImputer(effort="fast").fit(T)))))
    ranges = ask("GET", "/v1/features").json
    assert all(low < high for low, high in zip(ranges["low"], ranges["high"], strict=True))
    assert ask("GET", "/v1/samples").json == {"n": 0, "rows": [], "names": [], "ids": None}
    assert ask("POST", "/v1/rows", {"ids": [1]}).status == 422


def test_candidates_in_files_are_brought_into_memory_where_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setattr("simcomplete._posterior.candidates.fitting.STREAM_ABOVE_SEARCHED", 100)
    np.save(tmp_path / "rows.npy", P)
    fitted = PosteriorCompleter(effort="fast").fit(tmp_path / "rows.npy")
    assert not fitted._model.in_memory
    served = Served.of(fitted)
    assert served.model._model.in_memory and not fitted._model.in_memory
    monkeypatch.setattr("simcomplete._serve.answers.available_bytes", lambda: 1000)
    streamed = Served.of(fitted)
    assert not streamed.model._model.in_memory
    for before, after in (
        (streamed, served),
        *[[s.changed(P[:2] + 1, ["a", "b"], [None] * 2, [5]) for s in (streamed, served)]],
    ):
        expected, found = (each.search(X, 5, 0.9, overlap=True) for each in (before, after))
        assert expected.keys() == found.keys()
        for name in found:
            if name.endswith("ids"):
                assert expected[name].tolist() == found[name].tolist()
            else:
                np.testing.assert_allclose(expected[name], found[name], atol=1e-10)


def test_the_shape_of_pictures_is_kept(tmp_path):
    model = PosteriorCompleter(effort="fast", shape=(2, 3)).fit(np.random.default_rng(0).random((50, 6)))
    model.save(tmp_path / "m")
    assert Served.of(sc.load(tmp_path / "m")).describe()["shape"] == (2, 3)
    assert Served.of(model, shape=(3, 2)).shape == (3, 2)
    with pytest.raises(InputError, match="does not hold the 6 features"):
        Served.of(model, shape=(4, 2))
    with pytest.raises(InputError, match="does not hold the 6 features"):
        PosteriorCompleter(shape=(4, 4)).fit(np.random.default_rng(0).random((50, 6)))


def test_the_page_loads_nothing_from_elsewhere(ask):
    for path in FILES:
        found = ask("GET", path)
        policy = found.headers["content-security-policy"]
        assert found.status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        text = found.body.decode()
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
        for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", " onclick=", "style="):
            assert way not in text, (path, way)
    assert "script-src 'self'" in ask("GET", "/").headers["content-security-policy"]


def test_a_browser_gives_the_token_as_a_password(service):
    ask = Client(create_app(service, token="t" * 20))
    asked = ask("GET", "/")
    assert asked.status == 401 and asked.headers["www-authenticate"].startswith("Basic")
    assert ask("POST", "/v1/search", {"rows": ROWS}).headers["www-authenticate"] == "Bearer"
    for word, status in (("any:" + "t" * 20, 200), ("t" * 20 + ":", 401), (":" + "t" * 19, 401)):
        given = {"authorization": "Basic " + base64.b64encode(word.encode()).decode()}
        assert ask("GET", "/", headers=given).status == status
    for wrong in ("Basic ???", "Basic", "Digest x", "Bearer"):
        assert ask("GET", "/v1/model", headers={"authorization": wrong}).status == 401
