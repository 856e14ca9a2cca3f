"""The NBD protocol, fixed newstyle, for one connection: a block device as real kernels and tools see it.

Follows `doc/proto.md` of NetworkBlockDevice/nbd, from which all numbers are. Structured replies, TLS and meta contexts
are refused as options, which leaves simple replies. A client that breaks the protocol loses its connection, and
nothing else; one that asks for what cannot be gets the error that the document names.
"""

from __future__ import annotations

import asyncio
import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# What is greeted with, and what begins options, their answers, requests and theirs.
HELLO = b"NBDMAGIC"
OPTION_MAGIC = b"IHAVEOPT"
OPTION_REPLY_MAGIC = 0x3E889045565A9
REQUEST_MAGIC = 0x25609513
REPLY_MAGIC = 0x67446698

# Flags of the greeting, from both sides.
FIXED_NEWSTYLE, NO_ZEROES = 1, 2

OPT_EXPORT_NAME, OPT_ABORT, OPT_LIST, OPT_INFO, OPT_GO = 1, 2, 3, 6, 7
REP_ACK, REP_SERVER, REP_INFO = 1, 2, 3
_ERROR = 1 << 31
ERR_UNSUPPORTED, ERR_INVALID, ERR_UNKNOWN, ERR_TOO_BIG = _ERROR + 1, _ERROR + 3, _ERROR + 6, _ERROR + 9
INFO_EXPORT, INFO_NAME, INFO_DESCRIPTION, INFO_BLOCK_SIZE = 0, 1, 2, 3

# Flags of an export.
HAS_FLAGS, SEND_FLUSH, SEND_FUA, SEND_TRIM, SEND_WRITE_ZEROES = 1, 1 << 2, 1 << 3, 1 << 5, 1 << 6

CMD_READ, CMD_WRITE, CMD_DISC, CMD_FLUSH, CMD_TRIM, CMD_WRITE_ZEROES = 0, 1, 2, 3, 4, 6
# Flags of a command.
FUA, NO_HOLE = 1, 2

# Errors of replies have numbers of their own, whatever the system's are.
EIO, EINVAL, ENOSPC = 5, 22, 28
_NUMBERS = {errno.EINVAL: EINVAL, errno.ENOSPC: ENOSPC}

# The most bytes that a request may move, of which every client may think so (proto.md, "Block size constraints").
PAYLOAD_MAX_B = 32 << 20
# What most kernels and file systems ask for at a time.
PREFERRED_B = 4096
# An option longer than a name may be (4096 bytes) with room beside it.
OPTION_MAX_B = 8192
# How much is read at a time of what nobody wants.
DISCARD_B = 1 << 16


