# long file: applications stand beside their judges, and one is read at a time
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


def _settings(save: Callable[[Machine, bytes], None], *, told_first: bool = False) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        for number in range(1, ROUNDS + 1):
            if told_first:
                machine.told(f"saved {number}")
            save(machine, settings_text(number))
            if not told_first:
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
settings_told_first = _settings(_replace, told_first=True)
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


def _append_to_new(machine: Machine, content: bytes) -> None:
    """Copies the log with the record, and puts the copy in its place without fsync."""
    put(machine, "log.new", machine.read_file("log") + content, sync=False)
    machine.rename("log.new", "log")
    sync_directory(machine)


log_right = _log(lambda machine, number: append(machine, "log", record(number)))
log_no_fsync = _log(lambda machine, number: append(machine, "log", record(number), sync=False))
log_in_new_files = _log(lambda machine, number: _append_to_new(machine, record(number)))
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


def _queue(*, sync: bool = True, deletes_first: bool = False) -> Callable[[Machine], None]:
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


# ---- a counter in two slots -------------------------------------------------------------------------------------

SLOT_BYTES = 6000


def slot(number: int, *, checked: bool = True) -> bytes:
    """A number, as long as a few pages, with a check sum."""
    body = struct.pack("<I", number) * (SLOT_BYTES // 4 - 1)
    return (struct.pack("<I", zlib.crc32(body)) if checked else bytes(4)) + body


def _counter(slot_of: Callable[[int], int], *, sync: bool = True, checked: bool = True) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        put(machine, "counter", bytes(2 * SLOT_BYTES))
        sync_directory(machine)
        fd = machine.open("counter", "rdwr")
        for number in range(1, ROUNDS + 1):
            machine.pwrite(fd, slot(number, checked=checked), slot_of(number) * SLOT_BYTES)
            if sync:
                machine.fsync(fd)
            machine.told(f"counted {number}")
        machine.close(fd)

    return run


counter_right = _counter(lambda number: number % 2)
counter_no_fsync = _counter(lambda number: number % 2, sync=False)
counter_one_slot = _counter(lambda _number: 0)
counter_no_checksum = _counter(lambda number: number % 2, checked=False)


def counted(files: dict[str, bytes], told: list[str]) -> str | None:
    """The largest number of a valid slot is not smaller than the last that was told, and none is made up."""
    content = files.get("counter", b"")
    found = 0
    for at in range(0, len(content) - SLOT_BYTES + 1, SLOT_BYTES):
        checksum, number = struct.unpack_from("<II", content, at)
        body = content[at + 4 : at + SLOT_BYTES]
        # Who wrote no check sums believes all.
        if checksum in (0, zlib.crc32(body)):
            if body != struct.pack("<I", number) * (SLOT_BYTES // 4 - 1):
                return f"a slot that is valid holds half of {number}"
            found = max(found, number)
    return f"counts {found}, {len(told)} was told" if found < len(told) else None


# ---- a store with a journal: what is to be changed is written beside first ----------------------------------------

STORED_BYTES = 5000
# Stands where the check sum should, of who makes none.
BELIEVED = 0xFFFF_FFFF


def stored(number: int) -> bytes:
    """What the store holds after so many changes: every byte changes each time."""
    return bytes([number]) * STORED_BYTES


def _journalled(order: str, *, checked: bool = True) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        put(machine, "data", stored(0))
        put(machine, "journal", b"")
        sync_directory(machine)
        machine.told("made")
        for number in range(1, ROUNDS + 1):
            entry = stored(number)
            checksum = zlib.crc32(entry) if checked else BELIEVED
            for part in order.split():
                if part == "journal":
                    put(machine, "journal", struct.pack("<I", checksum) + entry, sync=False)
                elif part == "data":
                    put(machine, "data", entry, "wronly", sync=False)
                elif part == "clear":
                    put(machine, "journal", b"", sync=False)
                else:
                    put_safe(machine, part.removeprefix("sync-"))
            machine.told(f"changed {number}")

    return run


def put_safe(machine: Machine, path: str) -> None:
    """Makes a file safe as it is."""
    fd = machine.open(path, "rdwr")
    machine.fsync(fd)
    machine.close(fd)


journal_right = _journalled("journal sync-journal data sync-data clear sync-journal")
journal_not_synced = _journalled("journal data sync-data clear sync-journal")
journal_cleared_first = _journalled("journal sync-journal data clear sync-journal sync-data")
journal_data_not_synced = _journalled("journal sync-journal data clear sync-journal")
journal_after_data = _journalled("data sync-data journal sync-journal clear sync-journal")
journal_no_checksum = _journalled("journal sync-journal data sync-data clear sync-journal", checked=False)


def whole_after_replay(files: dict[str, bytes], told: list[str]) -> str | None:
    """What the store's start does: a whole entry of the journal is done again. Then the store holds one state."""
    content, journal = files.get("data", b""), files.get("journal", b"")
    entry = journal[4:]
    if len(journal) >= 4 and struct.unpack_from("<I", journal)[0] in (BELIEVED, zlib.crc32(entry)):
        content = entry + content[len(entry) :]
    if not told:
        return None
    if len(content) != STORED_BYTES or content != content[:1] * STORED_BYTES:
        return "the store holds parts of two states"
    last = len(told) - 1
    return f"the store holds state {content[0]}, {last} was told" if content[0] < last else None


# ---- records in one file, their places in another -----------------------------------------------------------------


def _indexed(order: str) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        for path in ("records", "index"):
            put(machine, path, b"")
        sync_directory(machine)
        at = 0
        for number in range(1, ROUNDS + 1):
            content = record(number)
            for part in order.split():
                if part == "record":
                    append(machine, "records", content, sync=False)
                elif part == "place":
                    append(machine, "index", struct.pack("<II", at, len(content)), sync=False)
                else:
                    put_safe(machine, part.removeprefix("sync-"))
            at += len(content)
            machine.told(f"indexed {number}")

    return run


index_right = _indexed("record sync-records place sync-index")
index_before_record = _indexed("place sync-index record sync-records")
index_records_not_synced = _indexed("record place sync-index")
index_synced_first = _indexed("record place sync-index sync-records")
index_not_synced = _indexed("record sync-records place")


def found_by_index(files: dict[str, bytes], told: list[str]) -> str | None:
    """What the index names is there, and it names all that was told."""
    index, content = files.get("index", b""), files.get("records", b"")
    places = [struct.unpack_from("<II", index, at) for at in range(0, len(index) // 8 * 8, 8)]
    # A file may have its new size already, and not yet what was written: zeros.
    places = [(at, size) for at, size in places if size > 0]
    for number, (at, size) in enumerate(places, 1):
        if content[at : at + size] != record(number):
            return f"the index names record {number}, which is not there"
    return f"the index names {len(places)} records, {len(told)} were told" if len(places) < len(told) else None


# ---- logs that are rotated -------------------------------------------------------------------------------------------


def _rotated(rotate: Callable[[Machine], None]) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        for number in range(1, 2 * ROUNDS + 1):
            append(machine, "log", record(number))
            sync_directory(machine)
            machine.told(f"logged {number}")
            if number % 3 == 0 and number < 2 * ROUNDS:
                rotate(machine)

    return run


def _append_to_old(machine: Machine, *, sync: bool) -> None:
    append(machine, "log.old", machine.read_file("log"), sync=sync)
    if sync:
        sync_directory(machine)


def _rotate(machine: Machine) -> None:
    _append_to_old(machine, sync=True)
    machine.unlink("log")
    sync_directory(machine)


def _copy_and_truncate(machine: Machine) -> None:
    _append_to_old(machine, sync=False)
    put(machine, "log", b"")


def _copy_and_unlink(machine: Machine) -> None:
    _append_to_old(machine, sync=False)
    machine.unlink("log")
    sync_directory(machine)


def _old_log_first(machine: Machine) -> None:
    content = machine.read_file("log")
    machine.unlink("log")
    sync_directory(machine)
    append(machine, "log.old", content)
    sync_directory(machine)


rotation_right = _rotated(_rotate)
rotation_copies_without_fsync = _rotated(_copy_and_truncate)
rotation_forgets_fsync = _rotated(_copy_and_unlink)
rotation_unlinks_first = _rotated(_old_log_first)


def no_record_lost(files: dict[str, bytes], told: list[str]) -> str | None:
    """All records that were told are in one of both logs. Some may be in both."""
    both = files.get("log.old", b"") + files.get("log", b"")
    missing = [number for number in range(1, len(told) + 1) if record(number) not in both]
    return f"record {missing[0]} of {len(told)} is in no log" if missing else None


# ---- files that belong together, in a directory for each version ---------------------------------------------------

PARTS = ("program", "texts", "pictures")


def part_text(name: str, number: int) -> bytes:
    """A part of a version."""
    return f"{name} of version {number} ".encode() * 200


def _bundle(
    *, forgets: str = "", names: bool = True, pointer_first: bool = False, old_first: bool = False
) -> Callable[[Machine], None]:
    def point(machine: Machine, number: int) -> None:
        put(machine, "current.tmp", b"%d" % number)
        machine.rename("current.tmp", "current")
        sync_directory(machine)

    def remove(machine: Machine, number: int) -> None:
        if number > 0:
            for name in PARTS:
                machine.unlink(f"v{number}.{name}")
            sync_directory(machine)

    def run(machine: Machine) -> None:
        for number in range(1, ROUNDS):
            if pointer_first:
                point(machine, number)
            if old_first:
                remove(machine, number - 1)
            for name in PARTS:
                put(machine, f"v{number}.{name}", part_text(name, number), sync=name != forgets)
            if names:
                sync_directory(machine)
            if not pointer_first:
                point(machine, number)
            if not old_first:
                remove(machine, number - 1)
            machine.told(f"version {number}")

    return run


bundle_right = _bundle()
bundle_forgets_one_fsync = _bundle(forgets="texts")
bundle_pointer_first = _bundle(pointer_first=True)
bundle_removes_old_first = _bundle(old_first=True)


def whole_version(files: dict[str, bytes], told: list[str]) -> str | None:
    """The version that is pointed to is whole, and none older than the last that was told."""
    if "current" not in files:
        return "there is no version" if told else None
    number = int(files["current"] or b"0")
    for name in PARTS:
        if files.get(f"v{number}.{name}") != part_text(name, number):
            return f"version {number} is not whole: {name}"
    return f"version {number}, {len(told)} was told" if number < len(told) else None
