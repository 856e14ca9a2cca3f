"""The wear-levelling and garbage-collection study: which runs its claims need, what is read off them, its figures.

JFFS2 and YAFFS2 write through; UBIFS writes back, and the page cache would hide all of the 20 MiB: only its writes are
O_SYNC. Each run is also made the other way, as evidence that no verdict counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ffslab.reproduce.claims import SLACK_POINTS, Claims, Judged
from ffslab.reproduce.figures import Figure, Line
from ffslab.reproduce.runs import PlannedRun, Row

FS = ("jffs2", "yaffs2", "ubifs")
SIZES_KIB = (2, 4, 8, 16, 32, 64, 128, 256, 512)
FILLS = (30, 60, 75)
PAUSES_MS = (0, 10, 100)
PATTERNS = {"SR": "sequential reads", "RR": "random reads", "SW": "sequential writes", "RW": "random writes"}

# Until Linux 3.6 UBI kept 1 % of the partition for blocks that go bad, at least 2 (CONFIG_MTD_UBI_BEB_RESERVE). In the
# later key, which counts the 2048 blocks of the chip: 2 of 160 blocks, 8 of 800.
UBI_RESERVE_PER_1024 = {160: 1, 800: 4}

# The same writes the other way: JFFS2 and YAFFS2 with O_SYNC, UBIFS without.
OTHER = " otherwise"

# The dirty region beside static data: the paper's 20, but UBIFS holds no more than 16 of 100 MiB beside 75 %.
REGION_MIB = {"jffs2": 20, "yaffs2": 20, "ubifs": 16}

Series = dict[str, list[Row]]

_TEXT = """\
title = "{series}"
[stack]
board = "omap3evm"
kernel = "2.6.37"
fs = "{fs}"
partition_blocks = {blocks}
{reserve}
# The blocks of a new partition are erased and marked in the background; without the pause that would be measured.
[[setup]]
step = "mount"
[[setup]]
step = "sleep"
us = "60 s"
{state}
{setup}
[[measure]]
step = "uflip"
file = "target"
pattern = "{pattern}"
io_size_B = "2 KiB"
total_B = "{total_mib} MiB"
target_size_B = "{target_mib} MiB"
pause_us = {pause_us}
[axes]
fs = ["{fs}"]
uflip.io_size_B = {sizes}
"""
_WRITE = '[[setup]]\nstep = "open"\nfile = "target"\nflags = ["rdwr", "create", "sync"]'
_SATURATED = '[[setup]]\nstep = "saturate"'
# Static data, and beside it a region that is deleted before the run.
_FILLED = """\
[[setup]]
step = "occupy"
file = "static"
percent = {fill}
[[setup]]
step = "create"
file = "dirty"
bytes = "{dirty_mib} MiB"
[[setup]]
step = "sync"
[[setup]]
step = "unlink"
file = "dirty"
"""
_READ = """\
[[setup]]
step = "create"
file = "target"
bytes = "12 MiB"
[[setup]]
step = "sync"
[[setup]]
step = "open"
file = "target"
flags = ["rdonly"]
[[setup]]
step = "drop_caches"
"""


def planned() -> list[PlannedRun]:
    """All runs, the longest first."""
    runs = []
    for fs in reversed(FS):
        for synchronous, suffix in ((fs == "ubifs", ""), (fs != "ubifs", OTHER)):
            runs += [
                _run(f"pause {pause}{suffix}", fs, pause_us=pause * 1000, synchronous=synchronous)
                for pause in PAUSES_MS
            ]
            runs += [
                _run(f"fill {fill}{suffix}", fs, state=_filled(fs, fill), blocks=800, synchronous=synchronous)
                for fill in FILLS
            ]
            runs += [_run(f"{p}{suffix}", fs, pattern=p, synchronous=synchronous) for p in ("SW", "RW")]
        runs += [_run(pattern, fs, pattern=pattern) for pattern in ("SR", "RR")]
    return runs


def _filled(fs: str, fill: int) -> str:
    return _FILLED.format(fill=fill, dirty_mib=REGION_MIB[fs])


def _run(
    series: str,
    fs: str,
    *,
    pattern: str = "RW",
    state: str = _SATURATED,
    synchronous: bool = True,
    blocks: int = 160,
    pause_us: int = 0,
) -> PlannedRun:
    reads = pattern in ("SR", "RR")
    text = _TEXT.format(
        series=series,
        state=state,
        fs=fs,
        blocks=blocks,
        reserve=f"max_beb_per1024 = {UBI_RESERVE_PER_1024[blocks]}" if fs == "ubifs" else "",
        setup=_READ if reads else _WRITE if synchronous else _WRITE.replace(', "sync"', ""),
        pattern=pattern,
        # Reads go once over the target, or the page cache would answer.
        total_mib=12 if reads else 20,
        target_mib=12 if blocks == 160 else REGION_MIB[fs],
        pause_us=pause_us,
        sizes=[f"{size} KiB" for size in SIZES_KIB],
    )
    return PlannedRun(series, text)


# ---- readings -----------------------------------------------------------------------------------------------

TIME, ERASES, SPREAD = "latency_mean_us", "erases_per_block", "erases_per_block_sd"


def curve(series: Series, name: str, fs: str, of: str = TIME) -> dict[int, float]:
    """A quantity by size of a request in KiB."""
    rows = {row["uflip.io_size_B"]: row[of] for row in series[name] if row["fs"] == fs}
    return {size: float(rows[f"{size} KiB"]) for size in SIZES_KIB}


def ratios(above: dict[int, float], below: dict[int, float]) -> dict[int, float]:
    """Quotient of two curves, size by size; infinite where the lower one is 0."""
    return {size: above[size] / below[size] if below[size] else float("inf") for size in above}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _range(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _per_size(values: dict[int, float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values.values())


SLACK = SLACK_POINTS / 100


def judge(claims: Claims, series: Series) -> None:
    """Puts our readings beside every claim."""
    _judge_reads(claims["WG-1"], series)
    _judge_sequential(claims["WG-2"], series)
    _judge_random(claims["WG-3"], series)
    _judge_erases(claims, series)
    _judge_fill(claims, series)
    _judge_pauses(claims["WG-8"], series)
    claim = claims["FFS-3"]
    for of, name in ((TIME, "mean time, us"), (ERASES, "erases per block")):
        by_fill = [_mean(list(curve(series, f"fill {fill}", "jffs2", of).values())) for fill in FILLS]
        text = ", ".join(f"{value:,.2f}" for value in by_fill)
        claim.shape(f"{name}, all sizes, at 30, 60, 75 %", "rises", text, by_fill[0] < by_fill[1] < by_fill[2])
    for suffix in ("", OTHER):
        for fill in FILLS:
            _evidence(claim, series, f"fill {fill}{suffix}", "jffs2", 2)


def _judge_reads(claim: Judged, series: Series) -> None:
    limit = claim.published["alike_factor"]
    for pattern in ("SR", "RR"):
        curves = [curve(series, pattern, fs) for fs in FS]
        worst = max(max(c[size] for c in curves) / min(c[size] for c in curves) for size in SIZES_KIB[1:])
        claim.shape(f"{PATTERNS[pattern]}, slowest over fastest", "close", f"{worst:.2f} at most", worst <= limit)
    for fs in FS:
        times = ratios(curve(series, "RR", fs), curve(series, "SR", fs))
        others = [value for size, value in times.items() if size != 2]
        claim.shape(f"{fs}, random over sequential, 2 KiB", "differs", f"{times[2]:.2f}", times[2] > max(others))
        holds = max(others) <= limit and min(others) >= 1 / limit
        claim.shape(f"{fs}, random over sequential, from 4 KiB", "1", _range(others), holds)


def _judge_sequential(claim: Judged, series: Series) -> None:
    jffs2, yaffs2, ubifs = (curve(series, "SW", fs) for fs in FS)
    over_yaffs2 = ratios(ubifs, yaffs2)
    readings = {
        "jffs2_over_ubifs": list(ratios(jffs2, ubifs).values()),
        "jffs2_over_yaffs2": list(ratios(jffs2, yaffs2).values()),
        "ubifs_over_yaffs2_small": [over_yaffs2[size] for size in SIZES_KIB if size < 32],
        "ubifs_over_yaffs2_large": [over_yaffs2[size] for size in SIZES_KIB if size >= 32],
    }
    for name, values in readings.items():
        claim.number(f"{name.replace('_', ' ')}, mean", claim.published[name], _mean(values))
        claim.evidence.append(f"{name.replace('_', ' ')} by size: {', '.join(f'{value:.2f}' for value in values)}")
    slowest = all(jffs2[size] > ubifs[size] for size in SIZES_KIB)
    claim.shape("JFFS2 slower than UBIFS, every size", "yes", _range(readings["jffs2_over_ubifs"]), slowest)
    fastest = all(value > 1 for value in over_yaffs2.values())
    claim.shape("UBIFS slower than YAFFS2, every size", "yes", _range(list(over_yaffs2.values())), fastest)
    for fs in FS:
        other_way = curve(series, f"SW{OTHER}", fs)
        claim.evidence.append(
            f"{_other(fs)}: {other_way[2] / 1e3:.2f} ms at 2 KiB, {other_way[512] / 1e3:.2f} ms at 512 KiB"
        )
        _evidence(claim, series, "SW", fs, 2)
        _evidence(claim, series, "SW", fs, 512)


def _judge_random(claim: Judged, series: Series) -> None:
    jffs2, yaffs2, ubifs = (curve(series, "RW", fs) for fs in FS)
    claim.number("YAFFS2 over UBIFS, 512 KiB", claim.published["yaffs2_over_ubifs_512K"], yaffs2[512] / ubifs[512])
    least = claim.published["jffs2_over_others_min"]
    for name, other in (("YAFFS2", yaffs2), ("UBIFS", ubifs)):
        values = list(ratios(jffs2, other).values())
        claim.shape(f"JFFS2 over {name}, every size", "more than 2", _range(values), min(values) > least)
    small = [yaffs2[size] / ubifs[size] for size in SIZES_KIB if size < 16]
    claim.shape("YAFFS2 over UBIFS, below 16 KiB", "1 or less", _range(small), max(small) <= 1 + SLACK)
    for fs, published in zip(FS, ("less than 1", "more than 1", "more than 1"), strict=True):
        values = list(ratios(curve(series, "RW", fs), curve(series, "SW", fs)).values())
        holds = (_mean(values) < 1) == (fs == "jffs2")
        claim.shape(f"{fs}, random over sequential, mean", published, f"{_mean(values):.2f}", holds)
    _evidence(claim, series, "RW", "ubifs", 2)
    _evidence(claim, series, "RW", "jffs2", 512)
    _evidence(claim, series, "RW", "yaffs2", 512)


def _judge_erases(claims: Claims, series: Series) -> None:
    claim = claims["WG-4"]
    for fs, published in claim.published["erases_per_block"].items():
        for size, value in published.items():
            claim.number(f"{fs}, {size} KiB", value, curve(series, "SW", fs, ERASES)[int(size)])
    for fs in FS:
        other_way = curve(series, f"SW{OTHER}", fs, ERASES)
        claim.evidence.append(f"{_other(fs)}, erases per block, 2 to 512 KiB: {_per_size(other_way)}")
    jffs2, yaffs2, ubifs = (curve(series, "SW", fs, ERASES) for fs in FS)
    order = all(jffs2[size] > ubifs[size] > yaffs2[size] for size in SIZES_KIB)
    texts = (
        f"{name} {_range(list(c.values()))}" for name, c in (("JFFS2", jffs2), ("UBIFS", ubifs), ("YAFFS2", yaffs2))
    )
    claim.shape("JFFS2 > UBIFS > YAFFS2, every size", "yes", ", ".join(texts), order)
    claim.shape(
        "JFFS2 and UBIFS, 2 over 512 KiB",
        "more than 1",
        f"{jffs2[2] / jffs2[512]:.2f}, {ubifs[2] / ubifs[512]:.2f}",
        jffs2[2] > jffs2[512] and ubifs[2] > ubifs[512],
    )
    claim = claims["WG-5"]
    jffs2, yaffs2, ubifs = (curve(series, "RW", fs, ERASES) for fs in FS)
    large = [size for size in SIZES_KIB if size >= 64]
    most = all(jffs2[size] > max(yaffs2[size], ubifs[size]) for size in large)
    claim.shape(
        "JFFS2 most, from 64 KiB", "yes", _per_size({s: jffs2[s] / max(yaffs2[s], ubifs[s]) for s in large}), most
    )
    for fs in ("yaffs2", "ubifs"):
        rise = ratios(curve(series, "RW", fs, ERASES), curve(series, "SW", fs, ERASES))
        mean = _mean([value for value in rise.values() if value != float("inf")])
        claim.shape(f"{fs}, random over sequential, mean", "more than 1", f"{mean:.2f}", mean > 1)
    least = all(ubifs[size] < min(jffs2[size], yaffs2[size]) for size in SIZES_KIB[1:])
    over = {size: ubifs[size] / min(jffs2[size], yaffs2[size]) for size in SIZES_KIB}
    claim.shape("UBIFS over the lesser of the others, from 4 KiB", "less than 1", _per_size(over), least)
    for fs in FS:
        means, spreads = (list(curve(series, "RW", fs, of).values()) for of in (ERASES, SPREAD))
        follows = correlation(means, spreads)
        claim.shape(f"{fs}, correlation of mean and deviation", "follows", f"{follows:.2f}", follows > 0.5)
    for fs in FS:
        _evidence(claim, series, "RW", fs, 64)


def correlation(a: list[float], b: list[float]) -> float:
    """Pearson's; 0 for a constant."""
    x, y = ([value - _mean(of) for value in of] for of in (a, b))
    norm = (sum(v * v for v in x) * sum(v * v for v in y)) ** 0.5
    return sum(v * w for v, w in zip(x, y, strict=True)) / norm if norm else 0.0


