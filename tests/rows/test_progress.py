"""One bar for a whole call, which never goes back."""

import io
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows import progress
from simcomplete._rows.progress import BAR, expect, one_bar, part_of_bar, track


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0  # every look takes a second
        return self.now


def lines(stream):
    return [text for text in stream.getvalue().replace("\n", "").split("\r") if text.strip()]


def shares(stream):
    return [int(re.search(r"(\d+)%", text)[1]) for text in lines(stream)]


def watched(work, patience=0.0):
    stream = io.StringIO()
    with one_bar(True, stream=stream, patience=patience, clock=Clock()):
        work()
    return stream


def loop(n, inside=lambda: None, **given):
    for _ in track(range(n), "loop", True, **given):
        inside()


def test_it_appears_after_two_seconds_and_goes_away():
    stream = watched(lambda: loop(10), patience=3.5)
    assert len(lines(stream)) < 10
    assert stream.getvalue().endswith("\r")
    assert stream.getvalue().split("\r")[-2].strip() == ""
    assert watched(lambda: loop(10), patience=99).getvalue() == ""


def test_loops_one_after_the_other_share_a_bar():
    stream = watched(lambda: [loop(4) for _ in range(5)])
    found = shares(stream)
    assert found == sorted(found)
    assert found[5 - 1] == 50  # half of what is left each, when nobody says how many there are
    assert max(found) <= 100
    assert BAR.get() is None


def test_expected_loops_have_equal_parts():
    def work():
        with expect(4):
            for _ in range(4):
                loop(1)

    assert sorted(set(shares(watched(work)))) == [
        0,
        25,
        50,
        75,
        88,
    ]  # the last leaves room for one that was not expected


def test_more_loops_than_expected_and_fewer():
    def work(made):
        with expect(2):
            for _ in range(made):
                loop(2)
        loop(2)

    for made in (0, 1, 2, 5):
        found = shares(watched(lambda made=made: work(made)))
        assert found == sorted(found)
        assert found[-1] < 100  # as long as the call lasts


def test_a_loop_inside_a_loop():
    found = shares(watched(lambda: loop(2, lambda: loop(2), share=1.0)))
    assert found == sorted(found)
    assert {0, 25, 50, 75, 100} <= set(found)


def test_weights_and_shares():
    found = shares(watched(lambda: loop(3, weights=[1, 8, 1], share=0.5)))
    assert found == [0, 5, 45, 50]
    assert shares(watched(lambda: loop(2, weights=[0, 0], share=1.0))) == [0, 50, 100]


def test_no_known_end():
    def work():
        for _ in track(iter(range(100)), "loop", True):
            pass

    found = shares(watched(work))
    assert found == sorted(found)
    assert found[20] == 25  # half of its half, after UNKNOWN rounds
    assert found[-2] < 50


def test_a_part_by_its_share():
    def work():
        with part_of_bar("part", 0.8) as tell:
            tell(0.5, 1.0)
            tell(0.25, 0.5)  # back: the bar stays
        loop(1, share=1.0)

    assert shares(watched(work)) == [40, 40, 80, 80, 100]
    with part_of_bar("no bar is open") as tell:
        tell(0.5, 1.0)


def test_a_loop_that_is_left_early_and_one_that_fails():
    def work():
        for _ in track(range(10), "left", True):
            break
        with pytest.raises(ZeroDivisionError):
            loop(10, lambda: 1 / 0)
        loop(2)

    found = shares(watched(work))
    assert found == sorted(found)


def test_a_bar_inside_a_bar_is_the_same():
    def work():
        with one_bar(True, stream=inner):
            loop(3, share=1.0)

    inner = io.StringIO()
    assert shares(watched(work))[-1] == 100
    assert inner.getvalue() == ""


def test_silence_inside_a_bar():
    def work():
        for _ in track(range(5), "silent", False):
            pass

    assert watched(work).getvalue() == ""


