"""The figures of the read-ahead study: what is known of the paper's curves, ours and those of the real kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ffslab.studies.reproduce import kernel
from ffslab.studies.reproduce.claims import Claims
from ffslab.studies.reproduce.figures import (
    ANY_CURVE,
    OURS,
    REAL,
    SECOND,
    Figure,
    Line,
    Published,
    stated,
)
from ffslab.studies.reproduce.readahead import (
    BYTES_PER_US,
    ENERGY,
    NAMES,
    READS,
    TIME,
    Measure,
    Series,
    by_number,
    by_size,
    look_up_gains,
    slowed,
    throughputs,
)
from ffslab.studies.reproduce.readahead_runs import (
    COUNTS,
    FS,
    PATTERNS,
    PUBLISHED_FS,
    SIZE_COUNTS,
    SIZES_KIB,
    STUDIED,
)
from ffslab.studies.reproduce.rows import NotMeasuredError

SAVED = "saved without read-ahead, %"
SHARES = ("a quarter is read", "half", "whole files")
THINK_MS = (0, 0.1, 1, 10, 100)


def figures(claims: Claims, series: Series) -> Iterator[Figure]:
    """The paper's figures and its table of throughputs."""
    (real,) = kernel.readahead().values()
    yield from _number(claims, series, real)
    yield from _postmark(claims, series)
    yield _think(series, real)
    yield from _size(claims, series)
    yield from _sqlite(claims, series)


def _postmark(claims: Claims, series: Series) -> Iterator[Figure]:
    claim, places = claims["RA-1"], range(len(SHARES))
    published, lines = [], []
    for at, fs in enumerate(PUBLISHED_FS):
        for switch, kib, hue in (("with", 128, 2 * at), ("without", 0, 2 * at + 1)):
            name = f"{fs} {switch} read-ahead"
            rates = claim.values("on_MB_per_s" if kib else "off_MB_per_s", fs)
            published.append(Published(f"{name}, published", places, rates, hue))
            ours = [rate * BYTES_PER_US for rate in throughputs(series, fs, STUDIED, kib)]
            lines.append(Line(f"{name}, ffslab", places, ours, hue))
    says = "table 1 gives all twelve values."
    yield Figure("Table 1: Postmark", "", "read throughput, MB/s", lines, published, ("RA-1",), says, kinds=SHARES)
    published, lines = [], []
    for hue, fs in enumerate(PUBLISHED_FS):
        on, off = claim.values("on_MB_per_s", fs), claim.values("off_MB_per_s", fs)
        ratios = {at: a / b for at, (a, b) in enumerate(zip(on, off, strict=True))}
        published.append(stated(claim, f"{fs}, published", ratios, hue))
        lines.append(Line(f"{fs}, ffslab", places, slowed(series, fs, STUDIED), hue))
    yield Figure(
        "Table 1: what read-ahead leaves of the throughput",
        "",
        "throughput, with over without",
        lines,
        published,
        ("RA-1",),
        "the quotients of table 1.",
        kinds=SHARES,
    )


def _think(series: Series, real: Series) -> Figure:
    lines = []
    for whose, of, dash in (("ffslab", series, OURS), ("Linux 2.6.37", real, REAL)):
        for hue, fs in enumerate(FS):
            rows = [row for row in of["think"] if row["fs"] == fs and row["read_ahead_KiB"]]
            if len(rows) > 1:
                means = [row["latency_mean_us"] for row in rows]
                places = THINK_MS if len(rows) == len(THINK_MS) else _think_ms(len(rows))
                label = f"{NAMES[fs]}, {whose}: {means[0]:,.0f} us without pauses"
                lines.append(Line(label, places, [mean / means[0] for mean in means], hue, dash))
    constant = Published("published: it stays the same", (THINK_MS[0], THINK_MS[-1]), (1, 1), joined=True)
    return Figure(
        "Figure 2: pauses between reads",
        "time between two reads, ms",
        "latency over that without pauses",
        lines,
        [constant],
        ("RA-2",),
        "latency does not change with the pauses (section 4.1.1); no value of it is stated.",
        x_scale="symlog",
    )


def _think_ms(count: int) -> Sequence[float]:
    """The real kernel was measured without pauses and with the longest ones."""
    return (THINK_MS[0], *THINK_MS[len(THINK_MS) - count + 1 :])


def _most(claims: Claims, pattern: str, x: Sequence[float]) -> Published:
    most = claims["RA-8"].value("gain", pattern) * 100
    return Published(f"published: at most {most:.0f} %", (x[0], x[-1]), (most, most), joined=True)


