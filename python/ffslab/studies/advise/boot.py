"""A boot whose root and layout are asked for: each candidate becomes an image of the flash and an experiment.

The file's measured steps are the boot, the same for all. What differs is what stands on the flash: the root's file
system, its block size and compressor, and whether data have a UBI of their own.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.files.asked_tables import TABLES, AskedBoot, keys_of
from ffslab.files.inputs import read_text
from ffslab.files.toml_tables import check_keys, whole
from ffslab.files.workplace import remove_tree
from ffslab.images.build import chip
from ffslab.images.build.description import Description, described, named
from ffslab.studies.advise.boot_memory import of_ubi, of_ubifs, root_at
from ffslab.studies.sweep.axes import Listed, Value
from ffslab.studies.sweep.design import Point

# The axes of which an image is made, and a key of every UBI there.
ROOT, COMPRESSION, LAYOUT, FASTMAP = "root", "compression", "layout", "fm_autoconvert"
AXES = (ROOT, COMPRESSION, LAYOUT, FASTMAP)
ONE_UBI, TWO_UBIS = "one UBI", "two UBIs"
# What an image tells of itself, beside the figures of its boot.
FIGURES = ("flash_B", "ram_B")
# The volume that a machine mounts as its root.
ROOT_VOLUME = "v"
_GROWS = "autoresize"
# What a machine and a flash name alike.
PROFILES = ("board", "part", "kernel")
NOT_MODELLED = [
    "`ram_B` is what UBI and file systems ask for when they attach and mount, as far as layouts differ in it. It is "
    "reckoned from the sources of Linux 6.1, on one CPU and with pointers of 4 B, and was not measured; page cache and "
    "programs are not in it.",
    "What computes without the flash (a boot ROM, memory that is set up, a kernel that unpacks itself, drivers that "
    "probe, programs of init) takes no time unless a step of the file says so.",
]


class _Free(NamedTuple):
    """Erase blocks that are left for data, and bytes of a block's LEB."""

    lebs: int
    leb_bytes: int


class _Folder:
    """A folder that is gone when nobody holds this any more, or the program ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ffslab-boot."))
        weakref.finalize(self, remove_tree, self.path)


@dataclass(frozen=True)
class Made:
    """A candidate: its experiment, and `FIGURES` of what stands on the flash."""

    experiment: Experiment
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Boot:
    """How candidates of a boot are made. `file`: the description of the flash, of which `data` is the content.
    `root_blocks`: the first of two UBIs; `None`: there is one in all layouts. Images stay as long as this does."""

    file: Path
    data: Mapping[str, Any]
    root_blocks: int | None
    kept: dict[str, Made] = field(default_factory=dict)
    built: dict[Path, _Free] = field(default_factory=dict)
    folder: _Folder = field(default_factory=_Folder)

    def made(self, experiment: Experiment, values: Mapping[str, Value]) -> Made:
        """The candidate with these values of `AXES`, and its image.

        Raises `ffslab.InputError` for one that cannot be.
        """
        name = ", ".join(f"{key} {value}" for key, value in values.items())
        if name not in self.kept:
            of_image = ", ".join(f"{key} {value}" for key, value in values.items() if key != FASTMAP)
            image = f"{re.sub('[^A-Za-z0-9 ,._-]', '-', of_image)}.img"
            self.kept[name] = self._made(experiment, values, self._place(experiment.base_dir) / image)
        return self.kept[name]

    def _made(self, experiment: Experiment, values: Mapping[str, Value], image: Path) -> Made:
        stack = _of_machine(experiment) | {key: values[key] for key in (FASTMAP,) if key in values}
        path = (experiment.base_dir / str(values[ROOT])).resolve()
        root = root_at(path)
        is_apart = values.get(LAYOUT) == TWO_UBIS
        if is_apart and root.fs == "ubifs":
            raise InputError(f"{values[ROOT]}: a UBIFS as the root holds the data, too: {TWO_UBIS} are of other roots")
        blocks = whole("[stack]: partition_blocks", stack.get("partition_blocks"), 1)
        own = self.root_blocks if is_apart and self.root_blocks else blocks
        is_data_here = root.fs != "ubifs" and not is_apart
        volumes = [_with_root(one, path, root.fs, values) for one in self._volumes() if is_data_here or not _grows(one)]
        described_ = self._described(stack, volumes, own)
        if image not in self.built:
            self.built[image] = _free_of(described_, image)
            # What is built is as large as the chip.
            os.truncate(image, own * described_.target.block_B)
        first = self.built[image]
        leb, block, free = first.leb_bytes, described_.target.block_B, first.lebs
        has_fastmap = bool(stack.get("fastmap"))
        ram = of_ubi(own, block, leb, fastmap=has_fastmap) + of_ubifs(leb) + root.memory_bytes
        mounts = [dict(mount) for mount in stack.get("mount", [])]
        if is_apart:
            rest = blocks - own
            second = self._described(stack, [one for one in self._volumes() if _grows(one)], rest)
            free = _free_of(second, None).lebs
            ram += of_ubi(rest, block, leb, fastmap=has_fastmap)
            mounts = [_apart(mount, rest, stack) for mount in mounts]
        elif root.fs == "ubifs":
            mounts = []
        stack |= {"fs": root.fs, "image": image.name, "partition_blocks": own, "mount": mounts}
        figures = {"flash_B": float((blocks - free) * block), "ram_B": float(ram)}
        return Made(_on(experiment, stack, image.parent), figures)

    def _place(self, base_dir: Path) -> Path:
        """A folder for images beside which each file of the question's folder is found."""
        place = self.folder.path
        if not self.kept:
            for file in base_dir.resolve().iterdir():
                with suppress(FileExistsError):
                    (place / file.name).symlink_to(file)
        return place

    def _volumes(self) -> list[dict[str, Any]]:
        return [dict(volume) for volume in self.data["partition"][0]["volume"]]

    def _described(self, stack: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]], blocks: int) -> Description:
        """A flash that is one UBI of so many blocks, of the machine's part."""
        top = {key: value for key, value in self.data.items() if key != "partition"}
        top |= {key: stack[key] for key in PROFILES if key in stack}
        with named(self.file):
            block = described(self.file, top | {"partition": [{"name": "all"}]}).target.block_B
            part = {"name": "ubi", "size": blocks * block, "volume": list(volumes)}
            return described(self.file, top | {"partition": [part]})


