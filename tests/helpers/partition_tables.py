"""Images of whole devices: partitions, and a table that has them."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

SECTOR_B = 512


class Held(NamedTuple):
    """A partition. `at`: where it begins, in bytes; `claims_B`: what the table says of its size, if not the truth."""

    name: str
    at: int
    data: bytes
    claims_B: int | None = None  # noqa: N815

    @property
    def size_B(self) -> int:  # noqa: N802
        return len(self.data) if self.claims_B is None else self.claims_B


def filled(parts: Sequence[Held], blank: int, all_B: int) -> bytearray:  # noqa: N803
    """All partitions in their places, nothing else."""
    out = bytearray([blank]) * all_B
    for part in parts:
        out[part.at : part.at + len(part.data)] = part.data
    return out


def mbr_row(kind: int, first: int, count: int) -> bytes:
    return struct.pack("<4B4B2I", 0, 1, 1, 0, kind, 1, 1, 0, first, count)


def mbr_sector(*rows: bytes) -> bytes:
    return bytes(446) + b"".join(rows).ljust(64, b"\0") + b"\x55\xaa"


def sectors(part: Held) -> tuple[int, int]:
    return part.at // SECTOR_B, part.size_B // SECTOR_B


def mbr(first: Sequence[Held], chained: Sequence[Held], all_B: int) -> bytearray:  # noqa: N803
    """The chained ones stand in an extended partition, each with a sector of its own 2 KiB before it."""
    out = filled([*first, *chained], 0, all_B)
    rows = [mbr_row(0x83, *sectors(part)) for part in first]
    links = [part.at // SECTOR_B - 4 for part in chained]
    if links:
        rows.append(mbr_row(0x05, links[0], all_B // SECTOR_B - links[0]))
    for number, (part, link) in enumerate(zip(chained, links, strict=True)):
        own = [mbr_row(0x83, 4, part.size_B // SECTOR_B)]
        own += [mbr_row(0x05, following - links[0], 8) for following in links[number + 1 : number + 2]]
        out[link * SECTOR_B : (link + 1) * SECTOR_B] = mbr_sector(*own)
    out[:SECTOR_B] = mbr_sector(*rows)
    return out


def gpt(parts: Sequence[Held], all_B: int, sector_B: int = SECTOR_B) -> bytearray:  # noqa: N803
    out = filled(parts, 0, all_B)
    entries = b"".join(
        struct.pack("<16s16s3Q", b"type" * 4, bytes([number]) * 16, at, at + count - 1, 0)
        + part.name.encode("utf-16-le").ljust(72, b"\0")
        for number, part in enumerate(parts, 1)
        for at, count in [(part.at // sector_B, part.size_B // sector_B)]
    ).ljust(8 * 128, b"\0")
    last = all_B // sector_B - 1
    for own, other, listed in ((1, last, 2), (last, 1, last - 2)):
        numbers = (
            b"EFI PART",
            0x10000,
            92,
            0,
            0,
            own,
            other,
            4,
            last - 3,
            b"d" * 16,
            listed,
            8,
            128,
            zlib.crc32(entries),
        )
        head = bytearray(struct.pack("<8s4I4Q16sQ3I", *numbers))
        head[16:20] = struct.pack("<I", zlib.crc32(head))
        out[own * sector_B : own * sector_B + 92] = head
        out[listed * sector_B : listed * sector_B + len(entries)] = entries
    out[:SECTOR_B] = mbr_sector(mbr_row(0xEE, 1, all_B // SECTOR_B - 1))
    return out


def gpt_resealed(image: bytes) -> bytes:
    """With right check sums of both copies of a GPT, of eight entries each."""
    out = bytearray(image)
    for own in (SECTOR_B, len(out) // SECTOR_B * SECTOR_B - SECTOR_B):
        if own < SECTOR_B or own + 92 > len(out):
            continue
        listed = struct.unpack_from("<Q", out, own + 72)[0] * SECTOR_B
        struct.pack_into("<I", out, own + 88, zlib.crc32(out[listed : listed + 8 * 128]))
        out[own + 16 : own + 20] = bytes(4)
        struct.pack_into("<I", out, own + 16, zlib.crc32(out[own : own + 92]))
    return bytes(out)


def esp32(parts: Sequence[Held], all_B: int, at: int = 0x8000, *, md5: bool = True) -> bytearray:  # noqa: N803
    out = filled(parts, 0xFF, all_B)
    out[:128] = (b"\xe9boot loader" * 10).ljust(128, b"\0")
    rows = b"".join(
        struct.pack("<2sBBII16sI", b"\xaa\x50", 1, 0x81, part.at, part.size_B, part.name.encode(), 0) for part in parts
    )
    end = b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(rows, usedforsecurity=False).digest() if md5 else b"\xff" * 32
    out[at : at + len(rows) + 32] = rows + end
    return out


def environment(text: str, size_B: int, flag: int | None = None) -> bytes:  # noqa: N803
    """U-Boot's, with this list of partitions."""
    texts = b"bootdelay=2\0mtdparts=mtdparts=" + text.encode() + b"\0bootcmd=run nand\0\0"
    head = b"" if flag is None else bytes([flag])
    body = texts.ljust(size_B - 4 - len(head), b"\0")
    return struct.pack("<I", zlib.crc32(body)) + head + body
