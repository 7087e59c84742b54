"""What is said of a result at a glance costs nothing, however large it is."""

import json
from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.table import RowTable
from simcomplete._similarity.exact import CandidateRows
from simcomplete._similarity.measure import Measure


class Unread(RowTable):
    """Rows that must not be read."""

    def __init__(self, n, d):
        super().__init__((n, d), np.dtype(np.float64))

    def read(self, start, stop):
        pytest.fail(f"rows {start} to {stop} were read")


def large(exact=True, **form):
    table = Unread(1_000_000, 1000)
    diagonal = np.zeros(1_000_005)
    matrix = SymmetricMatrix(factor=UnitRows(table, np.zeros((5, 1000))), diagonal=diagonal, unit=True)

    def count():
        pytest.fail("evidence was counted")

    return Completion(
        matrix if not form else SymmetricMatrix(factor=table, **form),
        n_candidates=1_000_000,
        method="test",
        evidence_source=count,
        exact=CandidateRows(table, Measure()) if exact else None,
    )


def test_a_large_result_is_described_by_its_form():
    done = large()
    facts = json.loads(json.dumps(done.summary(), allow_nan=False))
    assert facts["rank"] is None
    assert facts["rank_at_most"] == 1000
    assert facts["evidence"] is None
    assert list(facts["validity"]) == ["symmetric", "psd", "unit_diagonal", "bounded", "candidates_exact"]
    assert all(check["ok"] and "form" in check["meaning"] for check in facts["validity"].values())
    assert repr(done).endswith("rank=<=1000, status='computed')")
    assert "5 of 5 checks hold" in done._repr_html_()


def test_only_what_the_form_answers_is_said():
    assert list(large(signs=np.ones(1000)).summary()["validity"]) == ["symmetric"]
    assert list(large().view(clip=True).summary()["validity"]) == ["symmetric", "unit_diagonal", "bounded"]
    plain = large(exact=False, diagonal=np.full(1_000_000, -1.0)).summary()["validity"]
    assert {name: check["ok"] for name, check in plain.items()} == {
        "symmetric": True,
        "psd": False,
        "candidates_exact": True,
    }


def test_what_the_form_answers_is_what_the_numbers_say(imagelike, monkeypatch):
    done = sc.complete(*imagelike, method="posterior", effort="fast")
    factor = UnitRows(done.exact.source, done.factor[900:])
    done, same = (replace(done, matrix=replace(done.matrix, factor=factor)) for _ in range(2))
    numbers = done.validity
    monkeypatch.setattr("simcomplete._result.summary.CHEAP_WORK", 0)
    form = same.summary()["validity"]
    assert {name: check["ok"] for name, check in form.items()} == {name: c.ok for name, c in vars(numbers).items()}
    assert done.summary()["validity"]["psd"]["value"] == numbers.psd.value  # what is known already is said


def test_a_memory_limit_is_no_obstacle(imagelike, monkeypatch):
    P, Q = imagelike
    done = sc.complete(P, Q, method="smcnn", rank=10)
    full = done.summary()
    dense = sc.complete(P[:5], Q, method="overlap")
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    assert dense.summary()["rank"] is None
    assert full["rank"] == 10
    assert done.summary() == full


def test_the_table_for_notebooks_is_escaped(small):
    done = sc.complete(small[0], small[1], method="smcnn", rank=5)
    text = done._repr_html_().replace(' style="text-align:left"', "")
    for part in ("<th>method</th><td>smcnn</td>", "<th>candidates</th><td>60</td>", "<th>rank</th><td>5</td>"):
        assert part in text
    assert "2 of 5 checks hold; not: unit diagonal, bounded, candidates exact" in text
    hostile = "<script>alert('&')</script>"
    wrong = Completion(SymmetricMatrix(np.eye(2)), n_candidates=2, method=hostile, status=Status(hostile, hostile))
    text = wrong._repr_html_()
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 3


def test_together_is_still_understood(small):
    for given, expected in ((small[:1], True), (small[:2], False)):
        with pytest.warns(FutureWarning, match="all_rows_are_queries") as caught:
            assert sc.complete(*given, method="smcnn").together is expected
        assert caught[0].filename == __file__
