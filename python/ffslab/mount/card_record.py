"""What was asked of a served card, kept so that the same requests can be made again and the power cut among them.

A record has a line of what it is, a line of JSON (`Kept`), and an entry for each request that was carried out, in their
order: the last one says that the session came to its end, and its data are the SHA-256 of all before it. Marks are what
a program of the client said meanwhile: a write to the export `marks` is one, and it was answered before whatever the
program did next.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from ffslab._native import InputError, __version__
from ffslab.files.inputs import open_input
from ffslab.files.os_errors import reason
from ffslab.mount.card import PIECE_B, Card, Wanted
from ffslab.mount.nbd import PAYLOAD_MAX_B
from ffslab.mount.saved import LINE_MAX_B

KIND = b"ffslab card record 1\n"
READ, WRITE, ZEROES, FLUSH, TRIM, MARK, END = range(7)
# Kind, bytes, where, and how long the device had nothing to do before. The data of writes, marks and the end follow.
ENTRY = struct.Struct(">B3xIQQ")
MARKS = "marks"
# A page of a kernel's cache, so that it writes a mark without reading around it.
MARKS_B = 4096


@dataclass(frozen=True)
class Kept:
    """Which device, from which state. `sha256`: of the image at the start."""

    device: str
    settings: tuple[str, ...]
    seed: int
    think: bool
    image: str | None
    sha256: str | None


@dataclass(frozen=True)
class Entry:
    """A request that was carried out, or a mark."""

    kind: int
    at: int
    count: int
    idle_ns: int
    data: bytes = b""


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with open_input(file, "image") as opened:
        while piece := opened.read(PIECE_B):
            digest.update(piece)
    return digest.hexdigest()


class Recorder:
    """The file while the session goes on; it has its name once it is whole."""

    def __init__(self, file: Path, wanted: Wanted, seed: int, *, think: bool) -> None:
        self._file = file
        self._part = file.with_name(f"{file.name}.{os.getpid()}.part")
        self._digest = hashlib.sha256()
        image = wanted.image
        kept = Kept(
            wanted.device,
            wanted.settings,
            seed,
            think,
            None if image is None else str(image.absolute()),
            None if image is None else sha256_of(image),
        )
        line = json.dumps({"version": __version__, **asdict(kept)}, ensure_ascii=False).encode()
        try:
            self._out = self._part.open("wb")
            self._write(KIND + line + b"\n")
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> InputError:
        return InputError(f"--record {self._file}: {reason(error)}")

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._out.write(data)

    def add(self, entry: Entry) -> None:
        try:
            self._write(ENTRY.pack(entry.kind, entry.count, entry.at, entry.idle_ns) + entry.data)
        except OSError as error:
            # Its client must not take it for an error of the device.
            raise self._refused(error) from None

    def end(self) -> None:
        digest = self._digest.copy()
        digest.update(ENTRY.pack(END, digest.digest_size, 0, 0))
        self.add(Entry(END, 0, digest.digest_size, 0, digest.digest()))
        try:
            self._out.close()
            self._part.replace(self._file)
        except OSError as error:
            raise self._refused(error) from None

    def close(self) -> None:
        """Nothing is left of a session that did not come to its end."""
        self._out.close()
        self._part.unlink(missing_ok=True)


class RecordedCard:
    """A card whose requests are written down."""

    def __init__(self, card: Card, recorder: Recorder) -> None:
        self.card, self._recorder = card, recorder
        self.name, self.size_bytes = card.name, card.size_bytes
        self.sector_bytes, self.can_trim = card.sector_bytes, card.can_trim

    def _add(self, kind: int, at: int = 0, count: int = 0, data: bytes = b"") -> None:
        self._recorder.add(Entry(kind, at, count, self.card.idle_ns, data))

    def read(self, at: int, count: int) -> bytes:
        data = self.card.read(at, count)
        self._add(READ, at, count)
        return data

    def write(self, at: int, data: bytes) -> None:
        self.card.write(at, data)
        self._add(WRITE, at, len(data), data)

    def write_zeroes(self, at: int, count: int) -> None:
        self.card.write_zeroes(at, count)
        self._add(ZEROES, at, count)

    def flush(self) -> None:
        self.card.flush()
        self._add(FLUSH)

    def trim(self, at: int, count: int) -> None:
        self.card.trim(at, count)
        self._add(TRIM, at, count)

    async def answers(self) -> None:
        await self.card.answers()


class Marks:
    """The export on which a client says how far it is: the text at its beginning, up to a newline or a zero."""

    name, size_bytes, sector_bytes, can_trim = MARKS, MARKS_B, 512, False

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._held = bytearray(MARKS_B)

    def read(self, at: int, count: int) -> bytes:
        return bytes(self._held[at : at + count])

    def write(self, at: int, data: bytes) -> None:
        self._held[at : at + len(data)] = data
        text = bytes(self._held).split(b"\0", 1)[0].split(b"\n", 1)[0]
        if at == 0 and text:
            self._recorder.add(Entry(MARK, 0, len(text), 0, text))

    def write_zeroes(self, at: int, count: int) -> None:
        self._held[at : at + count] = bytes(count)

    def flush(self) -> None:
        pass

    def trim(self, at: int, count: int) -> None:
        pass

    async def answers(self) -> None:
        pass


def entries_of(file: Path) -> tuple[Kept, Iterator[Entry]]:
    """What a record is of, and its requests and marks.

    Raises `InputError`, at once or on the way: it is no record, damaged, or one of a session that did not end.
    """
    opened = open_input(file, "trace")
    if opened.read(len(KIND)) != KIND:
        opened.close()
        raise InputError(f"{file}: is no record of a card: `ffslab card serve --record FILE` writes one")
    try:
        written = opened.readline(LINE_MAX_B)
        line = json.loads(written)
        line.pop("version")
        kept = Kept(**{**line, "settings": tuple(line["settings"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        opened.close()
        raise InputError(f"{file}: a record of a card whose second line is damaged") from None
    return kept, _entries(file, opened, hashlib.sha256(KIND + written))


def _entries(file: Path, opened: BinaryIO, digest: hashlib._Hash) -> Iterator[Entry]:
    with opened:
        while True:
            head = opened.read(ENTRY.size)
            digest.update(head)
            try:
                kind, count, at, idle_ns = ENTRY.unpack(head)
                has_data = kind in (WRITE, MARK, END)
                data = opened.read(count) if has_data and count <= PAYLOAD_MAX_B else b""
                if kind > END or (has_data and len(data) != count):
                    raise struct.error
                if kind == END and data != digest.digest():
                    raise struct.error
            except struct.error:
                raise InputError(f"{file}: a record of a card that is damaged or has no end: make it again") from None
            if kind == END:
                return
            digest.update(data)
            yield Entry(kind, at, count, idle_ns, data)


def wanted_of(kept: Kept) -> Wanted:
    """The device of a record, as it was at the start.

    Raises `InputError` when its image is another one now.
    """
    if kept.image is None:
        return Wanted(kept.device, kept.settings)
    image = Path(kept.image)
    if sha256_of(image) != kept.sha256:
        raise InputError(f"{image}: is not what it was when the record was made, which began with it")
    return Wanted(kept.device, kept.settings, image)
