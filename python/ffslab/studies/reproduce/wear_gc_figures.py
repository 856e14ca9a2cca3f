"""The figures of the wear-levelling and garbage-collection study.

The paper's text states numbers of erases and of JFFS2's times with and without pauses, and factors between curves of
times. So there are its axes, and beside them the axes of its factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ffslab.studies.reproduce import kernel
from ffslab.studies.reproduce.claims import Claims
from ffslab.studies.reproduce.figures import OURS, REAL, Figure, Line, Published, stated
from ffslab.studies.reproduce.rows import NotMeasuredError
from ffslab.studies.reproduce.wear_gc import (
    ERASES,
    FILLS,
    FS,
    PATTERNS,
    PAUSES_MS,
    SET_UP,
    SIZES_KIB,
    SPREAD,
    TIME,
    Measure,
    Series,
    curve,
)
from ffslab.studies.reproduce.wear_gc_claims import ratios

_SIZE = "size of a request, KiB"
# What is drawn of each quantity: its unit in that of the runs, its name.
QUANTITIES: dict[Measure, tuple[float, str]] = {
    TIME: (1e-3, "mean response time, ms"),
    ERASES: (1, "mean erases per block"),
    SPREAD: (1, "deviation of erases per block"),
}
# A curve of a figure: its name, its series, its file system.
Curve = tuple[str, str, str]
INFINITE = float("inf")
ENDS = (SIZES_KIB[0], SIZES_KIB[-1])


def figures(claims: Claims, series: Series) -> Iterator[Figure]:
    """The paper's figures; first those of which something is stated."""
    real = kernel.wear_gc()[SET_UP]
    yield from _erases(claims, series, real)
    yield from _pauses(claims, series, real)
    yield from _factors_of_fill(claims, series, real)
    yield from _factors_of_writes(claims, series, real)
    yield from _random_over_sequential(claims, series, real)
    yield from _further(series, real)


def _lines(series: Series, real: Series, of: Measure, curves: Sequence[Curve]) -> list[Line]:
    """Each curve of ours and of the real kernel, in the unit of its axis."""
    unit, _ = QUANTITIES[of]
    found = []
    for whose, rows, dash in (("ffslab", series, OURS), ("Linux 2.6.37", real, REAL)):
        for hue, (label, name, fs) in enumerate(curves):
            try:
                points = curve(rows, name, fs, of)
            except NotMeasuredError:
                continue
            heights = [value * unit for value in points.values()]
            found.append(Line(f"{label}, {whose}", list(points), heights, hue, dash))
    return found


# The names of a factor and of the two curves of which it is the quotient: series and file system of each.
Factor = tuple[str, tuple[str, str], tuple[str, str]]


def _factors(series: Series, real: Series, factors: Sequence[Factor], of: Measure = TIME) -> list[Line]:
    found = []
    for whose, rows, dash in (("ffslab", series, OURS), ("Linux 2.6.37", real, REAL)):
        for hue, (label, above, below) in enumerate(factors):
            try:
                points = ratios(curve(rows, *above, of), curve(rows, *below, of))
            except NotMeasuredError:
                continue
            # Over none there is no quotient.
            kept = {size: value for size, value in points.items() if value != INFINITE}
            if kept:
                found.append(Line(f"{label}, {whose}", list(kept), list(kept.values()), hue, dash))
    return found


def _constant(label: str, value: float, hue: int, x: Sequence[float] = ENDS) -> Published:
    return Published(label, (x[0], x[-1]), (value, value), hue, joined=True)


def _sizes(values: Mapping[str, float]) -> dict[float, float]:
    return {float(size): value for size, value in values.items()}


def _erases(claims: Claims, series: Series, real: Series) -> Iterator[Figure]:
    claim, name = claims["WG-4"], QUANTITIES[ERASES][1]
    curves = [(fs, "SW", fs) for fs in FS]
    published = [
        stated(claim, f"{fs}, published", _sizes(claim.table("erases_per_block", fs)), hue) for hue, fs in enumerate(FS)
    ]
    flat = claim.value("erases_per_block", "yaffs2", "2")
    published.append(_constant(f"yaffs2, published: {flat:g} at every size", flat, FS.index("yaffs2")))
    yield Figure(
        f"Figure 4, sequential writes: {name}",
        _SIZE,
        name,
        _lines(series, real, ERASES, curves),
        published,
        ("WG-4",),
        "both ends of JFFS2's and UBIFS's curves, and all of YAFFS2's (section V.A).",
    )
    least = claims["WG-5"].value("ubifs_least")
    hue = FS.index("ubifs")
    yield Figure(
        f"Figure 4, random writes: {name}",
        _SIZE,
        name,
        _lines(series, real, ERASES, [(fs, "RW", fs) for fs in FS]),
        [_constant(f"ubifs, published: {least:g} where it is least", least, hue)],
        ("WG-5",),
        f"UBIFS at its best erases twice as much as YAFFS2 at its best in order ({flat:g}); JFFS2 erases most with "
        "large requests, UBIFS least except at 2 KiB (section V.A).",
    )


