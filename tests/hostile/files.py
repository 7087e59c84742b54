"""Files that were made to break their reader: what they claim is more than they are, or is not true."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import zipfile

import numpy as np

import simcomplete as sc
from simcomplete.datasets import read_table

from .case import Case

FORMAT = ("FileFormatError",)
INPUT = ("InputError",)
MEMORY = ("MemoryLimitError",)


def npy_bytes(header: str | bytes, length: int | None = None, version: int = 1, values: bytes = bytes(64)) -> bytes:
    """A .npy with any header, and a length of the header that need not be true."""
    text = header.encode() if isinstance(header, str) else header
    text += b" " * (-(len(text) + 13) % 64) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + values


def described(shape: object, descr: str = "'<f8'") -> str:
    """The text of a header."""
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


HEADERS = {
    "[[[": "[[[",
    "5000 brackets": "[" * 5000,
    "9000 minus signs": "-" * 9000 + "1",
    "a list as a key": "{1: 2, []: 3}",
    "shape (True, 5)": described("(True, 5)"),
    "shape (-1, 5)": described("(-1, 5)"),
    "shape (10**20, 5)": described(f"({10**20}, 5)"),
    "shape (2**31, 2**31)": described(f"({2**31}, {2**31})"),
    "shape (5.0, 1)": described("(5.0, 1)"),
    "shape 7": described("7"),
    "objects": described("(2, 2)", "'|O'"),
    "a call": "__import__('os').system('true')",
    "no such type": described("(2, 2)", "'<q9'"),
    "fields": described("(2, 2)", "[('a', '<f8')]"),
    "a type of arrays": described("(2, 1)", "('<f8', (2, 2))"),
    "empty": "",
}


def header_case(name, text):
    def make(folder):
        (folder / "x.npy").write_bytes(npy_bytes(text))
        with zipfile.ZipFile(folder / "x.npz", "w") as archive:
            archive.write(folder / "x.npy", "X.npy")

    def act(folder):
        for read in (
            lambda: read_table(folder / "x.npz"),
            lambda: sc.complete(folder / "x.npy", np.ones((1, 5)), method="smcnn"),
        ):
            try:
                read()
            except sc.errors.SimcompleteError:
                continue
            raise AssertionError("was accepted")
        read_table(folder / "x.npy")

    return Case(f".npy header: {name}", act, make, errors=(*FORMAT, *INPUT), words=("x.npy",), quick="shape" in name)


def sparse(path, start, size):
    """A file of that size, of which only the start takes room."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)


def long_member(folder):
    """A member whose header has 300 MiB of blanks, packed to 300 kB."""
    with (
        zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w") as file,
    ):
        file.write(npy_bytes(described("(2, 2)"), length=300 * 2**20, version=2))
        for _ in range(300):
            file.write(b" " * 2**20)


def packed_zeros(folder):
    """An array of 400 MiB of zeros, packed to 400 kB."""
    with (
        zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w") as file,
    ):
        file.write(npy_bytes(described("(100, 524288)"), values=b""))
        for _ in range(400):
            file.write(bytes(2**20))


def packed_text(folder):
    with gzip.open(folder / "x.txt.gz", "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(b"0 " * 2**19)


def packed_table(folder):
    with gzip.open(folder / "x.csv.gz", "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b"0,1\n" * 2**18)


def claim(folder):
    """An Arrow file of 2 kB one of whose packed buffers claims to unpack to a terabyte."""
    pyarrow, ipc = (__import__(name, fromlist=["x"]) for name in ("pyarrow", "pyarrow.ipc"))
    table = pyarrow.table({"a": np.zeros(10_000)})
    with (folder / "x.arrow").open("wb") as file:
        options = ipc.IpcWriteOptions(compression="zstd")
        with ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table)
    raw = (folder / "x.arrow").read_bytes()
    assert raw.count(struct.pack("<q", 80_000)) == 1
    (folder / "x.arrow").write_bytes(raw.replace(struct.pack("<q", 80_000), struct.pack("<q", 2**40)))


def long_label(folder):
    pyarrow, parquet = (__import__(name, fromlist=["x"]) for name in ("pyarrow", "pyarrow.parquet"))
    label = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(20_000, np.int32)), ["x" * 10**6])
    table = pyarrow.table({"name": label.cast(label.type), "a": np.ones(20_000)})
    parquet.write_table(table, folder / "x.parquet")


def pandas_note(text):
    def make(folder):
        pyarrow, parquet = (__import__(name, fromlist=["x"]) for name in ("pyarrow", "pyarrow.parquet"))
        table = pyarrow.table({"a": np.ones(3), "b": np.ones(3)}).replace_schema_metadata({"pandas": text})
        parquet.write_table(table, folder / "x.parquet")

    return make


def wide_text(folder):
    with (folder / "x.csv").open("w") as file:
        for _ in range(3):
            file.write(",".join(["1.5"] * 1_000_000) + "\n")


