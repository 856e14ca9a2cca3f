"""A writer of ESP-IDF's NVS, from its format (`components/nvs_flash` of ESP-IDF): pages, states, items, collection.

It writes as a device does: an item is appended, then the one before it is marked as erased; a page that is full is
left, and when only one page is erased the page with most erased entries is copied and erased.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

PAGE_B = 4096
ENTRY_B = 32
ENTRIES = 126
ACTIVE, FULL, FREEING = 0xFFFF_FFFE, 0xFFFF_FFFC, 0xFFFF_FFF8
WRITTEN, ERASED = 0b10, 0b00
NUMBERS = {
    "u8": (0x01, "<B"), "i8": (0x11, "<b"), "u16": (0x02, "<H"), "i16": (0x12, "<h"), "u32": (0x04, "<I"),
    "i32": (0x14, "<i"), "u64": (0x08, "<Q"), "i64": (0x18, "<q"), "float": (0x24, "<f"), "double": (0x28, "<d"),
}  # fmt: skip
TEXT, OLD_BLOB, CHUNK, INDEX = 0x21, 0x41, 0x42, 0x48
NO_CHUNK = 0xFF
CHUNK_MAX_B = ENTRY_B * (ENTRIES - 1)
# Chunks of a blob count from here on, and from the other number when it is written anew.
FIRST_CHUNKS = (0, 0x80)


def crc(data: bytes) -> int:
    return zlib.crc32(data, 0xFFFF_FFFF)


def head(namespace: int, kind: int, span: int, chunk: int, key: bytes, data: bytes) -> bytes:
    """The first entry of an item, with its check sum."""
    start = struct.pack("<4B", namespace, kind, span, chunk)
    rest = key.ljust(16, b"\0") + data.ljust(8, b"\xff")
    return start + struct.pack("<I", crc(start + rest)) + rest


def item(namespace: int, kind: int, key: bytes, value: bytes, chunk: int = NO_CHUNK) -> bytes:
    """All entries of an item whose data stand behind its head."""
    entries = -(-len(value) // ENTRY_B)
    fields = struct.pack("<HHI", len(value), 0xFFFF, crc(value))
    return head(namespace, kind, 1 + entries, chunk, key, fields) + value.ljust(entries * ENTRY_B, b"\xff")


@dataclass
class Page:
    sequence: int
    version: int
    state: int = ACTIVE
    states: list[int] = field(default_factory=lambda: [0b11] * ENTRIES)
    data: bytearray = field(default_factory=lambda: bytearray(b"\xff" * (ENTRIES * ENTRY_B)))
    used: int = 0

    def put(self, entries: bytes) -> int:
        """The number of its first entry."""
        at, count = self.used, len(entries) // ENTRY_B
        self.data[at * ENTRY_B : (at + count) * ENTRY_B] = entries
        self.states[at : at + count] = [WRITTEN] * count
        self.used += count
        return at

    def image(self) -> bytes:
        header = struct.pack("<IB", self.sequence, self.version) + b"\xff" * 19
        bits = sum(state << 2 * number for number, state in enumerate(self.states)) | 0b1111 << 2 * ENTRIES
        return (
            struct.pack("<I", self.state)
            + header
            + struct.pack("<I", crc(header))
            + bits.to_bytes(32, "little")
            + self.data
        )


class EspNvs:
    """A partition. `wipes`: what is erased is overwritten with zeros, as newer versions do."""

    def __init__(self, pages: int = 4, *, version: int = 0xFE, wipes: bool = True) -> None:
        self.pages: list[Page | None] = [None] * pages
        self.version, self.wipes = version, wipes
        self.namespaces: dict[bytes, int] = {}
        # Where each item begins: page, entry, entries.
        self.places: dict[tuple[int, bytes, str], list[tuple[int, int, int]]] = {}
        self.starts: dict[tuple[int, bytes], int] = {}
        self.sequence = 0
        self.current = self._take()

    def _take(self) -> int:
        number = next(at for at, page in enumerate(self.pages) if page is None)
        self.pages[number] = Page(self.sequence, self.version)
        self.sequence += 1
        return number

    def page(self, number: int | None = None) -> Page:
        page = self.pages[self.current if number is None else number]
        assert page is not None
        return page

    def _next_page(self) -> None:
        self.page().state = FULL
        if self.pages.count(None) > 1:
            self.current = self._take()
        else:
            self.collect(
                max(
                    range(len(self.pages)),
                    key=lambda at: self.pages[at] is not None and self.page(at).states.count(ERASED),
                )
            )

    def collect(self, number: int, *, finish: bool = True) -> None:
        """Copies what counts of a page to a new one, and erases it; `finish=False`: power fails before the erase."""
        old = self.page(number)
        old.state = FREEING
        self.current = self._take()
        for places in self.places.values():
            for at, (page, entry, span) in enumerate(places):
                if page == number:
                    copied = self.page().put(bytes(old.data[entry * ENTRY_B : (entry + span) * ENTRY_B]))
                    places[at] = (self.current, copied, span)
        if finish:
            self.pages[number] = None

    def _append(self, entries: bytes) -> tuple[int, int, int]:
        span = len(entries) // ENTRY_B
        if self.page().used + span > ENTRIES:
            self._next_page()
        return self.current, self.page().put(entries), span

    def _erase(self, places: list[tuple[int, int, int]]) -> None:
        for number, entry, span in places:
            page = self.page(number)
            page.states[entry : entry + span] = [ERASED] * span
            if self.wipes:
                page.data[entry * ENTRY_B : (entry + span) * ENTRY_B] = bytes(span * ENTRY_B)

    def _replace(self, name: tuple[int, bytes, str], places: list[tuple[int, int, int]], erase: bool) -> None:
        before = self.places.pop(name, [])
        self.places[name] = places
        if erase:
            self._erase(before)

    def namespace(self, name: bytes) -> int:
        if name not in self.namespaces:
            number = self.namespaces[name] = len(self.namespaces) + 1
            self.places[0, name, "u8"] = [self._append(head(0, 0x01, 1, NO_CHUNK, name, bytes([number])))]
        return self.namespaces[name]

    def set_number(self, space: bytes, key: bytes, kind: str, value: float, *, erase: bool = True) -> None:
        """`erase=False`: power fails before the older value is marked as erased."""
        code, how = NUMBERS[kind]
        data = struct.pack(how, value if kind in ("float", "double") else int(value))
        number = self.namespace(space)
        self._replace((number, key, kind), [self._append(head(number, code, 1, NO_CHUNK, key, data))], erase)

    def set_text(self, space: bytes, key: bytes, text: bytes) -> None:
        number = self.namespace(space)
        self._replace((number, key, "string"), [self._append(item(number, TEXT, key, text + b"\0"))], True)

    def set_old_blob(self, space: bytes, key: bytes, value: bytes) -> None:
        number = self.namespace(space)
        self._replace((number, key, "blob"), [self._append(item(number, OLD_BLOB, key, value))], True)

    def set_blob(self, space: bytes, key: bytes, value: bytes, *, index: bool = True) -> None:
        """`index=False`: power fails before the index is written."""
        number = self.namespace(space)
        start = FIRST_CHUNKS[1] if self.starts.get((number, key)) == FIRST_CHUNKS[0] else FIRST_CHUNKS[0]
        places, left, count = [], value, 0
        while left or not count:
            if self.page().used + 1 + (1 if left else 0) > ENTRIES:
                self._next_page()
            room = (ENTRIES - self.page().used - 1) * ENTRY_B
            chunk, left = left[:room], left[room:]
            places.append(self._append(item(number, CHUNK, key, chunk, start + count)))
            count += 1
        if index:
            fields = struct.pack("<I2BH", len(value), count, start, 0xFFFF)
            places.append(self._append(head(number, INDEX, 1, NO_CHUNK, key, fields)))
            self.starts[number, key] = start
        self._replace((number, key, "blob"), places, True)

    def erase(self, space: bytes, key: bytes, kind: str) -> None:
        name = (self.namespaces[space], key, kind)
        self._erase(self.places.pop(name))

    def image(self) -> bytes:
        return b"".join(b"\xff" * PAGE_B if page is None else page.image() for page in self.pages)


def small() -> bytes:
    """Numbers, a text, a blob, one of each replaced, one erased."""
    nvs = EspNvs(3)
    nvs.set_text(b"wifi", b"ssid", b"at home")
    nvs.set_number(b"wifi", b"channel", "u8", 11)
    nvs.set_blob(b"boot", b"key", bytes(range(70)))
    nvs.set_number(b"boot", b"count", "u32", 1)
    nvs.set_number(b"boot", b"count", "u32", 2)
    nvs.set_number(b"boot", b"gone", "i16", -5)
    nvs.erase(b"boot", b"gone", "i16")
    return nvs.image()


def resealed(image: bytes) -> bytes:
    """With right check sums of page headers and of the heads of written items."""
    out = bytearray(image)
    for page in range(0, len(out) - PAGE_B + 1, PAGE_B):
        if out[page : page + 4] == b"\xff" * 4:
            continue
        struct.pack_into("<I", out, page + 28, crc(bytes(out[page + 4 : page + 28])))
        number = 0
        while number < ENTRIES:
            state, at = out[page + 32 + number // 4] >> number % 4 * 2 & 3, page + 64 + number * ENTRY_B
            if state == WRITTEN:
                struct.pack_into("<I", out, at + 4, crc(bytes(out[at : at + 4] + out[at + 8 : at + ENTRY_B])))
            # What follows a head is data.
            number += max(out[at + 2], 1) if state == WRITTEN else 1
    return bytes(out)
