"""`simcomplete repair`: labels, options, files of weights and of values to hold, and what is refused."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.datasets import read_table

A = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text(",x,y,z\nx,1,0.9,0.2\ny,0.9,1,0.9\nz,0.2,0.9,1\n")
    (tmp_path / "mixed.csv").write_text(",z,x,y\nx,0.2,1,0.9\ny,0.9,0.9,1\nz,1,0.2,0.9\n")
    (tmp_path / "fixed.csv").write_text(",x,y,z\nx,1,0.9,\ny,0.9,1,\nz,,,1\n")
    (tmp_path / "w.csv").write_text("weight\n1\n2\n3\n")
    (tmp_path / "bad.csv").write_text(",x,y,q\nx,1,0.9,0.2\ny,0.9,1,0.9\nz,0.2,0.9,1\n")
    return tmp_path


def test_a_file_is_repaired_and_keeps_its_labels(files, run):
    told = run("repair", "c.csv", "-o", "out.csv", "--min-eigenvalue", "1e-8").stdout
    assert "saved: out.csv" in told
    assert "before" in told
    table = read_table("out.csv")
    assert table.columns == table.labels == ["x", "y", "z"]
    np.testing.assert_array_equal(table.values, sc.nearest_correlation(A, min_eigenvalue=1e-8).matrix)


def test_columns_in_another_order_are_put_in_order(files, as_json):
    facts = as_json("repair", "mixed.csv", "-o", "out.csv")
    assert "another order" in facts["notes"][0]
    np.testing.assert_allclose(read_table("out.csv").values, sc.nearest_correlation(A).matrix, atol=1e-12)
    assert facts["certificate"]["relative_gap"] < 1e-8
    assert facts["moved"][0].keys() == {"row", "column", "before", "after", "change"}


def test_values_to_hold_and_weights_come_from_files(files, run):
    run("repair", "c.csv", "-o", "held.csv", "--fixed", "fixed.csv")
    held = np.full((3, 3), np.nan)
    held[0, 1] = 0.9
    np.testing.assert_array_equal(read_table("held.csv").values, sc.nearest_correlation(A, fixed=held).matrix)
    run("repair", "c.csv", "-o", "w.npy", "--weights", "w.csv")
    np.testing.assert_array_equal(np.load("w.npy"), sc.nearest_correlation(A, weights=[1, 2, 3]).matrix)
    (files / "elements.csv").write_text(",y,x,z\ny,0,2,1\nx,2,0,5\nz,1,5,0\n")  # in another order
    run("repair", "c.csv", "-o", "elements.npy", "--weights", "elements.csv")
    H = np.array([[0, 2, 5], [2, 0, 1], [5, 1, 0.0]])
    np.testing.assert_array_equal(np.load("elements.npy"), sc.nearest_correlation(A, weights=H).matrix)


def test_labelled_weights_are_put_in_the_order_of_the_matrix(files, run, fails):
    (files / "named.csv").write_text("name,weight\nz,3\nx,1\ny,2\n")
    run("repair", "c.csv", "-o", "w.npy", "--weights", "named.csv")
    np.testing.assert_array_equal(np.load("w.npy"), sc.nearest_correlation(A, weights=[1, 2, 3]).matrix)
    (files / "other.csv").write_text("name,weight\nz,3\nx,1\nq,2\n")
    assert "'q' only in weights; 'y' only in A" in fails("repair", "c.csv", "-o", "o.npy", "--weights", "other.csv")


def test_options_say_how_the_files_are_read(files, run, fails):
    (files / "odd.csv").write_text("kind;name;x;y;z\na;x;1;0,9;0,2\nb;y;0,9;1;lost\nc;z;0,2;lost;1\n")
    asked = ("repair", "odd.csv", "-o", "o.npy", "--id", "name", "--drop", "kind")
    assert "use --missing-value lost" in fails(*asked)
    run(*asked, "--missing-value", "lost")
    unknown = A.copy()
    unknown[1, 2] = unknown[2, 1] = np.nan
    np.testing.assert_array_equal(np.load("o.npy"), sc.nearest_correlation(unknown).matrix)


def test_what_cannot_be_done_is_one_line(files, fails, run):
    assert "'z' only in rows; 'q' only in columns" in fails("repair", "bad.csv", "-o", "o.csv")
    assert "ends in '.txt'" in fails("repair", "c.csv", "-o", "o.txt")
    assert not (files / "o.csv").exists()
    run("repair", "c.csv", "-o", "o.csv")
    assert "exists already" in fails("repair", "c.csv", "-o", "o.csv")
    run("repair", "c.csv", "-o", "o.csv", "--overwrite", "--rescale")
    assert "--min-eigenvalue 2.0" in fails("repair", "c.csv", "-o", "p.csv", "--min-eigenvalue", "2")
