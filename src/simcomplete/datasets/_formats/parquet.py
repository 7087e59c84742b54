"""Tables from Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcomplete._rows.budget import require
from simcomplete.datasets._formats.columnar import ColumnPlan, plan_columns, table_of_columns
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, SimcompleteError, optional


def read_parquet(path: Path, options: Options) -> Table:
    """Read a .parquet file; see `simcomplete.datasets.read_table`."""
    optional("pyarrow", extra="cli", purpose="reading .parquet files")  # whose parts may be missing one by one
    parquet = optional("pyarrow.parquet", extra="cli", purpose="reading .parquet files")
    try:
        # Opened here: pyarrow itself refuses a name whose bytes are not UTF-8.
        with path.open("rb") as raw, parquet.ParquetFile(raw) as file:
            plan = _plan(path, file, options)
        schema = file.schema_arrow
        names = [schema.names[i] for i in plan.keys]
        # Labels stay in a dictionary until their lengths are known: a long one may be repeated in every row.
        with path.open("rb") as raw, parquet.ParquetFile(raw, read_dictionary=names) as file:
            chosen = options.chooses and len(set(schema.names)) == len(schema)
            positions = [*plan.keys, *plan.features] if chosen else list(range(len(schema)))
            table = file.read(columns=[schema.names[i] for i in positions] if chosen else None)
    except SimcompleteError:
        raise
    except Exception as error:  # of Arrow, of Python under it, of UTF-8 in names: there is no common kind
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise FileFormatError(f"{path}: is not a Parquet file, or is truncated ({reason}); write it again") from error
    columns = {i: table.column(schema.names[i] if chosen else i) for i in positions}
    return table_of_columns(path, schema, plan, columns)


def _plan(path: Path, file: Any, options: Options) -> ColumnPlan:
    n, schema = file.metadata.num_rows, file.schema_arrow
    plan = plan_columns(path, schema, n, options)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    # Repeated values are compressed, so that the size of the file is no bound.
    needed = 16 * n * len(schema) + sum(max(0, group.total_byte_size) for group in groups)
    require(needed, f"{path} with {n * len(schema)} cells", "give fewer rows or columns")
    return plan
