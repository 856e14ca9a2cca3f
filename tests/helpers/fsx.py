"""A file system exerciser: random operations on one file, each compared with what a byte array says.

It follows the idea of Apple's and the Linux Test Project's `fsx`: reads, writes, truncations, reads and writes of
mapped memory, closing and opening again, in a random order that a seed decides. Where a file system shares no memory,
as JFFS2, mapped memory is private and only read.
"""

from __future__ import annotations

import mmap
import os
import random
from pathlib import Path

FILE_BYTES_MAX = 256 * 1024
MOVE_BYTES_MAX = 64 * 1024
OPERATIONS = ("read", "write", "write", "append", "truncate", "map-read", "map-write", "sync", "reopen")


def shares_memory(folder: Path) -> bool:
    """Whether the file system of a folder lets programs share memory that is mapped to a file."""
    path = folder / "shares memory"
    with path.open("w+b") as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        try:
            mmap.mmap(file.fileno(), mmap.PAGESIZE).close()
        except OSError:
            return False
        finally:
            path.unlink()
    return True


class Exerciser:
    """One file and what must be in it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.dice = random.Random(seed)
        self.content = bytearray()
        self.shared = shares_memory(path.parent)
        self.operations = [name for name in OPERATIONS if self.shared or name != "map-write"]
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def run(self, operations: int) -> None:
        """Does so many operations; raises `AssertionError` with their number at the first difference."""
        for number in range(operations):
            name = self.dice.choice(self.operations)
            try:
                getattr(self, name.replace("-", "_"))()
                assert os.fstat(self.file).st_size == len(self.content), "size"
            except AssertionError as error:
                raise AssertionError(f"operation {number}, {name}: {error}") from error
        self.compare(0, len(self.content))
        os.close(self.file)

    def place(self, limit: int) -> tuple[int, int]:
        """Offset and length of a random piece below a limit."""
        at = self.dice.randrange(max(limit, 1))
        return at, self.dice.randrange(1, MOVE_BYTES_MAX)

    def compare(self, at: int, count: int) -> None:
        got = os.pread(self.file, count, at)
        wanted = bytes(self.content[at : at + count])
        if got != wanted:
            first = next(
                (i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), min(len(got), len(wanted))
            )
            raise AssertionError(f"byte {at + first} differs, {len(got)} of {len(wanted)} bytes read at {at}")

    def put(self, at: int, data: bytes) -> None:
        if len(self.content) < at + len(data):
            self.content.extend(bytes(at + len(data) - len(self.content)))
        self.content[at : at + len(data)] = data

    def read(self) -> None:
        self.compare(*self.place(len(self.content)))

    def write(self) -> None:
        at, count = self.place(FILE_BYTES_MAX - MOVE_BYTES_MAX)
        data = self.dice.randbytes(count)
        assert os.pwrite(self.file, data, at) == count
        self.put(at, data)

    def append(self) -> None:
        if len(self.content) < FILE_BYTES_MAX:
            data = self.dice.randbytes(self.dice.randrange(1, 5000))
            appender = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            assert os.write(appender, data) == len(data)
            os.close(appender)
            self.put(len(self.content), data)

    def truncate(self) -> None:
        size = self.dice.randrange(FILE_BYTES_MAX)
        os.ftruncate(self.file, size)
        self.put(size, b"")
        del self.content[size:]

    def map_read(self) -> None:
        if self.content:
            flags = mmap.MAP_SHARED if self.shared else mmap.MAP_PRIVATE
            with mmap.mmap(self.file, len(self.content), flags, mmap.PROT_READ) as memory:
                at, count = self.place(len(self.content))
                assert memory[at : at + count] == self.content[at : at + count], f"mapped bytes at {at}"

    def map_write(self) -> None:
        if self.content:
            with mmap.mmap(self.file, len(self.content)) as memory:
                at, count = self.place(len(self.content))
                data = self.dice.randbytes(min(count, len(self.content) - at))
                memory[at : at + len(data)] = data
                self.put(at, data)
                if self.dice.random() < 0.5:
                    memory.flush()

    def sync(self) -> None:
        (os.fsync if self.dice.random() < 0.5 else os.fdatasync)(self.file)

    def reopen(self) -> None:
        os.close(self.file)
        self.file = os.open(self.path, os.O_RDWR)
        self.compare(*self.place(len(self.content)))