def _pauses(claims: Claims, series: Series, real: Series) -> Iterator[Figure]:
    claim = claims["WG-8"]
    published = []
    for hue, pause in enumerate(PAUSES_MS):
        values = {
            float(kib): claim.value("jffs2_mean_ms", kib, str(pause))
            for kib in claim.names("jffs2_mean_ms")
            if str(pause) in claim.names("jffs2_mean_ms", kib)
        }
        if values:
            published.append(stated(claim, f"{pause} ms, published", values, hue))
    yield Figure(
        "Figure 6: random writes with pauses, jffs2",
        _SIZE,
        QUANTITIES[TIME][1],
        _lines(series, real, TIME, [(f"{pause} ms", f"pause {pause}", "jffs2") for pause in PAUSES_MS]),
        published,
        ("WG-8",),
        "four values, at both ends (section V.C).",
        y_log=True,
    )
    gained = "time, without over with pauses"
    low, high = claim.values("ubifs_gain_small")
    large = claim.value("ubifs_gain_large")
    longest = {pause: claim.value("ubifs_gains_up_to_KiB", str(pause)) for pause in PAUSES_MS[1:]}
    small = SIZES_KIB[SIZES_KIB.index(int(longest[10]))]
    after = SIZES_KIB[SIZES_KIB.index(int(longest[10])) + 1]
    yield Figure(
        "Figure 6: what pauses gain, ubifs",
        _SIZE,
        gained,
        _factors(series, real, _gains("ubifs")),
        [
            Published(f"published: {low:g} to {high:g} below 64 KiB", (ENDS[0], small), (low, low), to=high),
            _constant("10 ms, published: nothing from 64 KiB on", 1, 0, (after, ENDS[-1])),
            _constant(f"100 ms, published: {large:g} from 64 to {longest[100]:g} KiB", large, 1, (after, longest[100])),
        ],
        ("WG-8",),
        "factors; between what is drawn nothing is stated (section V.C).",
        y_log=True,
    )
    yield Figure(
        "Figure 6: what pauses gain, yaffs2",
        _SIZE,
        gained,
        _factors(series, real, _gains("yaffs2")),
        [_constant("published: nothing", 1, 7)],
        ("WG-8",),
        "times do not depend on the pauses (section V.C).",
    )
    for fs in FS:
        factors: list[Factor] = [(f"{ms} ms", (f"pause {ms}", fs), ("pause 0", fs)) for ms in PAUSES_MS[1:]]
        lines = _factors(series, real, factors, ERASES)
        if lines:
            yield Figure(
                f"Figure 6: erases with pauses, {fs}",
                _SIZE,
                "erases, with over without pauses",
                lines,
                [_constant("published: the same", 1, 7)],
                ("WG-8",),
                "erases do not depend on the pauses (section V.C).",
            )


def _gains(fs: str) -> list[Factor]:
    return [(f"{ms} ms", ("pause 0", fs), (f"pause {ms}", fs)) for ms in PAUSES_MS[1:]]


def _factors_of_fill(claims: Claims, series: Series, real: Series) -> Iterator[Figure]:
    claim = claims["WG-6"]
    for fs in FS:
        later: list[Factor] = [
            ("75 over 60 %", ("fill 75", fs), ("fill 60", fs)),
            ("60 over 30 %", ("fill 60", fs), ("fill 30", fs)),
        ]
        yield Figure(
            f"Figure 5: time beside static data, {fs}",
            _SIZE,
            "time over that with less data",
            _factors(series, real, later),
            [
                stated(claim, "75 over 60 %, published", _sizes(claim.table("factor", fs)), 0),
                _constant("60 over 30 %, published: nearly the same", 1, 1),
            ],
            ("WG-6", "FFS-3") if fs == "jffs2" else ("WG-6",),
            "factors at some sizes, and that the curves of 30 and 60 % nearly overlap (section V.B).",
            y_log=True,
        )


