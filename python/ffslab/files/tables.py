"""Tables as Parquet files: columns of a result, written and read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffslab.answers import Columns
    from ffslab.api.variants import VariantColumns

# Rows that are written at once: those of a row group of Parquet, as pyarrow makes them.
ROW_GROUP = 1 << 20


def write_columns(columns: Columns | VariantColumns, path: Path) -> None:
    """Writes columns of equal length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def group(first: int) -> pa.Table:
        return pa.table({name: column[first : first + ROW_GROUP] for name, column in columns.items()})

    rows = len(next(iter(columns.values())))
    table = group(0)
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        writer.write_table(table)
        for first in range(ROW_GROUP, rows, ROW_GROUP):
            writer.write_table(group(first))


def read_columns(path: Path) -> Columns:
    """Reads them again: numbers as numpy arrays, texts as lists. Those of a table without rows have no type."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    texts = (pa.types.is_string, pa.types.is_null)
    return {
        name: column.to_pylist() if any(is_one(column.type) for is_one in texts) else column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def files_below(folder: Path) -> list[tuple[str, Path]]:
    """The files below a folder by their names in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(path.relative_to(folder).as_posix(), path) for path in files]
