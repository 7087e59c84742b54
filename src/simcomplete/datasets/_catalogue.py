"""The known data sets: the names of their files, and where those come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simcomplete.datasets._formats.source import COMPRESSED_ENDINGS


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set that is read from files.

    Attributes
    ----------
    name : str
        Its name for `load`.
    choices : tuple of tuple of str
        Names of files, the preferred ones first. The files of a choice are joined.
    source : str
        Where the files come from, for the message when they are absent.
    folders : tuple of str
        Subfolders to look in as well.
    default_format : str, optional
        The format of files whose name does not imply one.
    features : int, optional
        The number of features, where the format does not store it.
    image_shape : tuple of int, optional
        Height and width where the samples are images.
    openml : int, optional
        Its id at OpenML.
    """

    name: str
    choices: tuple[tuple[str, ...], ...]
    source: str
    folders: tuple[str, ...] = ()
    default_format: str | None = None
    features: int | None = None
    image_shape: tuple[int, int] | None = None
    openml: int | None = None

    def find(self, folder: Path) -> tuple[Path, ...]:
        """Return the files of the first choice of which any exists."""
        folders = [folder, *(folder / name for name in (*self.folders, self.name))]
        for names in self.choices:
            for one in folders:
                files = [_existing(one, name) for name in names]
                if any(files):
                    return tuple(path for path in files if path is not None)
        return ()


def _existing(folder: Path, name: str) -> Path | None:
    """Return the path of a file, compressed or not, or None where there is none."""
    paths = [folder / name]
    if not name.endswith(TABLE_ENDINGS):
        paths += [folder / (name + ending) for ending in COMPRESSED_ENDINGS]
    return next((path for path in paths if path.is_file()), None)


TABLE_ENDINGS = (".npz", ".npy", ".parquet", ".csv")
_CIFAR_BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")


def _arrays(*names: str) -> tuple[tuple[str, ...], ...]:
    """Return the names of NumPy files that users write themselves, one file each."""
    return tuple((name + ending,) for name in names for ending in TABLE_ENDINGS[:2])


def custom(name: str) -> CatalogueEntry:
    """Return an entry for a file NAME.npz, .npy, .parquet or .csv that is not in the catalogue."""
    return CatalogueEntry(
        name, tuple((name + ending,) for ending in TABLE_ENDINGS), "save your samples under one of these names"
    )


_ENTRIES = [
    CatalogueEntry(
        "mnist",
        (
            ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte"),
            ("train-images.idx3-ubyte", "t10k-images.idx3-ubyte"),
            *_arrays("mnist"),
        ),
        "the four IDX files of MNIST, from any mirror",
        folders=("MNIST/raw",),
        image_shape=(28, 28),
        openml=554,
    ),
    CatalogueEntry(
        "cifar10",
        (_CIFAR_BATCHES, *_arrays("cifar10_gray", "cifar10")),
        "cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, unpacked (the version for Python, "
        "files without .bin, consists of pickles, which are not read)",
        folders=("cifar-10-batches-bin",),
        image_shape=(32, 32),
        openml=40927,
    ),
    CatalogueEntry(
        "protein",
        (("protein", "protein.t"), *_arrays("protein")),
        "protein.bz2 and protein.t.bz2 from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html",
        default_format="svmlight",
        features=357,
    ),
    CatalogueEntry(
        "googlenews",
        (
            ("GoogleNews-vectors-negative300.bin",),
            ("GoogleNews-vectors-negative300.txt",),
            *_arrays("googlenews300", "googlenews"),
        ),
        "GoogleNews-vectors-negative300.bin.gz, linked at https://code.google.com/archive/p/word2vec",
    ),
    CatalogueEntry(
        "imagenet",
        _arrays("imagenet", "imagenet_bovw1000", "imagenet_bovw"),
        "counts of 1,000 visual words, one row per image, which you compute from ImageNet",
    ),
    CatalogueEntry(
        "imagenet_bovw",
        _arrays("imagenet_bovw1000", "imagenet_bovw"),
        "counts of 1,000 visual words (SIFT), one row per image, which you compute from ImageNet",
    ),
    CatalogueEntry(
        "imagenet_cnn",
        _arrays("imagenet_cnn1000", "imagenet_cnn"),
        "the 1,000 class scores of a network, one row per image, which you compute from ImageNet",
    ),
    CatalogueEntry(
        "usps",
        (("usps", "usps.t"), *_arrays("usps")),
        "usps.bz2 and usps.t.bz2 from https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html",
        default_format="svmlight",
        features=256,
        image_shape=(16, 16),
        openml=41082,
    ),
    CatalogueEntry(
        "agnews",
        _arrays("agnews_minilm384", "agnews"),
        "embeddings of the AG News texts (384 values of all-MiniLM-L6-v2), which you compute",
    ),
]
CATALOGUE = {entry.name: entry for entry in _ENTRIES}
