"""Recordings as tables: `ffslab trace convert`, and Parquet for replays.

The readers of all other formats are native; Parquet is read and written here, with pyarrow.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.inputs import open_input, parquet_table, toml_of
from ffslab.os_errors import reason

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = ".parquet"
WANTED = "table of a recording (ffslab trace convert makes one)"
CSV = ".csv"
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
    table, notes = read_table(source, root)
    temporary = target.with_name(f".{target.name}.new")
    try:
        _write(table, temporary, target.suffix)
        temporary.rename(target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {reason(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return table.num_rows, notes


def read_table(source: Path, root: str | None) -> tuple[pa.Table, list[str]]:
    """A recording of any format as a canonical table, and notes on what is not in it."""
    import pyarrow as pa

    if is_parquet(source):
        if root is not None:
            raise InputError(f"--root: the paths in {source} are relative already")
        return _read_parquet(source), []
    columns, found_root, notes = _native.trace_table(source, root)
    table = pa.table(columns, schema=schema())
    return table.replace_schema_metadata({ROOT: found_root}), notes


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


def parquet_tables(experiment: str, base_dir: Path) -> dict[str, str]:
    """The Parquet files that an experiment replays, as CSV, by the name that it gives them."""
    try:
        content = toml_of(experiment, "")
    except InputError:
        return {}  # The reader of experiments says what is wrong, and where.
    names = [name for name in _replayed(content) if is_parquet(base_dir / name)]
    return {name: _csv(_read_parquet(base_dir / name)).decode() for name in names}


def _replayed(content: dict[str, Any]) -> Iterator[str]:
    """The values of `file` of all replay steps, those of axes included."""
    for part in ("setup", "measure"):
        steps = content.get(part, [])
        for step in steps if isinstance(steps, list) else []:
            if isinstance(step, dict) and step.get("step") == "replay":
                yield from _texts(step.get("file"))
    axes = content.get("axes", {})
    if isinstance(axes, dict):
        for axis in (axes, axes.get("setup", {})):
            inner = axis.get("replay", {}) if isinstance(axis, dict) else {}
            yield from _texts(inner.get("file") if isinstance(inner, dict) else None)
        for name in ("replay.file", "setup.replay.file"):
            yield from _texts(axes.get(name))


def _texts(value: Any) -> Iterator[str]:
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str):
            yield text


def _read_parquet(source: Path) -> pa.Table:
    import pyarrow as pa

    try:
        table = parquet_table(source, "trace", WANTED)
        return table.select(schema().names).cast(schema()).replace_schema_metadata(table.schema.metadata)
    except (pa.ArrowException, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{source}: is no {WANTED}: {reason}") from None


def _write(table: pa.Table, path: Path, suffix: str) -> None:
    if suffix == CSV:
        path.write_bytes(_csv(table))
        return
    import pyarrow.parquet as pq

    pq.write_table(table, path, compression="zstd")


def _csv(table: pa.Table) -> bytes:
    from pyarrow import csv

    buffer = io.BytesIO()
    csv.write_csv(table, buffer, csv.WriteOptions(quoting_style="needed"))
    return buffer.getvalue()
