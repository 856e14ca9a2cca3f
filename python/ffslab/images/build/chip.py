"""The image of a whole chip: each partition made, and all of them written at their places."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ffslab._native import InputError
from ffslab.files.os_errors import reason
from ffslab.files.workplace import workplace
from ffslab.images.build import ubi
from ffslab.images.build.description import Description, Partition, named
from ffslab.images.build.filling import Chip
from ffslab.images.build.ubi import FilledVolume, UbiPlan
from ffslab.images.target import Target
from ffslab.text.tables import counted, size

ERASED = b"\xff"
# What is written at once where nothing stands.
_PIECE_B = 1 << 20


@dataclass(frozen=True)
class Made:
    """A partition of the image. `used_blocks`: up to the last one that is not erased."""

    partition: Partition
    used_blocks: int
    ubi: UbiPlan | None = None
    volumes: tuple[FilledVolume, ...] = ()


@dataclass(frozen=True)
class Built:
    """An image. `file_B`: its size, with OOB areas if it has them. `notes`: what is to be known of it."""

    partitions: tuple[Made, ...]
    file_B: int  # noqa: N815
    notes: tuple[str, ...]


def build(description: Description, out: Path | None, *, oob: bool) -> Built:
    """Makes the image; `out`: the file, complete or absent; `None`: everything is made and checked, and not kept.

    Raises `ffslab.InputError`: what does not fit, or cannot be written.
    """
    with named(description.file):
        plans = planned(description, oob=oob)
    if out is not None:
        _check_out(description, out)
    place = out or Path(tempfile.gettempdir()) / "ffslab-image"
    try:
        with workplace(place) as work:
            with named(description.file):
                made, size_B = _write(description, plans, work, oob=oob)  # noqa: N806
            if out is not None:
                (work / "chip").rename(out)
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {reason(error)}") from None
    return Built(tuple(made), size_B, tuple(_notes(description, made, oob=oob)))


def planned(description: Description, *, oob: bool) -> dict[str, UbiPlan]:
    """The plans of partitions of UBI, by name, after all has been checked that can be before anything is made."""
    target = description.target
    if oob and not target.oob_B:
        raise InputError(f"--oob: {target.part} has no OOB areas, as it is NOR flash: leave it out")
    Chip(description).ecc_lacks()
    plans = {}
    for partition in description.partitions:
        room = partition.blocks * target.block_B
        content = partition.content
        if content.image is not None:
            held = content.image.stat().st_size
            if held == 0:
                raise InputError(f"{partition.where}`image`: {content.image} is empty: leave it out for erased flash")
            if held > room:
                raise InputError(
                    f"{partition.where}`image`: {content.image} has {size(held)} ({held} B), and the partition "
                    f'{size(room)}: size = "{-(-held // target.block_B) * target.block_B:#x}" would do'
                )
        if content.fs == "yaffs2" and not oob and not content.settings.get("inband_tags"):
            raise InputError(
                f"{partition.where}YAFFS2 keeps its tags in the OOB areas: build with --oob, or say inband_tags = true"
            )
        if partition.volumes:
            plans[partition.name] = ubi.plan(description, partition)
    return plans


def _check_out(description: Description, out: Path) -> None:
    """Refuses a place where something stands that is no earlier image."""
    if out.is_dir():
        raise InputError(f"--out {out}: is a folder: name the file to write, as {out / 'chip.img'}")
    if out.exists() and not out.is_file():
        raise InputError(f"--out {out}: is no regular file: write a file, and flash that with the programmer's tool")
    real = out.resolve()
    for path in (description.file, *description.inputs):
        read = path.resolve()
        if real == read or (read.is_dir() and read in real.parents):
            raise InputError(f"--out {out}: {path} goes into the image: name another place")


# ---- partitions ---------------------------------------------------------------------------------------------


def _write(description: Description, plans: dict[str, UbiPlan], work: Path, *, oob: bool) -> tuple[list[Made], int]:
    target = description.target
    pages = target.block_B // target.page_B if target.oob_B else 1
    stored_B = target.block_B + (pages * target.oob_B if oob else 0)  # noqa: N806
    chip = Chip(description)
    made = {}
    with (work / "chip").open("wb") as file:
        for partition in sorted(description.partitions, key=lambda each: each.first_block):
            _erased(file, partition.first_block * stored_B - file.tell())
            plan = plans.get(partition.name)
            volumes = () if plan is None else tuple(ubi.filled(chip, plan, each) for each in plan.volumes)
            if plan is None:
                stored = _stored(chip, target, partition, oob=oob)
            else:
                data = ubi.image(plan, list(volumes))
                stored = _around(chip, partition, data, work) if oob else data
            used = _used(stored, stored_B)
            file.write(memoryview(stored)[: used * stored_B])
            _erased(file, (partition.first_block + used) * stored_B - file.tell())
            made[partition.name] = Made(partition, used, plan, volumes)
        _erased(file, target.chip_blocks * stored_B - file.tell())
    return [made[partition.name] for partition in description.partitions], target.chip_blocks * stored_B


def _stored(chip: Chip, target: Target, partition: Partition, *, oob: bool) -> bytes:
    """A partition without UBI as the file has it."""
    content = partition.content
    if content.image is not None:
        if oob:
            return chip.holding(partition.where, content.image, partition.blocks).image(True)
        return content.image.read_bytes()
    if content.fs is None:
        return b""
    room = f"{counted(partition.blocks, 'erase block')} ({size(partition.blocks * target.block_B)})"
    session = chip.filled(partition.where, content, partition.blocks, {}, room)
    if content.fs == "jffs2":
        return _front(session.image(False), session.image(oob), partition.blocks)
    return session.image(oob)


def _front(data: bytes, stored: bytes, blocks: int) -> bytes:
    """The blocks of JFFS2 that hold data, without the empty ones between them, as mkfs.jffs2 makes them.

    Nothing in a block says where it stands. On NAND those behind hold clean markers alone, in OOB areas: they would
    leave programmers that skip bad blocks no room to do so, and the first mount writes them.
    """
    block_B, stored_B = len(data) // blocks, len(stored) // blocks  # noqa: N806
    erased = ERASED * block_B
    kept = (at for at in range(blocks) if data[at * block_B : (at + 1) * block_B] != erased)
    return b"".join(stored[at * stored_B : (at + 1) * stored_B] for at in kept)


def _around(chip: Chip, partition: Partition, data: bytes, work: Path) -> bytes:
    """The pages with their OOB areas, as a driver writes them."""
    part = work / "part"
    part.write_bytes(data)
    return chip.holding(partition.where, part, partition.blocks).image(True)


def _used(stored: bytes, block_B: int) -> int:  # noqa: N803
    """Blocks up to the last one that is not erased."""
    return -(-len(stored.rstrip(ERASED)) // block_B)


def _erased(file: BinaryIO, count_B: int) -> None:  # noqa: N803
    for at in range(0, count_B, _PIECE_B):
        file.write(ERASED * min(_PIECE_B, count_B - at))


def _notes(description: Description, made: list[Made], *, oob: bool) -> Iterator[str]:
    target = description.target
    if oob and (lacks := Chip(description).ecc_lacks()):
        yield lacks
    for each in made:
        partition = each.partition
        if target.is_nor:
            continue
        if each.used_blocks == partition.blocks:
            yield (
                f"{partition.name} leaves no block to spare: where one of its blocks is bad, it does not fit and "
                "reaches into what stands behind it"
            )
