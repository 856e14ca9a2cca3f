"""A client of `ffslab chip serve`, written from docs/chip-serve.md.

As a program it is a short firmware for SPI NAND, for `ffslab chip serve --part w25n01gv ... -- python wire_client.py`.
"""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass

SPI, NAND, IDLE, LABEL, CUT, POWER_ON, COUNTS, WHY, KEEP, PUT_BACK = 1, 2, 3, 16, 17, 18, 19, 20, 21, 22
READY, REFUSED, POWERED = 1, 2, 4


@dataclass
class Answer:
    """What came back. `ready_at_ns`: when the part is ready, on the client's clock."""

    status: int
    flags: int
    tag: int
    ready_at_ns: int
    data: bytes


class Wire:
    """A connection, with the clock of a firmware."""

    def __init__(self, where: str) -> None:
        self.now_ns = 0
        kind, _, place = where.partition(":")
        if kind == "unix":
            self.line = socket.socket(socket.AF_UNIX)
            self.line.connect(place)
        else:
            host, _, port = place.partition(":")
            self.line = socket.create_connection((host, int(port)))
        self.line.settimeout(30)
        name, self.version, self.bus, self.most_bytes = struct.unpack("<8sHHI", self._take(16))
        assert name == b"ffslchip", name

    def close(self) -> None:
        self.line.close()

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.line.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def request(self, kind: int, sent: bytes = b"", taken: int = 0, option: int = 0, tag: int = 0) -> bytes:
        return struct.pack("<BBHIIQ", kind, option, tag, len(sent), taken, self.now_ns) + sent

    def answer(self) -> Answer:
        status, flags, tag, count, ready_at_ns = struct.unpack("<BBHIQ", self._take(16))
        return Answer(status, flags, tag, ready_at_ns, self._take(count))

    def ask(self, kind: int, sent: bytes = b"", taken: int = 0, option: int = 0) -> Answer:
        self.line.sendall(self.request(kind, sent, taken, option))
        return self.answer()

    def spi(self, sent: bytes, taken: int = 0) -> bytes:
        return self.ask(SPI, sent, taken).data

    def wait(self) -> None:
        self.now_ns = max(self.now_ns, self.ask(IDLE).ready_at_ns)


class SpiNand:
    """A driver: pages of 2 KiB."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        wire.spi(b"\xff")
        wire.wait()
        wire.spi(b"\x1f\xa0\x00")

    def read_id(self) -> bytes:
        return self.wire.spi(b"\x9f\x00", 3)

    def status(self) -> int:
        return self.wire.spi(b"\x0f\xc0", 1)[0]

    def _done(self) -> bool:
        """Whether what goes on has not failed, when it is over."""
        while self.status() & 1:
            self.wire.now_ns += 50_000
        return not self.status() & 12

    def program(self, page: int, data: bytes) -> bool:
        self.wire.spi(b"\x06")
        self.wire.spi(b"\x02\x00\x00" + data)
        self.wire.spi(b"\x10" + page.to_bytes(3, "big"))
        return self._done()

    def erase(self, block: int) -> bool:
        self.wire.spi(b"\x06")
        self.wire.spi(b"\xd8" + (block * 64).to_bytes(3, "big"))
        return self._done()

    def read(self, page: int, count: int = 2048) -> bytes:
        self.wire.spi(b"\x13" + page.to_bytes(3, "big"))
        self._done()
        return self.wire.spi(b"\x03\x00\x00\x00", count)


def main() -> None:
    """Writes a block and reads it back."""
    wire = Wire(os.environ["FFSLAB_CHIP"])
    chip = SpiNand(wire)
    print("identity", chip.read_id().hex())
    wire.ask(LABEL, b"image")
    assert chip.erase(1)
    pages = [bytes([number]) * 2048 for number in range(64)]
    assert all(chip.program(64 + number, page) for number, page in enumerate(pages))
    wire.ask(LABEL)
    print("equal", [chip.read(64 + number) for number in range(64)] == pages, "after", wire.now_ns // 1000, "us")


if __name__ == "__main__":
    main()
