"""The read-ahead study: which runs its claims need, what is read off them, its figures.

UBIFS switches read-ahead off by itself; the paper only says so. It runs beside the other two with the window forced on,
as curves that no verdict depends on.

Random offsets are unaligned (`io_shift_B`), see `crates/lab/tests/claims_readahead.rs` for why; the aligned ones are in
the readings of RA-5 as evidence.
"""

from __future__ import annotations

from collections.abc import Iterator

from ffslab.reproduce.claims import ALIKE_POINTS, Claims, alike, falls, percent_list
from ffslab.reproduce.figures import Figure, Line
from ffslab.reproduce.runs import PlannedRun, Row

PUBLISHED_FS = ("jffs2", "yaffs2")
FS = (*PUBLISHED_FS, "ubifs")
PATTERNS = ("sequential", "random")
COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)
SIZES_KIB = (2, 4, 8, 16, 32)
SIZE_COUNTS = (32, 128, 512, 1024)
SHARES_KIB = {25: 32, 50: 64, 100: 128}
THINK = ("0 us", "100 us", "1 ms", "10 ms", "100 ms")

Series = dict[str, list[Row]]

# The blocks of a new partition are erased and marked in the background: the pause.
_STACK = """\
title = "{series}"
[stack]
board = "omap3evm"
kernel = "2.6.37"
fs = "{fs}"
partition_blocks = {blocks}
[[setup]]
step = "mount"
[[setup]]
step = "sleep"
us = "60 s"
{setup}
[[setup]]
step = "sync"
{opened}
[[setup]]
step = "drop_caches"
{measure}
{axes}
"""
_CREATE = '[[setup]]\nstep = "create"\nfile = "target"\nbytes = "{mib} MiB"'
# Before the caches are dropped: JFFS2 reads the header of each node of a file when it is opened.
_OPEN = '[[setup]]\nstep = "open"\nfile = "target"\nflags = ["{mode}"]'
_AHEAD = "[axes]\nread_ahead_KiB = [128, 0]"


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    runs = []
    for fs in FS:
        runs += [_size(fs, pattern) for pattern in PATTERNS]
        runs += [_number(fs, pattern) for pattern in PATTERNS]
        runs += [_aligned(fs), _think(fs), _parts(fs), _twice(fs)]
    runs += [PlannedRun("sqlite", look_ups=(fs, kind)) for fs in PUBLISHED_FS for kind in ("small", "large")]
    return [*runs, _writes(), _fragmented()]


def _run(series: str, fs: str, measure: str, axes: str, **keys: str | int) -> PlannedRun:
    setup = str(keys.get("setup", _CREATE.format(mib=keys.get("mib", 5))))
    opened = str(keys.get("opened", _OPEN.format(mode="rdonly")))
    blocks = keys.get("blocks", 200)
    text = _STACK.format(series=series, fs=fs, blocks=blocks, setup=setup, opened=opened, measure=measure, axes=axes)
    return PlannedRun(series, text)


def _reads(pattern: str, mib: int, request_kib: int, count: int) -> str:
    letters = {"sequential": "SR", "random": "RR"}[pattern]
    shift = 0 if pattern == "sequential" else 512
    # What is shifted must still lie in the file.
    target_kib = mib * 1024 - (64 if shift else 0)
    return (
        f'[[measure]]\nstep = "uflip"\nfile = "target"\npattern = "{letters}"\nio_size_B = "{request_kib} KiB"\n'
        f'io_count = {count}\nio_shift_B = {shift}\ntarget_size_B = "{target_kib} KiB"'
    )


def _number(fs: str, pattern: str) -> PlannedRun:
    axes = f'{_AHEAD}\nfs = ["{fs}"]\nuflip.io_count = {list(COUNTS)}'
    return _run(f"number {pattern}", fs, _reads(pattern, 5, 4, 8), axes)


def _aligned(fs: str) -> PlannedRun:
    measure = _reads("random", 5, 4, 8).replace("io_shift_B = 512", "io_shift_B = 0")
    return _run("number aligned", fs, measure, f'{_AHEAD}\nfs = ["{fs}"]\nuflip.io_count = {list(COUNTS)}')


