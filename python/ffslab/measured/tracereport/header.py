"""Head and foot of a log of the probe kit, version 1: what was traced, where, and whether anything was lost.

    # ffslab-probe 1 flashmon
    # chip: page_B=2048 oob_B=64 block_B=131072 size_B=268435456
    ...
    # end: t_s=20.5 events=1200 lost=0 overhead_ns_per_event=900

Every value has its unit in its key; a key that is not known is refused, with the nearest one.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ffslab._native import InputError

MAGIC = "# ffslab-probe"
VERSION = "1"
FLASHMON, VFSMON, FUNCMON = "flashmon", "vfsmon", "funcmon"
COLUMNS = {
    FLASHMON: ("t_s", "type", "address", "task", "pid", "bytes"),
    VFSMON: ("t_s", "duration_us", "function", "task", "pid", "inode", "offset_B", "bytes", "result"),
    FUNCMON: ("t_s", "duration_us", "function", "task", "pid"),
}
REQUIRED = ("kernel", "machine", "clock", "started_s", "chip", "scope", "buffer_KiB", "functions", "columns")
# These may come several times, or not at all: a chip may have no partitions.
REPEATED = ("partition", "note")
KEYS = (*REQUIRED, *REPEATED)
END = "end"
# Numbers with more are none that a kernel writes.
DIGITS_MAX = 19
# Larger chips are not made: 16 TiB in blocks of 4 MiB.
BLOCKS_MAX = 1 << 22
# What a monitor that does not look at the chip may say of it.
UNKNOWN = frozenset({"", "-", "unknown"})


@dataclass(frozen=True)
class Chip:
    """Geometry of the chip. Addresses of a log count its pages and erase blocks from 0."""

    page_B: int  # noqa: N815
    oob_B: int  # noqa: N815
    pages_per_block: int
    blocks: int

    @property
    def block_B(self) -> int:  # noqa: N802
        return self.page_B * self.pages_per_block

    @property
    def pages(self) -> int:
        return self.blocks * self.pages_per_block


@dataclass(frozen=True)
class Partition:
    """A part of the chip, in erase blocks of the chip."""

    device: str
    name: str
    first_block: int
    blocks: int


@dataclass
class Head:
    """What a log says of itself. `None`: it does not say."""

    kind: str
    kernel: str | None = None
    machine: str | None = None
    clock: str | None = None
    started_s: float | None = None
    chip: Chip | None = None
    partitions: list[Partition] = field(default_factory=list)
    scope: str | None = None
    buffer_KiB: int | None = None  # noqa: N815
    functions: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Foot:
    """The last line of a complete log."""

    end_s: float
    events: int
    lost: int
    overhead_ns_per_event: float | None


def shown(line: str) -> str:
    """The start of a line that may be anything, fit for a terminal."""
    start = line.strip()[:60]
    return "".join(letter if letter.isprintable() and letter != "\ufffd" else "?" for letter in start)


def kind_of(first_line: str, path: Path) -> str:
    """The kind of a log that begins with `MAGIC`."""
    words = first_line.removeprefix(MAGIC).split()
    if len(words) != 2 or words[0] != VERSION or words[1] not in COLUMNS:
        known = ", ".join(f"`{MAGIC} {VERSION} {kind}`" for kind in COLUMNS)
        raise InputError(f"{path}:1: unknown header `{shown(first_line)}`: known are {known}")
    return words[1]


def read_head(kind: str, lines: Iterable[tuple[int, str]], path: Path) -> Head:
    """The header from its lines `# key: value`, with their numbers."""
    head, seen = Head(kind), set()
    partitions = []
    for number, line in lines:
        where = f"{path}:{number}"
        key, colon, value = line.removeprefix("#").strip().partition(":")
        if not colon or key not in KEYS:
            raise InputError(f"{where}: unknown header line `{shown(line)}`{_hint(key, KEYS)}")
        if key in seen and key not in REPEATED:
            raise InputError(f"{where}: `{key}` was given before")
        seen.add(key)
        value = value.strip()
        match key:
            case "kernel":
                head.kernel = value
            case "machine":
                head.machine = value
            case "clock":
                head.clock = value
            case "scope":
                head.scope = value
            case "functions":
                head.functions = value
            case "note":
                head.notes.append(value)
            case "started_s":
                head.started_s = _seconds(value, key, where)
            case "buffer_KiB":
                head.buffer_KiB = None if value in UNKNOWN else _count(value, key, where)
            case "chip":
                head.chip = None if value in UNKNOWN and kind != FLASHMON else read_chip(value, where)
            case "partition":
                partitions.append((value, where))
            case "columns":
                _check_columns(kind, value, where)
    missing = [key for key in REQUIRED if key not in seen]
    if missing:
        raise InputError(f"{path}: the header does not say `{missing[0]}`: a line `# {missing[0]}: ...` is missing")
    if head.chip is not None:
        chip = head.chip
        places = (_partition(value, where, chip) for value, where in partitions)
        head.partitions = [place for place in places if place is not None]
    return head


def read_foot(line: str, where: str) -> Foot:
    """The line `# end: ...`."""
    values = _pairs(line.partition(":")[2], ("t_s", "events", "lost", "overhead_ns_per_event"), where)
    needed = [key for key in ("t_s", "events", "lost") if key not in values]
    if needed:
        raise InputError(f"{where}: the end of the log does not say `{needed[0]}`")
    overhead = values.get("overhead_ns_per_event", "")
    return Foot(
        _seconds(values["t_s"], "t_s", where),
        _count(values["events"], "events", where),
        _count(values["lost"], "lost", where),
        None if overhead in UNKNOWN else _seconds(overhead, "overhead_ns_per_event", where),
    )


def read_chip(text: str, where: str) -> Chip:
    """A geometry as headers say it: `page_B=2048 oob_B=64 block_B=131072 size_B=268435456`."""
    keys = ("page_B", "oob_B", "block_B", "size_B")
    values = {key: _count(value, key, where) for key, value in _pairs(text, keys, where).items()}
    for key in keys:
        if key not in values:
            raise InputError(f"{where}: the chip does not say `{key}`: `page_B=2048 oob_B=64 block_B=... size_B=...`")
    page, block, size = values["page_B"], values["block_B"], values["size_B"]
    if not page or not block or not size or block % page or size % block:
        raise InputError(
            f"{where}: no chip has pages of {page} B, erase blocks of {block} B and {size} B in all: "
            "blocks are whole pages, the chip is whole blocks, all in bytes"
        )
    if size // block > BLOCKS_MAX:
        raise InputError(f"{where}: the chip has {size // block} erase blocks: no chip has more than {BLOCKS_MAX}")
    return Chip(page, values["oob_B"], block // page, size // block)


def _partition(text: str, where: str, chip: Chip) -> Partition | None:
    """`mtd0 offset_B=0 size_B=... name=...`; the name is the rest of the line."""
    device, _, rest = text.partition(" ")
    rest, _, name = rest.partition("name=")
    said = _pairs(rest, ("offset_B", "size_B"), where)
    if said.get("offset_B") == "":
        return None  # Kernels before 4.1 do not tell.
    values = {key: _count(value, key, where) for key, value in said.items()}
    if set(values) != {"offset_B", "size_B"}:
        raise InputError(f"{where}: a partition is `mtd0 offset_B=0 size_B=... name=...`, not `{text}`")
    offset, size = values["offset_B"], values["size_B"]
    if offset % chip.block_B or size % chip.block_B or offset + size > chip.blocks * chip.block_B:
        raise InputError(f"{where}: partition {device} is not made of erase blocks of the chip ({chip.block_B} B each)")
    return Partition(device, name.strip().strip('"') or device, offset // chip.block_B, size // chip.block_B)


def _check_columns(kind: str, value: str, where: str) -> None:
    named = tuple(value.replace(";", " ").replace(",", " ").split())
    if named != COLUMNS[kind]:
        wrong = next((f"`{a}` instead of `{b}`" for a, b in zip(named, COLUMNS[kind], strict=False) if a != b), "")
        raise InputError(f"{where}: the columns of {kind} are {';'.join(COLUMNS[kind])}{wrong and f': {wrong}'}")


def _pairs(text: str, known: tuple[str, ...], where: str) -> dict[str, str]:
    values = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals or key not in known:
            raise InputError(f"{where}: unknown `{word}`{_hint(key, known)}")
        values[key] = value
    return values


def _hint(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key, list(known), n=1)
    return f": did you mean `{near[0]}`?" if near else f": known are {', '.join(known)}"


def _count(text: str, key: str, where: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise InputError(f"{where}: `{key}={shown(text)}`: a whole number of at most {DIGITS_MAX} digits is needed")
    return int(text)


def _seconds(text: str, key: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"{where}: `{key}={text}`: a number, not negative, is needed")
    return value
