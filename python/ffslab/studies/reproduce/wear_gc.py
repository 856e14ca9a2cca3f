"""The wear-levelling and garbage-collection study: which runs its claims need, its figures.

One set-up for all claims: a file of 16 MiB and 56 MB of memory. Neither is published. They are inferred jointly from
runs of the real Linux 2.6.37 (`kernel.py`), whose values in this set-up come nearest to the paper's: with little memory
UBIFS, which writes back, cannot hold back 20 MiB, and calls cost flash time unless a pause as long follows. No write is
O_SYNC: with it neither JFFS2's nor UBIFS's times depend on pauses (WG-8). Runs with O_SYNC and with other memories are
beside them as evidence that no verdict counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ffslab import steps
from ffslab.answers.typed_keys import BasePattern
from ffslab.api.steps import DROP_CACHES, MOUNT, SYNC, Data, opened
from ffslab.steps import Step
from ffslab.studies.reproduce import kernel
from ffslab.studies.reproduce.rows import NotMeasuredError, Row
from ffslab.studies.reproduce.runs import PlannedRun

FS = ("jffs2", "yaffs2", "ubifs")
SIZES_KIB = (2, 4, 8, 16, 32, 64, 128, 256, 512)
FILLS = (30, 60, 75)
PAUSES_MS = (0, 10, 100)
PATTERNS = {"SR": "sequential reads", "RR": "random reads", "SW": "sequential writes", "RW": "random writes"}

# Until Linux 3.6 UBI kept 1 % of the partition for blocks that go bad, at least 2 (CONFIG_MTD_UBI_BEB_RESERVE). In the
# later key, which counts the 2048 blocks of the chip: 2 of 160 blocks, 8 of 800.
UBI_RESERVE_PER_1024 = {160: 1, 800: 4}

# The same writes with O_SYNC.
SYNCED = ", O_SYNC"

# The file that is written, and the page cache: memory of 56 MB, of which Linux leaves 54,868 KiB to programs and
# caches. Some 5 MiB of these hold programs and what Linux itself takes later, so they are neither free nor pages of
# files.
TARGET_MIB = 16
PAGE_CACHE_KIB = 54_868 - (5 << 10)
# Tried beside it on UBIFS, the last one the board's.
OTHER_CACHES_KIB = (8 << 10, 16 << 10, 223232)
# How `kernel.py` calls this set-up.
SET_UP = next(iter(kernel.set_ups()))

Series = dict[str, list[Row]]

FSYNC_TARGET, CLOSE_TARGET = steps.fsync(file="target"), steps.close(file="target")
_TARGET = f"{TARGET_MIB} MiB"
_CREATE_TARGET = (steps.create(file="target", bytes=_TARGET), SYNC)
# One file fills what is free; rm, sync.
_SATURATED = (steps.saturate(), SYNC)
_READ = (*_CREATE_TARGET, opened("target", "rdonly"), DROP_CACHES)


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    runs: list[PlannedRun] = []
    for fs in reversed(FS):
        for synchronous in (False, True):
            runs += _writes(fs, synchronous=synchronous)
        runs += [_run(pattern, fs, pattern=pattern) for pattern in ("SR", "RR")]
    for cache_kib in OTHER_CACHES_KIB:
        runs += [
            _run(pause_series(pause, cache_kib), "ubifs", pause_us=pause * 1000, cache_kib=cache_kib)
            for pause in PAUSES_MS
        ]
    return runs


def _writes(fs: str, *, synchronous: bool) -> Iterator[PlannedRun]:
    suffix = SYNCED if synchronous else ""
    for pause in PAUSES_MS:
        yield _run(pause_series(pause) + suffix, fs, pause_us=pause * 1000, synchronous=synchronous)
    for fill in FILLS:
        # Static data, and beside it the file that will be overwritten, on flash that was full before.
        state = (steps.occupy(file="static", percent=fill), SYNC, *_SATURATED, *_CREATE_TARGET)
        yield _run(f"fill {fill}{suffix}", fs, state=state, blocks=800, synchronous=synchronous)
    for pattern in ("SW", "RW"):
        yield _run(pattern + suffix, fs, pattern=pattern, synchronous=synchronous)


def pause_series(pause_ms: int, cache_kib: int = PAGE_CACHE_KIB) -> str:
    """Name of the series of runs with pauses."""
    return f"pause {pause_ms}" + ("" if cache_kib == PAGE_CACHE_KIB else f", cache {cache_kib >> 10} MiB")


def _run(
    series: str,
    fs: str,
    *,
    pattern: BasePattern = "RW",
    state: Sequence[Step] = _SATURATED,
    synchronous: bool = False,
    blocks: int = 160,
    pause_us: int = 0,
    cache_kib: int = PAGE_CACHE_KIB,
) -> PlannedRun:
    reads = pattern in ("SR", "RR")
    stack: Data = {"board": "omap3evm", "kernel": "2.6.37", "fs": fs, "partition_blocks": blocks}
    stack["compression"] = "none"
    stack |= {"page_cache_KiB": cache_kib, "read_ahead_KiB": 0}
    if fs == "ubifs":
        stack["max_beb_per1024"] = UBI_RESERVE_PER_1024[blocks]
    opening = opened("target", "wronly", "create", "sync") if synchronous else opened("target", "wronly", "create")
    requests = steps.uflip(
        file="target",
        pattern=pattern,
        io_size_B="2 KiB",
        # Reads go once over the target, or the page cache would answer.
        total_B=_TARGET if reads else "20 MiB",
        target_size_B=_TARGET,
        pause_us=pause_us,
    )
    experiment: Data = {
        "title": series,
        # As in the paper's runs, a pause lets the blocks of a new partition be erased and marked in the background.
        "initial": "fresh",
        "stack": stack,
        "setup": [MOUNT, steps.sleep(us="30 s"), *(_READ if reads else state)],
        # What the requests leave behind is erased and written before the next sync ends.
        "measure": [requests] if reads else [opening, requests, FSYNC_TARGET, CLOSE_TARGET, SYNC],
        "axes": {"fs": [fs], "uflip.io_size_B": [f"{size} KiB" for size in SIZES_KIB]},
    }
    return PlannedRun(series, experiment)


Measure = Literal["latency_mean_us", "erases_per_block", "erases_per_block_sd"]
TIME: Measure = "latency_mean_us"
ERASES: Measure = "erases_per_block"
SPREAD: Measure = "erases_per_block_sd"


def curve(series: Series, name: str, fs: str, of: Measure = TIME) -> dict[int, float]:
    """A quantity by size of a request in KiB; of the real kernel not all sizes were measured.

    Raises `NotMeasuredError` if none was.
    """
    rows = {row["uflip.io_size_B"]: row[of] for row in series[name] if row["fs"] == fs}
    by_size = {size: float(rows[f"{size} KiB"]) for size in SIZES_KIB if f"{size} KiB" in rows}
    if not by_size:
        raise NotMeasuredError(f"{name}, {fs}")
    return by_size
