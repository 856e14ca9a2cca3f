"""The wear-levelling and garbage-collection study: which runs its claims need, its figures.

No write is O_SYNC: JFFS2 and YAFFS2 write through, and with O_SYNC pauses would change nothing (WG-8). UBIFS writes
back. In the board's 218 MiB of page cache it would hold back all 20 MiB; in the paper its writes cost flash time unless
a pause as long as that time follows, so little could be dirty: UBIFS's writes run with a page cache of 8 MiB. This is
the one value of the set-up that is inferred from the results; runs with other values, and with O_SYNC, are beside them
as evidence that no verdict counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ffslab.api.steps import DROP_CACHES, MOUNT, SYNC, Data, Step, opened, step
from ffslab.studies.reproduce.figures import Figure, Line
from ffslab.studies.reproduce.rows import Row
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

# The file that is written: what UBIFS, which reserves most, holds of the partition of 20 MB (15.25 MB in the
# paper) and of that of 100 MB beside 75 % of static data. The last MiB before it is full would be another experiment.
TARGET_MIB = 15

# UBIFS's writes: inferred (see above), and the values that are tried beside it, the last one the board's.
PAGE_CACHE_KIB = 8192
OTHER_CACHES_KIB = (4096, 16384, 223232)

Series = dict[str, list[Row]]

_TARGET = f"{TARGET_MIB} MiB"
_CREATE_TARGET = step("create", file="target", bytes=_TARGET)
# rm, sync, and the time that the benchmark takes to start.
_SATURATED = (step("saturate"), SYNC, step("sleep", us="200 ms"))
_READ = (_CREATE_TARGET, SYNC, opened("target", "rdonly"), DROP_CACHES)


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
        # Static data, and beside it the file that will be overwritten.
        state = (step("occupy", file="static", percent=fill), _CREATE_TARGET, SYNC)
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
    pattern: str = "RW",
    state: Sequence[Step] = _SATURATED,
    synchronous: bool = False,
    blocks: int = 160,
    pause_us: int = 0,
    cache_kib: int = PAGE_CACHE_KIB,
) -> PlannedRun:
    reads = pattern in ("SR", "RR")
    stack: Data = {"board": "omap3evm", "kernel": "2.6.37", "fs": fs, "partition_blocks": blocks}
    if fs == "ubifs":
        stack["max_beb_per1024"] = UBI_RESERVE_PER_1024[blocks]
        if not reads:
            stack["page_cache_KiB"] = cache_kib
    written = opened("target", "rdwr", "create", *(["sync"] if synchronous else []))
    requests = step(
        "uflip",
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
        "stack": stack,
        # The blocks of a new partition are erased and marked in the background: without the pause that is measured.
        "setup": [MOUNT, step("sleep", us="60 s"), *state, *(_READ if reads else [written])],
        "measure": [requests],
        "axes": {"fs": [fs], "uflip.io_size_B": [f"{size} KiB" for size in SIZES_KIB]},
    }
    return PlannedRun(series, experiment)


Measure = Literal["latency_mean_us", "erases_per_block", "erases_per_block_sd"]
TIME: Measure = "latency_mean_us"
ERASES: Measure = "erases_per_block"
SPREAD: Measure = "erases_per_block_sd"


def curve(series: Series, name: str, fs: str, of: Measure = TIME) -> dict[int, float]:
    """A quantity by size of a request in KiB."""
    rows = {row["uflip.io_size_B"]: row[of] for row in series[name] if row["fs"] == fs}
    return {size: float(rows[f"{size} KiB"]) for size in SIZES_KIB}


# ---- figures ------------------------------------------------------------------------------------------------

_SIZE = "size of a request, KiB"


def figures(series: Series) -> Iterator[Figure]:
    """The paper's figures with our values, same axes."""
    for pattern, name in PATTERNS.items():
        lines = [_line(series, pattern, fs, TIME, 1e-3) for fs in FS]
        yield Figure(f"Figure 2: {name}", _SIZE, "mean response time, ms", lines, y_log=True)
    spreads: tuple[tuple[Measure, str], ...] = (
        (ERASES, "mean erases per block"),
        (SPREAD, "standard deviation of erases"),
    )
    for of, name in spreads:
        lines = [_line(series, p, fs, of, 1, f"{fs}, {PATTERNS[p]}") for p in ("SW", "RW") for fs in FS]
        yield Figure(f"Figure 4: {name}", _SIZE, name, lines)
    quantities: tuple[tuple[Measure, float, str], ...] = (
        (TIME, 1e-3, "mean response time, ms"),
        (ERASES, 1, "mean erases per block"),
        (SPREAD, 1, "standard deviation of erases"),
    )
    for fs in FS:
        for of, unit, name in quantities:
            lines = [_line(series, f"fill {fill}", fs, of, unit, f"{fill} % full") for fill in FILLS]
            yield Figure(f"Figure 5: fill rate, {fs}, {name}", _SIZE, name, lines, y_log=of == TIME)
    for fs in FS:
        for of, unit, name in quantities[:2]:
            lines = [
                _line(series, f"pause {pause}", fs, of, unit, f"{pause} ms between requests") for pause in PAUSES_MS
            ]
            yield Figure(f"Figure 6: pauses, {fs}, {name}", _SIZE, name, lines, y_log=of == TIME)


def _line(series: Series, name: str, fs: str, of: Measure, unit: float, label: str = "") -> Line:
    return Line(label or fs, SIZES_KIB, [value * unit for value in curve(series, name, fs, of).values()])
