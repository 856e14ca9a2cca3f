"""What everyone has who has a board: the lines of mtd_speedtest (or of mtd-utils' flash_speed), and the log of a boot.

A line of a speed test is one measurement: so many pages or blocks in that time. The driver's time of one operation is
what they have in common; eraseblock, page and two-page loops differ by what the loop itself costs, and their scatter is
the interval. A line of a boot log has the time since the kernel began, so two lines are a duration. The forms are those
of drivers/mtd/tests/speedtest.c, drivers/mtd/ubi/build.c and fs/ubifs/super.c: UBI's lines begin with "UBI:" before
3.19 and with "ubi0:" since; until 3.7 each of its sizes has a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.inputs import read_bytes
from ffslab.studies.calibrate.observations import Observations

_SIZES = re.compile(
    r"MTD device size \d+,\s*eraseblock size (\d+),\s*page size (\d+),\s*count of eraseblocks (\d+)", re.IGNORECASE
)
_SPEED = re.compile(r"(?P<loop>[\w ]*?)\s*(?P<what>read|write|erase) speed is (?P<rate>\d{1,9}) KiB/s", re.IGNORECASE)
_SPEED_TOLD = re.compile(r"(?:read|write|erase) speed is\b", re.IGNORECASE)
_OPERATIONS = {"read": "driver.read_us", "write": "driver.program_us", "erase": "driver.erase_us"}
# Many blocks at once are one call; what is asked for is one operation.
_MANY = re.compile(r"multi-?block", re.IGNORECASE)
# The kernel's own time. What stands before it is of syslog, of `dmesg -x`, or of the terminal.
_TIME = re.compile(r"\[\s*(\d+\.\d+)\]")
_ATTACHING = re.compile(r"(?:ubi\d+|UBI): attaching (mtd\d+)")
_SCANNED = re.compile(r"(?:ubi\d+|UBI): (?:scanning is finished|attached by fastmap)")
_ATTACHED = re.compile(r"(?:ubi\d+|UBI): attached mtd\d+")
# The sizes of fastmap's pools stand in the log of each device whose kernel knows fastmap, used or not.
_FASTMAP = re.compile(r"attached by fastmap", re.IGNORECASE)
_PEB = re.compile(r"(?:PEB size:|physical eraseblock size:)\s*(\d+)", re.IGNORECASE)
_GOOD = re.compile(r"(?:good PEBs:|number of good PEBs:)\s*(\d+)", re.IGNORECASE)
_MOUNTING = re.compile(r'UBIFS.*background thread "ubifs_bgt(\d+)_(\d+)" started')
_MOUNTED = re.compile(r"UBIFS.*mounted UBI device (\d+), volume (\d+)")
_RECOVERY = re.compile(r"UBIFS.*recovery (?:needed|completed)")


@dataclass(frozen=True)
class Sizes:
    """What a speed test says of its device."""

    block_bytes: int
    page_bytes: int
    blocks: int


@dataclass(frozen=True)
class Attach:
    """How long UBI took to attach `mtd`, as in "mtd4": `blocks` good blocks of `block_bytes`. `fastmap`: it read no
    headers."""

    mtd: str
    took_s: float
    blocks: int
    block_bytes: int
    fastmap: bool


@dataclass(frozen=True)
class Mount:
    """How long UBIFS took from the start of its thread, behind the superblock, until it was mounted."""

    took_s: float
    recovered: bool


@dataclass(frozen=True)
class BootLog:
    """What a boot log tells of flash, in its order. `partial`: attaches of which it does not say all, with what."""

    attaches: list[Attach]
    mounts: list[Mount]
    partial: list[str]


def speedtest(path: Path) -> tuple[Sizes, Observations]:
    """Reads what mtd_speedtest printed.

    Errors: no line of sizes, no line of a speed, one that is no number of KiB/s, tests of devices that differ.
    """
    text = _text(path)
    told = [(found.end(), Sizes(*map(int, found.groups()))) for found in _SIZES.finditer(text)]
    if not told:
        raise InputError(
            f'{path}: no line "MTD device size N, eraseblock size N, page size N, count of eraseblocks N": it is '
            "that of mtd_speedtest or flash_speed"
        )
    rows: list[dict[str, float]] = []
    measured_us: list[float] = []
    tested: list[Sizes] = []
    at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if _MANY.search(line) or not _SPEED_TOLD.search(line):
            continue
        # A log may begin in the midst of a test.
        sizes = next((sizes for end, sizes in reversed(told) if end <= at), told[0][1])
        tested.append(sizes)
        operation, took_us = _operation(path, line.strip(), sizes)
        rows.append({operation: 1.0})
        measured_us.append(took_us)
    if not rows:
        raise InputError(f'{path}: no line such as "page read speed is 7008 KiB/s"')
    _check_one_device(path, tested)
    observed = Observations.of(str(path), "speed test, us an operation", "us", rows, measured_us)
    return tested[0], observed


def _operation(path: Path, line: str, sizes: Sizes) -> tuple[str, float]:
    """(what a line of a speed is about, us of one operation)."""
    found = _SPEED.search(line)
    if found is None:
        raise InputError(f'{path}: {line}: a speed is a whole number of KiB/s, as in "page read speed is 7008 KiB/s"')
    rate_kib_per_s, what = int(found["rate"]), found["what"].lower()
    if rate_kib_per_s == 0:
        raise InputError(f"{path}: {line}: 0 KiB/s is no speed")
    unit_bytes = sizes.block_bytes if what == "erase" else sizes.page_bytes
    return _OPERATIONS[what], unit_bytes / 1024 / rate_kib_per_s * 1e6


def _check_one_device(path: Path, tested: list[Sizes]) -> None:
    """Errors: pages or blocks of two sizes, so two chips, whose speeds have nothing in common."""
    first = tested[0]
    for other in tested:
        if (other.page_bytes, other.block_bytes) != (first.page_bytes, first.block_bytes):
            raise InputError(
                f"{path}: tests of two devices, with pages and eraseblocks of {first.page_bytes} and "
                f"{first.block_bytes} B, and of {other.page_bytes} and {other.block_bytes} B: keep the lines of one"
            )


def boot_log(path: Path) -> BootLog:
    """Reads the log of a boot, as `dmesg` prints it, with times.

    Errors: no line has a time; it says nothing of UBI or UBIFS, or not enough.
    """
    lines = list(_timed(_text(path)))
    if not lines:
        raise InputError(
            f'{path}: no line has the kernel\'s time, as "[    1.234567] ubi0: ...": boot with printk.time=1, and '
            "take dmesg without -T"
        )
    attaches, partial = _attaches(lines)
    found = BootLog(attaches, list(_mounts(lines)), partial)
    if not found.attaches and not found.mounts:
        if found.partial:
            raise InputError(f"{path}: {found.partial[0]}: take the whole of what dmesg prints")
        raise InputError(f"{path}: neither UBI attaches a device in it nor is UBIFS mounted")
    return found


def _text(path: Path) -> str:
    """A log. Bytes that a serial line garbled are in no line that counts, so they are not in the way."""
    return read_bytes(path, "log").decode("utf-8", errors="replace")


def _timed(text: str) -> Iterator[tuple[float, str]]:
    for line in text.splitlines():
        if at := _TIME.search(line):
            yield float(at[1]), line


def _attaches(lines: list[tuple[float, str]]) -> tuple[list[Attach], list[str]]:
    """(attaches, what others lack)."""
    found: list[Attach] = []
    partial = _begun_before(lines)
    for at, (began_s, line) in enumerate(lines):
        attaching = _ATTACHING.search(line)
        if attaching is None:
            continue
        following = lines[at + 1 :]
        # One that fails is followed by the next one, or by the end.
        again = next((i for i, (_, text) in enumerate(following) if _ATTACHING.search(text)), len(following))
        of_this = following[:again]
        end = _first(_SCANNED, of_this) or _first(_ATTACHED, of_this)
        good, peb = (_first(pattern, of_this) for pattern in (_GOOD, _PEB))
        name = f'"{attaching[0]}" at {began_s:.6f} s'
        if not (end and good and peb):
            told = {'"scanning is finished"': end, '"PEB size"': peb, '"good PEBs"': good}
            absent = [what for what, found_at in told.items() if not found_at]
            partial.append(f"{name}: no line of it has {', none '.join(absent)}")
        elif end[0] < began_s:
            partial.append(f"{name}: it ends before it begins, at {end[0]:.6f} s")
        else:
            fastmap = _first(_FASTMAP, of_this) is not None
            found.append(Attach(attaching[1], end[0] - began_s, int(good[1][1]), int(peb[1][1]), fastmap))
    return found, partial


def _begun_before(lines: list[tuple[float, str]]) -> list[str]:
    """What an attach lacks that is told in front of all begins."""
    first = next((at for at, (_, line) in enumerate(lines) if _ATTACHING.search(line)), len(lines))
    rest = [found for pattern in (_SCANNED, _ATTACHED, _PEB, _GOOD) if (found := _first(pattern, lines[:first]))]
    if not rest:
        return []
    at_s, line = min(rest, key=lambda one: one[0])
    return [f'"{line[0]}" at {at_s:.6f} s: no line "attaching mtd" stands before it, so its begin is not in the log']


def _mounts(lines: list[tuple[float, str]]) -> Iterator[Mount]:
    """Mounts of which both ends are told. One that only reads has no thread, so that its begin is not."""
    volume: tuple[str, ...] | None = None
    began_s, recovered = 0.0, False
    for time_s, line in lines:
        if begun := _MOUNTING.search(line):
            volume, began_s, recovered = begun.groups(), time_s, False
        elif _RECOVERY.search(line):
            recovered = True
        elif (mounted := _MOUNTED.search(line)) and mounted.groups() == volume:
            yield Mount(time_s - began_s, recovered)
            volume = None


def _first(pattern: re.Pattern[str], lines: list[tuple[float, str]]) -> tuple[float, re.Match[str]] | None:
    """The first line that has it, with its time."""
    return next(((time_s, found) for time_s, text in lines if (found := pattern.search(text))), None)