def damaged(pack):
    def make(folder):
        text = "".join(f"{i % 3} 1:{i} 2:{i * i}\n" for i in range(1, 3000)).encode()
        raw = bytearray(pack(text))
        raw[len(raw) // 2 : len(raw) // 2 + 8] = b"\xff" * 8
        (folder / "x.svm").write_bytes(bytes(raw))

    return make


def damaged_member(folder):
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_LZMA) as archive, archive.open("X.npy", "w") as file:
        np.lib.format.write_array(file, np.random.default_rng(0).random((50, 50)))
    raw = bytearray((folder / "x.npz").read_bytes())
    raw[300:330] = b"\xff" * 30
    (folder / "x.npz").write_bytes(bytes(raw))


def csv_case(cell):
    def make(folder):
        (folder / "x.csv").write_text(f'price,a,b\n"{cell}",1,2\n"{cell}",3,4\n', encoding="utf-8")

    return Case(f".csv whose first column is {cell!r}", table("x.csv"), make, errors=INPUT, words=("price", cell))


def table(name, **options):
    return lambda folder: read_table(folder / name, **options)


def whole(folder):
    sc.complete(folder / "x.npy", np.ones((1, 1000)), method="mean")


CASES = [
    *(header_case(name, text) for name, text in HEADERS.items()),
    Case(".npz member with a header of 300 MiB", table("x.npz"), long_member, FORMAT, ("header",), quick=False),
    Case(
        "sparse .npy with a header of 3 GiB",
        table("x.npy"),
        lambda d: sparse(d / "x.npy", npy_bytes(described("(2, 2)"), 3 * 2**30, 2), 3 * 2**30 + 200),
        FORMAT,
        ("header",),
    ),
    Case(
        "sparse .npy path with a header of 3 GiB",
        whole,
        lambda d: sparse(d / "x.npy", npy_bytes(described("(2, 2)"), 3 * 2**30, 2), 3 * 2**30 + 200),
        FORMAT,
        ("header",),
    ),
    Case(
        "sparse .npy of 20 GB as bytes, to be floats",
        table("x.npy"),
        lambda d: sparse(d / "x.npy", npy_bytes(described("(100000, 200000)", "'|i1'"), values=b""), 2 * 10**10 + 128),
        MEMORY,
        ("x.npy", "free"),
        environment={"SIMCOMPLETE_MEMORY": "8e9"},
    ),
    Case(
        "sparse .npy path of 80 GB, for a method that needs it whole",
        whole,
        lambda d: sparse(d / "x.npy", npy_bytes(described("(10000000, 1000)"), values=b""), 8 * 10**10 + 128),
        MEMORY,
        ("needs", "free"),
        environment={"SIMCOMPLETE_MEMORY": "8e9"},
    ),
    Case(".npz with 400 MiB of zeros in 400 kB", table("x.npz"), packed_zeros, FORMAT, ("unpack to",), quick=False),
    Case(".txt.gz with 300 MiB in 300 kB", table("x.txt.gz"), packed_text, FORMAT, (), 5.0, quick=False),
    Case(".csv.gz with 300 MiB in 300 kB", table("x.csv.gz"), packed_table, FORMAT, ("unpack to",), 5.0, quick=False),
    Case(".arrow that claims a terabyte", table("x.arrow"), claim, FORMAT, ("unpack to",)),
    Case(".parquet with a label of a megabyte in 20,000 rows", table("x.parquet"), long_label, FORMAT, ("label",)),
    Case(".csv of a million columns", table("x.csv"), wide_text, FORMAT, ("columns",)),
    Case(
        ".csv of one line of 200 MB",
        table("x.csv"),
        lambda d: sparse(d / "x.csv", b"1,2", 3) or (d / "x.csv").write_bytes(b"1" * 200_000_000),
        FORMAT,
        ("line",),
    ),
    Case(
        ".csv of 60 million cells with 1 GB free",
        table("x.csv", header=False),
        lambda d: (d / "x.csv").write_bytes((b"," * 59_999 + b"\n") * 1000),
        MEMORY,
        ("x.csv", "free"),
        environment={"SIMCOMPLETE_MEMORY": "1e9"},
    ),
    Case(".parquet whose pandas note is not JSON", table("x.parquet"), pandas_note("{"), FORMAT, ("pandas",)),
    Case(".parquet whose pandas note is a list", table("x.parquet"), pandas_note("[1]"), FORMAT, ("pandas",)),
    Case(
        ".parquet whose pandas note is nested",
        table("x.parquet"),
        pandas_note('{"index_columns": ' + "[" * 100_000),
        FORMAT,
        ("pandas",),
    ),
    Case(
        ".parquet whose pandas note names a number",
        table("x.parquet"),
        pandas_note(json.dumps({"index_columns": 5})),
        FORMAT,
        ("pandas",),
    ),
    Case("damaged gzip", table("x.svm"), damaged(gzip.compress), FORMAT, ("damaged",)),
    Case("damaged bzip2", table("x.svm"), damaged(bz2.compress), FORMAT, ("x.svm",)),
    Case("damaged xz", table("x.svm"), damaged(lzma.compress), FORMAT, ("damaged",)),
    Case("damaged LZMA in .npz", table("x.npz"), damaged_member, FORMAT, ("damaged",)),
    *(csv_case(cell) for cell in ("1,000", "5%", "#REF!", "1_000", "$5", "(1.5)")),
]