def _judge_fill(claims: Claims, series: Series) -> None:
    claim = claims["WG-6"]
    factors = {fs: ratios(curve(series, "fill 75", fs), curve(series, "fill 60", fs)) for fs in FS}
    for fs, published in claim.published["factor"].items():
        for size, value in published.items():
            claim.number(f"{fs}, {size} KiB", value, factors[fs][int(size)])
    for fs in FS:
        early = list(ratios(curve(series, "fill 60", fs), curve(series, "fill 30", fs)).values())
        off = max(abs(value - 1) for value in early)
        claim.shape(f"{fs}, 60 % over 30 %", "1, nearly", _range(early), off <= claim.published["overlap"])
        claim.evidence.append(f"{fs}, 75 % over 60 %, 2 to 512 KiB: {_per_size(factors[fs])}")
        if fs != "ubifs":
            other_way = ratios(curve(series, f"fill 75{OTHER}", fs), curve(series, f"fill 60{OTHER}", fs))
            claim.evidence.append(f"{_other(fs)}: {_per_size(other_way)}")
    means = {fs: _mean(list(factors[fs].values())) for fs in FS}
    text = ", ".join(f"{fs} {mean:.2f}" for fs, mean in means.items())
    claim.shape("mean factor", "least for YAFFS2", text, means["yaffs2"] == min(means.values()))
    for fs in FS:
        _evidence(claim, series, "fill 30", fs, 2)
        _evidence(claim, series, "fill 75", fs, 2)
    claim = claims["WG-7"]
    for fill in FILLS:
        jffs2, yaffs2, ubifs = (curve(series, f"fill {fill}", fs, ERASES) for fs in FS)
        most = {size: yaffs2[size] - min(jffs2[size], ubifs[size]) for size in SIZES_KIB}
        holds = max(most.values()) <= 0
        named = (("YAFFS2", yaffs2), ("JFFS2", jffs2), ("UBIFS", ubifs))
        text = ", ".join(f"{name} {_range(list(of.values()))}" for name, of in named)
        claim.shape(f"{fill} %, least", "YAFFS2", text, holds)
    for fs in ("jffs2", "ubifs"):
        erases = curve(series, "fill 75", fs, ERASES)
        lowest = min(erases, key=lambda size: erases[size])
        claim.shape(f"{fs}, 75 %, minimum at", "8 to 64 KiB", f"{lowest} KiB: {_per_size(erases)}", 8 <= lowest <= 64)
    spread = {fs: _mean(list(curve(series, "fill 75", fs, SPREAD).values())) for fs in FS}
    text = f"JFFS2 {spread['jffs2']:.2f}, UBIFS {spread['ubifs']:.2f}"
    claim.shape("75 %, deviation of erases", "JFFS2 below UBIFS", text, spread["jffs2"] < spread["ubifs"])


