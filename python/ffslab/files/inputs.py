"""Opening what the user named: regular files, and pipes given as descriptors, up to the limit of their kind.

The kinds and limits are those of the native half (`crates/text/src/input.rs`), which also opens the files:
docs/limits.md lists them. Every failure is an `InputError` with one line.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from ffslab import _native
from ffslab._native import InputError
from ffslab.files.os_errors import reason

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Kind = Literal[
    "experiment",
    "profile",
    "job file",
    "command file",
    "script",
    "trace",
    "log",
    "table",
    "image",
    "key file",
    "results file",
    "part of the machine",
]

GZIP = b"\x1f\x8b"
# What a value of a table takes in memory, about.
VALUE_B = 8


class Limited(io.RawIOBase):
    """What comes out of another file, until it is more than its kind may have. `broken`: what a source raises that
    finds its content broken."""

    def __init__(self, source: BinaryIO, path: Path | str, kind: Kind, broken: type[Exception] = zlib.error) -> None:
        self._source, self._path, self._kind = source, path, kind
        self._errors = (OSError, EOFError, broken)
        self._room = limit_of(kind)

    def readable(self) -> bool:
        return True

    # Python 3.11 has no type of buffers.
    def readinto(self, buffer: Any) -> int:
        try:
            read = self._source.readinto(buffer)  # type: ignore[attr-defined]
        except self._errors as error:
            said = reason(error) if isinstance(error, OSError) else str(error).lower()
            raise InputError(f"{self._path}: cannot read the {self._kind}: {said}") from None
        self._room -= read
        if self._room < 0:
            raise InputError(
                f"{self._path}: cannot read the {self._kind}: it has more than the "
                f"{limit_of(self._kind) >> 20} MiB that a {self._kind} may have"
            )
        return int(read)

    def close(self) -> None:
        self._source.close()
        super().close()


def open_input(path: Path, kind: Kind, *, unpack: bool = False) -> BinaryIO:
    """Opens a file for reading; `unpack`: what it holds unpacked if it is gzipped, which may not be longer either."""
    try:
        descriptor = _native.open_input(path, kind)
    except InputError as error:
        raise InputError(f"{error}{_meant(path)}") from None
    raw = Limited(cast("BinaryIO", os.fdopen(descriptor, "rb", buffering=0)), path, kind)
    file = io.BufferedReader(raw, 1 << 17)
    if unpack and file.peek(2)[:2] == GZIP:
        plain = cast("BinaryIO", gzip.GzipFile(fileobj=file))
        return io.BufferedReader(Limited(plain, path, kind), 1 << 17)
    return file


def _meant(path: Path) -> str:
    """Which file beside the one that is not there may be meant."""
    if os.path.lexists(path) or not path.parent.is_dir():
        return ""
    beside = [each.name for each in path.parent.iterdir() if each.is_file()]
    near = [name for name in beside if name.startswith(f"{path.name}.")] + get_close_matches(path.name, beside, 1, 0.8)
    return f": did you mean {path.with_name(near[0])}?" if near else ""


def read_bytes(path: Path, kind: Kind) -> bytes:
    """All of a file."""
    with open_input(path, kind) as file:
        return file.read()


def read_text(path: Path, kind: Kind) -> str:
    """All of a text file."""
    return _decoded(read_bytes(path, kind), path, kind)


def read_stdin(name: str, kind: Kind) -> str:
    """All of the standard input, which is a text called `name`."""
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as stdin:
        return _decoded(Limited(cast("BinaryIO", stdin), name, kind).readall(), name, kind)


def _decoded(data: bytes, path: Path | str, kind: Kind) -> str:
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the {kind} is not UTF-8 text (byte {error.start})") from None


def check_is_input(path: Path, kind: Kind, unless: str | None = None) -> None:
    """Refuses a path that cannot be read as `kind`, before anything is done. `unless`: what to say when there is
    nothing."""
    if not os.path.lexists(path):
        raise InputError(f"{path}: no such {unless or kind}")
    os.close(_native.open_input(path, kind))


def resolved(path: Path) -> Path:
    """The path with its links followed. A link that leads to itself stays: who opens it is told."""
    return Path(os.path.realpath(path))


def parquet_table(path: Path, kind: Kind, wanted: str) -> pa.Table:
    """The table of a Parquet file; see `parquet_file`."""
    import pyarrow as pa

    file = parquet_file(path, kind, wanted)
    try:
        return file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _no_parquet(path, wanted, error) from None


def parquet_file(path: Path, kind: Kind, wanted: str) -> pq.ParquetFile:
    """A Parquet file whose table may be no larger in memory than its kind may be as a file.

    How large it will be is what the file says of itself: it is refused before it is unpacked. `wanted`: what a file
    that is no Parquet should be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = read_bytes(path, kind)
    limit = limit_of(kind)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        metadata = file.metadata
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
        # However few bytes a value takes in the file, in memory it takes some.
        size = max(sum(group.total_byte_size for group in groups), VALUE_B * rows * metadata.num_columns)
        if size <= limit:
            return file
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _no_parquet(path, wanted, error) from None
    raise InputError(
        f"{path}: cannot read the {kind}: {rows} rows of {metadata.num_columns} columns are more than fit into the "
        f"{limit >> 20} MiB that a {kind} may have"
    )


def _no_parquet(path: Path, wanted: str, error: Exception) -> InputError:
    said = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"{path}: is no {wanted}: {said}")


def limit_of(kind: Kind) -> int:
    """The most bytes of a kind."""
    return dict(_native.input_limits())[kind]


def json_of(text: str, name: str) -> Any:
    """The content of a JSON text called `name`; the caller knows its type."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError(f"{name}: is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{name}: is no JSON: {error}") from None
