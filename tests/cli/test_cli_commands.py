"""Every command, in this process."""

from __future__ import annotations

import csv
import doctest
import errno
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import simcomplete as sc
from simcomplete._cli import arguments
from simcomplete._cli.app import app
from simcomplete._report import demo as experiment
from simcomplete._result.status import Status

P = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.5], [1.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
Q = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan]])


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("p.npy", P)
    np.save("q.npy", Q)
    (tmp_path / "p.csv").write_text("id,a,b,c\nu,1,2,3\nv,3,1,0.5\nw,1,1,1\nx,0,2,1\n")
    (tmp_path / "q.csv").write_text("id,a,b,c\nq1,1,NA,3\nq2,,2,\n")
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stderr
    return result


def as_json(*arguments):
    result = run(*arguments, "--json")
    assert result.stderr == ""
    return json.loads(result.stdout)


def fails(*arguments, code=2):
    """Run something that must fail, and return its one line."""
    result = run(*arguments, code=code)
    assert result.stdout == ""
    assert result.stderr.startswith("simcomplete: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


class TestComplete:
    def test_large_candidates_stay_in_their_file(self, room, monkeypatch):
        asked = ("complete", "p.npy", "q.npy", "--method", "smcnn", "--rank", "2", "--memory", "1KB")
        run(*asked, "-o", "held")
        monkeypatch.setattr(arguments, "HELD", 10)
        seen = []
        whole = sc._api.complete
        monkeypatch.setattr(sc.api, "complete", lambda P, Q, **given: seen.append(P) or whole(P, Q, **given))
        run(*asked, "-o", "read")
        assert [str(path) for path in seen] == ["p.npy"]
        np.testing.assert_allclose(sc.load("read").similarity(), sc.load("held").similarity(), atol=1e-12)

    def test_zarr_candidates(self, room):
        pytest.importorskip("zarr").save_array("p.zarr", P)
        assert as_json("complete", "p.zarr", "q.npy", "-o", "out", "--method", "overlap")["n_candidates"] == 4
        assert as_json("complete", "p.zarr", "-o", "alone", "--method", "overlap")["n_queries"] == 4

    def test_it_is_the_library(self, room):
        facts = as_json(
            "complete", "p.npy", "q.npy", "-o", "out", "--method", "smcnn", "--rank", "2", "--penalty", "0.1"
        )
        done, expected = sc.load("out"), sc.complete(P, Q, method="smcnn", rank=2, penalty=0.1)
        np.testing.assert_array_equal(done.similarity(), expected.similarity())
        assert facts.pop("output") == "out"
        assert facts == json.loads(json.dumps(expected.summary()))

    def test_labels_and_summary_from_csv(self, room):
        text = run("complete", "p.csv", "q.csv", "-o", "out", "--method", "smcnn").stdout
        assert sc.load("out").labels == ["u", "v", "w", "x", "q1", "q2"]
        for word in ("smcnn", "saved: out", "unit diagonal", "optimal"):
            assert word in text

    def test_what_takes_long_is_not_computed_for_the_summary(self, room, monkeypatch):
        monkeypatch.setattr("simcomplete._result.summary.CHEAP_WORK", 0)
        text = run("complete", "p.npy", "q.npy", "-o", "out", "--method", "smcnn", "--rank", "2").stdout
        assert "at most 2" in text
        assert "psd" in text
        assert "unit diagonal" not in text

    def test_all_rows_incomplete(self, room):
        assert as_json("complete", "q.npy", "-o", "out")["n_candidates"] == 2

    def test_every_option_reaches_the_library(self, room):
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

    def test_defaults_are_the_librarys(self, room):
        assert as_json("complete", "p.npy", "q.npy", "-o", "out")["method"] == sc.complete(P, Q).method

    def test_key_is_for_archives_and_header_for_text(self, room):
        np.savez("q.npz", a=Q, b=Q)
        assert "a, b" in fails("complete", "p.csv", "q.npz", "-o", "out")
        as_json("complete", "p.csv", "q.npz", "-o", "out", "--key", "b", "--header")
        assert "key='b'" in fails("complete", "p.npy", "q.npy", "-o", "other", "--key", "b")

    def test_existing_output_is_refused_before_the_work(self, room, monkeypatch):
        run("complete", "p.npy", "q.npy", "-o", "out")
        with monkeypatch.context() as patch:
            patch.setattr("simcomplete._api.complete", lambda *a, **k: pytest.fail("worked for nothing"))
            assert "--overwrite" in fails("complete", "p.npy", "q.npy", "-o", "out")
        run("complete", "p.npy", "q.npy", "-o", "out", "--overwrite")

    def test_an_unsatisfying_status_is_told_beside_the_result(self, room, monkeypatch):
        class Unfinished:
            status = Status("diverged", "the step is too large; try step=0.1", ok=False)
            summary = staticmethod(lambda: {"method": "smc_gd"})
            save = staticmethod(lambda path, overwrite: None)

        monkeypatch.setattr("simcomplete._api.complete", lambda *a, **k: Unfinished)
        result = run("complete", "p.npy", "-o", "out", "--json")
        assert result.stderr == "simcomplete: warning: diverged: the step is too large; try step=0.1\n"
        assert json.loads(result.stdout)["method"] == "smc_gd"

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["nope.csv", "-o", "out"], ["nope.csv", "no such file"]),
            (["q.npy", "q.npy", "-o", "out"], ["candidates must be complete"]),
            (["p.npy", "-o", "out", "--method", "smcn"], ["smcnn"]),
            (["p.npy", "-o", "out", "--rank", "9"], ["rank=9"]),
            (["p.npy", "-o", "out", "--rank", "x"], ["--rank"]),
            (["p.npy", "-o", "out", "--penalty", "-1"], ["penalty=-1"]),
            (["p.npy", "-o", "out", "--metric", "l2"], ["metric='l2'"]),
            (["p.npy", "-o", "out", "--min-overlap", "9"], ["min_overlap=9"]),
            (["p.npy", "-o", "out", "--param", "rank"], ["NAME=VALUE"]),
            (["p.npy", "-o", "out", "--param", "rank=3"], ["option of its own"]),
            (["p.npy", "-o", "out", "--param", "a=3", "--param", "a=4"], ["twice"]),
            (["p.npy", "-o", "out", "--param", "colour=3"], ["colour"]),
            (["p.npy"], ["--output"]),
            ([], ["complete --help"]),
            (["p.npy", "-o", "out", "--colour", "3"], ["--colour"]),
        ],
    )
    def test_bad_input_is_one_line_and_code_2(self, room, arguments, words):
        line = fails("complete", *arguments)
        for word in words:
            assert word in line
        assert not (room / "out").exists()

    def test_columns_of_other_names_are_refused(self, room):
        (room / "q.csv").write_text("id,a,c,b\nq1,1,NA,3\n")
        assert "column 2 is 'b' in p.csv and 'c' in q.csv" in fails("complete", "p.csv", "q.csv", "-o", "out")

    def test_columns_of_another_number_are_refused(self, room):
        (room / "q.csv").write_text("id,a,b\nq1,1,NA\n")
        assert "3 features" in fails("complete", "p.csv", "q.csv", "-o", "out")

    def test_a_full_disk_is_one_line(self, room, monkeypatch):
        def full(*arguments, **options):
            raise OSError(errno.ENOSPC, "No space left on device", "out")

        monkeypatch.setattr("os.fsync", full)
        assert "No space left on device" in fails("complete", "p.npy", "q.npy", "-o", "out")
        assert not (room / "out").exists()

    def test_out_of_memory_is_one_line(self, room, monkeypatch):
        def vast(*arguments, **options):
            raise MemoryError

        monkeypatch.setattr("simcomplete._api.complete", vast)
        assert "out of memory" in fails("complete", "p.npy", "-o", "out")

    def test_an_interruption_is_one_line_and_code_130(self, room, monkeypatch):
        def interrupted(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr("simcomplete._api.complete", interrupted)
        assert fails("complete", "p.npy", "-o", "out", code=130) == "simcomplete: interrupted\n"


class TestSearch:
    @pytest.fixture
    def saved(self, room):
        run("complete", "p.csv", "q.csv", "-o", "out")
        return sc.load("out")

    def test_it_is_the_library(self, saved):
        found = as_json("search", "out", "-k", "2")
        ids, scores = saved.search(k=2)
        assert [[near["row"] for near in query["nearest"]] for query in found["queries"]] == ids.tolist()
        assert [[near["similarity"] for near in query["nearest"]] for query in found["queries"]] == scores.tolist()
        assert [query["label"] for query in found["queries"]] == ["q1", "q2"]
        assert found["queries"][0]["nearest"][0]["label"] == saved.labels[ids[0, 0]]

    def test_the_table_has_one_line_each(self, saved):
        lines = run("search", "out", "-k", "3").stdout.splitlines()
        assert lines[0].split() == ["query", "place", "candidate", "similarity"]
        assert len(lines) == 1 + 2 * 3
        assert lines[1].split()[:2] == ["q1", "1"]

    def test_rows(self, saved):
        assert [query["row"] for query in as_json("search", "out", "--rows", "1")["queries"]] == [1]
        assert [query["row"] for query in as_json("search", "out", "--rows", "1,0:2")["queries"]] == [1, 0, 1]

    def test_numbers_where_there_are_no_labels(self, room):
        run("complete", "p.npy", "-o", "plain")
        found = as_json("search", "plain", "-k", "9")
        assert "label" not in found["queries"][0]
        assert len(found["queries"]) == 4
        assert len(found["queries"][0]["nearest"]) == 3  # all but itself
        assert run("search", "plain").stdout.splitlines()[1].split()[0] == "0"

    def test_csv(self, saved, room):
        assert run("search", "out", "-k", "2", "-o", "n.csv").stdout == "saved: n.csv\n"
        with (room / "n.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        assert len(lines) == 5
        assert "--overwrite" in fails("search", "out", "-o", "n.csv")
        assert as_json("search", "out", "-o", "n.csv", "--overwrite")["output"] == "n.csv"

    def test_labels_cannot_break_the_table(self, room):
        (room / "p.csv").write_text('id,a\n"u\x1b[31m",1\nv [red],2\n')
        run("complete", "p.csv", "-o", "odd")
        text = run("search", "odd").stdout
        assert "\x1b" not in text
        assert "v [red]" in text

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            (["nope"], "nope does not exist"),
            (["."], "not a saved completion"),
            (["out", "-k", "0"], "-k"),
            (["out", "--rows", "2"], "outside 0 to 1"),
            (["out", "--rows", "x"], "not a position"),
            (["out", "--rows", "1:1"], "outside"),
            (["out", "--rows", ""], "not a position"),
        ],
    )
    def test_bad_input(self, saved, arguments, word):
        assert word in fails("search", *arguments)

    def test_a_damaged_folder(self, saved, room):
        (room / "out" / "factor.npy").write_bytes(b"no")
        assert "factor.npy" in fails("search", "out")


