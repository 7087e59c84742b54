"""`simcomplete complete`: the same as the library, and errors in one line."""

from __future__ import annotations

import errno
import json
import re

import numpy as np
import pytest

import simcomplete as sc
from simcomplete import _api
from simcomplete._cli import arguments
from simcomplete._result.status import Status

P = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.5], [1.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
Q = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan]])


def test_large_candidates_stay_in_their_file(folder, monkeypatch, run):
    asked = ("complete", "p.npy", "q.npy", "--method", "smcnn", "--rank", "2", "--memory", "1KB")
    run(*asked, "-o", "held")
    monkeypatch.setattr(arguments, "READ_BELOW_BYTES", 10)
    seen = []
    whole = _api.complete
    monkeypatch.setattr(_api, "complete", lambda P, Q, **given: seen.append(P) or whole(P, Q, **given))
    run(*asked, "-o", "read")
    assert [str(path) for path in seen] == ["p.npy"]
    np.testing.assert_allclose(sc.load("read").similarity(), sc.load("held").similarity(), atol=1e-12)


def test_zarr_candidates(folder, as_json):
    pytest.importorskip("zarr").save_array("p.zarr", P)
    assert as_json("complete", "p.zarr", "q.npy", "-o", "out", "--method", "overlap")["n_candidates"] == 4
    assert as_json("complete", "p.zarr", "-o", "alone", "--method", "overlap")["n_queries"] == 4


def test_it_is_the_library(folder, as_json):
    facts = as_json("complete", "p.npy", "q.npy", "-o", "out", "--method", "smcnn", "--rank", "2", "--penalty", "0.1")
    done, expected = sc.load("out"), sc.complete(P, Q, method="smcnn", rank=2, penalty=0.1)
    np.testing.assert_array_equal(done.similarity(), expected.similarity())
    assert facts.pop("output") == "out"
    assert facts == json.loads(json.dumps(expected.summary()))


def test_labels_and_summary_from_csv(folder, run):
    text = run("complete", "p.csv", "q.csv", "-o", "out", "--method", "smcnn").stdout
    assert sc.load("out").labels == ["u", "v", "w", "x", "q1", "q2"]
    for word in ("smcnn", "saved: out", "unit diagonal", "optimal"):
        assert word in text


def test_all_rows_incomplete(folder, as_json):
    assert as_json("complete", "q.npy", "-o", "out")["n_candidates"] == 2


def test_every_option_reaches_the_library(folder, as_json):
    options = "--method smc_f --metric pearson --min-overlap 2 --unit-diagonal --clip --seed 4 --no-progress"
    facts = as_json("complete", "p.npy", "q.npy", "-o", "out", *options.split(), "--param", "variant=paper")
    for name, value in {"metric": "pearson", "min_overlap": 2, "unit_diagonal": True, "clip": True}.items():
        assert facts["params"][name] == value
    assert facts["params"]["variant"] == "paper"
    more = "--epsilon 0.1 --positive --keep-candidates"
    facts = as_json("complete", "p.npy", "q.npy", "-o", "more", *more.split())
    assert facts["params"]["positive"] is True
    assert facts["params"]["epsilon"] == 0.1
    assert facts["params"]["keep_candidates"] is True


def test_defaults_are_the_librarys(folder, as_json):
    assert as_json("complete", "p.npy", "q.npy", "-o", "out")["method"] == sc.complete(P, Q).method


def test_key_is_for_archives_and_header_for_text(folder, as_json, fails):
    np.savez("q.npz", a=Q, b=Q)
    assert "a, b" in fails("complete", "p.csv", "q.npz", "-o", "out")
    as_json("complete", "p.csv", "q.npz", "-o", "out", "--key", "b", "--header")
    assert "--key b picks an array" in fails("complete", "p.npy", "q.npy", "-o", "other", "--key", "b")


def test_existing_output_is_refused_before_the_work(folder, monkeypatch, run, fails):
    run("complete", "p.npy", "q.npy", "-o", "out")
    with monkeypatch.context() as patch:
        patch.setattr("simcomplete._api.complete", lambda *a, **k: pytest.fail("worked for nothing"))
        assert "--overwrite" in fails("complete", "p.npy", "q.npy", "-o", "out")
    run("complete", "p.npy", "q.npy", "-o", "out", "--overwrite")


def test_an_unsatisfying_status_is_told_beside_the_result(folder, monkeypatch, run):
    class Unfinished:
        status = Status("diverged", "the step is too large; try step=0.1", ok=False)
        summary = staticmethod(lambda: {"method": "smc_gd"})
        save = staticmethod(lambda path, overwrite: None)

    monkeypatch.setattr("simcomplete._api.complete", lambda *a, **k: Unfinished)
    result = run("complete", "p.npy", "-o", "out", "--json")
    assert result.stderr == "simcomplete: warning: diverged: the step is too large; try step=0.1\n"
    assert json.loads(result.stdout)["method"] == "smc_gd"


