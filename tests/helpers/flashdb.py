"""A reader of FlashDB's KVDB, from its format (`inc/fdb_low_lvl.h`, `src/fdb_kvdb.c`): sectors with states, nodes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

SECTOR_MAGIC = b"FDB0"
NODE_MAGIC = b"KV00"
NODE_STATES = ("unused", "pre-write", "write", "pre-delete", "deleted", "error")
SECTOR_STATES = ("unused", "empty", "using", "full")
DIRTY_STATES = ("unused", "clean", "dirty", "gc")


class Node(NamedTuple):
    state: str
    name: bytes
    value: bytes


class Format:
    """As it is with one granularity of writes, in bits: 1, or whole bytes."""

    def __init__(self, granularity_bit: int) -> None:
        self.bits = granularity_bit
        self.unit_B = (granularity_bit + 7) // 8
        # Behind the states of a sector: magic word, combined, reserved. Behind those of a node: magic word, length,
        # check sum, length of the name, of the value.
        self.dirty_at = self._table_B(4)
        self.sector_head_B = self.aligned(-(-2 * self._table_B(4) // 4) * 4 + 12)
        self.magic_at = -(-self._table_B(6) // 4) * 4
        self.node_head_B = self.aligned(self.magic_at + 20)

    def _table_B(self, states: int) -> int:  # noqa: N802
        return -(-states // 8) if self.bits == 1 else (states - 1) * self.unit_B

    def aligned(self, size: int) -> int:
        return -(-size // self.unit_B) * self.unit_B

    def state(self, table: bytes, names: tuple[str, ...]) -> str:
        """The last state that was entered: a bit from the highest on, or a unit that begins with 0x00."""
        for number in range(len(names) - 1, 0, -1):
            cleared = (
                not table[(number - 1) // 8] & 0x80 >> (number - 1) % 8
                if self.bits == 1
                else table[(number - 1) * self.unit_B] == 0
            )
            if cleared:
                return names[number]
        return names[0]

    def sector_states(self, sector: bytes) -> tuple[str, str]:
        magic_at = -(-2 * self._table_B(4) // 4) * 4
        assert sector[magic_at : magic_at + 4] == SECTOR_MAGIC
        return self.state(sector, SECTOR_STATES), self.state(sector[self.dirty_at :], DIRTY_STATES)

    def nodes(self, sector: bytes) -> Iterator[Node]:
        """Those of a sector in order, each with a right check sum."""
        at = self.sector_head_B
        while sector[at + self.magic_at : at + self.magic_at + 4] == NODE_MAGIC:
            fields = sector[at + self.magic_at + 4 : at + self.magic_at + 20]
            length, check_sum = struct.unpack_from("<II", fields)
            name_size, value_size = fields[8], struct.unpack_from("<I", fields, 12)[0]
            body = sector[at + self.node_head_B : at + length]
            # Each length as four bytes, with what is erased behind that of the name.
            assert zlib.crc32(fields[8:16] + body) == check_sum
            value_at = self.aligned(name_size)
            assert length == self.node_head_B + value_at + self.aligned(value_size)
            yield Node(self.state(sector[at:], NODE_STATES), body[:name_size], body[value_at : value_at + value_size])
            at += length
        assert set(sector[at:]) <= {0xFF}

    def values(self, image: bytes, sector_B: int) -> dict[bytes, bytes]:  # noqa: N803
        """What counts."""
        found = {}
        for at in range(0, len(image), sector_B):
            sector = image[at : at + sector_B]
            if self.sector_states(sector)[0] in ("using", "full"):
                for node in self.nodes(sector):
                    if node.state == "write":
                        assert node.name not in found
                        found[node.name] = node.value
        return found
