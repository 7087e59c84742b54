"""Blocks, memory, progress, errors and status: the small parts everything stands on."""

import io

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.budget import available_bytes, readable, require, row_blocks, triangle_blocks
from simcomplete._rows.progress import track
from simcomplete.errors import MemoryLimitError, MissingExtraError, optional


@pytest.mark.parametrize("n", [1, 7, 100])
@pytest.mark.parametrize("budget", [1, 64, 10**9])
def test_blocks_cover_every_row_once(n, budget):
    rows = [i for block in row_blocks(n, 8, budget) for i in range(n)[block]]
    assert rows == list(range(n))
    seen = np.zeros((n, n), dtype=int)
    for r, c in triangle_blocks(n, 8, budget):
        seen[r, c] += 1
    assert (seen[np.triu_indices(n)] == 1).all()


def test_memory_is_measured_and_can_be_told(monkeypatch):
    assert available_bytes() > 2**20
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "5e6")
    assert available_bytes() == 5_000_000
    require(5_000_000, "it", "nothing")
    with pytest.raises(MemoryLimitError, match=r"it needs 4.8 MiB and 4.8 MiB are free; try less"):
        require(5_000_001, "it", "try less")


def test_a_similarity_matrix_that_cannot_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e5")
    with pytest.raises(MemoryLimitError, match=r"the 200 x 200 similarity matrix needs 312.5 KiB.*candidates"):
        sc.overlap_similarity(np.ones((200, 3)))
    with pytest.raises(MemoryError):
        sc.overlap_counts(np.ones((200, 3)))


def test_candidates_and_queries_need_no_such_matrix(monkeypatch):
    X = np.random.default_rng(0).random((3000, 4))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "2e6")  # 3001 x 3001 would be 72 MB
    done = sc.complete(X, np.array([[1.0, np.nan, 0.5, np.nan]]), method="smcnn", rank=3)
    assert done.params["route"] == "structured"
    assert done.search(k=2).ids.shape == (1, 2)
    with pytest.raises(MemoryLimitError, match="search"):
        done.similarity()


def test_sizes_in_words():
    assert [readable(s) for s in (12, 2048, 5 * 2**20, 7 * 2**30, 3 * 2**40)] == [
        "12 B",
        "2.0 KiB",
        "5.0 MiB",
        "7.0 GiB",
        "3.0 TiB",
    ]


def test_progress_is_quiet_unless_on_a_terminal_or_asked():
    silent, loud = io.StringIO(), io.StringIO()
    assert list(track(range(3), "x", stream=silent, patience=0)) == [0, 1, 2]
    assert silent.getvalue() == ""
    assert list(track(iter("ab"), "reading", True, total=2, stream=loud, patience=0)) == ["a", "b"]
    assert "reading" in loud.getvalue()
    assert loud.getvalue().endswith(" \r")
    off = io.StringIO()
    list(track(range(3), "x", False, stream=off, patience=0))
    assert off.getvalue() == ""


def test_progress_waits_two_seconds():
    loud = io.StringIO()
    list(track(range(3), "x", True, stream=loud))
    assert loud.getvalue() == ""


def test_a_missing_extra_says_how_to_install_it():
    with pytest.raises(
        MissingExtraError, match=r"drawing needs the package 'nowhere'.*pip install 'simcomplete\[cli\]'"
    ):
        optional("nowhere.module", extra="cli", purpose="drawing")


def test_methods_print_as_a_table():
    lines = repr(sc.methods()).splitlines()
    assert lines[0].split()[:3] == ["name", "family", "acts_on"]
    assert len(lines) == len(sc.methods()) + 1
    assert {m.name for m in sc.methods()} >= {"overlap", "smcnn", "smcnmf", "smc_nr", "smc_f"}
