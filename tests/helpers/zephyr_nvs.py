"""A writer of Zephyr's NVS, from its format (`subsys/fs/nvs` of Zephyr): a ring of sectors, tables that grow down."""

from __future__ import annotations

import struct
import zlib

ATE_B = 8
MARK = 0xFFFF


def crc8(data: bytes) -> int:
    """CRC-8 of the CCITT, polynomial 0x07, begun with all ones."""
    crc = 0xFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ (0x07 if crc & 0x80 else 0)) & 0xFF
    return crc


def ate(number: int, offset: int, size: int, part: int = 0xFF) -> bytes:
    fields = struct.pack("<3HB", number, offset, size, part)
    return fields + bytes([crc8(fields)])


class ZephyrNvs:
    """A partition, written as a device with this write block size does it."""

    # What marks have where entries of values say that they are whole: versions up to 3.0 leave it as it comes.
    mark_part = 0xFF

    def __init__(self, sectors: int = 4, sector_B: int = 4096, *, write_B: int = 4, data_crc: bool = False) -> None:  # noqa: N803
        self.sectors, self.sector_B, self.write_B, self.data_crc = sectors, sector_B, write_B, data_crc
        self.ate_B = self.aligned(ATE_B)
        self.flash = bytearray(b"\xff" * (sectors * sector_B))
        # What counts: the sector and offset of the data, and their size.
        self.places: dict[int, tuple[int, int, int]] = {}
        self.sector = 0
        self._begin(0)
        self._done()

    def aligned(self, size: int) -> int:
        return -(-size // self.write_B) * self.write_B

    def _begin(self, sector: int) -> None:
        self.sector, self.data_at, self.ate_at = sector, 0, self.sector_B - 2 * self.ate_B

    def _put(self, at: int, data: bytes) -> None:
        """Programs bytes of the sector that is written; the rest of the last unit stays erased."""
        at += self.sector * self.sector_B
        assert self.flash[at : at + len(data)] == b"\xff" * len(data), "flash is programmed once"
        self.flash[at : at + len(data)] = data

    def _put_ate(self, entry: bytes) -> None:
        self._put(self.ate_at, entry)
        self.ate_at -= self.ate_B

    def _done(self) -> None:
        self._put_ate(ate(MARK, self.data_at, 0, self.mark_part))

    def _value(self, number: int, stored: bytes) -> None:
        offset = self.data_at
        self._put(offset, stored)
        self.data_at += self.aligned(len(stored))
        self._put_ate(ate(number, offset, len(stored)))
        # The last one is the newest, also of those that were moved.
        self.places.pop(number, None)
        self.places[number] = (self.sector, offset, len(stored))

    def _make_room(self, size: int) -> None:
        for _ in range(self.sectors):
            if self.ate_at >= self.data_at + size:
                return
            self.close()
            self.collect()
        raise AssertionError("the partition is full")

    def close(self) -> None:
        self._put(self.sector_B - self.ate_B, ate(MARK, self.ate_at + self.ate_B, 0, self.mark_part))
        self._begin((self.sector + 1) % self.sectors)

    def collect(self, *, finish: bool = True) -> None:
        """Copies what counts of the next sector, erases that; `finish=False`: power fails before its end is noted."""
        victim = (self.sector + 1) % self.sectors
        begin = victim * self.sector_B
        for number, (sector, offset, size) in reversed(list(self.places.items())):
            if sector == victim:
                self._value(number, bytes(self.flash[begin + offset : begin + offset + size]))
        if finish:
            self._done()
            self.flash[begin : begin + self.sector_B] = b"\xff" * self.sector_B

    def write(self, number: int, value: bytes) -> None:
        stored = value + struct.pack("<I", zlib.crc32(value)) if self.data_crc else value
        self._make_room(self.aligned(len(stored)) + self.ate_B)
        self._value(number, stored)

    def delete(self, number: int) -> None:
        self._make_room(0)
        self._put_ate(ate(number, self.data_at, 0))
        del self.places[number]

    def image(self) -> bytes:
        return bytes(self.flash)


def small(*, data_crc: bool = False, write_B: int = 4) -> bytes:  # noqa: N803
    """Values of some sizes, one replaced, one deleted."""
    nvs = ZephyrNvs(2, 1024, write_B=write_B, data_crc=data_crc)
    for number, size in ((1, 4), (2, 33), (3, 100), (0x1234, 1)):
        nvs.write(number, bytes(range(number % 7, number % 7 + size)))
    nvs.write(1, b"new!")
    nvs.delete(2)
    return nvs.image()


def resealed(image: bytes) -> bytes:
    """With right check sums of those entries that `small` has, whatever became of them."""
    out, whole = bytearray(image), small()
    for at in range(0, len(out) - ATE_B + 1, ATE_B):
        if crc8(whole[at : at + 7]) == whole[at + 7]:
            out[at + 7] = crc8(bytes(out[at : at + 7]))
    return bytes(out)
