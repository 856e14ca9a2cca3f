"""A SQLite data base after a power cut: sound, and with every transaction that was said to be done."""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffslab._native import CrashRecording

# What SQLite puts beside a data base.
ASIDE = ("-journal", "-wal")


def sqlite_judge(
    name: str, recording: CrashRecording, *, may_lose: bool = False
) -> Callable[[Mapping[str, bytes], int], str | None]:
    """Judges the data base called `name`.

    `PRAGMA integrity_check`, and its content, which must be that after the last transaction that was done, or after the
    one that was under way. `may_lose`: that of any earlier one is right, too, as with synchronous = normal in WAL mode.
    """
    names = [name, *(name + aside for aside in ASIDE)]
    digests: list[str] = []

    def note(_told: int, files: Mapping[str, bytes]) -> None:
        digest, wrong = _looked_at({path: files[path] for path in files}, name)
        digests.append(wrong or digest)

    recording.each_told(names, note)

    def judge(files: Mapping[str, bytes], told: int) -> str | None:
        digest, wrong = _looked_at({path: files[path] for path in names if path in files}, name)
        if wrong:
            return wrong
        # The next one may have come to its end before it was said.
        allowed = digests[0 if may_lose else told : told + 2]
        if digest in allowed:
            return None
        if digest in digests[:told]:
            behind = told - max(number for number in range(told) if digests[number] == digest)
            return f"{name}: {behind} of {told} transactions that were done are lost"
        return f"{name}: holds what it held after no transaction"

    return judge


def _looked_at(files: Mapping[str, bytes], name: str) -> tuple[str, str | None]:
    """A hash of all rows, and what is wrong. No data base is as an empty one."""
    if not files.get(name):
        return _digest([]), None
    with tempfile.TemporaryDirectory(prefix="ffslab-sqlite-", dir=_memory()) as folder:
        for path, content in files.items():
            (Path(folder) / path.replace("/", "_")).write_bytes(content)
        try:
            with closing(sqlite3.connect(Path(folder) / name.replace("/", "_"))) as base:
                base.text_factory = bytes
                (first,) = base.execute("PRAGMA integrity_check(1)").fetchone()
                if first != b"ok":
                    return "", f"{name}: integrity check: {first.decode('utf-8', 'replace').splitlines()[-1]}"
                return _digest(_rows(base)), None
        except sqlite3.DatabaseError as error:
            return "", f"{name}: {error}"


def _rows(base: sqlite3.Connection) -> list[object]:
    tables = base.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    rows: list[object] = [*tables]
    for table, sql in tables:
        if sql and sql.upper().startswith(b"CREATE TABLE"):
            quoted = table.decode().replace('"', '""')
            rows += base.execute(f'SELECT * FROM "{quoted}"').fetchall()
    return rows


def _digest(rows: list[object]) -> str:
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
