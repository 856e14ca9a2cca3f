"""Logs as flashbench and fio would write them of cards whose inside is known."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from ffslab.studies.calibrate.cards.lines import PLACES, Align, Line, OpenAu
from ffslab.studies.calibrate.cards.models import CONSTANTS, Structure, operations

MIB = 1 << 20
ALIGNMENTS = tuple(1 << order for order in range(27, 10, -1))
COSTS = {
    "read_call_us": 600.0,
    "write_call_us": 900.0,
    "write_us_per_KiB": 60.0,
    "read_segment_us": 120.0,
    "write_segment_us": 150.0,
    "page_read_us": 160.0,
    "page_program_us": 900.0,
    "several_bits_read_us": 200.0,
    "several_bits_program_us": 2600.0,
}


@dataclass(frozen=True)
class KnownCard:
    """A card with its costs; times scatter by `scatter`, relatively."""

    structure: Structure
    erase_blocks: tuple[int, ...] = (1, 2, 3, 4)
    orders: tuple[bool, ...] = (False, True)
    erase_block_bytes: int = 4 * MIB
    smallest_bytes: int = 16384
    scatter: float = 0.03
    costs: dict[str, float] = field(default_factory=lambda: dict(COSTS))

    def lines(self) -> list[Line]:
        """What a probe measures, in flashbench's order."""
        asked: list[Align | OpenAu] = [Align(align, 1024, place) for align in ALIGNMENTS for place in PLACES]
        for is_random in self.orders:
            for count in self.erase_blocks:
                size = self.erase_block_bytes
                while size >= self.smallest_bytes:
                    asked.append(OpenAu(self.erase_block_bytes, size, count, is_random))
                    size //= 2
        amounts, known = operations(self.structure, [Line(line, 1.0, "") for line in asked])
        times = amounts @ np.array([self.costs[key] for key in CONSTANTS]) + known
        scattered = times * np.random.default_rng(1).normal(1.0, self.scatter, len(times))
        return [Line(line, float(time), "") for line, time in zip(asked, scattered, strict=True)]

    def flashbench(self) -> str:
        """The log of `flashbench -a` and of each `flashbench -O`."""
        text = ["$ flashbench -a /dev/mmcblk0 --blocksize=1024"]
        lines = self.lines()
        asked = [(line.asked, line.measured_us) for line in lines]
        reads = {(of.align_bytes, of.place): time_us for of, time_us in asked if isinstance(of, Align)}
        for align in ALIGNMENTS:
            pre, on, post = (reads[align, place] for place in PLACES)
            shown = [_time(pre), _time(on), _time(post), _time(abs(on - (pre + post) / 2))]
            text.append("align {}\tpre {}\ton {}\tpost {}\tdiff {}".format(align, *shown))
        before: tuple[int, bool] | None = None
        for line in lines:
            if isinstance(line.asked, OpenAu):
                test = (line.asked.erase_blocks, line.asked.is_random)
                if test != before:
                    order = " --random" if line.asked.is_random else ""
                    size = f"--erasesize=$[{self.erase_block_bytes // MIB}*1024*1024] --blocksize={self.smallest_bytes}"
                    text.append(
                        f"$ flashbench -O {size} \\\n    --open-au-nr={line.asked.erase_blocks}{order} /dev/mmcblk0"
                    )
                before = test
                text.append(f"{_size(line.asked.block_bytes):<7} {_speed(line.asked.block_bytes, line.measured_us):<7}")
        return "\n".join(text) + "\n"

    def fio(self) -> str:
        """What fio says of the jobs in probe/fio/cards."""
        jobs: list[dict[str, object]] = []
        for line in self.lines():
            of = line.asked
            if isinstance(of, Align):
                name, options = f"align-{of.align_bytes}-{of.place}", {"bs": "1k"}
                jobs.append(
                    {"jobname": name, "job options": options, "read": {"clat_ns": {"mean": line.measured_us * 1e3}}}
                )
            else:
                name = f"open-au-{of.erase_blocks}-{'random' if of.is_random else 'linear'}-{of.block_bytes}"
                speed = of.block_bytes / line.measured_us * 1e6
                jobs.append({"jobname": name, "job options": {"bs": str(of.block_bytes)}, "write": {"bw_bytes": speed}})
        options = {"size": f"{self.erase_block_bytes // MIB}m"}
        return json.dumps({"fio version": "fio-3.33", "global options": options, "jobs": jobs})


def _time(us: float) -> str:
    return f"{us:.3g}µs" if us < 1000 else f"{us / 1e3:.3g}ms"


def _size(size_bytes: int) -> str:
    return f"{size_bytes // MIB}MiB" if size_bytes >= MIB else f"{size_bytes // 1024}KiB"


def _speed(size_bytes: int, us: float) -> str:
    per_s = size_bytes / us * 1e6
    return f"{per_s / 1e6:.3g}M/s" if per_s >= 1e6 else f"{per_s / 1e3:.3g}K/s"
