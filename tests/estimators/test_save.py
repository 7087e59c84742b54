"""Models saved and loaded: the same answers to the last bit, and words for folders that are not what they should be."""

import dataclasses
import hashlib
import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._posterior.candidates import fitting
from simcomplete._result.archive import READ_BELOW_BYTES, digest_of
from simcomplete._result.layout import Either, Maybe, Record, Several
from simcomplete._result.plain import plain
from simcomplete.errors import FileFormatError, InputError
from simcomplete.estimators import (
    SMCNN,
    NearestCorrelation,
    PosteriorCompleter,
    PosteriorImputer,
    PosteriorKernel,
    SimilarityCompleter,
    SMCNmF,
)
from simcomplete.estimators._layouts import ESTIMATOR

RNG = np.random.default_rng(0)
P = RNG.random((120, 6))
Q = np.where(RNG.random((9, 6)) < 0.4, np.nan, RNG.random((9, 6)))
Q[:, 0] = 0.5
X = np.where(RNG.random((80, 6)) < 0.2, np.nan, RNG.random((80, 6)))
CASES = {
    "fast": (PosteriorCompleter(effort="fast"), P),
    "float32": (PosteriorCompleter(effort="fast"), P.astype(np.float32)),
    "copies": (PosteriorCompleter(copies=True), P),
    "best": (PosteriorCompleter(effort="best"), P),
    "centred and scaled": (PosteriorCompleter(effort="fast", metric="pearson", center="mean", scale="sd"), P),
    "few": (PosteriorCompleter(), P[:20]),
    "incomplete rows": (PosteriorCompleter(effort="fast"), X),
    "a stack of models": (PosteriorCompleter(), X),
    "some complete rows": (PosteriorCompleter(effort="fast"), np.vstack([P, X[:20]])),
    "smcnn": (SMCNN(rank=4), X),
    "smcnmf, scaled": (SMCNmF(rank=4, center="mean"), X),
    "by name": (SimilarityCompleter(method="posterior", params={"effort": "fast"}), X),
    "kernel": (PosteriorKernel(effort="fast"), X),
    "kernel of scaled rows": (PosteriorKernel(effort="fast", center="mean", masks=P[:4] > 0.5), P),
    "imputer of complete rows": (PosteriorImputer(effort="fast", add_indicator=True, round=2), P),
    "imputer of incomplete rows": (PosteriorImputer(effort="fast", add_indicator=True, max=0.9), X),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(data) for name, (model, data) in CASES.items()}


def there_and_back(model, folder):
    model.save(folder / "m", overwrite=True)
    return sc.load(folder / "m")


@pytest.mark.parametrize("name", CASES)
def test_answers_are_bit_equal(name, fitted, tmp_path):
    before = fitted[name]
    after = there_and_back(before, tmp_path)
    assert type(after) is type(before)
    assert plain(after.get_params()) == plain(before.get_params())
    np.testing.assert_array_equal(after.transform(Q), before.transform(Q))
    assert after.transform(Q).dtype == before.transform(Q).dtype
    assert list(after.get_feature_names_out()) == list(before.get_feature_names_out())
    if isinstance(before, PosteriorImputer):
        np.testing.assert_array_equal(after.sample(Q), before.sample(Q))
        return
    if isinstance(before, PosteriorKernel):
        np.testing.assert_array_equal(after.vectors_, before.vectors_)
        return
    np.testing.assert_array_equal(after.similarity(Q), before.similarity(Q))
    if name in ("fast", "copies", "best", "centred and scaled"):
        np.testing.assert_array_equal(after.interval(Q), before.interval(Q))
        grown = [np.asarray(m.partial_fit(P[:3] + 0.1).forget([5]).transform(Q)) for m in (after, before)]
        np.testing.assert_array_equal(*grown)
        again = there_and_back(before, tmp_path)  # after changes, too
        np.testing.assert_array_equal(again.transform(Q), grown[1])


