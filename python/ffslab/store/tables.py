"""The tables of a run in a store: requests and blocks as Parquet, images and logs as files."""

from __future__ import annotations

import os
from pathlib import Path

from ffslab.files.interruption import uninterrupted
from ffslab.files.tables import read_run, write_run
from ffslab.files.workplace import remove_tree
from ffslab.store.kept import KeptRun, Tables


def tables_name(run: KeptRun) -> str:
    """The name of their folder. Of runs that differ only in how many rows they keep each has its own."""
    return f"{run.key}-{'all' if run.requests_kept is None else run.requests_kept}"


def write_tables(folder: Path, tables: Tables) -> None:
    """Writes them, complete or not at all; what is there already is the same and stays, unless it was damaged."""
    if folder.exists():
        if read_tables(folder) is not None:
            return
        remove_tree(folder)
    beside = folder.with_name(f".{folder.name}.{os.urandom(4).hex()}")
    try:
        beside.mkdir()
        write_run(beside, tables.requests, tables.blocks, tables.images, tables.logs, tables.films)
        with uninterrupted():
            if not folder.exists():
                beside.rename(folder)
    finally:
        with uninterrupted():
            remove_tree(beside)


def read_tables(folder: Path) -> Tables | None:
    """The tables in a folder; `None`: they are not there, or not whole."""
    import pyarrow as pa

    try:
        return Tables(*read_run(folder))
    except (OSError, ValueError, pa.ArrowException):
        return None