class Disk(Protocol):
    """What is served. Its calls raise `OSError` for what it cannot do, and `PowerGoneError` when it answers no more."""

    @property
    def name(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def sector_bytes(self) -> int: ...
    @property
    def can_trim(self) -> bool: ...
    def read(self, at: int, count: int) -> bytes: ...
    def write(self, at: int, data: bytes) -> None: ...
    def write_zeroes(self, at: int, count: int) -> None: ...
    def flush(self) -> None: ...
    def trim(self, at: int, count: int) -> None: ...

    async def answers(self) -> None:
        """Returns when the answer to the last call is due."""


class PowerGoneError(Exception):
    """The device has no power any more: a request is not answered, and the connection ends."""


class _EndedError(Exception):
    """The client has left, or cannot be understood any more."""


@dataclass(frozen=True)
class _Request:
    flags: int
    command: int
    cookie: bytes
    at: int
    count: int


class Connection:
    """One client, from the greeting to its end. `disks`: by their names; the first one is also that without a name."""

    def __init__(self, disks: Sequence[Disk], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._disks = {disk.name.encode(): disk for disk in disks}
        self._disk = disks[0]
        self._reader = reader
        self._writer = writer
        self._with_zeroes = True

    async def serve(self) -> None:
        """Until the client says that it leaves, breaks the protocol, or is not there any more."""
        try:
            if await self._negotiate():
                while await self._answer_request():
                    pass
        except (_EndedError, PowerGoneError, asyncio.IncompleteReadError, ConnectionError):
            pass

    async def _read(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack(await self._reader.readexactly(layout.size))

    async def _discard(self, count: int) -> None:
        while count:
            count -= len(await self._reader.readexactly(min(count, DISCARD_B)))

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    # ---- before the device is chosen ---------------------------------------------------------------------------

    @property
    def _transmission(self) -> bytes:
        """Size and flags of the export."""
        trim = SEND_TRIM if self._disk.can_trim else 0
        flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_WRITE_ZEROES | trim
        return struct.pack(">QH", self._disk.size_bytes, flags)

    async def _negotiate(self) -> bool:
        """Whether the client has chosen the device."""
        await self._send(HELLO + OPTION_MAGIC + struct.pack(">H", FIXED_NEWSTYLE | NO_ZEROES))
        (flags,) = await self._read(struct.Struct(">I"))
        if flags & ~(FIXED_NEWSTYLE | NO_ZEROES):
            raise _EndedError
        self._with_zeroes = not flags & NO_ZEROES
        while True:
            if await self._reader.readexactly(len(OPTION_MAGIC)) != OPTION_MAGIC:
                raise _EndedError
            option, length = await self._read(struct.Struct(">II"))
            if length > OPTION_MAX_B:
                await self._discard(length)
                # This one has no answer beside the device itself.
                if option == OPT_EXPORT_NAME:
                    raise _EndedError
                await self._reply(option, ERR_TOO_BIG)
                continue
            data = await self._reader.readexactly(length)
            if option == OPT_EXPORT_NAME:
                if not self._chosen(data):
                    raise _EndedError
                await self._send(self._transmission + (bytes(124) if self._with_zeroes else b""))
                return True
            if option == OPT_ABORT:
                await self._reply(option, REP_ACK)
                return False
            if await self._answer_option(option, data):
                return True

    def _chosen(self, name: bytes) -> bool:
        """Whether there is a device of this name, which is the client's from now on."""
        disk = self._disks.get(name) if name else next(iter(self._disks.values()))
        if disk is None:
            return False
        self._disk = disk
        return True

    async def _reply(self, option: int, kind: int, data: bytes = b"") -> None:
        await self._send(struct.pack(">QIII", OPTION_REPLY_MAGIC, option, kind, len(data)) + data)

    async def _answer_option(self, option: int, data: bytes) -> bool:
        """Whether it ends the choice."""
        if option == OPT_LIST:
            if data:
                await self._reply(option, ERR_INVALID)
                return False
            for name in self._disks:
                await self._reply(option, REP_SERVER, struct.pack(">I", len(name)) + name)
            await self._reply(option, REP_ACK)
            return False
        if option not in (OPT_INFO, OPT_GO):
            await self._reply(option, ERR_UNSUPPORTED)
            return False
        asked = _asked(data)
        if asked is None:
            await self._reply(option, ERR_INVALID)
            return False
        name, wanted = asked
        if not self._chosen(name):
            await self._reply(option, ERR_UNKNOWN, b"ask for " + b" or ".join(self._disks))
            return False
        for kind, told in self._informations(wanted):
            await self._reply(option, REP_INFO, struct.pack(">H", kind) + told)
        await self._reply(option, REP_ACK)
        return option == OPT_GO

    def _informations(self, wanted: tuple[int, ...]) -> list[tuple[int, bytes]]:
        """What is told of the device: always size and sizes of blocks, so that nobody asks for parts of sectors."""
        sizes = struct.pack(">III", self._disk.sector_bytes, max(PREFERRED_B, self._disk.sector_bytes), PAYLOAD_MAX_B)
        told = [(INFO_EXPORT, self._transmission), (INFO_BLOCK_SIZE, sizes)]
        name = self._disk.name.encode()
        return told + [(kind, name) for kind in (INFO_NAME, INFO_DESCRIPTION) if kind in wanted]

    # ---- after that --------------------------------------------------------------------------------------------

    async def _answer_request(self) -> bool:
        """Whether another one may follow."""
        magic, flags, command = await self._read(struct.Struct(">IHH"))
        cookie = await self._reader.readexactly(8)
        at, count = await self._read(struct.Struct(">QI"))
        if magic != REQUEST_MAGIC:
            raise _EndedError
        asked = _Request(flags, command, cookie, at, count)
        if command == CMD_DISC:
            return False
        payload = b""
        error = self._wrong(asked)
        if command == CMD_WRITE:
            # It comes whatever is wrong with the request, and the next request comes behind it.
            if error:
                await self._discard(count)
            else:
                payload = await self._reader.readexactly(count)
        data = b""
        if not error:
            try:
                data = self._done(asked, payload)
            except OSError as failed:
                error = _NUMBERS.get(failed.errno or 0, EIO)
            await self._disk.answers()
        await self._send(struct.pack(">II", REPLY_MAGIC, error) + cookie + data)
        return True

    def _wrong(self, asked: _Request) -> int:
        """The error of a request that cannot be carried out; 0: it can."""
        allowed = {
            CMD_READ: FUA,
            CMD_WRITE: FUA,
            CMD_FLUSH: FUA,
            CMD_TRIM: FUA if self._disk.can_trim else None,
            CMD_WRITE_ZEROES: FUA | NO_HOLE,
        }.get(asked.command)
        if allowed is None or asked.flags & ~allowed:
            return EINVAL
        if asked.command == CMD_FLUSH:
            return EINVAL if asked.at or asked.count else 0
        if asked.count == 0 or asked.at % self._disk.sector_bytes or asked.count % self._disk.sector_bytes:
            return EINVAL
        if asked.command in (CMD_READ, CMD_WRITE) and asked.count > PAYLOAD_MAX_B:
            return EINVAL
        if asked.at + asked.count > self._disk.size_bytes:
            return ENOSPC if asked.command in (CMD_WRITE, CMD_WRITE_ZEROES) else EINVAL
        return 0

    def _done(self, asked: _Request, payload: bytes) -> bytes:
        """Carries it out; what was read."""
        if asked.command == CMD_READ:
            return self._disk.read(asked.at, asked.count)
        if asked.command == CMD_WRITE:
            self._disk.write(asked.at, payload)
        elif asked.command == CMD_TRIM:
            self._disk.trim(asked.at, asked.count)
        elif asked.command == CMD_WRITE_ZEROES:
            self._disk.write_zeroes(asked.at, asked.count)
        if asked.command == CMD_FLUSH or asked.flags & FUA:
            self._disk.flush()
        return b""


def _asked(data: bytes) -> tuple[bytes, tuple[int, ...]] | None:
    """Name and wanted information of an option that asks for a device; `None`: lengths in it do not fit."""
    if len(data) < 6:
        return None
    (length,) = struct.unpack_from(">I", data)
    if length > len(data) - 6:
        return None
    (count,) = struct.unpack_from(">H", data, 4 + length)
    if len(data) != 6 + length + 2 * count:
        return None
    return data[4 : 4 + length], struct.unpack_from(f">{count}H", data, 6 + length)
