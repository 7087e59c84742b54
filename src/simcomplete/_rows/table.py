"""`RowTable`: rows of features, in memory or not, with `read`, `take`, `fold` and `map`.

`HeldRows` wraps an array of any library. Rows of files, of dask arrays, and rows computed from other rows are in
`source`, `dask` and `derived`. Code outside this package does not depend on the kind of table.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray

from simcomplete._rows import passes, xp
from simcomplete._rows.array_like import ArrayLike, Transposed, as_operand
from simcomplete._rows.budget import block_bytes, require, row_blocks
from simcomplete._rows.mapped import mapped_file
from simcomplete._rows.passes import Part, Target, Work
from simcomplete._rows.xp import Array, Namespace, device, is_numpy, like, memory_map_under, namespace, to_numpy

GAP_BYTES = 2**18  # smaller gaps are read through: another access takes milliseconds for a zarr array


class RowTable(ArrayLike):
    """Rows that are read when they are needed; subclasses say how, in `read`.

    It can be used as an array: slices of rows, ``.T``, products, ``sum`` and ``mean`` go block by block; what needs
    all rows at once (``np.asarray``, arithmetic) reads them, refused beforehand where they would not fit.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype, device
        Type of the values, in the array library that blocks are read in, and where they live.
    labels, columns, frame : optional
        Row labels and names of columns, where a frame had some, and the library of the frame.
    """

    ndim = 2
    columns: list[Any] | None = None
    frame: str | None = None

    def __init__(
        self, shape: tuple[int, int], dtype: Any, device: Any = "cpu", labels: list[str] | None = None
    ) -> None:
        self.shape, self.dtype, self.device, self.labels = shape, dtype, device, labels

    @property
    def n(self) -> int:
        """How many rows."""
        return self.shape[0]

    @property
    def d(self) -> int:
        """How many columns."""
        return self.shape[1]

    @property
    def held(self) -> Array | None:
        """All rows as one array, where they are in memory; None elsewhere."""
        return None

    @property
    def held_part(self) -> tuple[Array | None, int]:
        """The last rows, if these are in memory, and the position of the first of them; None if no row is in memory."""
        return self.held, 0

    @property
    def array_like(self) -> Any:
        """What users see: the array if there is one, else this table."""
        return self

    @property
    def size(self) -> int:
        """Number of values."""
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        """Bytes that all rows take at once."""
        return self.n * self.d * (4 if self.dtype == self.xp.float32 else 8)

    @property
    def xp(self) -> Namespace:
        """The array library that blocks are read in."""
        return array_api_compat.numpy

    def like(self, values: NDArray[Any], dtype: Any = None) -> Array:
        """Bring a NumPy array to the library and device of these rows."""
        return np.asarray(values, dtype=dtype)

    def read(self, start: int, stop: int) -> Array:
        """Return rows from `start` up to `stop`."""
        raise NotImplementedError

    def take(self, positions: NDArray[np.int64]) -> Array:
        """Return some rows, in the order asked for."""
        out = np.empty((len(positions), self.shape[1]), self.dtype)
        order = np.argsort(positions, kind="stable")
        # Rows near each other are read together, with the gaps between them, if that is faster than one more access and
        # if the rows read at once stay within a block.
        gap = max(1, GAP_BYTES // (8 * self.d))
        block = positions[order] // max(1, block_bytes() // (4 * 8 * self.d))
        apart = (np.diff(positions[order]) > gap) | (np.diff(block) > 0)
        for some in np.split(order, np.flatnonzero(apart) + 1):
            if len(some):
                first = int(positions[some[0]])
                out[some] = self.read(first, int(positions[some[-1]]) + 1)[positions[some] - first]
        return out

    def fold(
        self,
        work: Work[Part],
        merge: Callable[[Part, Part], Part],
        *,
        bytes_per_row: int,
        label: str,
        progress: bool | None = None,
    ) -> Part:
        """Apply `work(rows, start)` to every block of rows, and merge the results in the order of the rows."""
        if len(row_blocks(self.n, bytes_per_row, like=self)) == 1:
            return work(self.read(0, self.n), 0)
        return passes.fold(self, work, merge, bytes_per_row=bytes_per_row, label=label, progress=progress)

    def map(
        self,
        work: Work[Array],
        below: Array,
        *,
        bytes_per_row: int,
        label: str,
        progress: bool | None = None,
        target: Target = None,
        dtype: Any = None,
    ) -> Any:
        """Apply `work(rows, start)` to every block; return its rows, and those `below` them, as a new table."""
        return passes.stacked(
            self, work, below, bytes_per_row=bytes_per_row, label=label, progress=progress, target=target, dtype=dtype
        )

    def whole(self) -> Array:
        """Return all rows at once; raise MemoryLimitError if they would not fit into memory."""
        n, d = self.shape
        instead = "give complete rows as candidates, which posterior and smcnn read by block"
        require(self.nbytes, f"all {n} x {d} values in memory", instead)
        return self.read(0, n)

    def without_values(self) -> NDArray[np.int64]:
        """Positions of rows without any value."""
        return np.flatnonzero(self.known_counts() == 0).astype(np.int64)

    def known_counts(self) -> NDArray[np.int64]:
        """How many values every row has."""
        xp = self.xp
        return np.concatenate(self.add(lambda X, _: [to_numpy(xp.sum(xp.astype(~xp.isnan(X), xp.int64), axis=1))]))

    def in_memory(self) -> HeldRows:
        """The same rows, held in memory."""
        return HeldRows(self.whole(), self.labels)

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            return self.read(start, max(start, stop))[::step, columns] if step > 0 else self.whole()[key]
        positions = np.arange(self.n)[rows]  # by NumPy's rules, with negative numbers, masks and IndexError
        return self.take(np.atleast_1d(positions))[slice(None) if positions.ndim else 0, columns]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def T(self) -> Transposed:
        """The transpose; products with it go block by block."""
        return Transposed(self)

    def __matmul__(self, right: Any) -> Any:
        right = as_operand(right)
        parts = self.fold(
            lambda rows, _: [rows @ right],
            lambda a, b: a + b,
            bytes_per_row=16 * self.d,
            label="product",
            progress=False,
        )
        return parts[0] if len(parts) == 1 else self.xp.concat(parts)

    def __rmatmul__(self, left: Any) -> Any:
        left = as_operand(left)

        def product(rows: Array, start: int) -> Array:
            return left[..., start : start + int(rows.shape[0])] @ rows

        return self.add(product)

    def add(self, work: Work[Any]) -> Any:
        """Apply `work` to every block and add the results: numbers, arrays or lists."""
        return self.fold(work, operator.add, bytes_per_row=16 * self.d, label="product", progress=False)

    def sum(self, axis: int | None = None, **settings: Any) -> Any:
        """Sum over all values, over rows (axis 0) or over columns (axis 1), block by block."""
        if any(value is not None for value in settings.values()):  # np.sum passes dtype=None, out=None
            return np.sum(np.asarray(self), axis=axis, **settings)
        xp = self.xp
        if axis in (1, -1):
            return xp.concat(self.add(lambda rows, _: [xp.sum(rows, axis=1)]))
        return self.add(lambda rows, _: xp.sum(rows, axis=axis))

    def mean(self, axis: int | None = None, **settings: Any) -> Any:
        """Mean of all values, over rows (axis 0) or over columns (axis 1), block by block."""
        if any(value is not None for value in settings.values()):
            return np.mean(np.asarray(self), axis=axis, **settings)
        return self.sum(axis) / {None: self.n * self.d, 0: self.n, 1: self.d, -1: self.d, -2: self.n}[axis]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(to_numpy(self.whole()), dtype=dtype)

    def __array_namespace__(self, api_version: str | None = None) -> Namespace:
        return self.xp


class HeldRows(RowTable):
    """Rows of an array in memory (or mapped into it), of any library and on any device.

    Examples
    --------
    >>> table = HeldRows(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> table.take(np.array([1, 0]))
    array([[3., 4.],
           [1., 2.]])
    >>> table.fold(lambda rows, start: rows.sum(), lambda a, b: a + b, bytes_per_row=16, label="sum")
    np.float64(10.0)
    """

    def __init__(self, array: Array, labels: list[str] | None = None) -> None:
        super().__init__((int(array.shape[0]), int(array.shape[1])), array.dtype, device(array), labels)
        self._array = array
        self._file = None if memory_map_under(array) is None else mapped_file(array)

    @property
    def array(self) -> Array:
        """The array; the file of a memory map is checked first."""
        if self._file is not None:
            self._file.check()
        return self._array

    @property
    def held(self) -> Array:
        """The array."""
        return self.array

    @property
    def array_like(self) -> Array:
        """The array."""
        return self.array

    @property
    def xp(self) -> Namespace:
        """The array's own library."""
        return namespace(self.array)

    def like(self, values: NDArray[Any], dtype: Any = None) -> Array:
        """Bring a NumPy array to the library and device of the array."""
        return like(values, self.array, dtype)

    def read(self, start: int, stop: int) -> Array:
        """Return rows from `start` up to `stop`, a view."""
        return self.array[start:stop, :]

    def take(self, positions: NDArray[np.int64]) -> Array:
        """Return some rows, in the order asked for."""
        if is_numpy(self.array):
            return self.array[positions]
        return self.xp.take(self.array, like(positions, self.array), axis=0)

    def whole(self) -> Array:
        """Return the array."""
        return self.array

    def without_values(self) -> NDArray[np.int64]:
        """Positions of rows without any value."""
        return xp.rows_without_values(self.array)

    def in_memory(self) -> HeldRows:
        """These rows."""
        return self

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]


def as_row_table(rows: Array | RowTable) -> RowTable:
    """Return a row table unchanged, or wrap an array."""
    return rows if isinstance(rows, RowTable) else HeldRows(rows)
