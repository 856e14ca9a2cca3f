"""A writer of Zephyr's FCB, from its format (`subsys/fs/fcb`): sectors with a header, and entries one by one."""

from __future__ import annotations

import struct

from helpers.zephyr_nvs import crc8

# That of Zephyr's settings.
MAGIC = 0xC0FFEEEE
HEADER_B = 8


class ZephyrFcb:
    """A partition, written as a device with this write block size does it. `fixed_end`: in the place of check sums."""

    def __init__(
        self,
        sectors: int = 4,
        sector_B: int = 4096,  # noqa: N803
        *,
        write_B: int = 1,  # noqa: N803
        magic: int = MAGIC,
        fixed_end: int | None = None,
        number: int = 0,
    ) -> None:
        self.sectors, self.sector_B, self.write_B, self.magic = sectors, sector_B, write_B, magic
        self.fixed_end, self.number = fixed_end, number - 1
        self.flash = bytearray(b"\xff" * (sectors * sector_B))
        self.oldest, self.sector = 0, -1
        self.begin()

    def aligned(self, size: int) -> int:
        return -(-size // self.write_B) * self.write_B

    def _put(self, data: bytes) -> None:
        begin = self.sector * self.sector_B + self.at
        assert self.flash[begin : begin + len(data)] == b"\xff" * len(data), "flash is programmed once"
        self.flash[begin : begin + len(data)] = data
        self.at += self.aligned(len(data))

    def begin(self) -> None:
        """The next sector."""
        self.number, self.sector, self.at = (self.number + 1) & 0xFFFF, (self.sector + 1) % self.sectors, 0
        self._put(struct.pack("<IBBH", self.magic, 1, 0xFF, self.number))

    def append(self, data: bytes, *, finish: bool = True) -> None:
        """An entry; when nothing is free the oldest sector goes. `finish=False`: without its check sum."""
        size = len(data)
        length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
        if self.at + self.aligned(len(length)) + self.aligned(size) + self.aligned(1) > self.sector_B:
            if (self.sector + 1) % self.sectors == self.oldest:
                self.rotate()
            self.begin()
        self._put(length)
        self._put(data)
        end = crc8(length + data) if self.fixed_end is None else self.fixed_end
        if finish:
            self._put(bytes([end]))
        else:
            self.at += self.aligned(1)

    def rotate(self) -> None:
        begin = self.oldest * self.sector_B
        self.flash[begin : begin + self.sector_B] = b"\xff" * self.sector_B
        self.oldest = (self.oldest + 1) % self.sectors

    def image(self) -> bytes:
        return bytes(self.flash)


def small(*, write_B: int = 4) -> bytes:  # noqa: N803
    """Settings of some sizes, one replaced, one deleted."""
    fcb = ZephyrFcb(2, 1024, write_B=write_B)
    for line in (
        b"bt/name=board",
        b"bt/key=" + bytes(range(40)),
        b"app/long=" + b"x" * 150,
        b"bt/name=other",
        b"bt/key=",
    ):
        fcb.append(line)
    return fcb.image()


def resealed(image: bytes) -> bytes:
    """With right check sums of those entries that `small` has, whatever became of them."""
    out, whole, at = bytearray(image), small(), 8
    while whole[at : at + 2] != b"\xff\xff":
        of_length = 2 if whole[at] & 0x80 else 1
        size = whole[at] & 0x7F | (whole[at + 1] << 7 if of_length == 2 else 0)
        end = at + 4 + -(-size // 4) * 4
        if end < len(out):
            out[end] = crc8(bytes(out[at : at + of_length] + out[at + 4 : at + 4 + size]))
        at = end + 4
    return bytes(out)
