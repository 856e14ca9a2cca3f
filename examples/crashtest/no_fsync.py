"""Settings on JFFS2 of RTEMS, which has no fsync(2) and no rename to a name that there is: right and with defects.

What a write has returned is on the flash, and in the order of the calls, so an application needs neither. See
docs/power-cuts.md.
"""

import struct
import zlib
from collections.abc import Callable

from ffslab.studies.crashtest import WatchedStack as Machine

ROUNDS = 5
# Stands where the check sum should, of who makes none.
BELIEVED = 0xFFFF_FFFF


def _settings(number: int, *, checked: bool = True) -> bytes:
    text = b"".join(b"key%d.%d = %d\n" % (i, number, i * number) for i in range(300))
    return struct.pack("<I", zlib.crc32(text) if checked else BELIEVED) + text


def _run(order: str, *, checked: bool = True) -> Callable[[Machine], None]:
    """`order`: what is done of each new number: new, in-place, remove-old, tell."""

    def run(machine: Machine) -> None:
        for number in range(1, ROUNDS + 1):
            for part in order.split():
                if part == "tell":
                    machine.told(f"saved {number}")
                elif part == "remove-old":
                    if number > 1:
                        machine.unlink(f"settings.{number - 1}")
                else:
                    name = "settings.1" if part == "in-place" else f"settings.{number}"
                    fd = machine.open(name, "wronly create truncate")
                    machine.pwrite(fd, _settings(number, checked=checked), 0)
                    machine.close(fd)

    return run


settings_right = _run("new remove-old tell")
settings_in_place = _run("in-place tell")
settings_remove_first = _run("remove-old new tell")
settings_told_first = _run("tell new remove-old")
settings_no_checksum = _run("new remove-old tell", checked=False)


def whole_settings(files: dict[str, bytes], told: list[str]) -> str | None:
    """What a start does: the newest settings with a right check sum count, and are none that are too old."""
    found = 0
    for name, content in files.items():
        if not name.startswith("settings.") or len(content) < 4:
            continue
        # Who wrote no check sums believes all.
        if struct.unpack_from("<I", content)[0] in (BELIEVED, zlib.crc32(content[4:])):
            known = [n for n in range(1, ROUNDS + 1) if _settings(n)[4:] == content[4:]]
            if not known:
                return f"{name} is believed and holds half of its settings"
            found = max(found, *known)
    return f"settings {found} are there, {len(told)} were saved" if found < len(told) else None