def _factors_of_writes(claims: Claims, series: Series, real: Series) -> Iterator[Figure]:
    claim = claims["WG-2"]
    factors: list[Factor] = [
        (f"{above} over {below}", ("SW", above), ("SW", below))
        for above, below in (("jffs2", "ubifs"), ("jffs2", "yaffs2"), ("ubifs", "yaffs2"))
    ]
    small, large = (claim.value(f"ubifs_over_yaffs2_{which}") for which in ("small", "large"))
    over = {other: claim.value(f"jffs2_over_{other}") for other in ("ubifs", "yaffs2")}
    yield Figure(
        "Figure 2, sequential writes: factors between file systems",
        _SIZE,
        "mean time over the other's",
        _factors(series, real, factors),
        [
            _constant(f"jffs2 over ubifs, published: {over['ubifs']:g}", over["ubifs"], 0),
            _constant(f"jffs2 over yaffs2, published: {over['yaffs2']:g}", over["yaffs2"], 1),
            _constant(f"ubifs over yaffs2, published: {small:g} below 32 KiB", small, 2, (2, 16)),
            _constant(f"ubifs over yaffs2, published: {large:g} from 32 KiB", large, 2, (32, ENDS[-1])),
        ],
        ("WG-2",),
        "mean factors (section V.A).",
        y_log=True,
    )
    claim = claims["WG-3"]
    least = claim.value("jffs2_over_others_min")
    factors = [
        ("jffs2 over yaffs2", ("RW", "jffs2"), ("RW", "yaffs2")),
        ("jffs2 over ubifs", ("RW", "jffs2"), ("RW", "ubifs")),
        ("yaffs2 over ubifs", ("RW", "yaffs2"), ("RW", "ubifs")),
    ]
    yield Figure(
        "Figure 2, random writes: factors between file systems",
        _SIZE,
        "mean time over the other's",
        _factors(series, real, factors),
        [
            Published(f"jffs2 over both, published: more than {least:g}", ENDS, (least, least), to=INFINITE),
            stated(claim, "yaffs2 over ubifs, published", {512.0: claim.value("yaffs2_over_ubifs_512K")}, 2),
            Published("yaffs2 over ubifs, published: 1 or less below 16 KiB", (2, 8), (1, 1), 2, to=-INFINITE),
        ],
        ("WG-3",),
        "factors and bounds (section V.A).",
        y_log=True,
    )


def _random_over_sequential(claims: Claims, series: Series, real: Series) -> Iterator[Figure]:
    reads: list[Factor] = [(fs, ("RR", fs), ("SR", fs)) for fs in FS]
    yield Figure(
        "Figure 2, reads: random over sequential",
        _SIZE,
        "mean time, random over sequential",
        _factors(series, real, reads),
        [_constant("published: the same from 4 KiB on", 1, 7, (4, ENDS[-1]))],
        ("WG-1",),
        "the difference is negligible except at 2 KiB, and the three file systems are alike (section V.A).",
    )
    writes: list[Factor] = [(fs, ("RW", fs), ("SW", fs)) for fs in FS]
    yield Figure(
        "Figure 2, writes: random over sequential",
        _SIZE,
        "mean time, random over sequential",
        _factors(series, real, writes),
        [
            Published("yaffs2 and ubifs, published: slower at random", ENDS, (1, 1), 1, to=INFINITE),
            Published("jffs2, published: faster at random", ENDS, (1, 1), 0, to=-INFINITE),
        ],
        ("WG-3",),
        "which file systems are slower at random, not by how much (section V.A).",
        y_log=True,
    )


def _further(series: Series, real: Series) -> Iterator[Figure]:
    """Curves of the paper of which no value is stated."""
    for pattern, name in PATTERNS.items():
        judged = {"SR": "WG-1", "RR": "WG-1", "SW": "WG-2", "RW": "WG-3"}[pattern]
        says = "no value of these curves is stated, only factors between them."
        lines = _lines(series, real, TIME, [(fs, pattern, fs) for fs in FS])
        yield Figure(f"Figure 2: {name}", _SIZE, QUANTITIES[TIME][1], lines, (), (judged,), says, y_log=True)
    for pattern, judged in (("SW", "WG-4"), ("RW", "WG-5")):
        lines = _lines(series, real, SPREAD, [(fs, pattern, fs) for fs in FS])
        says = "the curves tightly follow those of the mean (section V.A); no value is stated."
        title = f"Figure 4, {PATTERNS[pattern]}: {QUANTITIES[SPREAD][1]}"
        yield Figure(title, _SIZE, QUANTITIES[SPREAD][1], lines, (), (judged,), says)
    for fs in FS:
        for of, judged in ((TIME, "WG-6"), (ERASES, "WG-7"), (SPREAD, "WG-7")):
            lines = _lines(series, real, of, [(f"{fill} % full", f"fill {fill}", fs) for fill in FILLS])
            title = f"Figure 5: {fs}, {QUANTITIES[of][1]}"
            says = "no value of these curves is stated."
            if of == ERASES:
                says = (
                    "YAFFS2 always erases least; JFFS2's and UBIFS's curves are lowest from 8 to 64 KiB (section V.B). "
                    "No value is stated."
                )
            yield Figure(title, _SIZE, QUANTITIES[of][1], lines, (), (judged,), says, y_log=of == TIME)
    for fs in FS[1:]:
        lines = _lines(series, real, TIME, [(f"{ms} ms", f"pause {ms}", fs) for ms in PAUSES_MS])
        says = "no value of these curves is stated, only what pauses gain."
        title = f"Figure 6: random writes with pauses, {fs}"
        yield Figure(title, _SIZE, QUANTITIES[TIME][1], lines, (), ("WG-8",), says, y_log=True)
