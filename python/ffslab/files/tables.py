"""Tables of runs as Parquet files, with the files that runs saved: written and read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab.files import arrow
from ffslab.files.films import as_parquet, from_parquet

if TYPE_CHECKING:
    import pyarrow as pa

    from ffslab.answers import Columns
    from ffslab.text.variants import VariantColumns

REQUESTS, BLOCKS = "requests.parquet", "blocks.parquet"
# There when the run was observed (`--timeline`).
STACKS = "stacks.parquet"
# Folders, there when a step saved an image or wrote a log.
IMAGES, LOGS = "images", "logs"
# Rows that are written at once: those of a row group of Parquet, as pyarrow makes them.
ROW_GROUP = 1 << 20


def write_columns(columns: Columns | VariantColumns, path: Path) -> None:
    """Writes columns of equal length."""
    import pyarrow.parquet as pq

    def group(first: int) -> pa.Table:
        return arrow.table_of({name: column[first : first + ROW_GROUP] for name, column in columns.items()})

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

    # Datasets of many files, which `read_table` is made for, take long to import.
    with pq.ParquetFile(path) as file:
        table = file.read()
    texts = (pa.types.is_string, pa.types.is_null)
    return {
        name: column.to_pylist() if any(is_one(column.type) for is_one in texts) else arrow.numbers_of(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def write_run(
    folder: Path,
    requests: Columns,
    blocks: Columns,
    images: Mapping[str, bytes],
    logs: Mapping[str, str],
    films: Mapping[str, pa.Table],
) -> None:
    """Writes what runs did call by call and block by block, and below `images` and `logs` what they saved."""
    write_columns(requests, folder / REQUESTS)
    write_columns(blocks, folder / BLOCKS)
    files = {f"{IMAGES}/{name}": image for name, image in images.items()}
    files |= {f"{LOGS}/{name}": text.encode() for name, text in logs.items()}
    files |= {f"{LOGS}/{name}": as_parquet(film) for name, film in films.items()}
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def read_run(folder: Path) -> tuple[Columns, Columns, dict[str, bytes], dict[str, str], dict[str, pa.Table]]:
    """Reads it again: requests, blocks, images, logs, films.

    Raises `OSError`, or `ValueError` for a damaged file.
    """
    images = {name: path.read_bytes() for name, path in _files_below(folder / IMAGES)}
    logs, films = {}, {}
    for name, path in _files_below(folder / LOGS):
        if path.suffix == ".parquet":
            films[name] = from_parquet(path.read_bytes())
        else:
            logs[name] = path.read_text(encoding="utf-8")
    return read_columns(folder / REQUESTS), read_columns(folder / BLOCKS), images, logs, films


def _files_below(folder: Path) -> list[tuple[str, Path]]:
    """The files below a folder by their names in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(path.relative_to(folder).as_posix(), path) for path in files]