def _size(fs: str, pattern: str) -> PlannedRun:
    sizes = [f"{size} KiB" for size in SIZES_KIB]
    axes = f'{_AHEAD}\nfs = ["{fs}"]\nuflip.io_count = {list(SIZE_COUNTS)}\nuflip.io_size_B = {sizes}'
    return _run(f"size {pattern}", fs, _reads(pattern, 32, 4, 32), axes, mib=32, blocks=800)


def _think(fs: str) -> PlannedRun:
    axes = f'{_AHEAD}\nfs = ["{fs}"]\nuflip.pause_us = {list(THINK)}'
    return _run("think", fs, _reads("sequential", 5, 4, 256) + '\npause_us = "0 us"', axes)


def _parts(fs: str) -> PlannedRun:
    many = '[[setup]]\nstep = "create_many"\ndir = ""\ncount = 64\nbytes = "128 KiB"'
    stat = '[[setup]]\nstep = "drop_caches"\n[[setup]]\nstep = "stat_many"\ndir = ""\ncount = 64'
    measure = '[[measure]]\nstep = "read_many"\ndir = ""\ncount = 64\nbytes = "128 KiB"\nrequest_B = "4 KiB"'
    shares = [f"{kib} KiB" for kib in SHARES_KIB.values()]
    # Inodes stay in memory: only the pages are dropped before the reads, by files that nobody has read yet.
    text = _run(
        "parts", fs, measure, f'{_AHEAD}\nfs = ["{fs}"]\nread_many.bytes = {shares}', setup=many, opened=""
    ).text
    dropped = '[[setup]]\nstep = "drop_caches"\n'
    return PlannedRun("parts", text.replace(dropped, stat + "\n", 1))


def _twice(fs: str) -> PlannedRun:
    reads = _reads("sequential", 5, 4, 1280)
    return _run("twice", fs, f"{reads}\n{reads}", f'[axes]\nfs = ["{fs}"]')


def _writes() -> PlannedRun:
    measure = _reads("sequential", 5, 4, 100).replace('"SR"', '"SW"')
    measure += '\n[[measure]]\nstep = "fsync"\nfile = "target"'
    return _run("writes", "jffs2", measure, '[axes]\nfs = ["jffs2"]', opened=_OPEN.format(mode="rdwr"))


def _fragmented() -> PlannedRun:
    create = '[[setup]]\nstep = "create"\nfile = "whole"\nbytes = "2 MiB"\n'
    create += '[[setup]]\nstep = "create_fragmented"\nfile = "pieces"\nbytes = "2 MiB"'
    opened = "\n".join(_OPEN.format(mode="rdonly").replace("target", file) for file in ("whole", "pieces"))
    reads = _reads("sequential", 2, 4, 512)
    measure = "\n".join(reads.replace('target"', f'{file}"', 1) for file in ("whole", "pieces"))
    return _run("fragmented", "jffs2", measure, '[axes]\nfs = ["jffs2"]', setup=create, opened=opened)


# ---- readings -----------------------------------------------------------------------------------------------

TIME, ENERGY, READS = "latency_sum_us", "energy_uJ", "page_reads"


def gain(rows: list[Row], of: str = TIME, **chosen: object) -> float:
    """Share of `of` that is saved without read-ahead, in the pair of runs that `chosen` names."""
    pair = {row["read_ahead_KiB"]: row[of] for row in rows if all(row[key] == value for key, value in chosen.items())}
    return 1 - float(pair[0]) / float(pair[128])


def by_number(series: Series, fs: str, pattern: str, of: str = TIME) -> list[float]:
    """Gains by number of requests, in the order of `COUNTS`."""
    return [gain(series[f"number {pattern}"], of, fs=fs, **{"uflip.io_count": count}) for count in COUNTS]


