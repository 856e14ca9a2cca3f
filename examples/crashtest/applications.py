"""Sample applications, each right and with deliberate defects, and what judges them: see docs/power-cuts.md.

An application gets a machine, makes its calls, and tells its user what is done. Its judge gets the files after a power
cut by their paths, and what the application had told by then.
"""

import struct
import zlib
from collections.abc import Callable

from ffslab.studies.crashtest import WatchedStack as Machine

# ---- what they are made of ----------------------------------------------------------------------------------


def put(
    machine: Machine, path: str, content: bytes, flags: str = "wronly create truncate", *, sync: bool = True
) -> None:
    """Writes a file, as far as fsync if wanted."""
    fd = machine.open(path, flags)
    machine.pwrite(fd, content, 0)
    if sync:
        machine.fsync(fd)
    machine.close(fd)


def append(machine: Machine, path: str, content: bytes, *, sync: bool = True) -> None:
    """Writes at the end of a file."""
    fd = machine.open(path, "wronly create")
    machine.pwrite(fd, content, machine.fstat(fd).size_bytes)
    if sync:
        machine.fsync(fd)
    machine.close(fd)


def sync_directory(machine: Machine, path: str = "/") -> None:
    """Makes the names in a directory safe."""
    fd = machine.open(path, "rdonly directory")
    machine.fsync(fd)
    machine.close(fd)


def settings_text(number: int) -> bytes:
    """Settings of a few pages, so that a half of them can be seen."""
    return b"".join(b"key%d.%d = %d\n" % (i, number, i * number) for i in range(300))


def record(number: int) -> bytes:
    """A record with a check sum."""
    body = struct.pack("<I", number) + bytes([number % 251]) * 700
    return struct.pack("<II", zlib.crc32(body), len(body)) + body


ROUNDS = 4

# ---- settings that are replaced as a whole ------------------------------------------------------------------


def _settings(save: Callable[[Machine, bytes], None]) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        for number in range(1, ROUNDS + 1):
            save(machine, settings_text(number))
            machine.told(f"saved {number}")

    return run


def _replace(machine: Machine, content: bytes, *, sync: bool = True, names: bool = True) -> None:
    put(machine, "settings.tmp", content, sync=sync)
    machine.rename("settings.tmp", "settings")
    if names:
        sync_directory(machine)


settings_right = _settings(_replace)
settings_no_fsync = _settings(lambda machine, content: _replace(machine, content, sync=False))
settings_no_directory_fsync = _settings(lambda machine, content: _replace(machine, content, names=False))
settings_in_place = _settings(lambda machine, content: put(machine, "settings", content))


def _unlink_first(machine: Machine, content: bytes) -> None:
    put(machine, "settings.tmp", content)
    if "settings" in machine.listdir():
        machine.unlink("settings")
        sync_directory(machine)
    machine.rename("settings.tmp", "settings")
    sync_directory(machine)


def _fsync_after_rename(machine: Machine, content: bytes) -> None:
    _replace(machine, content, sync=False)
    fd = machine.open("settings", "rdwr")
    machine.fsync(fd)
    machine.close(fd)


settings_unlink_first = _settings(_unlink_first)
settings_fsync_after_rename = _settings(_fsync_after_rename)


def whole_settings(files: dict[str, bytes], told: list[str]) -> str | None:
    """Settings are one of those that were saved, and none that are older than the last that was told."""
    known = {settings_text(number): number for number in range(1, ROUNDS + 1)}
    last = len(told)
    if "settings" not in files:
        return f"settings {last} are gone" if last else None
    number = known.get(files["settings"])
    if number is None:
        return f"settings are none that were saved: {len(files['settings'])} bytes"
    return f"settings {number} are back, {last} were saved" if number < last else None


# ---- a log of records ---------------------------------------------------------------------------------------


def _log(add: Callable[[Machine, int], None]) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        put(machine, "log", b"")
        sync_directory(machine)
        for number in range(1, 2 * ROUNDS + 1):
            add(machine, number)
            machine.told(f"logged {number}")

    return run


log_right = _log(lambda machine, number: append(machine, "log", record(number)))
log_no_fsync = _log(lambda machine, number: append(machine, "log", record(number), sync=False))
log_fsync_every_second = _log(lambda machine, number: append(machine, "log", record(number), sync=number % 2 == 0))


def records(files: dict[str, bytes], told: list[str]) -> str | None:
    """All records that were told are there, in their order. What follows may be half a record: a reader stops there."""
    log = files.get("log", b"")
    number = at = 0
    while at + 8 <= len(log):
        checksum, size = struct.unpack_from("<II", log, at)
        body = log[at + 8 : at + 8 + size]
        if len(body) < size or zlib.crc32(body) != checksum or size == 0:
            break
        number += 1
        if struct.unpack_from("<I", body)[0] != number:
            return f"record {number} is another"
        at += 8 + size
    return f"{number} records, {len(told)} were logged" if number < len(told) else None