def test_a_correlation_comes_back(tmp_path):
    before = NearestCorrelation().fit(X)
    after = there_and_back(before, tmp_path)
    for name in ("covariance_", "correlation_", "precision_", "location_"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert after.repair_.certificate == before.repair_.certificate
    after.set_params(warm_start=True).fit(X)


def test_names_of_features_are_kept_and_checked(tmp_path):
    pd = pytest.importorskip("pandas")
    names = list("abcdef")
    after = there_and_back(PosteriorCompleter(effort="fast").fit(pd.DataFrame(P, columns=names)), tmp_path)
    assert list(after.feature_names_in_) == names
    with pytest.raises((ValueError, InputError), match="feature names should match"):
        after.transform(pd.DataFrame(Q, columns=names[::-1]))


def test_what_json_cannot_hold_becomes_the_default(tmp_path):
    model = PosteriorCompleter(effort="fast", random_state=np.random.default_rng(3)).fit(P)
    assert there_and_back(model, tmp_path).random_state == 0


def test_streamed_models_stay_in_their_files_and_grow(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "STREAM_ABOVE_SEARCHED", 100)
    n = READ_BELOW_BYTES // (8 * 64) + 100
    rows = np.random.default_rng(1).random((n, 64))
    np.save(tmp_path / "rows.npy", rows)
    asked = np.where(np.random.default_rng(2).random((4, 64)) < 0.5, np.nan, rows[:4])
    before = PosteriorCompleter(effort="fast").fit(tmp_path / "rows.npy", ids=np.arange(n) + 7)
    after = there_and_back(before, tmp_path)
    assert not isinstance(after.candidates_, np.ndarray)
    np.testing.assert_array_equal(after.transform(asked), before.transform(asked))
    # Grown and shrunk: the moments are those of a model that was fitted to the rows that are left.
    after.partial_fit(rows[:5] + 0.25, ids=["a", "b", "c", "d", "e"]).forget(ids=[7, "b"])
    left = np.concatenate([rows[1:], rows[[0, 2, 3, 4]] + 0.25])
    np.testing.assert_allclose(np.asarray(after._model.candidates.table.whole()), left)
    space, expected = after._model.spaces["unit"], left / np.linalg.norm(left, axis=1, keepdims=True)
    np.testing.assert_allclose(space.statistics.mean, expected.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(space.statistics.covariance.C, np.cov(expected.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(space.lowest, expected.min(axis=0), atol=1e-15)
    found = after.search(rows[[1]] * 2.0, k=1)
    assert found.ids.tolist() == [[8]]
    assert after.search(rows[[2]] + 0.25, k=1).ids.tolist() == [["c"]]
    again = there_and_back(after, tmp_path / "again")
    np.testing.assert_array_equal(again.transform(asked), after.transform(asked))


# Folders that are not what they should be.


@pytest.fixture(scope="module")
def saved(tmp_path_factory, fitted):
    folder = tmp_path_factory.mktemp("models")
    PosteriorCompleter(effort="fast").fit(P, ids=range(120)).save(folder / "m")
    return folder / "m"


def tampered(saved, folder, change):
    """A copy whose plain values were changed, with checksums that fit."""
    shutil.copytree(saved, folder / "m")
    file = folder / "m" / "model.json"
    index = json.loads(file.read_text())
    change(index)
    index["sha256"] = digest_of(index)
    file.write_text(json.dumps(index))
    return folder / "m"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda i: i["facts"]["model"].update({"class": "Popen"}), "unknown class 'Popen'"),
        (lambda i: i.update(version=99), "format version 99.*upgrade"),
        (lambda i: i.update(format="simcomplete-completion"), "does not describe a saved model"),
        (lambda i: i["arrays"].update({"../x": {"shape": [1], "dtype": "<f8", "sha256": ""}}), "unknown array"),
        (lambda i: i["facts"]["model"].update(n_features_in_=7), "7 were fitted"),
        (lambda i: i["facts"]["model"].update(ids=[1, 1]), "several rows"),
        (lambda i: i["facts"]["model"].update(ids=[1]), "ids are not 120"),
        (lambda i: i["facts"]["model"]["params"].update(nonsense=1), "nonsense"),
        (lambda i: i["facts"]["model"]["model"]["candidates"].update(scale=-1.0), "scale is -1.0"),
        (lambda i: i["facts"]["model"]["model"]["candidates"].update(scale=[]), "is not a number"),
        (lambda i: i["facts"]["model"]["model"]["candidates"].update(table={"array": "nowhere"}), "nowhere"),
        (lambda i: i["facts"]["model"]["model"]["choice"].update(space="else"), "not one of"),
        (lambda i: i["facts"]["model"]["model"].pop("spaces"), "does not have the parts"),
        (lambda i: i["facts"].pop("model"), "whole model"),
        (lambda i: i["facts"]["model"].update(rows={"array": "model.choice.quantiles"}), "dimensions"),
    ],
)
def test_tampered_folders_are_refused(change, words, saved, tmp_path):
    with pytest.raises(FileFormatError, match=words):
        sc.load(tampered(saved, tmp_path, change))


@pytest.mark.parametrize("file", ["model.candidates.table.npy", "model.json"])
def test_files_that_were_cut_or_edited(file, saved, tmp_path):
    shutil.copytree(saved, tmp_path / "m")
    whole = (tmp_path / "m" / file).read_bytes()
    for changed in (whole[:-9], whole[:-9] + b"x" + whole[-8:], b""):
        (tmp_path / "m" / file).write_bytes(changed)
        with pytest.raises(FileFormatError):
            sc.load(tmp_path / "m")
    (tmp_path / "m" / file).unlink()
    with pytest.raises(FileFormatError):
        sc.load(tmp_path / "m")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_changed_value_is_refused_or_harmless(data, saved, tmp_path_factory):
    """Plain values are exchanged, with checksums that fit: an error of ours, or a model that answers."""

    def change(index):
        at = index["facts"]["model"]
        while True:
            keys = range(len(at)) if isinstance(at, list) else list(at)
            key = data.draw(st.sampled_from(keys))
            if not isinstance(at[key], (dict, list)) or not at[key]:
                break
            at = at[key]
        at[key] = data.draw(st.sampled_from([None, -1, 0, 1e308, "nan", "x", [], {}, True, 10**30]))

    folder = tampered(saved, tmp_path_factory.mktemp("t"), change)
    try:
        model = sc.load(folder)
        with np.errstate(all="ignore"):
            model.search(Q, k=3)
    except (sc.errors.SimcompleteError, np.linalg.LinAlgError):
        pass


def test_what_is_there_is_not_lost(saved, tmp_path, fitted):
    model = fitted["fast"]
    with pytest.raises(InputError, match="exists already"):
        model.save(saved)
    (tmp_path / "thesis").mkdir()
    with pytest.raises(InputError, match="not a saved model"):
        model.save(tmp_path / "thesis", overwrite=True)
    shutil.copytree(saved, tmp_path / "m")
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        model.save(tmp_path / "m", overwrite=True)
    sc.complete(P, Q, method="smcnn").save(tmp_path / "done")
    with pytest.raises(InputError, match="not a saved model"):
        model.save(tmp_path / "done", overwrite=True)


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        PosteriorCompleter().save(tmp_path / "m")


def test_every_attribute_has_a_layout():
    """A class that gets another attribute needs a line in its layout, or the attribute would be lost without a word."""
    left_out = {
        "holdout_vectors",
        "measure_later",
        "progress",
        "_learnt",
        "labels",
        "alpha",
        "factors",
        "wrap",
        "kept",
        "place",
    }
    seen = set()

    def walk(layout):
        if isinstance(layout, Record) and layout.made_of not in seen:
            seen.add(layout.made_of)
            if dataclasses.is_dataclass(layout.made_of):
                names = {f.name for f in dataclasses.fields(layout.made_of) if f.init}
                assert names - left_out <= set(layout.fields), layout.made_of
            elif hasattr(layout.made_of, "_fields"):
                assert set(layout.made_of._fields) == set(layout.fields), layout.made_of
            for inner in layout.fields.values():
                walk(inner)
        elif isinstance(layout, Either):
            for inner in layout.records():
                walk(inner)
        elif isinstance(layout, Maybe | Several):
            walk(layout.inner)

    walk(ESTIMATOR)
    assert len(seen) > 25


def test_checksums_are_those_of_the_files(saved):
    index = json.loads((saved / "model.json").read_text())
    for name, entry in index["arrays"].items():
        assert hashlib.sha256((saved / f"{name}.npy").read_bytes()).hexdigest() == entry["sha256"]
