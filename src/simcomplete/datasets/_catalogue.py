"""Which data sets are known: a row each, with the names of their files and where those come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simcomplete.datasets._formats.source import PACKED


@dataclass(frozen=True)
class Entry:
    """A data set that lies in files.

    Attributes
    ----------
    name : str
        What `load` calls it.
    choices : tuple of tuple of str
        Names of files, best first. The parts of a choice are read one after the other.
    source : str
        Where the files come from, for the message when they are not there.
    folders : tuple of str
        Folders below the given one to look in as well.
    otherwise : str, optional
        The format of files whose name does not tell one.
    features : int, optional
        How many features there are, where a file cannot tell.
    image_shape : tuple of int, optional
        Height and width where each sample is a picture.
    openml : int, optional
        Its number at OpenML.
    """

    name: str
    choices: tuple[tuple[str, ...], ...]
    source: str
    folders: tuple[str, ...] = ()
    otherwise: str | None = None
    features: int | None = None
    image_shape: tuple[int, int] | None = None
    openml: int | None = None

    def find(self, folder: Path) -> tuple[Path, ...]:
        """Return the files of the first choice of which there is any."""
        places = [folder, *(folder / name for name in (*self.folders, self.name))]
        for parts in self.choices:
            for place in places:
                found = [_first(place, part) for part in parts]
                if any(found):
                    return tuple(path for path in found if path is not None)
        return ()


def _first(place: Path, name: str) -> Path | None:
    choices = [place / name]
    if not name.endswith(ARRAYS):
        choices += [place / (name + ending) for ending in PACKED]
    return next((path for path in choices if path.is_file()), None)


ARRAYS = (".npz", ".npy", ".parquet", ".csv")
_CIFAR = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


def _own(*names: str) -> tuple[tuple[str, ...], ...]:
    """Files that one wrote oneself."""
    return tuple((name + ending,) for name in names for ending in ARRAYS[:2])


def custom(name: str) -> Entry:
    """Make an entry for a file NAME.npz, .npy, .parquet or .csv that is in no catalogue."""
    return Entry(name, tuple((name + ending,) for ending in ARRAYS), "save your samples under one of these names")


_ENTRIES = [
    Entry(
        "mnist",
        (
            ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte"),
            ("train-images.idx3-ubyte", "t10k-images.idx3-ubyte"),
            *_own("mnist"),
        ),
        "the four IDX files of MNIST, from any mirror",
        folders=("MNIST/raw",),
        image_shape=(28, 28),
        openml=554,
    ),
    Entry(
        "cifar10",
        (_CIFAR, tuple(f"{name}.bin" for name in _CIFAR), *_own("cifar10_gray", "cifar10")),
        "cifar-10-python.tar.gz or cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, unpacked",
        folders=("cifar-10-batches-py", "cifar-10-batches-bin"),
        image_shape=(32, 32),
        openml=40927,
    ),
    Entry(
        "protein",
        (("protein", "protein.t"), *_own("protein")),
        "protein.bz2 and protein.t.bz2 from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html",
        otherwise="svmlight",
        features=357,
    ),
    Entry(
        "googlenews",
        (
            ("GoogleNews-vectors-negative300.bin",),
            ("GoogleNews-vectors-negative300.txt",),
            *_own("googlenews300", "googlenews"),
        ),
        "GoogleNews-vectors-negative300.bin.gz, linked at https://code.google.com/archive/p/word2vec",
    ),
    Entry(
        "imagenet",
        _own("imagenet", "imagenet_bovw1000", "imagenet_bovw"),
        "counts of 1,000 visual words, one row per picture, which you compute from ImageNet",
    ),
    Entry(
        "imagenet_bovw",
        _own("imagenet_bovw1000", "imagenet_bovw"),
        "counts of 1,000 visual words (SIFT), one row per picture, which you compute from ImageNet",
    ),
    Entry(
        "imagenet_cnn",
        _own("imagenet_cnn1000", "imagenet_cnn"),
        "the 1,000 class scores of a network, one row per picture, which you compute from ImageNet",
    ),
    Entry(
        "usps",
        (("usps", "usps.t"), *_own("usps")),
        "usps.bz2 and usps.t.bz2 from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html",
        otherwise="svmlight",
        features=256,
        image_shape=(16, 16),
        openml=41082,
    ),
    Entry(
        "agnews",
        _own("agnews_minilm384", "agnews"),
        "embeddings of the AG News texts (384 values of all-MiniLM-L6-v2), which you compute",
    ),
]
CATALOGUE = {entry.name: entry for entry in _ENTRIES}
