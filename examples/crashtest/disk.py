"""A program that keeps settings in two slots with a header, right and with deliberate defects: docs/power-cuts.md.

It writes on a block device without a file system, or in a file called `disk` of a fixed size (FAT, RFS). What was
written arrives in any order until a flush has ended: fsync(2).
"""

import struct
from collections.abc import Callable

from ffslab.studies.crashtest import WatchedStack as Machine

SECTOR = 2048
SLOT_SECTORS = 4
ROUNDS = 6
BYTES = SECTOR * (1 + 2 * SLOT_SECTORS)


def _content(number: int) -> bytes:
    return struct.pack("<I", number) * (SLOT_SECTORS * SECTOR // 4)


def _slot_at(number: int) -> int:
    """The two slots are used in turn, so that the one in force is never written. The header is before them."""
    return SECTOR * (1 + SLOT_SECTORS * (number % 2))


def _slots(order: str, slot_of: Callable[[int], int] = _slot_at) -> Callable[[Machine], None]:
    """`order`: what is done of each new number: content, header, flush, tell."""

    def run(machine: Machine) -> None:
        disk = machine.open("disk", "rdwr")
        for number in range(1, ROUNDS + 1):
            for part in order.split():
                if part == "content":
                    machine.pwrite(disk, _content(number), slot_of(number))
                elif part == "header":
                    machine.pwrite(disk, struct.pack("<I", number).ljust(SECTOR, b"\0"), 0)
                elif part == "flush":
                    machine.fsync(disk)
                else:
                    machine.told(f"saved {number}")
        machine.close(disk)

    return run


# The content is flushed before the header names it.
slots_right = _slots("content flush header flush tell")
# Content and header in the order of the program, which nobody below need keep.
slots_no_flush = _slots("content header flush tell")
slots_header_first = _slots("header flush content flush tell")
slots_never_flushed = _slots("content header tell")
slots_header_not_flushed = _slots("content flush header tell")
slots_told_first = _slots("tell content flush header flush")
slots_one = _slots("content flush header flush tell", lambda _number: SECTOR)


def slots_unmounted(machine: Machine) -> None:
    """What a file system that flushes no device needs: an unmount before anybody is told."""
    for number in range(1, ROUNDS + 1):
        for content, at in (
            (_content(number), _slot_at(number)),
            (struct.pack("<I", number).ljust(SECTOR, b"\0"), 0),
        ):
            disk = machine.open("disk", "rdwr")
            machine.pwrite(disk, content, at)
            machine.close(disk)
            machine.umount()
            machine.mount()
        machine.told(f"saved {number}")


def whole_slot(files: dict[str, bytes], told: list[str]) -> str | None:
    """What the header names is whole, and is the last that was told, or the one after it."""
    disk = files.get("disk", b"")
    if len(disk) < BYTES:
        return "the disk is gone"
    (number,) = struct.unpack_from("<I", disk)
    # What stood there before anything was saved is no number of this program.
    if not 1 <= number <= ROUNDS:
        return f"{len(told)} were saved, and none is there" if told else None
    if number not in (len(told), len(told) + 1):
        return f"{len(told)} were saved, and {number} is there"
    slots = [disk[at : at + SLOT_SECTORS * SECTOR] for at in map(_slot_at, (0, 1))]
    return None if _content(number) in slots else f"the header names {number}, which is not whole"
