"""What every method promises, whichever it is: shape, type, symmetry, seed, finiteness, and what its row says."""

import json

import numpy as np
import pytest

import simcomplete as sc

# Few steps are enough for promises that hold at every step, and that they ran out is told by a warning.
pytestmark = pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
ALL = list(sc.methods())
every_method = pytest.mark.parametrize("method", ALL, ids=lambda m: m.name)


def quick(method, **given):
    """Settings that make a run short."""
    short = {"max_iter": 3, "burn_in": 1, "atoms": 8}
    exact = method.parameters.defaults.get("solver") == "exact"
    return {k: v for k, v in short.items() if k in method.parameters and not exact} | given


def run(method, P, Q=None, **given):
    return sc.complete(P, Q, method=method.name, **quick(method, **given))


@pytest.fixture(scope="module")
def data(digits, hide):
    return digits[:40, 10:34], hide(digits[40:50, 10:34], 0.6)


def edge_cases():
    rng = np.random.default_rng(0)
    P, Q = rng.random((12, 6)), rng.random((4, 6))
    Q[rng.random(Q.shape) < 0.5] = np.nan

    def changed(p=None, q=None):
        A, B = P.copy(), Q.copy()
        if p is not None:
            p(A)
        if q is not None:
            q(B)
        return A, B

    return {
        "nothing observed": changed(q=lambda B: B.__setitem__(1, np.nan)),
        "no query observed": changed(q=lambda B: B.__setitem__(slice(None), np.nan)),
        "zero rows": changed(lambda A: A.__setitem__(3, 0), lambda B: B.__setitem__(2, 0)),
        "all zero": (np.zeros((5, 3)), np.zeros((2, 3))),
        "constant rows": changed(lambda A: A.__setitem__(3, 2), lambda B: B.__setitem__(2, 7)),
        "constant columns": changed(lambda A: A.__setitem__((slice(None), 1), 1.0)),
        "duplicate rows": changed(lambda A: A.__setitem__(slice(6, 12), A[:6]), lambda B: B.__setitem__(2, B[1])),
        "complete queries": (P, P[:3]),
        "two candidates": (P[:2], Q),
        "one candidate": (P[:1], Q),
        "one query": (P, Q[:1]),
        "one feature": (P[:, :1], Q[:, :1]),
        "tiny values": (P * 1e-30, Q * 1e-30),
        "huge values": (P * 1e30, Q * 1e30),
        "negative values": (-P, -Q),
        "more features than rows": (rng.random((5, 30)), np.where(rng.random((2, 30)) < 0.5, np.nan, 0.3)),
    }


@every_method
@pytest.mark.parametrize("case", edge_cases())
def test_finite_and_symmetric_on_every_edge_case(method, case):
    P, Q = edge_cases()[case]
    before = P.copy(), Q.copy()
    done = run(method, P, Q)
    S = done.similarity()
    assert S.shape == (len(P) + len(Q),) * 2
    assert np.isfinite(S).all()
    assert (S == S.T).all()
    if method.psd:
        assert done.validity.psd.ok, done.validity
    if method.keeps_candidates:
        assert done.validity.candidates_exact.ok, done.validity
    np.testing.assert_array_equal(P, before[0])
    np.testing.assert_array_equal(Q, before[1])


@every_method
def test_what_the_row_says_on_real_data(method, data):
    done = run(method, *data)
    assert done.method == method.name
    assert done.n_candidates == 40
    assert done.n_queries == 10
    if method.psd:
        assert done.validity.psd.ok, done.validity
    if method.keeps_candidates:
        assert done.validity.candidates_exact.ok, done.validity
    assert done.status.message
    json.dumps(done.summary(), allow_nan=False)


@every_method
def test_the_type_stays(method, data):
    double, single = run(method, *data), run(method, *(x.astype(np.float32) for x in data))
    assert double.matrix.array.dtype == np.float64
    assert single.matrix.array.dtype == np.float32
    assert single.similarity().dtype == np.float32
    if not method.random:
        np.testing.assert_allclose(single.similarity(), double.similarity(), atol=2e-2)


@every_method
def test_same_seed_same_bits_and_the_row_tells_which_are_random(method, data):
    a, b = (run(method, *data, random_state=3).similarity() for _ in range(2))
    np.testing.assert_array_equal(a, b)
    c = run(method, *data, random_state=4).similarity()
    if method.random:
        assert not np.array_equal(a, c)
    else:
        np.testing.assert_allclose(a, c, atol=1e-10)


@every_method
def test_search_save_and_load(method, data, tmp_path):
    done = run(method, *data)
    assert done.search(k=3).ids.shape == (10, 3)
    done.save(tmp_path / "a")
    np.testing.assert_array_equal(sc.load(tmp_path / "a").similarity(), done.similarity())


@every_method
def test_every_row_incomplete_works_or_says_what_is_needed(method, data, hide):
    X = hide(data[0], 0.3)
    try:
        S = run(method, X).similarity()
    except sc.errors.InputError as error:
        assert "candidates" in str(error)
    else:
        assert np.isfinite(S).all()
        assert (S == S.T).all()


@every_method
def test_similarities_alone_work_or_the_samples_are_asked_for(method, data):
    S0 = sc.overlap_similarity(np.vstack(data))
    if method.acts_on == "samples":
        with pytest.raises(sc.errors.InputError, match="needs the samples"):
            sc.complete_similarity(S0, candidates=40, method=method.name)
        return
    done = sc.complete_similarity(S0, candidates=40, method=method.name, **quick(method))
    S = done.similarity()
    assert np.isfinite(S).all()
    assert (S == S.T).all()
    if method.psd and method.acts_on == "similarities":
        assert done.validity.psd.ok
        if "mode" not in method.parameters:
            np.testing.assert_allclose(S, run(method, *data).similarity(), atol=1e-6)


@every_method
def test_original_parameters_run(method, data):
    done = run(method, *data, preset="original")
    assert np.isfinite(done.similarity()).all()


@every_method
def test_unknown_parameters_are_refused(method, data):
    with pytest.raises(sc.errors.InputError, match="has no parameter 'speed'"):
        run(method, *data, speed=1)
    with pytest.raises(sc.errors.InputError, match="preset='mine' is unknown"):
        run(method, *data, preset="mine")


@pytest.mark.parametrize("method", [m for m in ALL if m.grid], ids=lambda m: m.name)
def test_tuning_chooses_from_its_grid(method, data):
    done = run(method, *data, tune=True)
    tried = done.choice["tried"]
    assert len(tried) == len(method.grid)
    best = min(tried, key=lambda row: row["error"])
    assert done.choice["tuned"] == {k: v for k, v in best.items() if k != "error"}


@pytest.mark.parametrize("method", [m for m in ALL if m.grid and m.family != "ablation"], ids=lambda m: m.name)
def test_tuning_is_never_worse_than_the_authors_parameters(method, data):
    """On the hidden values, which it tunes by: what the authors use is one of the settings (of ablations, too slow)."""
    assert not method.original or method.original in method.grid
    done = run(method, *data, tune=True)
    if method.original:
        theirs = next(row["error"] for row in done.choice["tried"] if method.original.items() <= row.items())
        assert min(row["error"] for row in done.choice["tried"]) <= theirs < np.inf


@every_method
def test_docs_have_a_page(method):
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "methods" / f"{method.name}.md"
    assert page.exists()
    assert method.name in page.read_text(encoding="utf-8")
