"""What is saved and said of small results, entry by entry, and where large ones begin."""

import json

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result import archive, searching, store, summary
from simcomplete._result.archive import digest_of, read_archive, write_archive
from simcomplete._result.certificate import Certificate
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.budget import working_memory
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.exact import CandidateRows
from simcomplete._similarity.measure import Evidence, Measure
from simcomplete.errors import FileFormatError, InputError

F = np.arange(12.0).reshape(4, 3)
EXACT = CandidateRows(HeldRows(np.array([[1.0, 2.0], [3.0, 4.0]])), Measure())


def result(matrix=None, **facts):
    return Completion(matrix or SymmetricMatrix(F), **{"n_candidates": 2, "method": "test", **facts})


@pytest.mark.parametrize("memory", [None, 24 * 3 * 2])
def test_arrays_come_back(tmp_path, memory, monkeypatch):
    arrays = {
        "factor": HeldRows(F),
        "signs": np.array([1.0, -1, 1]),
        "order": np.array([2, 0, 1, 3]),
        "dense": np.eye(2, dtype=np.float32),
    }
    with working_memory(memory):
        write_archive(tmp_path / "a", arrays, {"one": 1.5})
    found = read_archive(tmp_path / "a")
    assert found.metadata == {"one": 1.5}
    assert found.version == 3
    for name, array in arrays.items():
        np.testing.assert_array_equal(found.arrays[name], np.asarray(array[:, :]) if name == "factor" else array)
        assert found.arrays[name].dtype == array.dtype
    index = json.loads((tmp_path / "a" / "completion.json").read_text())
    assert index["arrays"]["factor"]["shape"] == [4, 3]
    assert index["arrays"]["dense"]["dtype"] == "<f4"
    # Above the limit tables stay in their files: here one byte below and at the size of this one.
    size = (tmp_path / "a" / "factor.npy").stat().st_size
    monkeypatch.setattr(archive, "READ_BELOW_BYTES", size)
    assert isinstance(read_archive(tmp_path / "a").arrays["factor"], np.ndarray)
    monkeypatch.setattr(archive, "READ_BELOW_BYTES", size - 1)
    table = read_archive(tmp_path / "a").arrays
    assert isinstance(table["factor"], SourceRows)
    assert isinstance(table["signs"], np.ndarray)
    np.testing.assert_array_equal(table["factor"][1:3, :], F[1:3])
    np.testing.assert_array_equal(table["factor"][2:, :], F[2:])
    np.testing.assert_array_equal(table["factor"].take(np.array([3, 0])), F[[3, 0]])


def test_how_files_are_written(tmp_path, monkeypatch):
    """Rows as they are read, in float64 on the way, and as they are written: 24 bytes a value; an index to read."""
    asked, plain = [], archive.row_blocks
    monkeypatch.setattr(archive, "row_blocks", lambda n, width: asked.append((n, width)) or plain(n, width))
    write_archive(tmp_path / "a", {"factor": HeldRows(F), "signs": np.ones(5)}, {})
    assert asked == [(4, 72), (5, 24)]
    lines = (tmp_path / "a" / "completion.json").read_text().splitlines()
    assert lines[:2] == ["{", ' "format": "simcomplete-completion",']


def test_tables_up_to_four_mebibytes_are_read_at_once():
    assert archive.READ_BELOW_BYTES == 4 * 1024 * 1024


def test_nothing_is_written_over_unless_asked(tmp_path):
    write_archive(tmp_path / "a", {"signs": np.ones(2)}, {})
    with pytest.raises(InputError, match="exists already"):
        write_archive(tmp_path / "a", {}, {})
    write_archive(tmp_path / "a", {"signs": np.zeros(3)}, {}, overwrite=True)
    assert read_archive(tmp_path / "a").arrays["signs"].tolist() == [0, 0, 0]
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="not a saved completion"):
        write_archive(tmp_path / "b", {}, {}, overwrite=True)
    with pytest.raises(ValueError, match="JSON"):
        write_archive(tmp_path / "c", {}, {"bad": float("nan")})


