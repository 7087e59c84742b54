"""Files: everything comes back, nothing half-written is left, nothing foreign or changed is read."""

import errno
import json
import os

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._result.archive import digest_of
from simcomplete.errors import DiskFullError, FileFormatError, InputError


@pytest.fixture
def done(small):
    P, Q, _ = small
    return sc.complete(pd.DataFrame(P, index=[f"p{i}" for i in range(60)]), Q, rank=6)


@pytest.fixture
def saved(done, tmp_path):
    done.save(tmp_path / "done")
    return tmp_path / "done"


@pytest.mark.parametrize("method", ["smcnn", "overlap"])
def test_everything_comes_back(small, tmp_path, method):
    P, Q, _ = small
    Q = Q.copy()
    Q[0] = np.nan
    before = sc.complete(P, Q, method=method)
    before.save(tmp_path / "a")
    after = sc.load(tmp_path / "a")
    np.testing.assert_array_equal(after.similarity(), before.similarity())
    assert after.summary() == before.summary()
    assert after.certificate == before.certificate
    assert after.evidence == before.evidence
    assert after.status == before.status
    np.testing.assert_array_equal(after.search(3).ids, before.search(3).ids)
    np.testing.assert_array_equal(after.similarity(keep_candidates=True), before.similarity(keep_candidates=True))


def test_labels_and_views_come_back(done, tmp_path):
    view = done.view(unit_diagonal=True, keep_candidates=True, clip=True)
    view.save(tmp_path / "a")
    after = sc.load(tmp_path / "a")
    assert after.labels == done.labels
    np.testing.assert_array_equal(after.similarity(), view.similarity())
    assert after.params == view.params


def test_a_given_matrix_comes_back(tmp_path):
    S0 = np.eye(5) + 0.1
    done = sc.complete_similarity(S0, candidates=np.array([False, True, True, True, False]))
    done.save(tmp_path / "a")
    after = sc.load(tmp_path / "a")
    np.testing.assert_array_equal(after.order, done.order)
    np.testing.assert_array_equal(after.similarity(keep_candidates=True), done.similarity(keep_candidates=True))


def test_candidates_can_stay_behind(done, tmp_path):
    done.save(tmp_path / "a", candidates=False)
    assert not (tmp_path / "a" / "candidates.npy").exists()
    after = sc.load(tmp_path / "a")
    np.testing.assert_array_equal(after.factor, done.factor)
    with pytest.raises(InputError, match="does not contain it"):
        after.view(keep_candidates=True)


def test_existing_folders_are_safe(done, saved, tmp_path):
    with pytest.raises(InputError, match=r"exists already.*overwrite=True"):
        done.save(saved)
    done.view(unit_diagonal=True).save(saved, overwrite=True)
    assert sc.load(saved).params["unit_diagonal"]
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_text("meow")
    with pytest.raises(InputError, match="not a saved completion"):
        done.save(other, overwrite=True)
    assert (other / "cat.jpg").read_text() == "meow"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["done", "photos"]


def test_a_folder_with_the_files_of_others_is_left_alone(done, saved):
    (saved / "notes.txt").write_text("mine")
    (saved / "more").mkdir()
    with pytest.raises(InputError, match=r"holds 2 files or folders that save\(\) did not write: more, notes.txt;"):
        done.save(saved, overwrite=True)
    assert (saved / "notes.txt").read_text() == "mine"


def test_a_full_disk_leaves_nothing(done, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError, match=r"a: No space left on device: .* KiB needed and .*nothing was written"):
        done.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_one(done, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        done.save(saved, overwrite=True)
    np.testing.assert_array_equal(sc.load(saved).factor, done.factor)


def test_ctrl_c_leaves_nothing(done, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        done.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_missing_and_foreign_folders(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        sc.load(tmp_path / "nowhere")
    with pytest.raises(FileFormatError, match="not a saved model or completion"):
        sc.load(tmp_path)
    (tmp_path / "completion.json").write_text('{"format": "something else"}')
    with pytest.raises(FileFormatError, match="written by something else"):
        sc.load(tmp_path)
    (tmp_path / "completion.json").write_text("[1, 2]")
    with pytest.raises(FileFormatError, match="written by something else"):
        sc.load(tmp_path)


@pytest.mark.parametrize("name", ["completion.json", "factor.npy", "candidates.npy"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_truncated_files(saved, name, share):
    file = saved / name
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileFormatError, match=name):
        sc.load(saved)


def test_every_single_file_is_needed(saved):
    for file in sorted(saved.glob("*.npy")):
        data = file.read_bytes()
        file.unlink()
        with pytest.raises(FileFormatError, match=f"{file.name} is missing"):
            sc.load(saved)
        file.write_bytes(data)
    sc.load(saved)


def test_changed_bytes_are_noticed(saved):
    file = saved / "factor.npy"
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(FileFormatError, match="changed after it was written"):
        sc.load(saved)


def test_changed_facts_are_noticed(saved):
    file = saved / "completion.json"
    index = json.loads(file.read_text())
    index["facts"]["method"] = "better"
    file.write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="changed after it was written"):
        sc.load(saved)


def test_pickles_are_never_opened(saved):
    """Even with checksums that fit: an object array is refused by the reader itself."""
    import hashlib

    file = saved / "factor.npy"
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    index = json.loads((saved / "completion.json").read_text())
    index["arrays"]["factor"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    index["sha256"] = digest_of(index)
    (saved / "completion.json").write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="Python objects, which are never loaded"):
        sc.load(saved)


def test_names_that_lead_elsewhere_are_refused(saved):
    index = json.loads((saved / "completion.json").read_text())
    index["arrays"]["../../secret"] = index["arrays"].pop("factor")
    index["sha256"] = digest_of(index)
    (saved / "completion.json").write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="unknown array"):
        sc.load(saved)


def test_facts_that_do_not_fit_are_refused(saved):
    index = json.loads((saved / "completion.json").read_text())
    del index["facts"]["status"]
    index["sha256"] = digest_of(index)
    (saved / "completion.json").write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="status"):
        sc.load(saved)
