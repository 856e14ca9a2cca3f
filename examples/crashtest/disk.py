"""A program that keeps its settings on a block device without a file system: see docs/power-cuts.md.

The device has a write cache: what was written arrives in any order, until a flush has ended.
"""

import struct

from ffslab.studies.crashtest import WatchedStack as Machine

SECTOR = 2048
SLOT_SECTORS = 4
ROUNDS = 6


def _content(number: int) -> bytes:
    return struct.pack("<I", number) * (SLOT_SECTORS * SECTOR // 4)


def _slot_at(number: int) -> int:
    """The two slots are used in turn, so that the one in force is never written. The header is before them."""
    return SECTOR * (1 + SLOT_SECTORS * (number % 2))


def _run(machine: Machine, *, flushes_between: bool) -> None:
    disk = machine.open("disk", "rdwr")
    for number in range(1, ROUNDS + 1):
        machine.pwrite(disk, _content(number), _slot_at(number))
        if flushes_between:
            machine.fsync(disk)
        machine.pwrite(disk, struct.pack("<I", number).ljust(SECTOR, b"\0"), 0)
        machine.fsync(disk)
        machine.told(f"saved {number}")
    machine.close(disk)


def slots_right(machine: Machine) -> None:
    """The content is flushed before the header names it."""
    _run(machine, flushes_between=True)


def slots_no_flush(machine: Machine) -> None:
    """Content and header in the order of the program, which a cache need not keep."""
    _run(machine, flushes_between=False)


def whole_slot(files: dict[str, bytes], told: list[str]) -> str | None:
    """What the header names is whole, and is the last that was told, or the one after it."""
    disk = files["disk"]
    (number,) = struct.unpack_from("<I", disk)
    if number == 0 or number == 0xFFFFFFFF:
        return f"{len(told)} were saved, and none is there" if told else None
    if number not in (len(told), len(told) + 1):
        return f"{len(told)} were saved, and {number} is there"
    at = _slot_at(number)
    is_whole = disk[at : at + SLOT_SECTORS * SECTOR] == _content(number)
    return None if is_whole else f"the header names {number}, which is not whole"
