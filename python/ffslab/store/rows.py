"""The rows of a store: one for each run, in columns that are the same in all stores of one format."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

import msgspec

from ffslab.files import arrow
from ffslab.store.kept import KeptRun
from ffslab.text.figures import Place, at, figures_of
from ffslab.text.variants import MACHINE, machine_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
# Digits of a hash in the name of a file.
DIGITS = 32


class Row(TypedDict):
    """A row as it is read: of its columns those that were asked for."""

    key: str
    title: str
    error: str | None
    requests: float | None
    requests_kept: int | None
    has_tables: bool
    summary: str


# Names of `Run.variants` that each run may have. What only some experiments have, as counters, stands in `summary`.
FIGURES = tuple(figure.key for figure in at(Place.STORE))
ABOUT = {
    "key": "hash of everything that determines the result",
    "ffslab": "version that ran it",
    "title": "of the experiment that ran it first",
    "variant": "its name in that experiment",
    "axes": "the values of that experiment's axes (JSON)",
    **dict.fromkeys(MACHINE, "of the stack"),
    "error": "why it did not come to its end; null: it did",
    "requests_kept": "for how many calls there is a row in requests.parquet; null: for all",
    "has_tables": "whether requests.parquet and blocks.parquet were kept",
    "FIGURES": "as the columns of variants.parquet: units are in the names",
    "summary": "everything that summary.json says of it (JSON)",
}


def schema() -> pa.Schema:
    """Names and types of the columns."""
    import pyarrow as pa

    texts = ("key", "ffslab", "title", "variant", "axes", *MACHINE, "error")
    fields = [pa.field(name, pa.string()) for name in texts]
    fields += [pa.field("requests_kept", pa.int64()), pa.field("has_tables", pa.bool_())]
    fields += [pa.field(name, pa.float64()) for name in FIGURES]
    return pa.schema([*fields, pa.field("summary", pa.string())])


def part_of(runs: Sequence[KeptRun]) -> bytes:
    """A file of a store: a row for each run."""
    return file_of([_row(run) for run in runs], schema())


def file_of(made: Sequence[Mapping[str, object]], columns: pa.Schema) -> bytes:
    """Rows as a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = arrow.table_of({name: [row[name] for row in made] for name in columns.names}, columns)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def name_of(content: bytes) -> str:
    """The hash that is in the name of a file with this content."""
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def table_of(part: Path, names: list[str], columns: pa.Schema) -> pa.Table | None:
    """Some columns of a file; `None`: it cannot be read, or has gone. `columns`: all that files of its kind have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(part) as file:
            table = file.read(columns=names)
    except (OSError, pa.ArrowException):
        return None
    # An earlier version of ffslab, whose runs are under keys of their own, did not have each figure.
    for field in columns:
        if field.name in names and field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(names)


def touch(part: Path) -> None:
    """What was used last goes last. Where nothing can be written, nothing is removed either."""
    try:
        os.utime(part)
    except OSError:
        return


def _row(run: KeptRun) -> dict[str, object]:
    from ffslab._native import __version__

    said = run.said
    stack: dict[str, Any] = {**said["stack"]}
    figures = figures_of(run.ended) if run.ended else {}
    return {
        "key": run.key,
        "ffslab": __version__,
        "title": run.title,
        "variant": said["name"],
        "axes": msgspec.json.encode(said["axes"]).decode(),
        **machine_of(stack),
        "error": said.get("error"),
        "requests_kept": run.requests_kept,
        "has_tables": run.tables is not None,
        **{name: None if (value := figures.get(name)) is None else float(cast("float", value)) for name in FIGURES},
        "summary": msgspec.json.encode(said).decode(),
    }