def by_size(series: Series, fs: str, pattern: str, of: str = TIME) -> dict[tuple[int, int], float]:
    """Gains by number of requests and their size in KiB."""
    rows = series[f"size {pattern}"]
    return {
        (count, size): gain(rows, of, fs=fs, **{"uflip.io_count": count, "uflip.io_size_B": f"{size} KiB"})
        for count in SIZE_COUNTS
        for size in SIZES_KIB
    }


def judge(claims: Claims, series: Series) -> None:
    """Puts our readings beside every claim."""
    _judge_parts(claims, series)
    _judge_think(claims, series)
    _judge_number(claims, series)
    _judge_size(claims, series)
    _judge_sqlite(claims, series)
    _judge_levels(claims, series)


def _judge_parts(claims: Claims, series: Series) -> None:
    claim = claims["RA-1"]
    for fs in PUBLISHED_FS:
        ours = [1 - gain(series["parts"], fs=fs, **{"read_many.bytes": f"{kib} KiB"}) for kib in SHARES_KIB.values()]
        on, off = claim.published["on_MB_per_s"][fs], claim.published["off_MB_per_s"][fs]
        for share, value, with_it, without in zip(SHARES_KIB, ours, on, off, strict=True):
            claim.number(f"{fs}, {share} % read", with_it / without, value)
        rises = ours == sorted(ours) and abs(ours[-1] - 1) < 0.02
        reads = {
            row["read_many.bytes"]: row[READS] for row in series["parts"] if row["fs"] == fs and row["read_ahead_KiB"]
        }
        share = reads["32 KiB"] / reads["128 KiB"]
        claim.evidence.append(f"{fs}: when 25 % of a file are wanted, {share * 100:.0f} % of it are read ahead")
        claim.shape(f"{fs}, order", "slower in part, equal in whole", ", ".join(f"{v:.2f}" for v in ours), rises)


def _judge_think(claims: Claims, series: Series) -> None:
    claim = claims["RA-2"]
    for fs in PUBLISHED_FS:
        means = [row["latency_mean_us"] for row in series["think"] if row["fs"] == fs and row["read_ahead_KiB"]]
        text = f"{min(means):.1f} to {max(means):.1f} us"
        claim.shape(f"{fs}, mean latency over 0 to 100 ms", "constant", text, max(means) <= 1.02 * min(means))


def _judge_number(claims: Claims, series: Series) -> None:
    gains = {(fs, pattern): by_number(series, fs, pattern) for fs in FS for pattern in PATTERNS}
    saved = {fs: by_number(series, fs, "sequential", READS) for fs in FS}
    never, few, random, whole, most = (claims[f"RA-{number}"] for number in (3, 4, 5, 6, 8))
    for pattern in PATTERNS:
        for fs in PUBLISHED_FS:
            lowest = min(gains[fs, pattern])
            never.shape(f"{fs} {pattern}, least gain", "0 % or more", f"{lowest * 100:.1f} %", lowest >= -1e-9)
        apart, holds = alike(gains["jffs2", pattern], gains["yaffs2", pattern])
        never.shape(f"{pattern}, JFFS2 against YAFFS2", "same curve", apart, holds)
    for fs in PUBLISHED_FS:
        ours = saved[fs][: COUNTS.index(64)]
        least = few.published["page_reads_gain_min"]
        few.shape(f"{fs}, page reads saved at 8, 16, 32", "more than 50 %", percent_list(ours), min(ours) > least)
        few.shape(f"{fs}, saved by number of requests", "falls", percent_list(saved[fs]), falls(saved[fs]))
        values = dict(zip(COUNTS, gains[fs, "random"], strict=True))
        for count, published in random.published["gain"].items():
            random.number(f"{fs}, {count} requests", published, values[int(count)], "%")
        rises = values[32] < values[256] and values[1024] < values[256]
        random.shape(f"{fs}, 8 to 1024", "rises to 256", percent_list(list(values.values())), rises)
        aligned = [gain(series["number aligned"], TIME, fs=fs, **{"uflip.io_count": count}) for count in COUNTS]
        random.evidence.append(
            f"{fs}, offsets that are multiples of 4 KiB: {percent_list(aligned)} for 8 to 1024 requests"
        )
        counts = [row for row in series["number aligned"] if row["fs"] == fs and row["uflip.io_count"] == 32]
        reads = {row["read_ahead_KiB"]: row[READS] / 32 for row in counts}
        never.evidence.append(
            f"{fs}: {reads[0]:.1f} page reads for each aligned random request of 4 KiB without, {reads[128]:.1f} with"
        )
        last = gains[fs, "sequential"][-1]
        holds = last == min(gains[fs, "sequential"]) and last <= whole.published["gain_max"]
        whole.shape(f"{fs}, 1024 requests", "minimal", f"{last * 100:.1f} %", holds)
    for pattern in PATTERNS:
        ours = [value for fs in PUBLISHED_FS for value in by_size(series, fs, pattern).values()]
        ours += [value for fs in PUBLISHED_FS for value in gains[fs, pattern]]
        most.number(f"{pattern}, up to", most.published["gain"][pattern], max(ours), "%")
    most.evidence.append(
        f"CPU time in the runs of figure 3: {sum(row['cpu_us'] for row in series['number random']):.0f} us"
    )
    never.evidence.append(
        "UBIFS with the window forced on: least gain " + percent_list([min(gains["ubifs", p]) for p in PATTERNS])
    )