def test_a_summary_without_what_a_large_result_does_not_compute(folder, monkeypatch, run):
    class Large:
        status = Status("optimal", "the global optimum", ok=True)
        save = staticmethod(lambda path, overwrite: None)

        @staticmethod
        def summary():
            check = {"ok": False, "value": None, "meaning": "not finite"}
            facts = {"method": "smcnn", "n_candidates": 4, "n_queries": 2, "validity": {"bounded": check}}
            return {**facts, "rank": None, "rank_at_most": 3, "evidence": None}

    monkeypatch.setattr("simcomplete._api.complete", lambda *a, **k: Large)
    text = run("complete", "p.npy", "-o", "out").stdout
    assert re.search(r"rank +at most 3\n", text)
    assert re.search(r"bounded +no +- +not finite\n", text)
    assert "evidence" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope.csv", "-o", "out"], ["nope.csv", "no such file"]),
        (["q.npy", "q.npy", "-o", "out"], ["candidates must be complete"]),
        (["p.npy", "-o", "out", "--method", "smcn"], ["smcnn"]),
        (["p.npy", "-o", "out", "--rank", "9"], ["--rank 9 exceeds the 4 samples given; use --rank <= 4"]),
        (["p.npy", "-o", "out", "--rank", "x"], ["--rank"]),
        (["p.npy", "-o", "out", "--penalty", "-1"], ["--penalty -1"]),
        (["p.npy", "-o", "out", "--metric", "l2"], ["--metric l2 is unknown"]),
        (["p.npy", "-o", "out", "--min-overlap", "9"], ["--min-overlap 9 must be"]),
        (["p.npy", "-o", "out", "--center", "middle"], ["--center middle is unknown; use 'mean', 'median'"]),
        (["p.npy", "-o", "out", "--param", "rnk=3"], ["did you mean --rank?"]),
        (["p.npy", "-o", "out", "--param", "efort=fast"], ["did you mean --param effort=...?"]),
        (["p.npy", "-o", "out", "--method", "posterior", "--min-overlap", "2"], ["does not use --min-overlap;"]),
        (["p.npy", "-o", "out", "--method", "posterior", "--param", "effort=huge"], ["--param effort=huge is unknown"]),
        (["p.npy", "-o", "out", "--memory", "lots"], ["--memory lots is not an amount of memory"]),
        (["p.npy", "-o", "out", "--param", "rank"], ["NAME=VALUE"]),
        (["p.npy", "-o", "out", "--param", "rank=3"], ["option of its own"]),
        (["p.npy", "-o", "out", "--param", "a=3", "--param", "a=4"], ["twice"]),
        (["p.npy", "-o", "out", "--param", "colour=3"], ["colour"]),
        (["p.npy"], ["--output"]),
        ([], ["complete --help"]),
        (["p.npy", "-o", "out", "--colour", "3"], ["--colour"]),
    ],
)
def test_bad_input_is_one_line_and_code_2(folder, arguments, words, fails):
    line = fails("complete", *arguments)
    for word in words:
        assert word in line
    assert not (folder / "out").exists()


def test_columns_are_matched_by_name(folder, run):
    run("complete", "p.csv", "q.csv", "-o", "out", "--method", "smcnn")
    (folder / "q.csv").write_text("id,c,a,b\nq1,3,1,NA\nq2,,,2\n")
    run("complete", "p.csv", "q.csv", "-o", "turned", "--method", "smcnn")
    np.testing.assert_array_equal(sc.load("turned").similarity(), sc.load("out").similarity())


def test_columns_of_other_names_are_refused(folder, fails):
    (folder / "q.csv").write_text("id,a,c,d\nq1,1,NA,3\n")
    assert "queries lack ['b'] and also have ['d']" in fails("complete", "p.csv", "q.csv", "-o", "out")


def test_columns_of_another_number_are_refused(folder, fails):
    (folder / "q.csv").write_text("id,a,b\nq1,1,NA\n")
    assert "queries lack ['c']" in fails("complete", "p.csv", "q.csv", "-o", "out")


def test_a_full_disk_is_one_line(folder, monkeypatch, fails):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device", "out")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left on device" in fails("complete", "p.npy", "q.npy", "-o", "out")
    assert not (folder / "out").exists()


def test_out_of_memory_is_one_line(folder, monkeypatch, fails):
    def vast(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("simcomplete._api.complete", vast)
    assert "out of memory" in fails("complete", "p.npy", "-o", "out")


def test_an_interruption_is_one_line_and_code_130(folder, monkeypatch, fails):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("simcomplete._api.complete", interrupted)
    assert fails("complete", "p.npy", "-o", "out", code=130) == "simcomplete: interrupted\n"


def test_features_are_centred_and_scaled(folder, run):
    run("complete", "p.npy", "q.npy", "-o", "out", "--method", "smcnn", "--center", "median", "--scale", "robust")
    done = sc.load("out")
    assert (done.params["center"], done.params["scale"]) == ("median", "robust")
    by_library = sc.complete(np.load("p.npy"), np.load("q.npy"), method="smcnn", center="median", scale="robust")
    np.testing.assert_allclose(done.similarity(), by_library.similarity(), atol=1e-12)
    np.testing.assert_array_equal(done.scaling.offset, np.median(np.load("p.npy"), axis=0))
