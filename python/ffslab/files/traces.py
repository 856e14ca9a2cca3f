"""Recordings as tables: `ffslab trace convert`, and Parquet for replays.

The readers of all other formats are native; Parquet is read and written here, with pyarrow.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab import _native
from ffslab._native import InputError
from ffslab.files.inputs import open_input, parquet_file
from ffslab.files.os_errors import reason
from ffslab.files.workplace import work_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

PARQUET = ".parquet"
WANTED = "table of a recording (ffslab trace convert makes one)"
CSV = ".csv"
# Rows of a row group, which memory holds; those that are read at once.
ROW_GROUP = 1 << 17
BATCH_ROWS = 1 << 16
# Key of the metadata that holds the directory of the recording.
ROOT = "ffslab.root"


def schema() -> pa.Schema:
    """The canonical columns: a row a call, units in names, in the order of the table."""
    import pyarrow as pa

    text, count = pa.string(), pa.uint32()
    return pa.schema(
        [
            pa.field("op", text, nullable=False),
            pa.field("path", text),
            pa.field("to", text),
            pa.field("handle", count),
            pa.field("process", count, nullable=False),
            pa.field("start_ns", pa.uint64(), nullable=False),
            pa.field("duration_ns", pa.uint64(), nullable=False),
            pa.field("think_ns", pa.uint64(), nullable=False),
            pa.field("offset_B", pa.int64()),
            pa.field("size_B", pa.uint64()),
            pa.field("flags", text),
            pa.field("permissions", count),
            pa.field("uid", count),
            pa.field("gid", count),
            pa.field("result", pa.int64()),
            pa.field("error", text),
        ]
    )


def convert(source: Path, target: Path, root: str | None) -> tuple[int, list[str]]:
    """Writes a recording of any format as a table, Parquet or CSV as the name of `target` says.

    Returns the number of rows, and notes on what is not in them.
    """
    if target.suffix not in (PARQUET, CSV):
        raise InputError(f"{target}: the name of the new file must end in {PARQUET} or {CSV}")
    if target.exists() and target.samefile(source):
        raise InputError(f"{target}: is the recording itself: name another file")
    try:
        with work_file(target) as temporary, _Writer(temporary, target.suffix) as writer:
            notes = _copy(source, root, writer)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {reason(error)}") from None
    return writer.rows, notes


class _Writer:
    """A table that is written batch by batch: memory holds one row group."""

    def __init__(self, path: Path, suffix: str) -> None:
        self.rows = 0
        self._path = path
        self._suffix = suffix
        self._sink: pq.ParquetWriter | csv.CSVWriter | None = None
        self._waiting: list[pa.Table] = []

    def begin(self, metadata: dict[bytes, bytes] | dict[str, str] | None) -> None:
        """Before the first batch: what the file says of itself."""
        whole = schema().with_metadata(metadata)
        if self._suffix == CSV:
            from pyarrow import csv

            self._sink = csv.CSVWriter(str(self._path), whole, write_options=csv.WriteOptions(quoting_style="needed"))
        else:
            import pyarrow.parquet as pq

            self._sink = pq.ParquetWriter(self._path, whole, compression="zstd")

    def add(self, table: pa.Table) -> None:
        """Adds rows."""
        self.rows += table.num_rows
        self._waiting.append(table)
        if sum(waiting.num_rows for waiting in self._waiting) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._sink is not None and self._waiting:
            table = pa.concat_tables(self._waiting)
            self._waiting = []
            self._sink.write_table(table.slice(0, ROW_GROUP))
            if table.num_rows > ROW_GROUP:
                self._waiting = [table.slice(ROW_GROUP)]

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        if self._sink is not None:
            self._sink.close()


def _copy(source: Path, root: str | None, writer: _Writer) -> list[str]:
    """Copies a recording of any format; notes on what is left out."""
    import pyarrow as pa

    if is_parquet(source):
        if root is not None:
            raise InputError(f"--root: the paths in {source} are relative already")
        for number, table in enumerate(_parquet_batches(source)):
            if number == 0:
                writer.begin(table.schema.metadata)
            writer.add(table.replace_schema_metadata(None))
        return []
    return _native.convert_trace(
        source,
        root,
        lambda found: writer.begin({ROOT: found}),
        lambda columns: writer.add(pa.table(columns, schema=schema())),
    )


def is_parquet(source: Path) -> bool:
    """Whether a file holds Parquet, by its first bytes.

    A pipe cannot be looked into; what cannot be read is told by the reader of the other formats.
    """
    try:
        if not source.is_file():
            return False
        with open_input(source, "trace") as file:
            return file.read(4) == b"PAR1"
    except InputError:
        return False


def csv_of(source: Path) -> str:
    """A recording in Parquet as CSV, for the native half."""
    return _csv(_parquet_batches(source))


def _parquet_batches(source: Path) -> Iterator[pa.Table]:
    """The rows of a table in pieces, at least one; its metadata is in the schema of each."""
    import pyarrow as pa

    def canonical(table: pa.Table) -> pa.Table:
        return table.select(schema().names).cast(schema()).replace_schema_metadata(metadata)

    try:
        with parquet_file(source, "trace", WANTED) as file:
            metadata = file.schema_arrow.metadata
            yield canonical(file.schema_arrow.empty_table())
            for batch in file.iter_batches(BATCH_ROWS):
                yield canonical(pa.Table.from_batches([batch]))
    except (pa.ArrowException, KeyError) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"{source}: is no {WANTED}: {said}") from None


def _csv(tables: Iterator[pa.Table]) -> str:
    from pyarrow import csv

    buffer = io.BytesIO()
    with csv.CSVWriter(buffer, schema(), write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for table in tables:
            writer.write_table(table)
    return buffer.getvalue().decode()