def _judge_size(claims: Claims, series: Series) -> None:
    claim = claims["RA-7"]
    for fs in PUBLISHED_FS:
        ordered = by_size(series, fs, "sequential")
        few = [ordered[32, size] for size in SIZES_KIB]
        holds = falls(few) and falls([ordered[count, 4] for count in SIZE_COUNTS])
        claim.shape(f"{fs} sequential, 32 requests, 2 to 32 KiB", "falls", percent_list(few), holds)
        random = by_size(series, fs, "random")
        stable = [value for key, value in random.items() if key != (1024, 32)]
        spread = (max(stable) - min(stable)) * 100
        text = f"{min(stable) * 100:.0f} to {max(stable) * 100:.0f} %"
        claim.shape(f"{fs} random, all but 1024 x 32 KiB", "stable", text, spread <= ALIKE_POINTS)
        of_32_kib = [random[count, 32] for count in SIZE_COUNTS]
        holds = falls(of_32_kib[-2:])
        claim.shape(f"{fs} random, 32 KiB, 32 to 1024 requests", "last is lowest", percent_list(of_32_kib), holds)
        time, energy = (
            [value for pattern in PATTERNS for value in by_size(series, fs, pattern, of).values()]
            for of in (TIME, ENERGY)
        )
        claim.shape(f"{fs}, energy against time", "same curves", *alike(time, energy))
        claim.evidence.append(
            f"{fs} random, 32 requests of 2 to 32 KiB: {percent_list([random[32, size] for size in SIZES_KIB])}"
        )


def look_up_gains(series: Series, fs: str, pattern: str, of: str = "time_us") -> dict[tuple[str, int], float]:
    """Gains by kind of texts and number of records."""
    rows = [row for row in series["sqlite"] if row["fs"] == fs and row["pattern"] == pattern]
    keys = dict.fromkeys((row["kind"], row["records"]) for row in rows)
    return {(kind, records): gain(rows, of, kind=kind, records=records) for kind, records in keys}


def _judge_sqlite(claims: Claims, series: Series) -> None:
    claim = claims["RA-9"]
    for pattern in PATTERNS:
        for fs in PUBLISHED_FS:
            time = list(look_up_gains(series, fs, pattern).values())
            energy = list(look_up_gains(series, fs, pattern, ENERGY).values())
            published = claim.published["time_gain_mean"][pattern][fs]
            claim.number(f"{fs} {pattern}, mean time gain", published, sum(time) / len(time), "%")
            published = claim.published["energy_gain_mean"][pattern][fs]
            claim.number(f"{fs} {pattern}, mean energy gain", published, sum(energy) / len(energy), "%")
            if pattern == "random":
                claim.number(
                    f"{fs} random, largest time gain", claim.published["time_gain_max"][pattern][fs], max(time), "%"
                )
    for fs in PUBLISHED_FS:
        for kind in ("small", "large"):
            values = [v for (of, _), v in look_up_gains(series, fs, "random").items() if of == kind]
            claim.shape(f"{fs} random, {kind}, 1 to 1000 records", "falls", percent_list(values), falls(values))
        ordered = [v for (of, _), v in look_up_gains(series, fs, "sequential").items() if of == "small"]
        claim.evidence.append(f"{fs} in order, small, 1 to 1000 records: {percent_list(ordered)}")


