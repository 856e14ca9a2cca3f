"""A client of the NBD protocol (doc/proto.md of NetworkBlockDevice/nbd), which can also break it.

As a program it is a small tool for whoever has none: it writes a pattern to the beginning of the device that FFSLAB_NBD
names, flushes, reads it back, and says what it has seen.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple, Self

GREETING = b"NBDMAGICIHAVEOPT"
GO, INFO, LIST, ABORT, EXPORT_NAME, STRUCTURED = 7, 6, 3, 2, 1, 8
ACK = 1
READ, WRITE, DISC, FLUSH, TRIM, CACHE, ZEROES = 0, 1, 2, 3, 4, 5, 6
FUA = 1
MAGIC = 0x25609513


class Reply(NamedTuple):
    """An answer to an option."""

    option: int
    kind: int
    data: bytes


def raw(path: Path) -> socket.socket:
    """A connection on which nothing was said yet."""
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(20)
    line.connect(str(path))
    return line


class Client:
    """A connection, greeted."""

    def __init__(self, path: Path, flags: int = 3) -> None:
        self.line = raw(path)
        self.greeting = self.take(18)
        self.line.sendall(struct.pack(">I", flags))
        self.size_bytes, self.flags = 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def take(self, count: int) -> bytes:
        """Exactly so many bytes; fewer when the other side has hung up."""
        data = b""
        while len(data) < count and (piece := self._received(count - len(data))):
            data += piece
        return data

    def _received(self, count: int) -> bytes:
        try:
            return self.line.recv(count)
        except ConnectionResetError:
            return b""

    @property
    def is_hung_up(self) -> bool:
        return self.take(1) == b""

    def option(self, option: int, data: bytes = b"") -> list[Reply]:
        """What is answered, up to an acknowledgement or an error."""
        self.line.sendall(b"IHAVEOPT" + struct.pack(">II", option, len(data)) + data)
        replies = []
        while head := self.take(20):
            _, of, kind, length = struct.unpack(">QIII", head)
            replies.append(Reply(of, kind, self.take(length)))
            if kind == ACK or kind >> 31:
                break
        return replies

    def go(self, name: bytes = b"", option: int = GO) -> list[Reply]:
        """Chooses the device, or asks about it."""
        replies = self.option(option, struct.pack(">I", len(name)) + name + struct.pack(">HH", 1, 3))
        for _, kind, data in replies:
            if kind == 3 and data[:2] == b"\0\0":
                self.size_bytes, self.flags = struct.unpack(">QH", data[2:])
        return replies

    def send(self, command: int, at: int = 0, count: int = 0, data: bytes = b"", flags: int = 0) -> None:
        cookie = at ^ 0x5A5A5A5A
        self.line.sendall(struct.pack(">IHHQQI", MAGIC, flags, command, cookie, at, count) + data)

    def ask(self, command: int, at: int = 0, count: int = 0, data: bytes = b"", flags: int = 0) -> tuple[int, bytes]:
        """The error of a request, or 0 and what was read."""
        self.send(command, at, count, data, flags)
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert (magic, cookie) == (0x67446698, at ^ 0x5A5A5A5A)
        return error, self.take(count) if command == READ and not error else b""

    def write(self, at: int, data: bytes, flags: int = 0) -> int:
        return self.ask(WRITE, at, len(data), data, flags)[0]

    def read(self, at: int, count: int) -> bytes:
        error, data = self.ask(READ, at, count)
        assert error == 0
        return data

    def leave(self) -> None:
        """Says good-bye."""
        self.send(DISC)
        assert self.is_hung_up


def main() -> None:
    pattern = bytes(range(256)) * 256
    places = range(0, 1 << 20, len(pattern))
    with Client(Path(os.environ["FFSLAB_NBD"].partition("socket=")[2])) as client:
        client.go()
        errors = [client.write(at, pattern) for at in places]
        errors.append(client.ask(FLUSH)[0])
        same = all(client.read(at, len(pattern)) == pattern for at in places)
        client.leave()
    sys.exit(f"errors {errors}" if any(errors) or not same else 0)


if __name__ == "__main__":
    main()
