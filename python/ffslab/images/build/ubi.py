"""A partition of UBI: how many LEBs its volumes get, what they hold, and the image of all of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers.inspection import Part
from ffslab.api.machine import Value
from ffslab.files.inputs import read_bytes
from ffslab.images import said
from ffslab.images.build.description import Description, Partition, Volume
from ffslab.images.build.filling import Chip
from ffslab.images.target import NO_MLC, UBI_OWN_BLOCKS, Target
from ffslab.text.quoting import one_line
from ffslab.text.tables import counted, size

# UBIFS needs so many LEBs (fs/ubifs/ubifs.h: `UBIFS_MIN_LEB_CNT`).
UBIFS_LEAST_LEBS = 17
# What is left for UBI where a volume alone is simulated: its own blocks, and the reserve before Linux 3.7, at least
# 2 blocks (drivers/mtd/ubi/misc.c).
_SIMULATED_OWN_BLOCKS = UBI_OWN_BLOCKS + 2


@dataclass(frozen=True)
class VolumePlan:
    """A volume and its place. `usable_B`: of each LEB. `lebs`: what it has on the device, grown if it grows."""

    volume: Volume
    usable_B: int  # noqa: N815
    lebs: int


@dataclass(frozen=True)
class UbiPlan:
    """A partition of UBI. `target`: the part, with the blocks of the partition alone."""

    partition: Partition
    target: Target
    vid_at_B: int  # noqa: N815
    leb_B: int  # noqa: N815
    volumes: tuple[VolumePlan, ...]

    @property
    def image_number(self) -> int:
        """The number that all its headers share, by which dumps of several partitions are told apart."""
        return crc32(f"{self.partition.name} {self.partition.first_block}".encode()) or 1


@dataclass(frozen=True)
class FilledVolume:
    """A volume with its content. `lebs`: what the volume table promises it."""

    plan: VolumePlan
    lebs: int
    data: bytes


def plan(description: Description, partition: Partition) -> UbiPlan:
    """Gives each volume its LEBs.

    Raises `ffslab.InputError` where they do not fit, or UBI cannot be there.
    """
    target = replace(description.target, blocks=partition.blocks)
    if target.is_mlc:
        raise InputError(f"{partition.where}{target.part}: {NO_MLC}")
    vid_at = target.vid_header_at_B
    if vid_at is None:
        raise InputError(
            f"{target.part}: name the board, whose driver decides about sub-pages: "
            'board = "omap3evm"; `ffslab profiles ls` lists them'
        )
    leb = target.leb_B(vid_at)
    needed = [_needed(volume, leb, target) for volume in partition.volumes]
    fixed = sum(lebs for volume, lebs in zip(partition.volumes, needed, strict=True) if not volume.autoresize)
    rest = target.volume_lebs - fixed
    kept = f"{UBI_OWN_BLOCKS} of UBI's own"
    if target.bad_reserve_blocks:
        kept += f", {target.bad_reserve_blocks} for bad ones ({target.bad_reserve_rule})"
    growing = [lebs for volume, lebs in zip(partition.volumes, needed, strict=True) if volume.autoresize]
    if rest < sum(max(lebs, 1) for lebs in growing):
        wants = fixed + sum(max(lebs, 1) for lebs in growing)
        blocks = wants
        while replace(target, blocks=blocks).volume_lebs < wants:
            blocks += 1
        raise InputError(
            f"{partition.where}its volumes need {counted(wants, 'LEB')} of {leb} B, there are {target.volume_lebs}: "
            f'{counted(partition.blocks, "block")} less {kept}; size = "{blocks * target.block_B:#x}" would do'
        )
    plans = []
    for volume, lebs in zip(partition.volumes, needed, strict=True):
        lebs = rest if volume.autoresize else lebs
        if volume.content.fs and lebs < UBIFS_LEAST_LEBS:
            right = "a larger partition" if volume.autoresize else f'vol_size = "{UBIFS_LEAST_LEBS * leb}"'
            least = f"{UBIFS_LEAST_LEBS} LEBs of {leb} B"
            raise InputError(f"{volume.where}UBIFS needs at least {least}, it gets {lebs}: {right} would do")
        plans.append(VolumePlan(volume, leb - leb % volume.alignment_B, lebs))
    return UbiPlan(partition, target, vid_at, leb, tuple(plans))


def _needed(volume: Volume, leb: int, target: Target) -> int:
    """LEBs that the description and a file ask for; of what grows at least so many."""
    alignment = volume.alignment_B
    if alignment != 1 and (alignment % target.min_io_B or leb % alignment >= leb // 2):
        raise InputError(
            f"{volume.where}`vol_alignment`: {alignment} must be 1, or whole pages of {target.min_io_B} B that leave "
            f"less than half of a LEB ({leb} B) unused"
        )
    usable = leb - leb % alignment
    said_lebs = 0 if volume.size_B is None else -(-volume.size_B // usable)
    image = volume.content.image
    if image is None:
        return said_lebs
    held = image.stat().st_size
    if held == 0:
        raise InputError(f"{volume.where}`image`: {image} is empty")
    needed = -(-held // usable)
    if volume.size_B is not None and needed > said_lebs:
        raise InputError(
            f"{volume.where}`vol_size`: {image} has {size(held)}, and {counted(said_lebs, 'LEB')} of {usable} B hold "
            f'{size(said_lebs * usable)}: vol_size = "{needed * usable}" would do'
        )
    _check_lebs(volume, image, usable)
    return max(said_lebs, needed)


def _check_lebs(volume: Volume, image: Path, usable: int) -> None:
    """Refuses a UBIFS that was made for LEBs of another size: no kernel would mount it."""
    try:
        parts: list[Part] = json.loads(_native.recognise(image, said()))
    except InputError:
        return
    layout = parts[0]["layout"].get("Ok") if len(parts) == 1 else None
    if layout and layout.get("lacks_ubi") and layout["block_B"] != usable:
        raise InputError(
            f"{volume.where}`image`: {image} was made for LEBs of {layout['block_B']} B, here they have {usable}: "
            f"mkfs.ubifs -e {usable}"
        )
    if layout and layout["fs"] == "ubifs" and not layout.get("lacks_ubi"):
        raise InputError(
            f"{volume.where}`image`: {image} holds UBI already: take what went into ubinize, or name it as the image "
            "of the partition"
        )


def filled(chip: Chip, ubi: UbiPlan, volume: VolumePlan) -> FilledVolume:
    """A volume with what it holds."""
    content, autoresize = volume.volume.content, volume.volume.autoresize
    if content.image is not None:
        data = read_bytes(content.image, "image")
    elif content.fs is not None:
        data = _ubifs(chip, ubi, volume)
    else:
        data = b""
    if not autoresize:
        return FilledVolume(volume, volume.lebs, data)
    wanted = -(-(volume.volume.size_B or 0) // volume.usable_B)
    return FilledVolume(volume, max(wanted, -(-len(data) // volume.usable_B), 1), data)


def _ubifs(chip: Chip, ubi: UbiPlan, volume: VolumePlan) -> bytes:
    """The volume as mkfs.ubifs would make it."""
    target = ubi.target
    settings: dict[str, Value] = {"vid_hdr_offset_B": None if target.is_nor else ubi.vid_at_B}
    own = UBI_OWN_BLOCKS
    if not target.is_nor:
        settings["beb_reserve_pct"] = 0
        own = _SIMULATED_OWN_BLOCKS
    room = f"{counted(volume.lebs, 'LEB')} ({size(volume.lebs * ubi.leb_B)})"
    session = chip.filled(volume.volume.where, volume.volume.content, volume.lebs + own, settings, room)
    name = f"{ubi.partition.name}\0{volume.volume.name}"
    uuid = bytearray(sha256(name.encode()).digest()[:16])
    # Version 4, as mkfs.ubifs has it.
    uuid[6], uuid[8] = uuid[6] & 0x0F | 0x40, uuid[8] & 0x3F | 0x80
    data = _native.ubifs_to_ship(session.image(False), target.block_B, not target.is_nor, bytes(uuid))
    assert len(data) % ubi.leb_B == 0 and len(data) <= volume.lebs * ubi.leb_B
    return data


def image(ubi: UbiPlan, volumes: list[FilledVolume]) -> bytes:
    """The partition as ubinize would make it."""
    rows = []
    for each in volumes:
        volume = each.plan.volume
        flags = volume.autoresize, volume.skip_check
        rows.append((volume.id, volume.name, volume.is_static, each.lebs, volume.alignment_B, *flags, each.data))
    try:
        return _native.ubi_image(ubi.target.block_B, ubi.target.min_io_B, ubi.vid_at_B, ubi.image_number, rows)
    except InputError as error:
        raise InputError(f"{ubi.partition.where}{one_line(str(error))}") from None
