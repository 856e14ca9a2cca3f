"""What was built, as tables for a terminal and as data."""

from __future__ import annotations

import os
from pathlib import Path

from ffslab.answers.built_image import BuiltContent, BuiltImage, BuiltPartition, BuiltVolume
from ffslab.file_systems import title
from ffslab.images.build.chip import Built, Made
from ffslab.images.build.description import Content, Description
from ffslab.images.build.ubi import FilledVolume
from ffslab.text.quoting import quoted
from ffslab.text.tables import number, size, text_table

_PARTITIONS = ["partition", "from", "size", "blocks", "used", "holds"]
_VOLUMES = ["volume", "id", "type", "LEBs", "on the device", "size", "holds"]


def text(description: Description, built: Built) -> str:
    """Partitions, volumes of UBI, and how others are told of the partitions."""
    block_B = description.target.block_B  # noqa: N806
    rows = []
    for made in built.partitions:
        part = made.partition
        place = [hex(part.first_block * block_B), size(part.blocks * block_B), number(part.blocks)]
        holds = _holds(part.content) if made.ubi is None else f"UBI, LEBs of {number(made.ubi.leb_B)} B"
        rows.append([quoted(part.name), *place, number(made.used_blocks), holds])
    parts = [text_table(_PARTITIONS, rows, "lrrrrl")]
    volumes = [row for made in built.partitions for row in _volumes(made)]
    if volumes:
        parts.append(text_table(_VOLUMES, volumes, "lrlrrrl"))
    parts.append(f"mtdparts: {mtdparts(description)}")
    return "\n\n".join(parts)


def facts(description: Description, built: Built, out: Path | None) -> BuiltImage:
    """All of it."""
    target = description.target
    return {
        "description": str(description.file),
        "part": target.part,
        "board": target.board,
        "kernel": target.kernel,
        "file": None if out is None else str(out),
        "file_B": built.file_B,
        "mtdparts": _mtdparts(description),
        "partitions": [_partition_facts(made, target.block_B) for made in built.partitions],
        "notes": list(built.notes),
    }


def _partition_facts(made: Made, block_B: int) -> BuiltPartition:  # noqa: N803
    part = made.partition
    return {
        "name": part.name,
        "offset_B": part.first_block * block_B,
        "size_B": part.blocks * block_B,
        "blocks": part.blocks,
        "used_blocks": made.used_blocks,
        "read_only": part.read_only,
        "content": _content_facts(part.content),
        "leb_B": None if made.ubi is None else made.ubi.leb_B,
        "volumes": [_volume_facts(filled) for filled in made.volumes],
    }


def _volume_facts(filled: FilledVolume) -> BuiltVolume:
    plan, volume = filled.plan, filled.plan.volume
    return {
        "name": volume.name,
        "id": volume.id,
        "type": "static" if volume.is_static else "dynamic",
        "autoresize": volume.autoresize,
        "lebs": filled.lebs,
        "lebs_on_device": plan.lebs,
        "size_B": plan.lebs * plan.usable_B,
        "content": _content_facts(volume.content),
    }


def _content_facts(content: Content) -> BuiltContent:
    def path(named: Path | None) -> str | None:
        return None if named is None else os.path.normpath(named)

    return {"image": path(content.image), "fs": content.fs, "srcpath": path(content.srcpath)}


def mtdparts(description: Description) -> str:
    """The partitions as `--mtdparts` and the kernel's command line have them, behind the name of the chip."""
    return quoted(_mtdparts(description))


def _mtdparts(description: Description) -> str:
    block_B, end, said = description.target.block_B, 0, []  # noqa: N806
    for part in sorted(description.partitions, key=lambda each: each.first_block):
        at = "" if part.first_block == end else f"@{part.first_block * block_B:#x}"
        said.append(f"{part.blocks * block_B // 1024}k{at}({part.name}){'ro' if part.read_only else ''}")
        end = part.first_block + part.blocks
    return ",".join(said)


def _volumes(made: Made) -> list[list[str]]:
    rows = []
    for filled in made.volumes:
        plan, volume = filled.plan, filled.plan.volume
        kind = ("static" if volume.is_static else "dynamic") + (", autoresize" if volume.autoresize else "")
        lebs = [number(filled.lebs), number(plan.lebs), size(plan.lebs * plan.usable_B)]
        name = quoted(f"{made.partition.name}:{volume.name}")
        rows.append([name, str(volume.id), kind, *lebs, _holds(volume.content)])
    return rows


def _holds(content: Content) -> str:
    if content.image is not None:
        return _shown(content.image)
    if content.fs is None:
        return "nothing"
    return f"{title(content.fs)}, {'empty' if content.srcpath is None else _shown(content.srcpath)}"


def _shown(path: Path) -> str:
    return quoted(os.path.normpath(path))
