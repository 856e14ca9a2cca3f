"""What is read off the runs of the wear-levelling and garbage-collection study, beside what it published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from ffslab.studies.reproduce.claims import SLACK_POINTS, Claims, Judged
from ffslab.studies.reproduce.rows import Measured, NotMeasuredError, as_far_as_measured
from ffslab.studies.reproduce.wear_gc import (
    ERASES,
    FILLS,
    FS,
    OTHER_CACHES_KIB,
    PAGE_CACHE_KIB,
    PATTERNS,
    PAUSES_MS,
    SPREAD,
    SYNCED,
    TIME,
    Series,
    curve,
    pause_series,
)


def ratios(above: dict[int, float], below: dict[int, float]) -> dict[int, float]:
    """Quotient of two curves, size by size; infinite where the lower one is 0."""
    return {size: above[size] / below[size] if below[size] else float("inf") for size in common(above, below)}


def common(*curves: dict[int, float]) -> list[int]:
    """The sizes that all curves have."""
    sizes = [size for size in curves[0] if all(size in curve for curve in curves)]
    if not sizes:
        raise NotMeasuredError("no size that all have")
    return sizes


def at(of: dict[int, float], size: int) -> float:
    """The value of a curve at a size in KiB."""
    if size not in of:
        raise NotMeasuredError(f"{size} KiB")
    return of[size]


def _mean(values: list[float]) -> float:
    if not values:
        raise NotMeasuredError("no such size")
    return sum(values) / len(values)


def _range(values: list[float]) -> str:
    if not values:
        raise NotMeasuredError("no such size")
    return f"{min(values):.2f} to {max(values):.2f}"


def _per_size(values: dict[int, float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values.values())


SLACK = SLACK_POINTS / 100


def judge(claims: Claims, series: Series) -> None:
    """Puts our readings, or those of the real kernel as far as it was measured, beside every claim."""
    _judge_reads(claims["WG-1"], series)
    _judge_sequential(claims["WG-2"], series)
    _judge_random(claims["WG-3"], series)
    _judge_sequential_erases(claims["WG-4"], series)
    _judge_random_erases(claims["WG-5"], series)
    _judge_fill(claims["WG-6"], series)
    _judge_fill_erases(claims["WG-7"], series)
    _judge_pauses(claims["WG-8"], series)
    claim = claims["FFS-3"]
    for of, name in ((TIME, "mean time, us"), (ERASES, "erases per block")):
        with as_far_as_measured(series):
            by_fill = [_mean(list(curve(series, f"fill {fill}", "jffs2", of).values())) for fill in FILLS]
            text = ", ".join(f"{value:,.2f}" for value in by_fill)
            claim.shape(f"{name}, all sizes, at 30, 60, 75 %", "rises", text, rises(by_fill))
    for suffix in ("", SYNCED):
        for fill in FILLS:
            _evidence(claim, series, f"fill {fill}{suffix}", "jffs2", 2)


def rises(values: list[float]) -> bool:
    """The last is above the first, and no step falls by more than printed curves could show."""
    return values[-1] > values[0] and all(b >= a * (1 - SLACK) for a, b in pairwise(values))


def _judge_reads(claim: Judged, series: Series) -> None:
    limit = claim.value("alike_factor")
    for pattern in ("SR", "RR"):
        with as_far_as_measured(series):
            curves = [curve(series, pattern, fs) for fs in FS]
            worst = max(max(c[size] for c in curves) / min(c[size] for c in curves) for size in curves[0] if size > 2)
            claim.shape(f"{PATTERNS[pattern]}, slowest over fastest", "close", f"{worst:.2f} at most", worst <= limit)
    for fs in FS:
        with as_far_as_measured(series):
            times = ratios(curve(series, "RR", fs), curve(series, "SR", fs))
            others = [value for size, value in times.items() if size != 2]
            claim.shape(f"{fs}, random over sequential, 2 KiB", "differs", f"{times[2]:.2f}", times[2] > max(others))
            holds = max(others) <= limit and min(others) >= 1 / limit
            claim.shape(f"{fs}, random over sequential, from 4 KiB", "1", _range(others), holds)


def _judge_sequential(claim: Judged, series: Series) -> None:
    def over(above: str, below: str, sizes: Callable[[int], bool] = bool) -> list[float]:
        by_size = ratios(curve(series, "SW", above), curve(series, "SW", below))
        return [value for size, value in by_size.items() if sizes(size)]

    readings: dict[str, Callable[[], list[float]]] = {
        "jffs2_over_ubifs": lambda: over("jffs2", "ubifs"),
        "jffs2_over_yaffs2": lambda: over("jffs2", "yaffs2"),
        "ubifs_over_yaffs2_small": lambda: over("ubifs", "yaffs2", lambda size: size < 32),
        "ubifs_over_yaffs2_large": lambda: over("ubifs", "yaffs2", lambda size: size >= 32),
    }
    for name, values_of in readings.items():
        with as_far_as_measured(series):
            values = values_of()
            claim.number(f"{name.replace('_', ' ')}, mean", claim.value(name), _mean(values))
            claim.evidence.append(f"{name.replace('_', ' ')} by size: {', '.join(f'{value:.2f}' for value in values)}")
    orders = {"JFFS2 slower than UBIFS": ("jffs2", "ubifs"), "UBIFS slower than YAFFS2": ("ubifs", "yaffs2")}
    for name, (above, below) in orders.items():
        with as_far_as_measured(series):
            values = over(above, below)
            claim.shape(f"{name}, every size", "yes", _range(values), min(values) > 1)
    for fs in FS:
        with as_far_as_measured(series):
            synced = curve(series, f"SW{SYNCED}", fs)
            at_ends = f"{synced[2] / 1e3:.2f} ms at 2 KiB, {synced[512] / 1e3:.2f} ms at 512 KiB"
            claim.evidence.append(f"{fs}{SYNCED}: {at_ends}")
        _evidence(claim, series, "SW", fs, 2)
        _evidence(claim, series, "SW", fs, 512)


def _judge_random(claim: Judged, series: Series) -> None:
    def over(above: str, below: str) -> dict[int, float]:
        return ratios(curve(series, "RW", above), curve(series, "RW", below))

    with as_far_as_measured(series):
        at_512 = over("yaffs2", "ubifs")[512]
        claim.number("YAFFS2 over UBIFS, 512 KiB", claim.value("yaffs2_over_ubifs_512K"), at_512)
    least = claim.value("jffs2_over_others_min")
    for other in ("yaffs2", "ubifs"):
        with as_far_as_measured(series):
            values = list(over("jffs2", other).values())
            claim.shape(f"JFFS2 over {other.upper()}, every size", "more than 2", _range(values), min(values) > least)
    with as_far_as_measured(series):
        small = [value for size, value in over("yaffs2", "ubifs").items() if size < 16]
        claim.shape("YAFFS2 over UBIFS, below 16 KiB", "1 or less", _range(small), max(small) <= 1 + SLACK)
    for fs, published in zip(FS, ("less than 1", "more than 1", "more than 1"), strict=True):
        with as_far_as_measured(series):
            values = list(ratios(curve(series, "RW", fs), curve(series, "SW", fs)).values())
            holds = (_mean(values) < 1) == (fs == "jffs2")
            claim.shape(f"{fs}, random over sequential, mean", published, f"{_mean(values):.2f}", holds)
    _evidence(claim, series, "RW", "ubifs", 2)
    _evidence(claim, series, "RW", "jffs2", 512)
    _evidence(claim, series, "RW", "yaffs2", 512)


def _judge_sequential_erases(claim: Judged, series: Series) -> None:
    for fs in claim.names("erases_per_block"):
        for size, value in claim.table("erases_per_block", fs).items():
            with as_far_as_measured(series):
                claim.number(f"{fs}, {size} KiB", value, at(curve(series, "SW", fs, ERASES), int(size)))
    for fs in FS:
        with as_far_as_measured(series):
            synced = curve(series, f"SW{SYNCED}", fs, ERASES)
            claim.evidence.append(f"{fs}{SYNCED}, erases per block, 2 to 512 KiB: {_per_size(synced)}")
    with as_far_as_measured(series):
        curves = {fs: curve(series, "SW", fs, ERASES) for fs in FS}
        jffs2, yaffs2, ubifs = curves.values()
        order = all(jffs2[size] > ubifs[size] > yaffs2[size] for size in common(*curves.values()))
        text = ", ".join(f"{fs.upper()} {_range(list(curves[fs].values()))}" for fs in ("jffs2", "ubifs", "yaffs2"))
        claim.shape("JFFS2 > UBIFS > YAFFS2, every size", "yes", text, order)
    with as_far_as_measured(series):
        fall = {fs: (at(c, 2), at(c, 512)) for fs in ("jffs2", "ubifs") if (c := curve(series, "SW", fs, ERASES))}
        text = ", ".join(f"{small / large:.2f}" for small, large in fall.values())
        holds = all(small > large for small, large in fall.values())
        claim.shape("JFFS2 and UBIFS, 2 over 512 KiB", "more than 1", text, holds)


def _judge_random_erases(claim: Judged, series: Series) -> None:
    with as_far_as_measured(series):
        jffs2, yaffs2, ubifs = (curve(series, "RW", fs, ERASES) for fs in FS)
        sizes = common(jffs2, yaffs2, ubifs)
        large = {size: jffs2[size] / max(yaffs2[size], ubifs[size]) for size in sizes if size >= 64}
        claim.shape("JFFS2 most, from 64 KiB", "yes", _per_size(large), min(large.values()) > 1)
        over = {size: ubifs[size] / min(jffs2[size], yaffs2[size]) for size in sizes}
        least = all(value < 1 for size, value in over.items() if size > 2)
        claim.shape("UBIFS over the lesser of the others, from 4 KiB", "less than 1", _per_size(over), least)
    for fs in ("yaffs2", "ubifs"):
        with as_far_as_measured(series):
            rise = ratios(curve(series, "RW", fs, ERASES), curve(series, "SW", fs, ERASES))
            mean = _mean([value for value in rise.values() if value != float("inf")])
            claim.shape(f"{fs}, random over sequential, mean", "more than 1", f"{mean:.2f}", mean > 1)
    for fs in FS:
        with as_far_as_measured(series):
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


def _judge_fill(claim: Judged, series: Series) -> None:
    def factors(fs: str, fills: tuple[int, int] = (75, 60), suffix: str = "") -> dict[int, float]:
        above, below = (curve(series, f"fill {fill}{suffix}", fs) for fill in fills)
        return ratios(above, below)

    for fs in claim.names("factor"):
        for size, value in claim.table("factor", fs).items():
            with as_far_as_measured(series):
                claim.number(f"{fs}, {size} KiB", value, at(factors(fs), int(size)))
    for fs in FS:
        with as_far_as_measured(series):
            early = list(factors(fs, (60, 30)).values())
            off = max(abs(value - 1) for value in early)
            claim.shape(f"{fs}, 60 % over 30 %", "1, nearly", _range(early), off <= claim.value("overlap"))
            claim.evidence.append(f"{fs}, 75 % over 60 %, 2 to 512 KiB: {_per_size(factors(fs))}")
            claim.evidence.append(f"{fs}{SYNCED}: {_per_size(factors(fs, suffix=SYNCED))}")
    with as_far_as_measured(series):
        means = {fs: _mean(list(factors(fs).values())) for fs in FS}
        text = ", ".join(f"{fs} {mean:.2f}" for fs, mean in means.items())
        claim.shape("mean factor", "least for YAFFS2", text, means["yaffs2"] == min(means.values()))
    for fs in FS:
        _evidence(claim, series, "fill 30", fs, 2)
        _evidence(claim, series, "fill 75", fs, 2)


def _judge_fill_erases(claim: Judged, series: Series) -> None:
    for fill in FILLS:
        with as_far_as_measured(series):
            curves = {fs: curve(series, f"fill {fill}", fs, ERASES) for fs in FS}
            jffs2, yaffs2, ubifs = curves.values()
            holds = all(yaffs2[size] <= min(jffs2[size], ubifs[size]) for size in common(*curves.values()))
            text = ", ".join(f"{fs.upper()} {_range(list(of.values()))}" for fs, of in curves.items())
            claim.shape(f"{fill} %, least", "YAFFS2", text, holds)
    for fs in ("jffs2", "ubifs"):
        for fill in FILLS:
            with as_far_as_measured(series):
                erases = curve(series, f"fill {fill}", fs, ERASES)
                middle = _mean([value for size, value in erases.items() if 8 <= size <= 64])
                large = _mean([value for size, value in erases.items() if size > 64])
                text = f"{middle:.3f}; at 2 KiB {erases[2]:.3f}, above 64 KiB {large:.3f}"
                claim.shape(f"{fs}, {fill} %, 8 to 64 KiB", "least", text, middle < min(erases[2], large))
                values = _per_size(erases)
                claim.evidence.append(f"{fs}, {fill} %, erases per block, 2 to 512 KiB: {values}")
    with as_far_as_measured(series):
        spread = {fs: _mean(list(curve(series, "fill 75", fs, SPREAD).values())) for fs in FS}
        text = f"JFFS2 {spread['jffs2']:.2f}, UBIFS {spread['ubifs']:.2f}"
        claim.shape("75 %, deviation of erases", "JFFS2 below UBIFS", text, spread["jffs2"] < spread["ubifs"])


def _judge_pauses(claim: Judged, series: Series) -> None:
    def times(fs: str, pause: int) -> dict[int, float]:
        return curve(series, f"pause {pause}", fs)

    for kib in claim.names("jffs2_mean_ms"):
        for ms, value in claim.table("jffs2_mean_ms", kib).items():
            with as_far_as_measured(series):
                claim.number(f"jffs2, {kib} KiB, {ms} ms", value, at(times("jffs2", int(ms)), int(kib)) / 1e3, "ms")
    low, high = claim.values("ubifs_gain_small")
    with as_far_as_measured(series):
        gains = ratios(times("ubifs", 0), times("ubifs", 100))
        small = [gain for size, gain in gains.items() if size < 64]
        claim.number("ubifs, below 64 KiB, 0 over 100 ms, mean", (low + high) / 2, _mean(small))
    _judge_thresholds(claim, series)
    for fs, published in (("jffs2", "more than 1"), ("yaffs2", "1"), ("ubifs", "more than 1")):
        with as_far_as_measured(series):
            mean = _mean(list(ratios(times(fs, 0), times(fs, 100)).values()))
            gains_most = (mean > 1 + SLACK) == (fs != "yaffs2")
            claim.shape(f"{fs}, time at 0 over 100 ms, mean", published, f"{mean:.2f}", gains_most)
            erases = [_mean(list(curve(series, f"pause {pause}", fs, ERASES).values())) for pause in PAUSES_MS]
            text = ", ".join(f"{value:.2f}" for value in erases)
            near = all(abs(b - a) <= 0.1 * a for a, b in pairwise(erases) if a)
            claim.shape(f"{fs}, erases per block at 0, 10, 100 ms", "constant", text, near)
    for suffix in ("", SYNCED):
        for size in (2, 512):
            for pause in (0, 100):
                _evidence(claim, series, f"pause {pause}{suffix}", "jffs2", size)
    for pause in (0, 100):
        _evidence(claim, series, f"pause {pause}", "ubifs", 2)


def _judge_thresholds(claim: Judged, series: Series) -> None:
    """From which size on a pause is too short for UBIFS: where it is shorter than what the request costs the flash."""

    def gains(pause: int, name: Callable[[int], str]) -> dict[int, float]:
        return ratios(curve(series, name(0), "ubifs"), curve(series, name(pause), "ubifs"))

    gain = claim.value("ubifs_gain_least")
    for pause, longest in claim.table("ubifs_gains_up_to_KiB").items():
        with as_far_as_measured(series):
            values = gains(int(pause), pause_series)
            enough = [size for size in values if values[size] >= gain]
            holds = enough == [size for size in values if size <= longest]
            text = f"{min(enough)} to {max(enough)} KiB" if enough else "never"
            claim.shape(f"ubifs, sizes with a gain of {gain} and more, {pause} ms", f"2 to {longest} KiB", text, holds)
    for cache_kib in sorted((PAGE_CACHE_KIB, *OTHER_CACHES_KIB)):
        with as_far_as_measured(series):
            by_pause = [gains(pause, partial(pause_series, cache_kib=cache_kib)) for pause in PAUSES_MS[1:]]
            texts = [", ".join(f"{value:.3g}" for value in values.values()) for values in by_pause]
            cache = f"ubifs, page cache {cache_kib >> 10} MiB, 2 to 512 KiB"
            claim.evidence.append(f"{cache}: 0 over 10 ms {texts[0]}; 0 over 100 ms {texts[1]}")
    with as_far_as_measured(series):
        values = gains(100, lambda ms: pause_series(ms) + SYNCED)
        claim.evidence.append(f"ubifs{SYNCED}, 0 over 100 ms: {_per_size(values)}")


def _evidence(claim: Judged, series: Series, name: str, fs: str, size: int) -> None:
    """Where the time went in one run of ours: the four largest reasons."""
    if isinstance(series, Measured):
        return
    (row,) = (row for row in series[name] if row["fs"] == fs and row["uflip.io_size_B"] == f"{size} KiB")
    spent = {reason: us for reason, us in row["spent_us"].items() if reason != "idle"}
    largest = sorted(spent.items(), key=lambda item: -item[1])[:4]
    shares = ", ".join(f"{reason} {us / sum(spent.values()) * 100:.0f} %" for reason, us in largest)
    claim.evidence.append(f"{fs}, {name}, {size} KiB: {row[TIME] / 1e3:.2f} ms a call; {shares}")
