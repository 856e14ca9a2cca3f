"""A writer of Zephyr's ZMS, from its documentation and `zms_priv.h`: a ring of sectors, tables that grow down."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from helpers.zephyr_nvs import crc8

ENTRY_B = 16
NOBODY = 0xFFFFFFFF
OPEN = 0xFFFF
# Version 1, the magic number, the form of entries.
METADATA = 0x4201
# Values up to this size stand in their entry.
WITHIN_B = 8


class Value(NamedTuple):
    """Where a value is: its sector, where its data begin, and what its entry has behind the number."""

    sector: int
    offset: int
    size: int
    rest: bytes


class ZephyrZms:
    """A partition, written as a device with this write block size does it.

    `wide`: numbers of 64 bits (CONFIG_ZMS_ID_64BIT); `early`: the number before the length, as up to Zephyr 4.0.
    """

    def __init__(
        self,
        sectors: int = 4,
        sector_B: int = 4096,  # noqa: N803
        *,
        write_B: int = 1,  # noqa: N803
        data_crc: bool = False,
        wide: bool = False,
        early: bool = False,
    ) -> None:
        self.sectors, self.sector_B, self.write_B, self.data_crc = sectors, sector_B, write_B, data_crc
        self.wide, self.early = wide, early
        self.within_B = 4 if wide else WITHIN_B
        self.entry_B = self.aligned(ENTRY_B)
        self.flash = bytearray(b"\xff" * (sectors * sector_B))
        self.cycles = [0] * sectors
        self.values: dict[int, Value] = {}
        self._begin(0)
        self._header(0)
        self._done()

    def aligned(self, size: int) -> int:
        return -(-size // self.write_B) * self.write_B

    def entry(self, sector: int, number: int, size: int, rest: bytes) -> bytes:
        """An entry with its check sum. `rest`: what stands behind number and size."""
        cycle = self.cycle(sector)
        if self.wide:
            fields = struct.pack("<BHQ", cycle, size, number) + rest[:4]
        else:
            fields = struct.pack("<BIH" if self.early else "<BHI", cycle, *((number, size)[:: 1 if self.early else -1]))
            fields += rest
        return bytes([crc8(fields)]) + fields

    def cycle(self, sector: int) -> int:
        """What was erased does not know its cycle any more; wide entries have no room for a count beside it."""
        return self.cycles[sector] & 0xFF if self.wide else 1

    def _begin(self, sector: int) -> None:
        self.sector, self.data_at, self.entry_at = sector, 0, self.sector_B - 3 * self.entry_B

    def _put(self, sector: int, at: int, data: bytes) -> None:
        at += sector * self.sector_B
        assert self.flash[at : at + len(data)] == b"\xff" * len(data), "flash is programmed once"
        self.flash[at : at + len(data)] = data

    def _nobody(self) -> int:
        return 2**64 - 1 if self.wide else NOBODY

    def _header(self, sector: int) -> None:
        self.cycles[sector] += 1
        rest = struct.pack("<I", METADATA | 0x10000) if self.wide else struct.pack("<II", self.cycles[sector], METADATA)
        head = self.entry(sector, self._nobody(), OPEN, rest)
        self._put(sector, self.sector_B - self.entry_B, head)

    def _put_entry(self, number: int, size: int, rest: bytes) -> None:
        self._put(self.sector, self.entry_at, self.entry(self.sector, number, size, rest))
        self.entry_at -= self.entry_B

    def _done(self) -> None:
        self._put_entry(self._nobody(), 0, struct.pack("<II", self.data_at, NOBODY))

    def _value(self, number: int, size: int, data: bytes, rest: bytes) -> None:
        if size > self.within_B:
            rest = struct.pack("<I", self.data_at) + rest[4:]
            self._put(self.sector, self.data_at, data)
        value = Value(self.sector, self.data_at, size, rest)
        if size > self.within_B:
            self.data_at += self.aligned(size)
        self._put_entry(number, size, rest)
        self.values.pop(number, None)
        self.values[number] = value

    def data_of(self, value: Value) -> bytes:
        at = value.sector * self.sector_B + value.offset
        return bytes(self.flash[at : at + value.size])

    def _make_room(self, size: int, *, is_value: bool) -> None:
        needed = (self.aligned(size) if size > self.within_B else 0) + (self.entry_B if is_value else 0)
        for _ in range(self.sectors + 1):
            if self.entry_at > (self.entry_B if is_value else 0) and self.entry_at >= self.data_at + needed:
                return
            self.close()
            self.collect()
        raise AssertionError("the partition is full")

    def close(self) -> None:
        rest = struct.pack("<II", self.entry_at + self.entry_B, NOBODY)
        self._put(self.sector, self.sector_B - 2 * self.entry_B, self.entry(self.sector, self._nobody(), 0, rest))
        self._begin((self.sector + 1) % self.sectors)

    def erase(self, sector: int) -> None:
        begin = sector * self.sector_B
        self.flash[begin : begin + self.sector_B] = b"\xff" * self.sector_B

    def collect(self, *, finish: bool = True) -> None:
        """Copies what counts of the next sector, erases that; `finish=False`: power fails before its end is noted."""
        if not self.cycles[self.sector]:
            self.erase(self.sector)
            self._header(self.sector)
        victim = (self.sector + 1) % self.sectors
        for number, value in reversed(list(self.values.items())):
            if value.sector == victim:
                self._value(number, value.size, self.data_of(value), value.rest)
        if finish:
            self._done()
            self.erase(victim)
            self._header(victim)

    def write(self, number: int, value: bytes) -> None:
        self._make_room(len(value), is_value=True)
        if len(value) <= self.within_B:
            self._value(number, len(value), b"", value.ljust(8, b"\0"))
        else:
            crc = struct.pack("<I", zlib.crc32(value) if self.data_crc else 0)
            self._value(number, len(value), value, bytes(4) + crc)

    def delete(self, number: int) -> None:
        self._make_room(0, is_value=False)
        self._put_entry(number, 0, bytes(8))
        del self.values[number]

    def image(self) -> bytes:
        return bytes(self.flash)


def small(*, data_crc: bool = False, write_B: int = 4) -> bytes:  # noqa: N803
    """Values of some sizes, one replaced, one deleted."""
    zms = ZephyrZms(2, 1024, write_B=write_B, data_crc=data_crc)
    for number, size in ((1, 4), (2, 33), (3, 100), (0x12345678, 9)):
        zms.write(number, bytes(range(number % 7, number % 7 + size)))
    zms.write(1, b"new!")
    zms.delete(2)
    return zms.image()


def resealed(image: bytes) -> bytes:
    """With right check sums of those entries that `small` has, whatever became of them."""
    out, whole = bytearray(image), small()
    for at in range(0, len(out) - ENTRY_B + 1, ENTRY_B):
        if crc8(whole[at + 1 : at + ENTRY_B]) == whole[at]:
            out[at] = crc8(bytes(out[at + 1 : at + ENTRY_B]))
    return bytes(out)
