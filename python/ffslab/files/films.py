"""The log of what happens to each erase block, `film.csv` of a run with `film = true`: a table, kept as Parquet.

Columns: `at_us` since the measured steps began; `what` happened: read, program, erase, or holds (what the block holds
from then on); `block` in the partition; of an operation its `page` in the block, `task` and `reason`; of what a block
holds `valid_B`, `invalid_B` and `free_B`, and for which file or structure of the file system most bytes in it were
`written_for` (null: it is erased, or nobody knows). Others are null.
"""

from __future__ import annotations

import io
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

LOG, TABLE = "film.csv", "film.parquet"
TYPES = {"at_us": "float64", "what": "string", "block": "int64", "page": "int64", "task": "string", "reason": "string"}
TYPES |= dict.fromkeys(("valid_B", "invalid_B", "free_B"), "int64")
WRITTEN_FOR = "written_for"
TYPES |= {WRITTEN_FOR: "string"}
# What may hold commas and quotes.
QUOTED = ("reason", WRITTEN_FOR)


def is_film(name: str) -> bool:
    """Whether a log of this name is one."""
    return PurePosixPath(name).name == LOG


def table_of(text: str) -> pa.Table:
    """The log as a table."""
    import pyarrow as pa
    from pyarrow import csv

    types: dict[str, Any] = {name: pa.type_for_alias(kind) for name, kind in TYPES.items()}
    convert = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    return csv.read_csv(io.BytesIO(text.encode()), convert_options=convert)


def as_parquet(text: str) -> bytes:
    """The log as the bytes of a Parquet file."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table_of(text), out, compression="zstd")
    return out.getvalue()


def as_log(parquet: bytes) -> str:
    """The log again, of which a table was made."""
    import pyarrow.parquet as pq

    # Datasets of many files, which `read_table` is made for, take long to import.
    with pq.ParquetFile(io.BytesIO(parquet)) as file:
        table = file.read()
    texts = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_pylist()
        if name == "at_us":
            texts.append([f"{value:.3f}" for value in values])
        elif name in QUOTED:
            texts.append(["" if value is None else '"' + value.replace('"', '""') + '"' for value in values])
        else:
            texts.append(["" if value is None else str(value) for value in values])
    rows = (",".join(row) for row in zip(*texts, strict=True))
    return "\n".join([",".join(table.column_names), *rows]) + "\n"
