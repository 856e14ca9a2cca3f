"""Images of SPIFFS and littlefs 1: files are what was put in, and what is missing is told."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from ffslab.images import read_image
from ffslab.images.inspection import inspect_image
from helpers.dumps import contents, saved
from helpers.spiffs_images import BLOCK_B, PAGE_B, spiffs

FILES = {
    "etc/hostname": b"board\n",
    "etc/config/big": random.Random(4).randbytes(60_000),
    "empty": b"",
    "one-page": bytes(range(251)),
}
LFS_BLOCK_B = 4096
NO_BLOCKS = (0xFFFF_FFFF, 0xFFFF_FFFF)


def test_spiffs_is_read_with_folders_made_of_names(tmp_path: Path) -> None:
    path = saved(tmp_path, spiffs(FILES))
    tree = read_image(path)
    assert (contents(path), tree.complaints) == (FILES, [])
    assert [entry.path for entry in tree.entries if entry.kind == "directory"] == ["", "etc", "etc/config"]
    facts = inspect_image(path)
    assert (facts["layout"]["page_B"], facts["layout"]["block_B"], facts["damage_count"]) == (PAGE_B, BLOCK_B, 0)


def test_pages_of_spiffs_that_are_gone_are_told_of_their_file(tmp_path: Path) -> None:
    image = bytearray(spiffs(FILES))
    # The third page of the second block: the look-up page says of it that it was deleted.
    image[BLOCK_B + 4 : BLOCK_B + 6] = bytes(2)
    tree = read_image(saved(tmp_path, image))
    assert [entry.path for entry in tree.entries if entry.error] == ["etc/config/big"]
    assert "the page with it is missing" in tree.complaints[0]
    # Its index header: then nobody knows its name.
    image = bytearray(spiffs({"a": b"x" * 300}))
    image[4:6] = bytes(2)
    facts = inspect_image(saved(tmp_path, image))
    assert facts["damage_count"] == 1
    assert "no index header" in facts["damage"][0]["what"]


def sealed(revision: int, entries: bytes, tail: tuple[int, int], *, goes_on: bool = False) -> bytes:
    """A block of a directory of littlefs 1 (`SPEC.md` of 1.7)."""
    size = 16 + len(entries) + 4
    body = struct.pack("<4I", revision, size | (0x8000_0000 if goes_on else 0), *tail) + entries
    return (body + struct.pack("<I", zlib.crc32(body) ^ 0xFFFF_FFFF)).ljust(LFS_BLOCK_B, b"\xff")


def entry(kind: int, data: bytes, name: bytes) -> bytes:
    return bytes([kind, len(data), 0, len(name)]) + data + name


def listed(content: bytes, first: int) -> tuple[list[bytes], int]:
    """The blocks of a file, each with pointers to those before it, and the number of the last one."""
    blocks: list[bytes] = []
    while content:
        number = len(blocks)
        count = (number & -number).bit_length() if number else 0
        pointers = struct.pack(f"<{count}I", *(first + number - (1 << k) for k in range(count)))
        room = LFS_BLOCK_B - len(pointers)
        blocks.append((pointers + content[:room]).ljust(LFS_BLOCK_B, b"\xff"))
        content = content[room:]
    return blocks, first + len(blocks) - 1


def littlefs1(files: Mapping[str, bytes]) -> bytes:
    """Superblock in blocks 0 and 1, root in 2 and 3 with one directory, whose second part stands in 6 and 7."""
    blocks: dict[int, bytes] = {}
    entries, next_free = [], 8
    for name, content in files.items():
        held, head = listed(content, next_free)
        blocks.update(enumerate(held, next_free))
        next_free += len(held)
        entries.append(entry(0x11, struct.pack("<2I", head if held else 0, len(content)), name.encode()))
    moved = entry(0x91, struct.pack("<2I", 0, 5), b"moved away")
    about = struct.pack("<5I", 2, 3, LFS_BLOCK_B, 64, 0x0001_0001)
    blocks[0] = sealed(1, entry(0x2E, about, b"littlefs"), (2, 3))
    blocks[1] = sealed(2, entry(0x2E, about, b"littlefs"), (2, 3))
    blocks[2] = sealed(5, entry(0x22, struct.pack("<2I", 4, 5), b"etc") + moved, (4, 5))
    blocks[3] = sealed(4, b"", NO_BLOCKS)
    blocks[4] = sealed(1, b"".join(entries[:1]), (6, 7), goes_on=True)
    blocks[6] = sealed(1, b"".join(entries[1:]), NO_BLOCKS)
    return b"".join(blocks.get(number, b"\xff" * LFS_BLOCK_B) for number in range(64))


OF_LITTLEFS1 = {"hostname": b"board\n", "big": random.Random(6).randbytes(90_000), "empty": b""}


def test_littlefs_1_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path, littlefs1(OF_LITTLEFS1))
    tree = read_image(path)
    files = {f"etc/{name}": data for name, data in OF_LITTLEFS1.items()}
    assert (contents(path), tree.complaints) == (files, [])
    facts = inspect_image(path)
    assert (facts["superblock"]["format"], facts["damage_count"]) == ("1.1", 0)


@pytest.mark.parametrize("at", [0, 1, 2, 4])
def test_a_damaged_block_of_littlefs_1_is_told(tmp_path: Path, at: int) -> None:
    """Of the superblock the other block is whole; of the others it is older, or there is none."""
    image = bytearray(littlefs1(OF_LITTLEFS1))
    image[at * LFS_BLOCK_B + 20] ^= 1
    facts = inspect_image(saved(tmp_path, image))
    assert facts["damage_count"] > 0 or at == 0
