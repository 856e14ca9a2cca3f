"""The figures of the comparison of RTEMS's file systems.

The paper's text states no value of its figures, only orders and shapes: which curve is above which, where it is flat.
Curves are drawn in its axes, and its orders as quotients of them, in which they are areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ffslab.studies.reproduce.claims import Claims
from ffslab.studies.reproduce.figures import ANY_CURVE, OURS, SECOND, Figure, Line, Published
from ffslab.studies.reproduce.rtems import (
    ACCESSES,
    CACHES_KIB,
    ENGINE_SIZE_B,
    ENGINES,
    FLASH,
    IMFS_BLOCKS_B,
    MEDIA,
    MEDIA_SIZE_B,
    Series,
    bandwidth,
    by_cache,
    by_size,
)

_MB = "bandwidth, MB/s"
_SIZE = "size of a request, B"
_KINDS = tuple(ACCESSES.values())
# From the left of the first kind to the right of the last one.
_ALL_KINDS = (-0.39, len(ACCESSES) - 0.61)
INFINITE = float("inf")


def figures(claims: Claims, series: Series) -> Iterator[Figure]:
    """The paper's figures; first those in which something of it can be drawn."""
    del claims
    yield _engines(series)
    yield _caches(series)
    yield _flash(series)
    yield _below_rfs(series)
    yield _mini(series)
    yield _far(series)
    yield from _by_size(series)
    yield from _imfs(series)


def _engines(series: Series) -> Figure:
    lines = []
    for hue, engine in enumerate(ENGINES[1:]):
        over = [
            bandwidth(series, "F2 rfs", access, ENGINE_SIZE_B, engine)
            / bandwidth(series, "F2 rfs", access, ENGINE_SIZE_B)
            for access in ACCESSES
        ]
        lines.append(Line(f"{engine}, ffslab", range(len(over)), over, hue))
    slower = Published(f"{ANY_CURVE}: slower than sync", _ALL_KINDS, (1, 1), to=-INFINITE)
    return Figure(
        "Figure 2: I/O engines on RFS",
        "access, requests of 1 KiB",
        "bandwidth over that of sync",
        lines,
        [slower],
        ("RT-1", "C1"),
        "sync is the fastest engine (section 4.2); no value is stated.",
        kinds=_KINDS,
        free=True,
    )


def _caches(series: Series) -> Figure:
    lines = [
        Line(f"{fs}, {text}, ffslab", CACHES_KIB, list(by_cache(series, fs, access).values()), hue, dash)
        for fs, dash in (("rfs", OURS), ("imfs", SECOND))
        for hue, (access, text) in enumerate(ACCESSES.items())
    ]
    flat = Published("published: imfs stays the same", (CACHES_KIB[0], CACHES_KIB[-1]), (1, 1), joined=True)
    return Figure(
        "Figure 7: size of the block cache",
        "block cache, KiB",
        "bandwidth over that at 10 KiB",
        lines,
        [flat],
        ("RT-6", "C15", "C16"),
        "IMFS does not depend on the cache; RFS first drops, as the cache outgrows the CPU's caches of 32 and 256 KiB, "
        "then rises (section 4.6). How far is not stated.",
    )


def _flash(series: Series) -> Figure:
    slow = "jffs2 zlib"
    lines = [
        Line(
            f"{name}, ffslab",
            range(len(ACCESSES)),
            [
                bandwidth(series, f"F6 {name}", access, MEDIA_SIZE_B)
                / bandwidth(series, f"F6 {slow}", access, MEDIA_SIZE_B)
                for access in ACCESSES
            ],
            hue,
        )
        for hue, name in enumerate(name for name in FLASH if name != slow)
    ]
    faster = Published(f"{ANY_CURVE}: both are faster", _ALL_KINDS, (1, 1), to=INFINITE)
    return Figure(
        "Figure 6: file systems of flash, in memory",
        "access",
        "bandwidth over JFFS2's with zlib",
        lines,
        [faster],
        ("RT-5", "C12", "C13"),
        "YAFFS2 and JFFS2 without compression are faster than JFFS2 with it, the latter clearly when writing, modestly "
        "when reading (section 4.5); no value is stated.",
        kinds=_KINDS,
    )