def boot_of(table: Mapping[str, Any], base_dir: Path, axes: Sequence[Listed]) -> Boot:
    """What `[question.boot]` says.

    Raises `ffslab.InputError` without the name of the question's file.
    """
    check_keys(table, keys_of(AskedBoot), "[question.boot]: ")
    given = table.get("description")
    if not isinstance(given, str):
        raise InputError('[question.boot]: say what stands on the flash beside the root: description = "flash.toml"')
    file = base_dir / given
    try:
        data = tomllib.loads(read_text(file, "experiment").removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: {error}") from None
    parts = data.get("partition")
    volumes = parts[0].get("volume") if isinstance(parts, list) and len(parts) == 1 else None
    volumes = volumes if isinstance(volumes, list) else []
    names = [volume.get("vol_name") for volume in volumes]
    if ROOT_VOLUME not in names:
        raise InputError(
            f'{file}: must have one [[partition]], with volumes of which the root is called vol_name = "{ROOT_VOLUME}"'
        )
    known = {axis.name: axis for axis in axes}
    if ROOT not in known:
        raise InputError('[question.boot]: name the roots: axes.root = ["rootfs", "root.sqfs"]')
    for value in known[ROOT].listed:
        root_at(base_dir / str(value))
    layouts = known[LAYOUT].listed if LAYOUT in known else ()
    for value in layouts:
        if value not in (ONE_UBI, TWO_UBIS):
            raise InputError(f'axis `{LAYOUT}`: {value}: must be "{ONE_UBI}" or "{TWO_UBIS}"')
    blocks = table.get("root_blocks")
    if TWO_UBIS in layouts:
        if blocks is None:
            raise InputError(f"[question.boot]: {TWO_UBIS}: say how many blocks the first has: root_blocks = 96")
        if not any(_grows(volume) for volume in volumes):
            raise InputError(f'{file}: no volume has vol_flags = "{_GROWS}", which {TWO_UBIS} would part from the root')
    return Boot(file, data, None if blocks is None else whole("[question.boot]: root_blocks", blocks, 1))


def image_axes(axes: Sequence[Listed], point: Point) -> dict[str, Value]:
    """The values of `AXES` at a point."""
    pairs = zip(axes, point, strict=True)
    return {axis.name: value for axis, value in pairs if axis.name in AXES and value is not None}


def _grows(volume: Mapping[str, Any]) -> bool:
    return _GROWS in str(volume.get("vol_flags", "")) and volume.get("vol_name") != ROOT_VOLUME


def _with_root(volume: dict[str, Any], path: Path, fs: str, values: Mapping[str, Value]) -> dict[str, Any]:
    """A volume; if it is that of the root with the candidate in it."""
    if volume["vol_name"] != ROOT_VOLUME:
        return volume
    if fs != "ubifs":
        kept = {key: value for key, value in volume.items() if key.startswith("vol_") and key != "vol_flags"}
        return kept | {"image": str(path)}
    compression = {COMPRESSION: values[COMPRESSION]} if COMPRESSION in values else {}
    return {"vol_name": ROOT_VOLUME, "vol_flags": _GROWS, "fs": fs, "srcpath": str(path)} | compression


def _free_of(description: Description, image: Path | None) -> _Free:
    """Makes a flash, and says what its growing volume has left."""
    (ubi,) = chip.build(description, image, oob=False).partitions
    assert ubi.ubi is not None
    free = sum(one.plan.lebs - one.lebs for one in ubi.volumes if one.plan.volume.autoresize)
    return _Free(free, ubi.ubi.leb_B)


def _apart(mount: Mapping[str, Any], blocks: int, stack: Mapping[str, Any]) -> dict[str, Any]:
    """A mount on a UBI of its own, with fastmaps if the root's has them, instead of on a volume."""
    if "volume_B" not in mount:
        return dict(mount)
    kept = {key: value for key, value in mount.items() if key != "volume_B"}
    return kept | {"partition_blocks": blocks} | {key: stack[key] for key in ("fastmap", FASTMAP) if key in stack}


def _of_machine(experiment: Experiment) -> dict[str, Any]:
    """The machine, with files above the experiment's folder as they are found from any folder."""
    stack: dict[str, Any] = dict(experiment.table()["stack"])
    for key in PROFILES:
        if isinstance(stack.get(key), str) and ".." in Path(stack[key]).parts:
            stack[key] = str((experiment.base_dir / stack[key]).resolve())
    return stack


def _on(experiment: Experiment, stack: Mapping[str, object], place: Path) -> Experiment:
    """The experiment on that machine, in the folder of its image."""
    data = {key: value for key, value in experiment.table().items() if key not in (*TABLES, "axes")}
    return Experiment.from_data(data | {"stack": dict(stack)}, experiment.file_name, place)