class TestMethods:
    def test_json_has_every_field(self):
        found = as_json("methods")
        assert [row["name"] for row in found] == [method.name for method in sc.methods()]
        assert set(sc.methods()[0].row()) <= set(found[0])

    def test_table(self):
        lines = run("methods").stdout.splitlines()
        assert len(lines) == 1 + len(sc.methods())
        assert lines[1].split()[0] == sc.methods()[0].name


class TestDemo:
    SMALL = ("demo", "--candidates", "30", "--queries", "6")

    def test_table_and_page(self, room, monkeypatch):
        monkeypatch.setattr(experiment.run, "__kwdefaults__", {**experiment.run.__kwdefaults__, "methods": ["overlap"]})
        lines = run(*self.SMALL).stdout.splitlines()
        assert lines[0].split()[0] == "method"
        assert lines[1].split()[0] == "overlap"
        assert lines[-1] == "page: simcomplete-demo/index.html"
        assert (room / "simcomplete-demo" / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")

    def test_json(self, room):
        found = as_json(*self.SMALL, "--output", "there", "--seed", "5", "--missing", "0.5")
        assert [row["method"] for row in found["rows"]] == list(experiment.METHODS)
        assert (found["seed"], found["missing"], found["candidates"], found["queries"]) == (5, 0.5, 30, 6)
        assert (room / "there" / "index.html").is_file()

    def test_bad_settings(self, room):
        assert "missing" in fails("demo", "--missing", "2")
        assert "candidates=5000" in fails("demo", "--candidates", "5000")
        (room / "file").touch()
        assert "file" in fails(*self.SMALL, "-o", "file/below")


def test_version_help_and_no_command():
    assert run("--version").stdout == f"simcomplete {sc.__version__}\n"
    for options in ([], ["--help"], ["-h"]):
        text = run(*options).stdout
        for command in ("demo", "complete", "search", "methods"):
            assert command in text
    assert "complete" in fails("compete")


def test_examples():
    assert doctest.testmod(arguments).failed == 0
