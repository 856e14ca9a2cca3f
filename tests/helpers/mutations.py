"""Damage to flash images, chosen by a seed."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property

from helpers.yaffs2_images import tags_ecc

WORDS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 0x10000, 0x20000, 0x40000000, 4096, 255)
# YAFFS2's tags in the OOB area of the simulator's driver, with their ECC.
TAGS_AT, TAGS_B, TAGS_ECC_B = 2, 16, 12


@dataclass(frozen=True)
class Image:
    """An image before it is damaged; `oob_B` 0: pages stand without OOB areas."""

    fs: str
    content: bytes
    page_B: int = 2048  # noqa: N815
    oob_B: int = 0  # noqa: N815

    @cached_property
    def used(self) -> list[int]:
        """Where something stands, in steps of 512 bytes."""
        return [at for at in range(0, len(self.content), 512) if self.content[at : at + 512].strip(b"\xff\x00")]

    def damaged(self, seed: int) -> bytes:
        """One to eight pieces of damage; in two of three images the check sums are made right again."""
        draw = random.Random(seed)
        image = bytearray(self.content)
        for _ in range(draw.randint(1, 8)):
            # The structures of FAT and RFS stand at the start, headers at the start of pages in most formats.
            near_start = self.fs in ("fat", "rfs") and draw.random() < 0.6
            used = self.used[:64] if near_start else self.used
            at = draw.choice(used) + draw.choice((draw.randrange(64), draw.randrange(512)))
            if self.oob_B and draw.random() < 0.3:
                stride = self.page_B + self.oob_B
                at = at // stride * stride + self.page_B + draw.randrange(self.oob_B)
            _damage(image, min(at, len(image) - 8), draw)
        if draw.random() < 0.1:
            del image[draw.randrange(1, len(image)) :]
        if draw.random() < 2 / 3:
            self.seal(image)
        return bytes(image)

    def seal(self, image: bytearray) -> None:
        """Makes check sums right again. They go over the data areas, past the OOB areas between them."""
        if self.oob_B == 0:
            reseal(image, self.fs)
            return
        stride = self.page_B + self.oob_B
        starts = range(0, len(image), stride)
        data = bytearray().join(image[at : at + self.page_B] for at in starts)
        reseal(data, self.fs)
        for number, at in enumerate(starts):
            part = data[number * self.page_B : (number + 1) * self.page_B]
            image[at : at + len(part)] = part
            tags_at = at + self.page_B + TAGS_AT
            tags = bytes(image[tags_at : tags_at + TAGS_B])
            if self.fs == "yaffs2" and tags != self.content[tags_at : tags_at + TAGS_B] and len(tags) == TAGS_B:
                image[tags_at + TAGS_B : tags_at + TAGS_B + TAGS_ECC_B] = tags_ecc(tags)


def _damage(image: bytearray, at: int, draw: random.Random) -> None:
    count = draw.randint(1, 200)
    match draw.randrange(9):
        case 0 | 1:
            for _ in range(draw.randint(1, 4)):
                image[min(at + draw.randrange(64), len(image) - 1)] ^= 1 << draw.randrange(8)
        case 2 | 3 | 4:
            word = draw.choice((*WORDS, draw.randrange(64), len(image), len(image) // 2))
            struct.pack_into(draw.choice(("<I", ">I")), image, at & ~3, word & 0xFFFFFFFF)
        case 5:
            struct.pack_into("<H", image, at & ~1, draw.choice((0, 1, 0x7FFF, 0xFFFF, draw.randrange(65536))))
        case 6:
            part = bytes(image[at : at + count])
            image[at : at + len(part)] = draw.choice((draw.randbytes(len(part)), bytes(len(part)), b"\xff" * len(part)))
        case 7:
            size = draw.choice((512, 2048, 2112, 131072))
            part = bytes(image[at // size * size :][:size])
            to = draw.randrange(max(1, len(image) // size)) * size
            part = part[: len(image) - to]
            image[to : to + len(part)] = part
        case _:
            moved = bytes(image[at : at + 2048 - 4])
            image[at + 4 : at + 4 + len(moved)] = moved[: len(image) - at - 4]


def kernel_crc(start: int, data: bytes) -> int:
    """The kernel's crc32(start, data)."""
    return zlib.crc32(data, start ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def reseal(image: bytearray, fs: str) -> None:
    """Makes the check sums of headers and nodes right, so that what they protect is looked at."""
    if fs == "jffs2":
        for order, magic in (("<", b"\x85\x19"), (">", b"\x19\x85")):
            for at in _places(image, magic, 4):
                _reseal_jffs2(image, at, order)
    if fs == "ubifs":
        for magic in (b"UBI#", b"UBI!"):
            for at in _places(image, magic, 4):
                if at + 64 <= len(image):
                    struct.pack_into(">I", image, at + 60, kernel_crc(0xFFFFFFFF, bytes(image[at : at + 60])))
        for at in _places(image, b"\x31\x18\x10\x06", 8):
            length = struct.unpack_from("<I", image, at + 16)[0] if at + 24 <= len(image) else 0
            if 24 <= length <= 8192 and at + length <= len(image):
                struct.pack_into("<I", image, at + 4, kernel_crc(0xFFFFFFFF, bytes(image[at + 8 : at + length])))


def _places(image: bytearray, magic: bytes, align: int) -> list[int]:
    places, at = [], image.find(magic)
    while at >= 0:
        if at % align == 0:
            places.append(at)
        at = image.find(magic, at + 1)
    return places


def _reseal_jffs2(image: bytearray, at: int, order: str) -> None:
    if at + 12 > len(image):
        return
    kind, _ = struct.unpack_from(order + "HI", image, at + 2)
    if kind not in (0xE001, 0xE002, 0x2003, 0x2004, 0x2006):
        return
    struct.pack_into(order + "I", image, at + 8, kernel_crc(0, bytes(image[at : at + 8])))
    if kind == 0xE002 and at + 68 <= len(image):
        packed = struct.unpack_from(order + "I", image, at + 48)[0]
        if packed <= 8192 and at + 68 + packed <= len(image):
            struct.pack_into(order + "I", image, at + 60, kernel_crc(0, bytes(image[at + 68 : at + 68 + packed])))
        struct.pack_into(order + "I", image, at + 64, kernel_crc(0, bytes(image[at : at + 60])))
    if kind == 0xE001 and at + 40 <= len(image):
        name = bytes(image[at + 40 : at + 40 + image[at + 28]])
        struct.pack_into(order + "I", image, at + 36, kernel_crc(0, name))
        struct.pack_into(order + "I", image, at + 32, kernel_crc(0, bytes(image[at : at + 32])))