def _judge_pauses(claim: Judged, series: Series) -> None:
    def times(fs: str, pause: int) -> dict[int, float]:
        return curve(series, f"pause {pause}", fs)

    for size, by_pause in claim.published["jffs2_mean_ms"].items():
        for pause, value in by_pause.items():
            claim.number(f"jffs2, {size} KiB, {pause} ms", value, times("jffs2", int(pause))[int(size)] / 1e3, "ms")
    low, high = claim.published["ubifs_gain_small"]
    at_once, later = times("ubifs", 0), times("ubifs", 100)
    small = [at_once[size] / later[size] for size in SIZES_KIB if size < 64]
    claim.number("ubifs, below 64 KiB, 0 over 100 ms, mean", (low + high) / 2, _mean(small))
    for fs, published in (("jffs2", "more than 1"), ("yaffs2", "1"), ("ubifs", "more than 1")):
        values = list(ratios(times(fs, 0), times(fs, 100)).values())
        gains = _mean(values) > 1 + SLACK
        claim.shape(f"{fs}, time at 0 over 100 ms, mean", published, f"{_mean(values):.2f}", gains == (fs != "yaffs2"))
        erases = [_mean(list(curve(series, f"pause {pause}", fs, ERASES).values())) for pause in PAUSES_MS]
        text = ", ".join(f"{value:.2f}" for value in erases)
        near = all(abs(b - a) <= 0.1 * a for a, b in pairwise(erases) if a)
        claim.shape(f"{fs}, erases per block at 0, 10, 100 ms", "constant", text, near)
    for suffix in ("", OTHER):
        for size in (2, 512):
            for pause in (0, 100):
                _evidence(claim, series, f"pause {pause}{suffix}", "jffs2", size)
    for pause in (0, 100):
        _evidence(claim, series, f"pause {pause}", "ubifs", 2)


