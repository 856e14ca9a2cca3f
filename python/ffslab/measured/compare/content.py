"""The bytes that a traced SQLite wrote: a trace has offsets and sizes, not content.

How long a write takes depends on its bytes, since JFFS2 compresses them. So the same inserts are made with the SQLite
of this installation, on files in memory, and its writes are paired with those of the trace, one by one. Assumed are the
table of the papers' SQLite experiment (17 columns: 12 integers, one of them the key, and 5 texts of the record size),
integers below 65,536, texts of random letters and digits. The measurements bear it out: for this table SQLite makes all
1,100 and 3,015 writes of the traces in their order; a full page is programmed in 43 % of the writes of a 1 KiB page of
text, so 819 B of it are stored, which is what zlib makes of letters and digits; and LZO, which comes first, cannot
shrink such pages (1.1 ms a write), but those that are partly empty (0.2 ms).
"""

from __future__ import annotations

import itertools
import random
import string
from dataclasses import dataclass

import apsw

from ffslab.sqlite.vfs import seed_random_numbers

PAGE_BYTES = 1024
SECTOR_BYTES = 512
TEXT_COLUMNS = 5
INTEGER_COLUMNS = 11  # beside the key
_numbers = itertools.count(1)
ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Written:
    """A write of SQLite: the end of its file's name says which file."""

    journal: bool
    offset: int
    data: bytes


class _File:
    """A file in memory; what is written to it is noted."""

    def __init__(self, content: bytearray, journal: bool, writes: list[Written]) -> None:
        self._content, self._journal, self._writes = content, journal, writes

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self._content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        end = offset + len(data)
        if len(self._content) < end:
            self._content.extend(bytes(end - len(self._content)))
        self._content[offset:end] = data
        self._writes.append(Written(self._journal, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        del self._content[size:]

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._content)

    def xSectorSize(self) -> int:  # noqa: N802
        return SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0

    def xSync(self, flags: int) -> None:  # noqa: N802
        pass

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xClose(self) -> None:  # noqa: N802
        pass


class _Memory(apsw.VFS):
    """Files in memory under any name."""

    def __init__(self, name: str) -> None:
        self.files: dict[str, bytearray] = {}
        self.writes: list[Written] = []
        super().__init__(name, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _File:  # type: ignore[override]  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary"
        flags[1] = flags[0]
        return _File(self.files.setdefault(path, bytearray()), path.endswith("-journal"), self.writes)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.files.pop(filename, None)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        return pathname in self.files

    def xFullPathname(self, filename: str) -> str:  # noqa: N802
        return filename

    def xRandomness(self, count: int) -> bytes:  # noqa: N802
        return bytes(count)

    def xCurrentTimeInt64(self) -> int:  # noqa: N802
        return 0


def insert_writes(record_bytes: int, records: int, seed: int = 1) -> tuple[list[Written], list[list[Written]]]:
    """What SQLite writes to make the table, and for each of `records` inserts of one transaction each."""
    name = f"ffslab-content-{next(_numbers)}"
    memory = _Memory(name)
    seed_random_numbers(name)
    randomness = random.Random(seed)
    connection = apsw.Connection("/test.db", vfs=name)
    try:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA synchronous = full")
        columns = [f"i{i} INTEGER" for i in range(INTEGER_COLUMNS)] + [f"t{i} TEXT" for i in range(TEXT_COLUMNS)]
        connection.execute(f"CREATE TABLE records (id INTEGER PRIMARY KEY, {', '.join(columns)})")
        created, memory.writes[:] = list(memory.writes), []
        places = ", ".join(["NULL", *["?"] * (INTEGER_COLUMNS + TEXT_COLUMNS)])
        inserts = []
        for _ in range(records):
            values: list[int | str] = [randomness.randrange(65_536) for _ in range(INTEGER_COLUMNS)]
            values += ["".join(randomness.choices(ALPHABET, k=record_bytes)) for _ in range(TEXT_COLUMNS)]
            connection.execute(f"INSERT INTO records VALUES ({places})", values)
            inserts.append(list(memory.writes))
            memory.writes.clear()
        return created, inserts
    finally:
        connection.close()
        memory.unregister()
