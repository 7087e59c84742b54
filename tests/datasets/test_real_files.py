"""Real files of every format, where the folder named by SIMCOMPLETE_DATA has them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from simcomplete.datasets import available, load, read_table
from simcomplete.errors import FileFormatError

FOLDER = Path(os.environ.get("SIMCOMPLETE_DATA") or "nowhere")
SHAPES = {
    "agnews": 384,
    "cifar10": 1024,
    "googlenews": 300,
    "imagenet": 1000,
    "imagenet_bovw": 1000,
    "imagenet_cnn": 1000,
    "mnist": 784,
    "protein": 357,
    "usps": 256,
}


def fixture(name):
    path = FOLDER / "formats" / name
    if not path.is_file():
        pytest.skip(f"{name} is not in the folder formats of SIMCOMPLETE_DATA")
    return path


@pytest.mark.parametrize("name", SHAPES)
def test_data_sets(name):
    if not FOLDER.is_dir() or name not in available():
        pytest.skip(f"{name} is not in SIMCOMPLETE_DATA")
    data = load(name, limit=500)
    assert data.X.shape == (500, SHAPES[name])
    assert np.isfinite(data.X).all()


def test_mnist():
    data = load("mnist", fixture("mnist200-images-idx3-ubyte.gz"))
    assert data.X.shape == (200, 784)
    assert data.X.max() == 255
    assert set(data.y) == set(range(10))


def test_cifar():
    data = load("x", fixture("cifar40_data_batch_1.bin"))
    assert data.X.shape == (40, 1024)
    assert data.X.max() <= 255
    assert set(data.y) <= set(range(10))
    with pytest.raises(FileFormatError, match=r"cifar-10-binary\.tar\.gz"):
        load("x", fixture("cifar40_data_batch_1"))


def test_protein_with_and_without_blanks():
    one, two = load("protein", fixture("protein200_quirk.bz2")), load("protein", fixture("protein200.svm.bz2"))
    assert one.X.shape == (200, 357)
    assert_array_equal(one.X, two.X)
    assert_array_equal(one.y, two.y)


def test_word_vectors_in_three_forms():
    binary = read_table(fixture("googlenews200.bin"))
    text, glove = read_table(fixture("googlenews200.w2v.txt")), read_table(fixture("googlenews200.glove.txt"))
    assert binary.labels == text.labels
    assert glove.labels == binary.labels[: len(glove.labels)]
    assert_allclose(text.values, binary.values, atol=1e-6)  # six digits are written
    assert_allclose(glove.values, binary.values[: len(glove.values)], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "missing", "shape", "share"),
    [
        ("communities100_qmark.csv", "?", (100, 122), 0.1587),
        ("jester200_99_is_missing.csv", 99, (200, 100), 0.2859),
        ("lymphoma100_NA.tsv", (), (100, 40), 0.0778),
    ],
)
def test_tables_with_missing_values(name, missing, shape, share):
    values = read_table(fixture(name), missing=missing).values
    assert values.shape == shape
    assert np.isnan(values).mean() == pytest.approx(share, abs=1e-4)