# ---- a store with a header that says how many records are valid ----------------------------------------------

HEADER_BYTES = 4096


def _store(order: str, *, between: bool = True) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        put(machine, "store", bytes(HEADER_BYTES))
        sync_directory(machine)
        fd = machine.open("store", "rdwr")
        for number in range(1, ROUNDS + 1):
            at = HEADER_BYTES + (number - 1) * len(record(number))
            header = struct.pack("<II", number, zlib.crc32(struct.pack("<I", number)))
            parts = {"data": (record(number), at), "header": (header, 0)}
            for part in order.split():
                machine.pwrite(fd, *parts[part])
                if between:
                    machine.fsync(fd)
            machine.fsync(fd)
            machine.told(f"stored {number}")
        machine.close(fd)

    return run


store_right = _store("data header")
store_header_first = _store("header data")
store_no_barrier = _store("header data", between=False)


def valid_store(files: dict[str, bytes], told: list[str]) -> str | None:
    """Every record that the header counts is whole; a header that is torn counts nothing."""
    content = files.get("store", b"")
    if len(content) < HEADER_BYTES:
        return "the store is gone" if told else None
    count, checksum = struct.unpack_from("<II", content)
    if zlib.crc32(struct.pack("<I", count)) != checksum:
        count = 0
    for number in range(1, count + 1):
        at = HEADER_BYTES + (number - 1) * len(record(number))
        if content[at : at + len(record(number))] != record(number):
            return f"record {number} is not whole, and the header counts {count}"
    return f"{count} records, {len(told)} were stored" if count < len(told) else None


# ---- a firmware update in two slots ---------------------------------------------------------------------------


def firmware(number: int) -> bytes:
    """An image."""
    return (b"firmware %d " % number) * 1500


def _update(
    slot_of: Callable[[int], str], *, sync: bool = True, pointer_sync: bool = True
) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        for number in range(1, ROUNDS):
            put(machine, slot_of(number), firmware(number), sync=sync)
            sync_directory(machine)
            put(machine, "boot.tmp", b"%s %d" % (slot_of(number).encode(), number), sync=pointer_sync)
            machine.rename("boot.tmp", "boot")
            sync_directory(machine)
            machine.told(f"updated to {number}")

    return run


update_right = _update(lambda number: "ab"[number % 2])
update_no_fsync = _update(lambda number: "ab"[number % 2], sync=False)
update_one_slot = _update(lambda _number: "a")
update_pointer_no_fsync = _update(lambda number: "ab"[number % 2], pointer_sync=False)


def boots(files: dict[str, bytes], told: list[str]) -> str | None:
    """What the pointer names is a whole image, and none older than the last update that was told."""
    if "boot" not in files:
        return "there is no pointer to an image" if told else None
    words = files["boot"].split()
    if len(words) != 2:
        return f"the pointer is {files['boot'][:20]!r}"
    slot, number = words[0].decode(), int(words[1])
    if files.get(slot) != firmware(number):
        return f"slot {slot} does not hold firmware {number}"
    return f"firmware {number}, updated to {len(told)}" if number < len(told) else None


# ---- a queue of messages as files -----------------------------------------------------------------------------


def _queue(*, sync: bool = True, names: bool = True, deletes_first: bool = False) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        machine.mkdir("in")
        machine.mkdir("out")
        sync_directory(machine)
        for number in range(1, ROUNDS + 1):
            put(machine, f"in/{number}", record(number))
            sync_directory(machine, "in")
            machine.told(f"accepted {number}")
            if deletes_first:
                machine.unlink(f"in/{number}")
                sync_directory(machine, "in")
            put(machine, f"out/{number}", record(number), sync=sync)
            if names:
                sync_directory(machine, "out")
            if not deletes_first:
                machine.unlink(f"in/{number}")
                sync_directory(machine, "in")
            machine.told(f"sent {number}")

    return run


queue_right = _queue()
queue_no_fsync = _queue(sync=False)
queue_deletes_first = _queue(deletes_first=True)


def no_message_lost(files: dict[str, bytes], told: list[str]) -> str | None:
    """A message that was accepted is whole in one of both directories; one that was sent is in `out`."""
    accepted = sum(what.startswith("accepted") for what in told)
    sent = sum(what.startswith("sent") for what in told)
    for number in range(1, accepted + 1):
        where = ["out"] if number <= sent else ["in", "out"]
        if all(files.get(f"{place}/{number}") != record(number) for place in where):
            return f"message {number} is not whole in {' or '.join(where)}"
    return None
