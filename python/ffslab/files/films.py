"""What happens to each erase block of a run with `film = true`: a table, kept as `film.parquet`.

Columns: `at_us` since the measured steps began; `what` happened: read, program, erase, or holds (what the block holds
from then on); `block` in the partition; of an operation its `page` in the block, `task` and `reason`; of what a block
holds `valid_B`, `invalid_B` and `free_B`, and for which file or structure of the file system most bytes in it were
`written_for` (null: it is erased, or nobody knows). Others are null.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ffslab.files import arrow

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {"at_us": "float64", "what": "string", "block": "int64", "page": "int64", "task": "string", "reason": "string"}
TYPES |= dict.fromkeys(("valid_B", "invalid_B", "free_B"), "int64")
WRITTEN_FOR = "written_for"
TYPES |= {WRITTEN_FOR: "string"}


def table_of(columns: Mapping[str, Any]) -> pa.Table:
    """The table of a run, which gives "" for texts that a row does not have."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in TYPES.items()])
    texts = {name: [text or None for text in columns[name]] for name, kind in TYPES.items() if kind == "string"}
    return arrow.table_of({**columns, **texts}, schema)


def as_parquet(film: pa.Table) -> bytes:
    """The bytes of a Parquet file."""
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(film, out, compression="zstd")
    return out.getvalue()


def from_parquet(parquet: bytes) -> pa.Table:
    """The table of such a file."""
    import pyarrow.parquet as pq

    # Datasets of many files, which `read_table` is made for, take long to import.
    with pq.ParquetFile(io.BytesIO(parquet)) as file:
        return file.read()