def _below_rfs(series: Series) -> Figure:
    lines = []
    for hue, (access, text) in enumerate(ACCESSES.items()):
        dosfs, rfs = by_size(series, "F4 dosfs", access), by_size(series, "F3 rfs", access)
        sizes = [size for size in dosfs if size in rfs]
        lines.append(Line(f"{text}, ffslab", sizes, [dosfs[size] / rfs[size] for size in sizes], hue))
    ends = _ends(lines)
    return Figure(
        "Figures 3 and 4: DOSFS against RFS",
        _SIZE,
        "bandwidth, DOSFS over RFS",
        lines,
        [Published(f"{ANY_CURVE}: DOSFS is slower", ends, (1, 1), to=-INFINITE)],
        ("C7",),
        "DOSFS, in blocks of 512 B, is slower than RFS in blocks of 1 KiB (section 4.3); no value is stated.",
    )


def _mini(series: Series) -> Figure:
    lines = []
    for access, dash in (("read", OURS), ("write", SECOND)):
        for hue, block_b in enumerate(IMFS_BLOCKS_B):
            small, full = (by_size(series, f"F5 {fs}", access, fs_block_B=block_b) for fs in ("mini-imfs", "imfs"))
            over = [small[size] / full[size] for size in full]
            lines.append(Line(f"{ACCESSES[access]}, {block_b} B blocks, ffslab", list(full), over, hue, dash))
    return Figure(
        "Figure 5: mini-IMFS against IMFS",
        _SIZE,
        "bandwidth, mini-IMFS over IMFS",
        lines,
        [Published("published: the same", _ends(lines), (1, 1), joined=True)],
        ("RT-4", "C8"),
        "mini-IMFS is as fast as IMFS (section 4.4).",
    )


def _far(series: Series) -> Figure:
    ram, *others = MEDIA
    lines = []
    for fs, dash in (("rfs", OURS), ("dosfs", SECOND)):
        for hue, device in enumerate(others, start=2 * (fs == "dosfs")):
            over = [
                bandwidth(series, f"F8 {fs} {ram}", access, MEDIA_SIZE_B)
                / bandwidth(series, f"F8 {fs} {device}", access, MEDIA_SIZE_B)
                for access in ACCESSES
            ]
            lines.append(Line(f"{fs}, {MEDIA[device]}, ffslab", range(len(over)), over, hue, dash))
    return Figure(
        "Figure 8: how far the RAM disk is ahead, blocks of 512 B",
        "access, requests of 4 KiB",
        "bandwidth, RAM disk over medium",
        lines,
        [Published(f"{ANY_CURVE}: the RAM disk is ahead", _ALL_KINDS, (1, 1), to=INFINITE)],
        ("RT-7", "C17", "C18"),
        "the RAM disk is far ahead of both media (section 4.6); no value is stated.",
        kinds=_KINDS,
        y_log=True,
    )


def _ends(lines: Sequence[Line]) -> tuple[float, float]:
    every = [x for line in lines for x in line.x]
    return min(every), max(every)


def _by_size(series: Series) -> Iterator[Figure]:
    for title, name, judged, says in (
        ("Figure 3: size of a request, RFS", "F3 rfs", ("RT-2", "C2", "C3", "C4", "C5"),
         "bandwidth rises steeply with small requests, then flattens; reading is as fast as writing, and faster in "
         "order than at random (section 4.2)."),
        ("Figure 4: size of a request, DOSFS", "F4 dosfs", ("RT-3", "C6", "C7"),
         "bandwidth rises over the whole range (section 4.3)."),
    ):  # fmt: skip
        curves = {text: by_size(series, name, access) for access, text in ACCESSES.items()}
        lines = [
            Line(f"{text}, ffslab", list(c), list(c.values()), hue) for hue, (text, c) in enumerate(curves.items())
        ]
        yield Figure(title, _SIZE, _MB, lines, (), judged, says)


def _imfs(series: Series) -> Iterator[Figure]:
    for access in ("read", "write"):
        lines = []
        for hue, block_b in enumerate(IMFS_BLOCKS_B):
            curve = by_size(series, "F5 imfs", access, fs_block_B=block_b)
            lines.append(Line(f"{block_b} B blocks, ffslab", list(curve), list(curve.values()), hue))
        title = f"Figure 5: size of a request, IMFS, {ACCESSES[access]}"
        says = "bandwidth grows with the size of a request and with the file system's blocks (section 4.4)."
        yield Figure(title, _SIZE, _MB, lines, (), ("RT-4", "C9", "C10"), says)