def edited(folder, **changes):
    """Change the index and its checksum with it."""
    file = folder / "completion.json"
    index = json.loads(file.read_text()) | changes
    index["sha256"] = digest_of(index)
    file.write_text(json.dumps(index))


@pytest.mark.parametrize("version", [0, 4, -1, None, "2"])
def test_versions_that_are_not_read(tmp_path, version):
    write_archive(tmp_path / "a", {}, {})
    edited(tmp_path / "a", version=version)
    with pytest.raises(FileFormatError, match="reads 1 to 3"):
        read_archive(tmp_path / "a")
    edited(tmp_path / "a", version=1)
    assert read_archive(tmp_path / "a").version == 1


@pytest.mark.parametrize(("shape", "dtype"), [([2], "<f8"), ([3], "<f4"), ([2], "<f4")])
def test_arrays_that_are_not_what_the_index_says(tmp_path, shape, dtype):
    write_archive(tmp_path / "a", {"signs": np.ones(3)}, {})
    index = json.loads((tmp_path / "a" / "completion.json").read_text())
    index["arrays"]["signs"] |= {"shape": shape, "dtype": dtype}
    edited(tmp_path / "a", arrays=index["arrays"])
    with pytest.raises(FileFormatError, match="expected"):
        read_archive(tmp_path / "a")


@pytest.mark.parametrize("entry", [7, None, ["shape", "dtype", "sha256"], {"shape": [2], "dtype": "float64"}])
def test_an_index_whose_arrays_are_not_described(tmp_path, entry):
    write_archive(tmp_path / "a", {"signs": np.ones(2)}, {})
    index = json.loads((tmp_path / "a" / "completion.json").read_text())
    index["arrays"]["signs"] = entry
    index["sha256"] = digest_of(index)
    (tmp_path / "a" / "completion.json").write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="an array has no shape"):
        read_archive(tmp_path / "a")


def test_an_index_of_something_else(tmp_path):
    for text in ("[1]", '{"format": "other"}'):
        (tmp_path / "completion.json").write_text(text)
        with pytest.raises(FileFormatError, match="does not describe"):
            read_archive(tmp_path)
    assert digest_of({"b": 1, "a": 2, "sha256": "x"}) == digest_of({"a": 2, "b": 1})


def test_every_part_of_a_result_comes_back(tmp_path):
    certificate = Certificate(1.0, 0.5, 0.5, 2.0, 0.1, 0.2, None, 0.3, 3, True, True)
    evidence = Evidence(**{**dict.fromkeys(Evidence.__dataclass_fields__, 1), "rows_without": (1, 3)})
    matrix = SymmetricMatrix(F, np.array([1.0, -1.0, 1.0]), np.ones(4), bounds=(-0.5, 0.75), unit=True)
    model = IntervalModel(np.array([0.5, 0.25]), np.linspace(0, 1, 1001))
    before = result(
        matrix,
        certificate=certificate,
        evidence_source=evidence,
        interval_model=model,
        exact=EXACT,
        order=np.array([3, 1, 0, 2]),
        labels=list("abcd"),
        choice={"k": 5},
        history=[{"x": 1.0}],
    )
    before.save(tmp_path / "a")
    with pytest.raises(InputError, match="exists already"):
        before.save(tmp_path / "a")
    after = sc.load(tmp_path / "a")
    assert (after.certificate, after.evidence, after.labels) == (certificate, evidence, list("abcd"))
    assert (after.matrix.bounds, after.matrix.unit, after.choice) == ((-0.5, 0.75), True, {"k": 5})
    for name in ("factor", "signs", "diagonal"):
        np.testing.assert_array_equal(getattr(after.matrix, name), getattr(matrix, name))
    np.testing.assert_array_equal(after.interval_model.spread, model.spread)
    np.testing.assert_array_equal(after.interval_model.quantiles, model.quantiles)
    np.testing.assert_array_equal(after.order, before.order)
    np.testing.assert_array_equal(after.exact.rows(slice(0, 2)), EXACT.rows(slice(0, 2)))
    arrays, metadata = store.to_arrays_and_metadata(before)
    assert "candidates" in arrays
    assert metadata["exact"]["kind"] == "rows"
    without, _ = store.to_arrays_and_metadata(before, candidates=False)
    assert "candidates" not in without
    before.save(tmp_path / "b", candidates=False)
    assert sc.load(tmp_path / "b").exact is None
    bare = result(SymmetricMatrix(dense=np.eye(4)))
    store.write(bare, tmp_path / "c")
    loaded = sc.load(tmp_path / "c")
    assert (loaded.certificate, loaded.evidence, loaded.interval_model, loaded.exact) == (None, None, None, None)
    assert (loaded.matrix.factor, loaded.matrix.bounds) == (None, None)
    with pytest.raises(InputError, match="exists already"):
        store.write(bare, tmp_path / "c")
    write_archive(tmp_path / "d", {"signs": np.ones(3)}, metadata)
    with pytest.raises(FileFormatError, match="factor"):
        sc.load(tmp_path / "d")