def _other(fs: str) -> str:
    return f"{fs}, {'without' if fs == 'ubifs' else 'with'} O_SYNC"


def _evidence(claim: Judged, series: Series, name: str, fs: str, size: int) -> None:
    """Where the time went in one run: the four largest reasons."""
    (row,) = (row for row in series[name] if row["fs"] == fs and row["uflip.io_size_B"] == f"{size} KiB")
    spent = {reason: us for reason, us in row["spent_us"].items() if reason != "idle"}
    largest = sorted(spent.items(), key=lambda item: -item[1])[:4]
    shares = ", ".join(f"{reason} {us / sum(spent.values()) * 100:.0f} %" for reason, us in largest)
    what = f"{_other(fs)}, {name.removesuffix(OTHER)}" if name.endswith(OTHER) else f"{fs}, {name}"
    claim.evidence.append(f"{what}, {size} KiB: {row[TIME] / 1e3:.2f} ms a call; {shares}")


# ---- figures ------------------------------------------------------------------------------------------------

_SIZE = "size of a request, KiB"


def figures(series: Series) -> Iterator[Figure]:
    """The paper's figures with our values, same axes."""
    for pattern, name in PATTERNS.items():
        lines = [_line(series, pattern, fs, TIME, 1e-3) for fs in FS]
        yield Figure(f"Figure 2: {name}", _SIZE, "mean response time, ms", lines, y_log=True)
    for of, name in ((ERASES, "mean erases per block"), (SPREAD, "standard deviation of erases")):
        lines = [_line(series, p, fs, of, 1, f"{fs}, {PATTERNS[p]}") for p in ("SW", "RW") for fs in FS]
        yield Figure(f"Figure 4: {name}", _SIZE, name, lines, from_zero=True)
    quantities = (
        (TIME, 1e-3, "mean response time, ms"),
        (ERASES, 1, "mean erases per block"),
        (SPREAD, 1, "standard deviation of erases"),
    )
    for fs in FS:
        for of, unit, name in quantities:
            lines = [_line(series, f"fill {fill}", fs, of, unit, f"{fill} % full") for fill in FILLS]
            yield Figure(f"Figure 5: fill rate, {fs}, {name}", _SIZE, name, lines, y_log=of == TIME, from_zero=True)
    for fs in FS:
        for of, unit, name in quantities[:2]:
            lines = [
                _line(series, f"pause {pause}", fs, of, unit, f"{pause} ms between requests") for pause in PAUSES_MS
            ]
            yield Figure(f"Figure 6: pauses, {fs}, {name}", _SIZE, name, lines, y_log=of == TIME, from_zero=True)


def _line(series: Series, name: str, fs: str, of: str, unit: float, label: str = "") -> Line:
    return Line(label or fs, SIZES_KIB, [value * unit for value in curve(series, name, fs, of).values()])
