"""What a boot took beside what a profile gives: what UBI's attach costs the CPU for each block, and what remains.

Attaching reads two headers of each block (`scan_peb` of drivers/mtd/ubi/attach.c). What the reads take is known from a
speed test; what is left beside them, divided by the blocks, is the work of a block. Nothing is inferred from a mount:
what stood in that file system is in no log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError
from ffslab.answers.calibration import BootLine
from ffslab.files.inputs import read_bytes
from ffslab.registries import profiles
from ffslab.studies import boot
from ffslab.studies.calibrate import boot_logs
from ffslab.studies.calibrate.board_profile import Measured
from ffslab.studies.calibrate.boot_logs import Attach, Sizes

BOARD = "board.toml"
PRICE = "cpu.attach_block_us"


@dataclass(frozen=True)
class Draft:
    """A profile that is not kept yet. `files`: other profiles that it needs, by their names beside it: a file of the
    user's own, or the text of one."""

    toml: str
    files: dict[str, Path | str]

    def write(self, folder: Path) -> Path:
        """Writes it with all that it needs; the path of the board."""
        for name, own in self.files.items():
            (folder / name).write_bytes(own.encode() if isinstance(own, str) else read_bytes(own, "profile"))
        place = folder / BOARD
        place.write_text(self.toml, encoding="utf-8")
        return place

    @contextmanager
    def tried(self) -> Iterator[str]:
        """The path of the board, in a folder that is gone afterwards."""
        with tempfile.TemporaryDirectory() as made:
            yield str(self.write(Path(made)))


@dataclass(frozen=True)
class Seen:
    """`measured`: with what the boot says; `lines`: each of its durations beside the new profile's."""

    measured: list[Measured]
    lines: list[BootLine]
    doubts: list[str]


def check_sizes(log: Path, told: Sizes | Attach, part: str) -> None:
    """Errors: the log is of another part."""
    found = boot.part_named(part)
    pairs = [("page size", told.page_bytes, found.page_bytes)] if isinstance(told, Sizes) else []
    for what, of_log, of_part in (*pairs, ("eraseblock size", told.block_bytes, found.block_bytes)):
        if of_log != of_part:
            raise InputError(
                f"{log}: its {what} is {of_log} B, that of the part {part} is {of_part} B: name the part by --part"
            )


def explained(log: Path, part: str, measured: list[Measured], draft: Callable[[list[Measured]], Draft]) -> Seen:
    """What the boot says that the speed test does not.

    Errors: those of the log, and none of its devices is of the part; a profile that no simulation can load.
    """
    said = boot_logs.boot_log(log)
    doubts = [f"{log}: {lack}: nothing is inferred from it" for lack in said.partial]
    scans, others = _of_part(log, said.attaches, part)
    doubts += others
    if scans:
        longest = max(scans, key=lambda attach: attach.blocks)
        if len(scans) > 1:
            rest = ", ".join(f"{attach.mtd} ({attach.blocks})" for attach in scans if attach is not longest)
            doubts.append(
                f"{log}: UBI attaches several devices: {PRICE} is that of the largest, {longest.mtd} "
                f"({longest.blocks} blocks), beside {rest}"
            )
        price = _price(log, longest, draft(measured))
        if price.value < 0:
            doubts.append(
                f"{PRICE}: {price.value:.4g} is less than nothing: it is not written. {longest.blocks} blocks were "
                f"attached in {longest.took_s:.3f} s, and reading their headers takes longer by the speed test"
            )
        else:
            measured = [*measured, price]
    lines, small = _lines(said, scans, draft(measured))
    doubts += small
    if said.mounts:
        doubts.append("UBIFS: what stood in the file system is in no log; beside it stands the mount of an empty one")
    return Seen(measured, lines, doubts)


def _of_part(log: Path, attaches: list[Attach], part: str) -> tuple[list[Attach], list[str]]:
    """(attaches of devices of the part that read headers, what is to be said of others).

    Errors: none of the devices is of the part.
    """
    block_bytes = boot.part_named(part).block_bytes
    own = [attach for attach in attaches if attach.block_bytes == block_bytes]
    doubts = [
        f"{log}: {attach.mtd} is on another chip, with eraseblocks of {attach.block_bytes} B: nothing is inferred "
        "from it"
        for attach in attaches
        if attach not in own
    ]
    if attaches and not own:
        check_sizes(log, attaches[0], part)
    scans = [attach for attach in own if not attach.fastmap]
    if len(scans) < len(own):
        doubts.append(f"{log}: an attach by fastmap reads no headers: nothing is inferred from it")
    return scans, doubts


def _price(log: Path, attach: Attach, draft: Draft) -> Measured:
    """The CPU's part of a block, so that attaching takes what it took."""
    with draft.tried() as board:
        before_us = profiles.numbers(board).get(PRICE, 0.0)
        simulated_s = boot.start(board, attach.blocks).attach_s
    value_us = before_us + (attach.took_s - simulated_s) / attach.blocks * 1e6
    source = (
        f"{log.name}: UBI attaches {attach.blocks} blocks in {attach.took_s:.6g} s, less the reads of their headers"
    )
    return Measured(PRICE, value_us, None, source)


def _lines(said: boot_logs.BootLog, scans: list[Attach], draft: Draft) -> tuple[list[BootLine], list[str]]:
    """(measured beside simulated durations, what cannot be simulated)."""
    starts: dict[int, boot.Start] = {}
    doubts: list[str] = []
    with draft.tried() as board:
        for attach in scans:
            try:
                starts[attach.blocks] = boot.start(board, attach.blocks)
            except InputError as error:
                # A device of few blocks has no room for a file system beside those that are kept for bad ones.
                doubts.append(f"{attach.mtd}: {attach.blocks} blocks are not simulated: {error}")
        if said.mounts and not starts:
            blocks = boot.part_of(board).blocks
            starts[blocks] = boot.start(board, blocks)
    lines = [
        _line(f"UBI attaches {of.blocks} blocks", of.took_s, starts[of.blocks].attach_s)
        for of in scans
        if of.blocks in starts
    ]
    for mount in said.mounts:
        what = "UBIFS mounts, with recovery" if mount.recovered else "UBIFS mounts"
        lines.append(_line(what, mount.took_s, max(starts.items())[1].mount_s))
    return lines, doubts


def _line(what: str, measured_s: float, simulated_s: float) -> BootLine:
    return {
        "what": what,
        "measured_s": measured_s,
        "simulated_s": simulated_s,
        "unexplained_s": measured_s - simulated_s,
    }
