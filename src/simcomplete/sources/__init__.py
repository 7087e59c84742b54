"""Rows that are read a block at a time: files, zarr and dask arrays, anything with a shape, a type and row slices."""

from simcomplete.sources.lazy import LazyRows
from simcomplete.sources.opening import is_outside, opened
from simcomplete.sources.output import Output
from simcomplete.sources.outside import RowSource
from simcomplete.sources.scaled import ScaledRows
from simcomplete.sources.unit import UnitRows

__all__ = ["LazyRows", "Output", "RowSource", "ScaledRows", "UnitRows", "is_outside", "opened"]