def _number(claims: Claims, series: Series, real: Series) -> Iterator[Figure]:
    def lines(pattern: str, of: Measure) -> list[Line]:
        found = list(_lines(lambda fs: by_number(series, fs, pattern, of), "ffslab", OURS))
        return found + list(_lines(lambda fs: by_number(real, fs, pattern, of), "Linux 2.6.37", REAL))

    about, requests = claims["RA-5"].table("gain"), "requests of 4 KiB"
    least = claims["RA-4"].value("page_reads_gain_min") * 100
    whole = claims["RA-6"].value("gain_max") * 100
    minimal = Published(
        f"published: minimal (taken as {whole:.0f} % or less)", (COUNTS[-2], COUNTS[-1]), (0, 0), to=whole
    )
    yield Figure(
        "Figure 3a, sequential: time saved by number of requests",
        requests,
        SAVED,
        lines("sequential", TIME),
        [_most(claims, "sequential", COUNTS), minimal],
        ("RA-3", "RA-6", "RA-8"),
        "the largest gain (abstract), and that little is gained when nearly the whole file is read (section 4.1.2). "
        "UBIFS, which switches read-ahead off, was not in the paper.",
    )
    gains = {count: about["32"] for count in COUNTS if count <= 32} | {256: about["256"]}
    yield Figure(
        "Figure 3a, random: time saved by number of requests",
        requests,
        SAVED,
        lines("random", TIME),
        [stated(claims["RA-5"], "published, both file systems", gains, 7, 100), _most(claims, "random", COUNTS)],
        ("RA-3", "RA-5", "RA-8"),
        "20 % for up to 32 requests, 50 % for 256 (section 4.1.2), and the largest gain (abstract).",
    )
    over = Published(f"published: more than {least:.0f} %", (COUNTS[0], 63), (least, least), to=100)
    yield Figure(
        "Figure 3b, sequential: page reads saved by number of requests",
        requests,
        SAVED,
        lines("sequential", READS),
        [over],
        ("RA-4",),
        "more than half of the page reads with less than 64 requests, the less the more requests (section 4.1.2).",
    )
    yield Figure(
        "Figure 3b, random: page reads saved by number of requests",
        requests,
        SAVED,
        lines("random", READS),
        (),
        ("RA-5",),
        "no value of this curve is stated; it is called like that of the time (section 4.1.2).",
    )


def _lines(gains_of: Callable[[str], Mapping[int, float]], whose: str, dash: int) -> Iterator[Line]:
    """A curve of each file system for which there are runs."""
    for hue, fs in enumerate(FS):
        try:
            gains = gains_of(fs)
        except NotMeasuredError:
            continue
        yield Line(f"{NAMES[fs]}, {whose}", list(gains), _percents(list(gains.values())), hue, dash)


def _size(claims: Claims, series: Series) -> Iterator[Figure]:
    says = {
        "sequential": "the largest gain (abstract); less is gained the more is read (section 4.1.3).",
        "random": "the largest gain (abstract); it is nearly the same for all but the largest sizes (section 4.1.3).",
    }
    for title, of in (("Figure 4a, {}: time", TIME), ("Figure 4b, {}: energy", ENERGY)):
        for pattern in PATTERNS:
            lines = []
            for fs, dash in zip(PUBLISHED_FS, (OURS, SECOND), strict=True):
                values = by_size(series, fs, pattern, of)
                for hue, count in enumerate(SIZE_COUNTS):
                    gains = _percents([values[count, size] for size in SIZES_KIB])
                    lines.append(Line(f"{fs}, {count:,} requests, ffslab", SIZES_KIB, gains, hue, dash))
            yield Figure(
                f"{title.format(pattern)} saved by size of a request",
                "size of a request, KiB",
                SAVED,
                lines,
                [_most(claims, pattern, SIZES_KIB)],
                ("RA-7", "RA-8"),
                says[pattern],
            )


def _sqlite(claims: Claims, series: Series) -> Iterator[Figure]:
    claim = claims["RA-9"]
    drawn: tuple[tuple[int, Measure, str], ...] = ((6, "time_us", "time"), (7, ENERGY, "energy"))
    for number, of, what in drawn:
        for fs in PUBLISHED_FS:
            lines, published = [], []
            for hue, pattern in enumerate(PATTERNS):
                found = look_up_gains(series["sqlite"], fs, pattern, of)
                ours = sum(found.values()) / len(found) * 100
                records = sorted({count for _, count in found})
                mean = claim.value(f"{what}_gain_mean", pattern, fs) * 100
                label = f"{pattern}, published mean: {mean:.1f} % (ffslab's: {ours:.1f} %)"
                published.append(Published(label, (records[0], records[-1]), (mean, mean), hue, joined=True))
                for kind, dash in (("small", OURS), ("large", SECOND)):
                    counts = [count for of_kind, count in found if of_kind == kind]
                    gains = _percents([found[kind, count] for count in counts])
                    lines.append(Line(f"{pattern}, {kind} data base, ffslab", counts, gains, hue, dash))
            says = "means over all runs (section 4.3); at random the gain falls with the number of records."
            if what == "time":
                most = claim.value("time_gain_max", "random", fs) * 100
                label = f"{ANY_CURVE}: random at most {most:.0f} %"
                published.append(Published(label, (records[0], records[-1]), (most, most), joined=True))
            yield Figure(
                f"Figure {number}: SQLite, {what} saved on {fs}",
                "selected records",
                SAVED,
                lines,
                published,
                ("RA-9",),
                says,
            )


def _percents(values: list[float]) -> list[float]:
    return [value * 100 for value in values]