def _judge_levels(claims: Claims, series: Series) -> None:
    claim, row = claims["FFS-1"], series["writes"][0]
    cpu = row["cpu_us"] / row["time_us"]
    claim.shape(
        "share of time on flash", "most", f"{(1 - cpu) * 100:.1f} %", 1 - cpu > claim.published["flash_share_min"]
    )
    claim.shape("share of time on the CPU", "the rest", f"{cpu * 100:.1f} %", cpu > 0)
    claim, steps = claims["FFS-2"], series["fragmented"][0]["steps"]
    for key, unit in (("page_reads", "page reads"), ("us", "us")):
        whole, pieces = steps[0][key], steps[1][key]
        claim.shape(f"2 MiB, {unit}", "more in pieces", f"{whole:,.0f} whole, {pieces:,.0f} in pieces", pieces > whole)
    claim = claims["VFS-1"]
    for row in series["twice"]:
        first, second = row["steps"]
        text = f"{second['page_reads']} page reads, {second['uJ']:.0f} of {first['uJ']:.0f} uJ"
        claim.shape(
            f"{row['fs']}, second read", "none, less", text, not second["page_reads"] and second["uJ"] < first["uJ"]
        )


# ---- figures ------------------------------------------------------------------------------------------------


def figures(series: Series) -> Iterator[Figure]:
    """The paper's figures with our values, same axes."""
    think_ms = [0, 0.1, 1, 10, 100]
    yield Figure(
        "Figure 2: inter-arrival time",
        "time between two reads, ms",
        "mean read latency, us",
        [
            Line(fs, think_ms, [r["latency_mean_us"] for r in series["think"] if r["fs"] == fs and r["read_ahead_KiB"]])
            for fs in FS
        ],
        x_scale="symlog",
        from_zero=True,
    )
    for title, of in (("Figure 3a: time", TIME), ("Figure 3b: page reads", READS)):
        lines = [Line(f"{fs}, {p}", COUNTS, _percents(by_number(series, fs, p, of))) for p in PATTERNS for fs in FS]
        yield Figure(f"{title} saved by number of requests", "requests of 4 KiB", "saved without read-ahead, %", lines)
    for title, of in (("Figure 4a: time", TIME), ("Figure 4b: energy", ENERGY)):
        for pattern in PATTERNS:
            lines = []
            for fs in PUBLISHED_FS:
                values = by_size(series, fs, pattern, of)
                for count in SIZE_COUNTS:
                    gains = _percents([values[count, size] for size in SIZES_KIB])
                    lines.append(Line(f"{fs}, {count} requests", SIZES_KIB, gains))
            yield Figure(f"{title} saved, {pattern}", "size of a request, KiB", "saved without read-ahead, %", lines)
    for number, of, title in ((6, "time_us", "time"), (7, ENERGY, "energy")):
        for fs in PUBLISHED_FS:
            lines = []
            for pattern in PATTERNS:
                found = look_up_gains(series, fs, pattern, of)
                for kind in ("small", "large"):
                    records = [count for of_kind, count in found if of_kind == kind]
                    lines.append(Line(f"{pattern}, {kind}", records, _percents([found[kind, n] for n in records])))
            axes = ("selected records", "saved without read-ahead, %")
            yield Figure(f"Figure {number}: SQLite, {title} saved on {fs}", *axes, lines)


def _percents(values: list[float]) -> list[float]:
    return [value * 100 for value in values]