def test_a_shorter_line_covers_a_longer_one(monkeypatch):
    stream = io.StringIO()
    show = progress.in_stream(stream)
    show("long label")
    show("short")
    assert stream.getvalue() == "\rlong label\rshort     "
    monkeypatch.setenv("COLUMNS", "6")
    show("wrapped otherwise")
    assert stream.getvalue().endswith("\rwrapp")


def test_the_estimate():
    assert progress.line("x", 0.0, 7.0).endswith("0%  7 s")
    assert progress.line("x", 0.5, 119.0).endswith("50%  119 s left")
    assert progress.line("x", 0.5, 120.0).endswith("50%  2 min left")


def test_a_notebook_is_noticed_without_an_import(monkeypatch):
    assert not progress.notebook()
    told = []

    class Handle:
        def display(self, data, raw):
            told.append(("display", data["text/plain"], raw))

        def update(self, data, raw):
            told.append(("update", data["text/plain"], raw))

    shell = SimpleNamespace(kernel=True)
    display = SimpleNamespace(DisplayHandle=Handle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert not progress.notebook()  # a terminal of IPython has no kernel
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    assert progress.shown(None)
    for _ in track(range(3), "cells", patience=0, clock=Clock()):
        pass
    assert [way for way, *_ in told] == ["display"] + ["update"] * (len(told) - 1)
    assert told[0][1].startswith("cells ")
    assert told[-1][1:] == ("", True)  # taken away


@pytest.mark.parametrize(
    ("method", "more"), [("posterior", {}), ("smcnn", {}), ("auto", {}), ("cmc", {"tune": True, "max_iter": 2})]
)
@pytest.mark.parametrize("apart", [True, False])
def test_one_call_has_one_bar(method, more, apart, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setitem(one_bar.__wrapped__.__kwdefaults__, "patience", 0.0)
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    rng = np.random.default_rng(0)
    P, Q = rng.random((80, 8)), np.where(rng.random((6, 8)) < 0.4, np.nan, rng.random((6, 8)))
    rows = (P, Q) if apart else (np.where(rng.random(P.shape) < 0.2, np.nan, P),)
    if not apart and more:
        pytest.skip("tuning hides values of candidates")
    sc.complete(*rows, method=method, progress=True, memory="8 KiB", **more)
    stream = io.StringIO(capsys.readouterr().err)
    found = shares(stream)
    assert found == sorted(found)
    assert stream.getvalue().count("\r\r") <= 1
    assert len([text for text in stream.getvalue().split("\r") if text and not text.strip()]) <= 1  # cleared once
    assert found or (method, apart) == ("posterior", True)  # few rows, all in memory: no loop
    assert max(found, default=0) <= 100
    sc.complete(*rows, method=method, progress=False, memory="8 KiB", **more)
    assert capsys.readouterr().err == ""


def test_a_search_in_parts_has_one_bar(monkeypatch, capsys):
    from simcomplete._result import search

    monkeypatch.setitem(one_bar.__wrapped__.__kwdefaults__, "patience", 0.0)
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    monkeypatch.setattr(search, "PART", 10)
    done = sc.complete(np.random.default_rng(0).random((60, 8)), method="zero", progress=False)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("passes", "table"):
            patch.setattr(f"simcomplete._rows.{module}.row_blocks", lambda n, *_, **__: [slice(0, 30), slice(30, n)])
        expected = done.search(3, progress=True)
    found = shares(io.StringIO(capsys.readouterr().err))
    assert found == sorted(found)
    assert len(found) >= 12  # six parts, two blocks each
    np.testing.assert_array_equal(expected.ids, done.search(3, progress=False).ids)


def test_dask_has_no_bar_of_its_own(monkeypatch):
    da = pytest.importorskip("dask.array")
    from simcomplete._rows import dask

    def work():
        assert dask.computed(da.ones((40, 2), chunks=(1, 2)).sum(), True) == 80

    found = shares(watched(work))
    assert found == sorted(found)
    assert len(found) > 40
    assert found[-1] == 50
