"""What a board would say while it boots: the lines of mtd_speedtest, and how long UBI and UBIFS take.

It is what an engineer can hold beside his own board's log, to see whether a profile is that of his board.
"""

from __future__ import annotations

from dataclasses import dataclass

from ffslab import steps
from ffslab._native import InputError
from ffslab.answers.profile import ShownProfile
from ffslab.api.experiment import Experiment
from ffslab.registries import profiles
from ffslab.studies.calibrate.board_profile import named_by
from ffslab.text import times

# Blocks that a speed test erases, fills and reads.
TESTED_BLOCKS = 16
# Parts whose driver reads and programs pages.
PAGED = ("nand", "spi-nand")


@dataclass(frozen=True)
class Part:
    """Sizes of a flash part with pages."""

    page_bytes: int
    block_bytes: int
    blocks: int


@dataclass(frozen=True)
class Speeds:
    """Of the device without a file system, in KiB/s."""

    read_kib_per_s: float
    program_kib_per_s: float
    erase_kib_per_s: float


@dataclass(frozen=True)
class Start:
    """Of an empty file system on `blocks` blocks."""

    blocks: int
    attach_s: float
    mount_s: float


def part_of(board: str) -> Part:
    """The part of a board, by name or path.

    Errors: as of `part_named`; a board without a part.
    """
    return part_named(named_by(board, "part"))


def has_pages(name: str) -> bool:
    """Whether the driver of a part reads and programs pages."""
    return profiles.shown(name).get("part_kind") in PAGED


def part_named(name: str) -> Part:
    """A part, by name or path.

    Errors: one that has no pages, as NOR.
    """
    found = profiles.shown(name)
    if found.get("part_kind") not in PAGED:
        raise InputError(f"{name}: has no pages: a speed test is known of parts of kind {' and '.join(PAGED)}")
    page_bytes, pages, blocks = (_whole(found, key) for key in ("page_B", "pages_per_block", "blocks"))
    return Part(page_bytes, page_bytes * pages, blocks)


def speeds(board: str) -> Speeds:
    """What mtd_speedtest would say."""
    part = part_of(board)
    pages = TESTED_BLOCKS * part.block_bytes // part.page_bytes
    took_s = _measured(
        Experiment.of(
            "Speed test",
            stack={"board": board, "fs": "none", "partition_blocks": TESTED_BLOCKS},
            measure=[
                steps.mtd_loop(op="erase", count=TESTED_BLOCKS),
                steps.mtd_loop(op="program", count=pages),
                steps.mtd_loop(op="read", count=pages),
            ],
        )
    )
    amount_kib = TESTED_BLOCKS * part.block_bytes / 1024
    erase, program, read = (amount_kib / one for one in took_s)
    return Speeds(read, program, erase)


def start(board: str, blocks: int) -> Start:
    """How long an empty UBIFS takes to be attached and mounted."""
    chip = part_of(board).blocks
    used = [
        steps.ubi_attach(),
        steps.ubi_make_volume(),
        steps.mount(),
        steps.sync(),
        steps.umount(),
        steps.ubi_detach(),
    ]
    experiment = Experiment.of(
        "Boot",
        stack={"board": board, "fs": "ubifs", "partition_blocks": blocks, "chip_blocks": max(chip, blocks)},
        setup=used,
        measure=[steps.ubi_attach(), steps.mount()],
    )
    return Start(blocks, *_measured(experiment))


def text(board: str) -> str:
    """What a boot log would show, in the kernel's words."""
    part, speed = part_of(board), speeds(board)
    began = start(board, part.blocks)
    return "\n".join([
        "mtd_speedtest and a boot would say, by this profile (all blocks in one partition, an empty UBIFS):",
        f"  page write speed is {speed.program_kib_per_s:.0f} KiB/s",
        f"  page read speed is {speed.read_kib_per_s:.0f} KiB/s",
        f"  erase speed is {speed.erase_kib_per_s:.0f} KiB/s",
        f"  UBI: {began.attach_s:.3f} s from \"attaching\" to \"scanning is finished\", {began.blocks} blocks",
        f"  UBIFS: {began.mount_s:.3f} s from \"background thread ... started\" to \"mounted\"",
        _how_near(),
        "Put your own log beside it; `ffslab calibrate --speedtest LOG --bootlog LOG` makes a profile of it.",
    ])  # fmt: skip


def _how_near() -> str:
    """How far boards are off of which no more is known than classes and data sheets."""
    known = times.evidence()
    told = (f"{known[kind].low:g} to {known[kind].high:g} for {kind}" for kind in ("reads", "writes", "mounts"))
    return (
        "Known of this board are data sheets and classes. On other boards eight of ten such times were, as shares of "
        f"the measured ones, {', '.join(told)} (docs/evidence.md)."
    )


def _measured(experiment: Experiment) -> list[float]:
    [variant] = experiment.run().summary["variants"]
    if why := variant.get("error"):
        raise InputError(why)
    return [step["elapsed_us"] / 1e6 for step in variant["steps"]]


def _whole(found: ShownProfile, key: str) -> int:
    return next(profiles.whole(one) for one in found["values"] if one["key"] == key)
