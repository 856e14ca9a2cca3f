"""A chip on an SPI bus for programs that know serial programmers: flashrom's serprog protocol, version 1.

Commands and answers as flashrom's Documentation/serprog-protocol.txt has them: a byte of command and its parameters,
little-endian; ACK and what was asked for, or NAK. What only a parallel bus needs is not among what we say that we can.

The chip's clock is driven by what the client says: its transfers at the frequency that it has set, and its delays. A
programmer also waits for a part that is busy, since who polls sleeps between two polls by a clock that we do not know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

ACK, NAK = b"\x06", b"\x15"
VERSION = 1
BUS_SPI = 1 << 3
# Of one transfer: what the chip's own protocol sends and takes at the most (`crates/chip/src/wire/frames.rs`).
SENT_MAX_B = 1 << 20
# Zero stands for 2^24.
TAKEN_MAX_SAID = 0
# TCP has no buffer that a client could fill too far.
BUFFER_B = 0xFFFF
# Until the client sets another.
USUAL_HZ = 10_000_000
NAME = b"ffslab"
# Of one request in the chip's own protocol: kind SPI, option, tag, bytes sent and taken, time in ns.
REQUEST = struct.Struct("<BBHIIQ")
# Status, flags, tag, bytes, when the part is ready.
ANSWER = struct.Struct("<BBHIQ")

NOP, VERSION_OF, COMMANDS, NAME_OF, BUFFER, BUSES = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05
OPERATIONS, MOST_WRITTEN, BEGIN, DELAY, EXECUTE = 0x07, 0x08, 0x0B, 0x0E, 0x0F
SYNC, MOST_READ, SET_BUS, TRANSFER, FREQUENCY, PINS = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15
# Bytes of parameters; a transfer has what it sends behind them.
PARAMETERS = {
    **dict.fromkeys((NOP, VERSION_OF, COMMANDS, NAME_OF, BUFFER, BUSES, OPERATIONS, MOST_WRITTEN), 0),
    **dict.fromkeys((BEGIN, EXECUTE, SYNC, MOST_READ), 0),
    **{DELAY: 4, SET_BUS: 1, TRANSFER: 6, FREQUENCY: 4, PINS: 1},
}
SAID = {
    NOP: b"",
    VERSION_OF: VERSION.to_bytes(2, "little"),
    COMMANDS: sum(1 << command for command in PARAMETERS).to_bytes(32, "little"),
    NAME_OF: NAME.ljust(16, b"\0"),
    BUFFER: BUFFER_B.to_bytes(2, "little"),
    BUSES: bytes([BUS_SPI]),
    OPERATIONS: BUFFER_B.to_bytes(2, "little"),
    MOST_WRITTEN: SENT_MAX_B.to_bytes(3, "little"),
    MOST_READ: TAKEN_MAX_SAID.to_bytes(3, "little"),
    # The pins of the bus are always driven.
    PINS: b"",
}


class Programmer:
    """A programmer between a client and the chip.

    `feed` gives the chip a request of its own protocol and returns the answer.
    """

    def __init__(self, feed: Callable[[bytes], bytes]) -> None:
        self._feed = feed
        self._ahead = b""
        self._hz = USUAL_HZ
        self._now_ns = 0
        self._ready_at_ns = 0
        # Of the operations that the client has put together, and not yet executed.
        self._delay_ns = 0

    def takes(self, data: bytes) -> bytes:
        """The answers to all whole commands; the begin of the next one is kept."""
        rest = memoryview(self._ahead + data)
        answers = []
        while rest and (used := self._bytes_of_next(rest)) <= len(rest):
            answers.append(self._answer(rest[0], bytes(rest[1:used])))
            rest = rest[used:]
        self._ahead = bytes(rest)
        return b"".join(answers)

    @staticmethod
    def _bytes_of_next(rest: memoryview) -> int:
        used = 1 + PARAMETERS.get(rest[0], 0)
        if rest[0] == TRANSFER and len(rest) >= used:
            used += int.from_bytes(rest[1:4], "little")
        return used

    def _answer(self, command: int, given: bytes) -> bytes:
        if command in SAID:
            return ACK + SAID[command]
        if command == SYNC:
            return NAK + ACK
        if command == SET_BUS:
            return ACK if given[0] & BUS_SPI else NAK
        if command == FREQUENCY:
            wanted_hz = int.from_bytes(given, "little")
            self._hz = wanted_hz or self._hz
            return ACK + given if wanted_hz else NAK
        if command in (BEGIN, DELAY, EXECUTE):
            self._delay(command, given)
            return ACK
        if command == TRANSFER:
            return self._transfer(given[6:], int.from_bytes(given[3:6], "little"))
        return NAK

    def _delay(self, command: int, given: bytes) -> None:
        if command == DELAY:
            self._delay_ns += int.from_bytes(given, "little") * 1000
            return
        if command == EXECUTE:
            self._now_ns += self._delay_ns
        self._delay_ns = 0

    def _transfer(self, sent: bytes, taken_bytes: int) -> bytes:
        if len(sent) > SENT_MAX_B:
            return NAK
        # What is sent changes the part when the part is selected no longer, at the end of the transfer.
        bits = 8 * (len(sent) + taken_bytes)
        self._now_ns = max(self._now_ns, self._ready_at_ns) + bits * 1_000_000_000 // self._hz
        answer = self._feed(REQUEST.pack(1, 0, 0, len(sent), taken_bytes, self._now_ns) + sent)
        status, _flags, _tag, _bytes, self._ready_at_ns = ANSWER.unpack_from(answer)
        return NAK if status else ACK + answer[ANSWER.size :]
