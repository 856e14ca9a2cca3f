"""What it costs to write a timeline: random writes to JFFS2, with one and without, one after the other.

    python benches/timeline.py [WRITES]

Printed: events of the timeline (slices and moments) and its size; CPU time of
the run with the timeline, with nothing but stacks, and without anything, the least of several; and what a million
events take. Seconds are those of the build that is installed, `make setup` makes a release.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ffslab import Experiment
from ffslab.api.observe import Observe

WRITES, ROUNDS = 40_000, 3
TEXT = """\
title = "Random writes"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 256
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "target"
bytes = "16 MiB"
[[measure]]
step = "open"
file = "target"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = {writes}
range_B = "16 MiB"
"""
# Fields of Perfetto's messages: a packet of a trace, the track event in it, its type; and types: slices begin, moments.
PACKET, EVENT, TYPE = 1, 11, 9
BEGIN, INSTANT = 1, 3


def cpu_s(experiment: Experiment, observe: Observe | None) -> float:
    begun_s = time.process_time()
    experiment.run(any_size=True, observe=observe)
    return time.process_time() - begun_s


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message, by number: whole numbers and bytes; others are passed over."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        wire = key & 7
        if wire == 0:
            yield key >> 3, varint()
        elif wire == 2:
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size
        else:
            at += 8 if wire == 1 else 4


def slices_of(trace: memoryview) -> int:
    """How many slices and moments a timeline has."""
    packets = (packet for number, packet in fields(trace) if number == PACKET)
    events = (event for packet in packets for number, event in _inside(packet) if number == EVENT)
    return sum(value in (BEGIN, INSTANT) for event in events for number, value in _inside(event) if number == TYPE)


def _inside(message: int | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    return fields(message) if isinstance(message, memoryview) else iter(())


def main() -> None:
    # Results that are kept would answer for the run.
    os.environ["FFSLAB_STORE"] = ""
    writes = int(sys.argv[1]) if len(sys.argv) > 1 else WRITES
    experiment = Experiment(TEXT.format(writes=writes), "writes.toml", Path())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "writes.pftrace"
        ways = (Observe(path), Observe(), None)
        rounds = [[cpu_s(experiment, way) for way in ways] for _ in range(ROUNDS)]
        size = path.stat().st_size
        events = slices_of(memoryview(path.read_bytes()))
    drawn, stacks, plain = (min(times) for times in zip(*rounds, strict=True))
    print(f"{writes:,} writes, {events:,} events, {size / 1e6:.1f} MB")
    print(f"CPU time: {drawn:.2f} s with a timeline, {stacks:.2f} s with stacks alone, {plain:.2f} s without")
    print(f"ratio: {drawn / plain:.2f} with a timeline, {stacks / plain:.2f} with stacks alone")
    million = 1e6 / events
    print(f"a million events: {million * size / 1e6:.1f} MB, {million * (drawn - plain):.2f} s beside the run itself")


if __name__ == "__main__":
    main()
