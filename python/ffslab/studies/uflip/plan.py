"""The steps of the study: how a device is brought into a state, and the nine micro-benchmarks in the order of FlashIO.

Follows uFLIP (CIDR 2009) and its program FlashIO 2.3: calls of 32 KiB unless their size is what varies; a
random-formatted device; a pause between experiments; first reads, then random writes, then sequential writes, each on
an area that none of them has touched since the device was formatted, then mixes, parallel and ordered patterns. When
they have touched a quarter of the device, the next ones begin with its first state again: a *session* ends.

Differs: values end where the target would leave the device, which is small here, and increments where they would come
back to the same places. FlashIO gives sequential writes the counts of random reads by mistake (`genBench.cpp`); this
does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ffslab import steps
from ffslab.steps import Step

# The one file that a program sees of a block device.
FILE = "disk"
IO_BYTES = 32 << 10
SECTOR_BYTES = 512
BASE = ("SR", "RR", "SW", "RW")
READS, WRITES = ("SR", "RR"), ("SW", "RW")
MIXES = (("SR", "RR"), ("SR", "RW"), ("SR", "SW"), ("RR", "SW"), ("RR", "RW"), ("SW", "RW"))
BENCHMARKS = {
    "granularity": "bytes of a call",
    "alignment": "shift of calls, bytes",
    "locality": "bytes of the target",
    "partitioning": "partitions",
    "order": "increment, calls",
    "parallelism": "processes",
    "mix": "ratio of the first to the second",
    "pause": "pause after each call, us",
    "bursts": "calls between two pauses of 100 ms",
}
BURST_PAUSE_US = 100_000
# Sizes of the calls that format: from a sector to a block of flash, as the paper has them, in turn.
FORMAT_BYTES = tuple(SECTOR_BYTES << i for i in range(9))
FORMAT_ROUNDS = 4
# Sequential writes change the state of a device: once they have touched one part of so many, it is formatted anew.
WRITTEN_PART = 4


class State(StrEnum):
    """What was done with a device before it is measured."""

    FRESH = "fresh"
    RANDOM = "random"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True)
class Counts:
    """IOIgnore and IOCount of a base pattern, the latter without what is ignored."""

    ignore: int
    count: int

    @property
    def total(self) -> int:
        return self.ignore + self.count


@dataclass(frozen=True)
class Point:
    """One experiment: a micro-benchmark, its pattern ("SR+RW" of a mix), the value of what varies, the keys of its
    step.

    `area_bytes`: of an area that sequential writes need for themselves; `None`: the whole device, or what the keys say.
    """

    benchmark: str
    pattern: str
    value: int
    keys: Mapping[str, object] = field(default_factory=dict)
    area_bytes: int | None = None


Session = tuple[list[Point], list[Step]]


def formatting(state: State, device_bytes: int) -> list[Step]:
    """The steps that bring an open device into a state: each byte is written in order, and then as many bytes again by
    calls of mixed sizes at random places. These alone would leave a third of the device unwritten, where reads cost
    nothing."""
    if state is State.FRESH:
        return []
    filled = steps.uflip(file=FILE, pattern="SW", total_B=device_bytes // IO_BYTES * IO_BYTES)
    if state is State.SEQUENTIAL:
        return [filled]
    share = device_bytes // (FORMAT_ROUNDS * len(FORMAT_BYTES))
    turns = FORMAT_ROUNDS * FORMAT_BYTES
    at_random = [
        steps.uflip(file=FILE, pattern="RW", io_size_B=size, io_count=max(1, share // size), seed=i + 1)
        for i, size in enumerate(turns)
    ]
    return [filled, *at_random]


def sessions(device_bytes: int, counts: Mapping[str, Counts], pause_us: int) -> Iterator[Session]:
    """The points of each session and its steps, a pause before each point's."""
    points: list[Point] = []
    made: list[Step] = []
    free_from = 0
    for point in plan(device_bytes, counts):
        keys = dict(point.keys)
        if point.area_bytes is not None:
            if free_from and free_from + point.area_bytes > device_bytes // WRITTEN_PART:
                yield points, made
                points, made, free_from = [], [], 0
            shift = keys.get("io_shift_B", 0)
            assert isinstance(shift, int)
            keys["target_offset_B"] = free_from
            # The last call may reach behind the target by what it is shifted.
            keys["target_size_B"] = min(point.area_bytes, device_bytes - free_from - shift)
            free_from = -(-(free_from + point.area_bytes + shift) // IO_BYTES) * IO_BYTES
        points.append(point)
        made += [steps.sleep(us=pause_us), {"step": "uflip", "file": FILE, **keys}]
    yield points, made


def plan(device_bytes: int, counts: Mapping[str, Counts]) -> list[Point]:
    """All points, in order."""
    made = _Points(device_bytes, counts)
    return [
        *(point for pattern in READS for point in made.alone(pattern)),
        *made.alone("RW"),
        *made.alone("SW"),
        *made.mixes(),
        *made.parallel(),
        *(point for pattern in ("SR", "SW") for point in made.ordered(pattern)),
    ]


@dataclass(frozen=True)
class _Points:
    device_bytes: int
    counts: Mapping[str, Counts]

    def _point(self, benchmark: str, pattern: str, value: int, **given: object) -> Point:
        """A point of one base pattern. Sequential writes get an area in which they do not come back to the same
        place."""
        size = given.get("io_size_B", IO_BYTES)
        assert isinstance(size, int)
        counts = self._fitting(self.counts[pattern], size)
        keys = {"pattern": pattern, "io_size_B": size, "io_count": counts.total, "io_ignore": counts.ignore, **given}
        area = min(counts.total * size, self.device_bytes) if pattern == "SW" else None
        shift = given.get("io_shift_B", 0)
        if pattern != "SW" and shift:
            # The last place of the device is left out, so that shifted calls stay inside.
            keys["target_size_B"] = self.device_bytes // size * size - size
        return Point(benchmark, pattern, value, keys, area)

    def _fitting(self, counts: Counts, size: int) -> Counts:
        """Fewer calls where they are so large that they would write the device over and over."""
        most = max(16, self.device_bytes // 2 // size)
        ignore = min(counts.ignore, most // 2)
        return Counts(ignore, min(counts.count, most - ignore))

    def alone(self, pattern: str) -> list[Point]:
        """The micro-benchmarks of a base pattern that change neither order nor company."""
        sizes = [SECTOR_BYTES << i for i in range(11) if SECTOR_BYTES << i <= self.device_bytes // 32]
        shifts = [0, *(SECTOR_BYTES << i for i in range(6)), IO_BYTES]
        pauses = [0, *(100 << i for i in range(9))]
        bursts = [10 << i for i in range(7) if 10 << i <= max(10, self.counts[pattern].count)]
        made = [self._point("granularity", pattern, size, io_size_B=size) for size in sizes]
        made += [self._point("alignment", pattern, shift, io_shift_B=shift) for shift in shifts]
        if pattern in ("RR", "RW"):
            whole = self.device_bytes // IO_BYTES * IO_BYTES
            targets = [IO_BYTES << i for i in range(32) if IO_BYTES << i < whole]
            made += [self._point("locality", pattern, size, target_size_B=size) for size in [*targets, whole]]
        made += [self._point("pause", pattern, pause, pause_us=pause) for pause in pauses]
        made += [self._point("bursts", pattern, burst, pause_us=BURST_PAUSE_US, burst=burst) for burst in bursts]
        return made

    def mixes(self) -> list[Point]:
        """Two patterns together, each on a half of the target."""
        made = []
        for first, second in MIXES:
            for ratio in (1, 4, 16, 64):
                ignore = max(self.counts[first].ignore, self.counts[second].ignore)
                # At least four calls of the rarer pattern.
                count = max(self.counts[first].count, self.counts[second].count, 4 * (ratio + 1))
                counts = self._fitting(Counts(ignore, count), IO_BYTES)
                keys: dict[str, object] = {"pattern": first, "mix_with": second, "ratio": ratio}
                keys |= {"io_count": counts.total, "io_ignore": counts.ignore}
                sequential = "SW" in (first, second)
                area = min(2 * counts.total * IO_BYTES, self.device_bytes) if sequential else None
                made.append(Point("mix", f"{first}+{second}", ratio, keys, area))
        return made

    def parallel(self) -> list[Point]:
        """Several processes, each on a part of the target."""
        return [
            self._point("parallelism", pattern, degree, parallel_degree=degree)
            for pattern in BASE
            for degree in (1, 2, 4, 8, 16)
        ]

    def ordered(self, pattern: str) -> list[Point]:
        """Sequential calls in several partitions, and in other orders."""
        total = self._fitting(self.counts[pattern], IO_BYTES).total
        slots = self.device_bytes // IO_BYTES
        made = []
        for partitions in (1 << i for i in range(9)):
            # Each partition is visited at least twice.
            calls = max(total, 2 * partitions)
            if calls <= slots:
                ignore = calls - self.counts[pattern].count if calls > total else None
                made.append(
                    self._spread("partitioning", pattern, partitions, calls, calls, ignore, partitions=partitions)
                )
        for incr in (-1, 0, *(1 << i for i in range(9))):
            places = total * max(1, abs(incr))
            if places <= slots:
                made.append(self._spread("order", pattern, incr, total, places, None, incr=incr))
        return made

    def _spread(
        self, benchmark: str, pattern: str, value: int, calls: int, places: int, ignore: int | None, **given: object
    ) -> Point:
        """A point whose calls need so many places of the target."""
        counts = self._fitting(self.counts[pattern], IO_BYTES)
        ignored = counts.ignore if ignore is None else max(0, ignore)
        keys = {"pattern": pattern, "io_size_B": IO_BYTES, "io_count": calls, "io_ignore": ignored, **given}
        if pattern == "SR":
            return Point(benchmark, pattern, value, {**keys, "target_size_B": places * IO_BYTES})
        return Point(benchmark, pattern, value, keys, places * IO_BYTES)