def test_a_factor_that_begins_with_the_candidates_is_stored_once(tmp_path):
    below = np.array([[0.5, 0.25], [0.0, 1.0]])
    before = result(SymmetricMatrix(UnitRows(EXACT.source, below), unit=True), exact=EXACT)
    arrays, metadata = store.to_arrays_and_metadata(before)
    assert sorted(arrays) == ["candidates", "factor_below"]
    np.testing.assert_array_equal(arrays["factor_below"][:, :], below)
    before.save(tmp_path / "a")
    after = sc.load(tmp_path / "a")
    assert after.exact.are_first_rows_of(after.matrix.factor)
    np.testing.assert_allclose(after.matrix.factor[0:4, :], [*EXACT.rows(slice(0, 2)), *below])
    alone, metadata = store.to_arrays_and_metadata(before, candidates=False)
    assert sorted(alone) == ["factor"]
    assert metadata["factor"] == "rows"


# What is said without long work


class Shape:
    """A factor that is only as large as it says."""

    def __init__(self, *shape):
        self.shape, self.dtype = shape, np.dtype(np.float64)


@pytest.mark.parametrize(
    ("shape", "work", "cheap"),
    [((10, 10), 10**10, True), ((10, 10), 10**10 + 1, False), ((2**20, 32), 1, True), ((2**20, 33), 1, False)],
)
def test_ten_billion_multiplications_and_a_quarter_of_a_gibibyte_are_cheap(shape, work, cheap):
    done = result(SymmetricMatrix(Shape(*shape)))
    assert summary.is_cheap(done, work) is cheap


def test_evidence_is_counted_where_that_is_quick(monkeypatch):
    evidence = Evidence(**{**dict.fromkeys(Evidence.__dataclass_fields__, 1), "rows_without": ()})
    done = result(evidence_source=lambda: evidence, n_candidates=1)  # 1 x 3 pairs of 3 columns
    monkeypatch.setattr(summary, "CHEAP_WORK", 8)
    assert summary.summary(done)["evidence"] is None
    monkeypatch.setattr(summary, "CHEAP_WORK", 9)
    assert summary.summary(done)["evidence"] == evidence.as_dict()
    monkeypatch.setattr(summary, "CHEAP_WORK", 0)
    assert summary.summary(done)["evidence"] == evidence.as_dict()  # known by now
    assert summary.summary(result(evidence_source=evidence))["evidence"] == evidence.as_dict()
    told = summary.summary(done)
    assert (told["rank"], told["rank_at_most"], told["certificate"]) == (None, 3, None)
    assert done.rank == 2
    assert summary.summary(done)["rank"] == 2  # known by now


def test_an_index_is_over_the_candidates(monkeypatch):
    monkeypatch.setattr(searching, "IndexCache", lambda matrix, candidates: candidates)
    assert result()._indexes == slice(0, 2)
