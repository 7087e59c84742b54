"""Folders that simcomplete 0.1 wrote (format version 1) are still read, to the last digit that it computed.

They were made with version 0.1.0: candidates ``rng.random((48, 4))`` of seed 0 and three queries with missing values.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result.archive import digest_of
from simcomplete.errors import FileFormatError

FORMAT_1 = Path(__file__).parent / "format_1"
NAMES = ["posterior", "smcnn", "dmc", "signs", "rows"]


@pytest.fixture(scope="module")
def expected():
    return np.load(FORMAT_1 / "expected.npz")


@pytest.fixture(params=["read at once", "left in their files"])
def size(request, monkeypatch):
    if request.param != "read at once":
        monkeypatch.setattr("simcomplete._result.archive.READ_BELOW_BYTES", 0)


@pytest.mark.parametrize("name", NAMES)
def test_version_1_is_read(name, expected, size, tmp_path):
    assert json.loads((FORMAT_1 / name / "completion.json").read_text())["version"] == 1
    before = sc.load(FORMAT_1 / name)
    before.save(tmp_path / "again")
    assert json.loads((tmp_path / "again" / "completion.json").read_text())["version"] == 3
    for done in (before, sc.load(tmp_path / "again")):
        np.testing.assert_allclose(done.similarity(), expected[f"{name}_similarity"], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(done.search(k=2).ids, expected[f"{name}_ids"])
        if f"{name}_low" in expected:
            low, high = done.interval(0.8)
            np.testing.assert_allclose(low, expected[f"{name}_low"], rtol=0, atol=1e-14)
            np.testing.assert_allclose(high, expected[f"{name}_high"], rtol=0, atol=1e-14)
        json.dumps(done.summary(), allow_nan=False)
        assert done.validity.symmetric.ok


def test_version_1_has_everything(size):
    done = sc.load(FORMAT_1 / "smcnn")
    assert (done.method, done.n_candidates, done.n_queries, done.rank) == ("smcnn", 8, 3, 3)
    assert done.labels == [f"p{i}" for i in range(8)] + ["a", "b", "c"]
    assert done.status.code == "optimal"
    assert done.certificate.optimal
    assert done.evidence.pairs == 55
    assert done.view(keep_candidates=True).validity.candidates_exact.ok
    assert not done.all_rows_are_queries
    assert sc.load(FORMAT_1 / "rows").all_rows_are_queries
    assert sc.load(FORMAT_1 / "dmc").order.tolist() == [1, 2, 0, 3]
    assert sc.load(FORMAT_1 / "dmc").view(keep_candidates=True).validity.candidates_exact.ok
    signs = sc.load(FORMAT_1 / "signs")
    assert (signs.signs == -1).sum() == 2
    assert signs.params["clip"] is True
    assert signs.matrix.bounds == (-1.0, 1.0)


@pytest.mark.parametrize("version", [0, 4, 99, "2", None, 1.5])
def test_other_versions_are_named(version, tmp_path, small):
    sc.complete(*small[:2], method="smcnn").save(tmp_path / "a")
    file = tmp_path / "a" / "completion.json"
    index = json.loads(file.read_text())
    index["version"] = version
    index["sha256"] = digest_of(index)
    file.write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match=f"format version {version!r} and this simcomplete reads 1 to 3; upgrade"):
        sc.load(tmp_path / "a")
