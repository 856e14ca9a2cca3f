"""Images of SPIFFS as `spiffsgen.py` of ESP-IDF makes them.

Pages of 256 B, blocks of 4 KiB, names of 32 B, 4 B of meta data, magic numbers with the length.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

PAGE_B, BLOCK_B = 256, 4096
PAGES, LOOKUP_B = BLOCK_B // PAGE_B, 2
DATA_B = PAGE_B - 5
MAGIC = 0x2014_0529
INDEX = 0x8000
# Used, final, and for an index: index.
DATA_FLAGS, INDEX_FLAGS = 0xFC, 0xF8
HEADER_B, META_B = 49, 4


class Pages:
    """Pages in their order, with what the look-up page of their block says of them."""

    def __init__(self) -> None:
        self.pages: list[tuple[int, bytes]] = []

    def add(self, ino: int, part: int, flags: int, data: bytes) -> int:
        """The number of the page."""
        number = len(self.pages)
        head = struct.pack("<HHB", ino, part, flags)
        self.pages.append((ino, (head + data).ljust(PAGE_B, b"\xff")))
        return number // (PAGES - 1) * PAGES + number % (PAGES - 1) + 1

    def image(self, blocks: int) -> bytes:
        out = b""
        for block in range(blocks):
            held = self.pages[block * (PAGES - 1) : (block + 1) * (PAGES - 1)]
            lookup = b"".join(struct.pack("<H", ino) for ino, _ in held).ljust(PAGE_B - 4, b"\xff")
            magic = (MAGIC ^ PAGE_B ^ (blocks - block)) & 0xFFFF
            out += lookup + struct.pack("<HH", magic, block) + b"".join(page for _, page in held)
            out = out.ljust((block + 1) * BLOCK_B, b"\xff")
        return out


def spiffs(files: Mapping[str, bytes | str], blocks: int = 64) -> bytes:
    """An image with these files, whose names are at most 31 B long; texts, which would be links, are left out."""
    made = Pages()
    for ino, (name, content) in enumerate(files.items(), 1):
        if isinstance(content, str):
            continue
        parts = [content[at : at + DATA_B] for at in range(0, len(content), DATA_B)]
        places = [made.add(ino, number, DATA_FLAGS, part) for number, part in enumerate(parts)]
        head = bytes(3) + struct.pack("<IB", len(content), 1) + f"/{name}".encode().ljust(32, b"\0") + b"\xff" * META_B
        room = (PAGE_B - HEADER_B) // 2
        made.add(ino | INDEX, 0, INDEX_FLAGS, head + struct.pack(f"<{len(places[:room])}H", *places[:room]))
        for part, at in enumerate(range(room, len(places), (PAGE_B - 8) // 2), 1):
            some = places[at : at + (PAGE_B - 8) // 2]
            made.add(ino | INDEX, part, INDEX_FLAGS, bytes(3) + struct.pack(f"<{len(some)}H", *some))
    assert len(made.pages) <= blocks * (PAGES - 1), "too small an image"
    return made.image(blocks)
