"""What a chip shall hold: a TOML file with the words of genimage and ubinize, read and checked.

`[[partition]]` as in a genimage configuration, `[[partition.volume]]` with the keys of a section of ubinize.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.files.inputs import check_is_input, read_text
from ffslab.files.toml_tables import meant, read_toml
from ffslab.images.target import Target
from ffslab.registries import profiles
from ffslab.text.quoting import one_line
from ffslab.text.tables import counted, size

Settings = Mapping[str, Any]

# The file systems that are filled here, each with the keys of an experiment's stack that it takes.
MADE: dict[str, tuple[str, ...]] = {
    "jffs2": ("compression", "endian", "summary"),
    "yaffs2": ("inband_tags", "yaffs2_version"),
    "littlefs": ("littlefs",),
    "fat": ("fat",),
}
OF_VOLUME: dict[str, tuple[str, ...]] = {"ubifs": ("compression",)}
_OPTIONS = tuple(dict.fromkeys(key for keys in (*MADE.values(), *OF_VOLUME.values()) for key in keys))
# Where others have more than one word for a thing, the one that is read here.
_OTHERS = {
    **dict.fromkeys(("dir", "directory", "folder", "from", "root", "rootfs", "content", "contents"), "srcpath"),
    **dict.fromkeys(("file", "data", "raw"), "image"),
    **dict.fromkeys(("type", "filesystem"), "fs"),
    **dict.fromkeys(("ro", "read_only"), "read-only"),
    **dict.fromkeys(("compressor", "compr"), "compression"),
}
_OTHERS_OF_VOLUME = {key: f"vol_{key}" for key in ("name", "size", "type", "flags", "id", "alignment")} | {
    "autoresize": 'vol_flags = "autoresize"',
    "volume": "vol_name",
}
# Keys of an experiment's stack about the chip.
_OF_CHIP = ("erase_block_KiB", "ecc", "ecc_strength_bits")
_TOP = ("part", "board", "kernel", *_OF_CHIP, "partition")
_OF_PARTITION = ("name", "offset", "size", "read-only", "image", "fs", "srcpath", "volume", *_OPTIONS)
_OF_VOLUME = (
    *("vol_name", "vol_id", "vol_type", "vol_size", "vol_flags", "vol_alignment"),
    *("image", "fs", "srcpath", "compression"),
)
_FLAGS = ("autoresize", "skip-check")
NAME_BYTES_MAX = 127
VOLUMES_MAX = 128


@dataclass(frozen=True)
class Content:
    """What stands in a partition or a volume: a file as it is, a file system with the files of a folder, or nothing.

    `settings`: keys of an experiment's stack for the file system.
    """

    image: Path | None = None
    fs: str | None = None
    srcpath: Path | None = None
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Volume:
    """A volume of UBI. `where`: how messages name it. `size_B`: that of `vol_size`; `None`: what its content needs."""

    where: str
    id: int
    name: str
    is_static: bool
    size_B: int | None  # noqa: N815
    alignment_B: int  # noqa: N815
    autoresize: bool
    skip_check: bool
    content: Content


@dataclass(frozen=True)
class Partition:
    """A partition of the chip; with volumes it is one of UBI."""

    where: str
    name: str
    first_block: int
    blocks: int
    read_only: bool
    content: Content
    volumes: tuple[Volume, ...]


@dataclass(frozen=True)
class Description:
    """A chip. `chip`: keys of an experiment's stack about it."""

    file: Path
    target: Target
    chip: Settings
    partitions: tuple[Partition, ...]

    @property
    def inputs(self) -> list[Path]:
        """All files and folders that are read."""
        contents = [part.content for part in self.partitions]
        contents += [volume.content for part in self.partitions for volume in part.volumes]
        return [path for content in contents for path in (content.image, content.srcpath) if path is not None]


def read(path: Path) -> Description:
    """Reads a description.

    Raises `ffslab.InputError` with one line: the file, the partition or volume, what is wrong and what would be right.
    """
    try:
        text = read_text(path, "experiment")
    except InputError as error:
        raise InputError(str(error).replace("the experiment", "the description")) from None
    # What some editors put before UTF-8.
    return read_toml(text.removeprefix("\ufeff"), str(path), lambda data: described(path, data))


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Puts the name of the description before messages about it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def described(path: Path, data: dict[str, Any]) -> Description:
    """What a file says, as data. Raises `ffslab.InputError` without the name of the file."""
    _check_keys(data, _TOP, "", {"partitions": "partition", "volume": "partition.volume", "chip": "part"})
    names = {key: _text(data, key, "") for key in ("part", "board", "kernel")}
    part, board, kernel = (_profile(path, key, value) for key, value in names.items())
    if part is None and board is None:
        raise InputError('name the chip, part = "w25n01gv", or a board that has it: board = "omap3evm"')
    try:
        target = Target.of(part, board, kernel, None)
    except InputError as error:
        raise InputError(str(error).replace("with --part", 'with part = "w25n01gv"')) from None
    chip = {key: value for key, value in data.items() if key in _OF_CHIP}
    if target.is_nor and (said := [key for key in chip if key.startswith("ecc")]):
        raise InputError(f"{' and '.join(said)}: {target.part} is NOR flash, which has no ECC")
    if (block_KiB := _whole(data, "erase_block_KiB", "", 1024)) is not None:  # noqa: N806
        if not target.is_nor:
            raise InputError(f"`erase_block_KiB` is of NOR; {target.part} has blocks of {size(target.block_B)}")
        blocks = target.chip_blocks * target.block_B // (1024 * block_KiB)
        target = replace(target, block_B=1024 * block_KiB, blocks=blocks, chip_blocks=blocks)
    tables = _tables(data, "partition", "")
    if not tables:
        raise InputError('there is no partition: write [[partition]] with name = "data" and size = "8M"')
    partitions: list[Partition] = []
    for number, table in enumerate(tables, 1):
        partitions.append(_partition(path.parent, target, partitions, table, number, tables[number:]))
    return Description(path, target, chip, tuple(partitions))


def _profile(path: Path, key: str, name: str | None) -> str | None:
    """The name of a profile; the path of one starts at the description."""
    if name is None:
        return None
    if _native.is_path(name):
        name = str(path.parent / name)
    profiles.check_known(name, key, key)
    return name


# ---- partitions ---------------------------------------------------------------------------------------------


def _partition(
    folder: Path, target: Target, before: list[Partition], table: Settings, number: int, behind: list[dict[str, Any]]
) -> Partition:
    name = _text(table, "name", f"partition {number}: ")
    where = f"partition {number}: " if not name else f"partition {one_line(name)}: "
    _check_keys(table, _OF_PARTITION, where, _OTHERS)
    if not name:
        raise InputError(f'{where}`name` is missing: name = "data"')
    if re.search(r"[\x00-\x1f\x7f(),:;/]", name):
        raise InputError(f"{where}`name`: mtdparts and files are named by it: none of ( ) , : ; / and no controls")
    if any(other.name == name for other in before):
        raise InputError(f"{where}there are two of this name: give each its own")
    first, blocks = _place(target, before, table, where, behind)
    volumes = _volumes(folder, table, where)
    content = _content(folder, table, where, MADE)
    if volumes and content != Content():
        key = "image" if content.image else "fs"
        raise InputError(f"{where}`{key}` and [[partition.volume]]: volumes of UBI take all of a partition")
    read_only = _true(table, "read-only", where)
    return Partition(where, name, first, blocks, read_only, content, volumes)


def _place(
    target: Target, before: list[Partition], table: Settings, where: str, behind: list[dict[str, Any]]
) -> tuple[int, int]:
    """First erase block and number of them."""
    block, chip = target.block_B, target.chip_blocks * target.block_B
    follows = before[-1].first_block + before[-1].blocks if before else 0
    offset = _bytes(table, "offset", where)
    offset = follows * block if offset is None else offset
    if offset % block:
        _refuse_unaligned(where, "offset", offset, block)
    if offset >= chip:
        raise InputError(f"{where}begins at {offset:#x}, where {target.part} ends: it has {size(chip)}")
    size_B = _bytes(table, "size", where)  # noqa: N806
    if size_B is None:
        size_B = _rest(behind, chip, offset, where) - offset  # noqa: N806
    if size_B % block:
        _refuse_unaligned(where, "size", size_B, block)
    if size_B <= 0:
        raise InputError(f"{where}`size` must be at least an erase block, {size(block)}")
    if offset + size_B > chip:
        room = size(chip - offset)
        raise InputError(
            f"{where}`size`: {size(size_B)} from {offset:#x} on reach beyond {target.part}, where {room} are left"
        )
    for other in before:
        begin, end = other.first_block * block, (other.first_block + other.blocks) * block
        if offset < end and begin < offset + size_B:
            raise InputError(
                f"{where}lies over partition {one_line(other.name)}, which has {begin:#x} to {end:#x}: "
                f'offset = "{end:#x}" is behind it'
            )
    return offset // block, size_B // block


def _rest(behind: list[dict[str, Any]], chip: int, offset: int, where: str) -> int:
    """Where a partition without a size ends: at the next one, or with the chip."""
    if not behind:
        return chip
    end = _bytes(behind[0], "offset", "the partition behind it: ")
    if end is None or end <= offset:
        raise InputError(f'{where}`size` is missing: only the last partition takes the rest; size = "8M"')
    return end


def _refuse_unaligned(where: str, key: str, value: int, block: int) -> None:
    down, up = value // block * block, (value // block + 1) * block
    near = f"{down:#x} or {up:#x}" if down else f"{up:#x}"
    raise InputError(f"{where}`{key}`: {value:#x} is no multiple of an erase block, {size(block)}: {near} is")


# ---- volumes ------------------------------------------------------------------------------------------------


def _volumes(folder: Path, table: Settings, of: str) -> tuple[Volume, ...]:
    tables = _tables(table, "volume", of)
    if len(tables) > VOLUMES_MAX:
        raise InputError(f"{of}{len(tables)} volumes: UBI has at most {VOLUMES_MAX}")
    if "volume" in table and not tables:
        raise InputError(f"{of}`volume` is empty: write [[partition.volume]] below it, or leave it out")
    taken = [id for each in tables if (id := _whole(each, "vol_id", of, VOLUMES_MAX - 1)) is not None]
    free = iter(id for id in range(2 * VOLUMES_MAX) if id not in taken)
    found: list[Volume] = []
    for number, each in enumerate(tables, 1):
        volume = _volume(folder, each, of, number, free)
        if any(other.name == volume.name for other in found):
            raise InputError(f"{volume.where}there are two of this name: give each its own")
        if any(other.id == volume.id for other in found):
            raise InputError(f"{volume.where}`vol_id`: {volume.id} is that of another volume, too")
        if volume.autoresize and (first := [other.name for other in found if other.autoresize]):
            raise InputError(
                f"{volume.where}`vol_flags`: autoresize is said of volume {one_line(first[0])}, too, and UBI lets one "
                "volume grow: give this one a vol_size"
            )
        found.append(volume)
    return tuple(found)


def _volume(folder: Path, table: Settings, of: str, number: int, free: Iterator[int]) -> Volume:
    name = _text(table, "vol_name", f"{of}volume {number}: ")
    where = f"{of}volume {number}: " if not name else f"{of}volume {one_line(name)}: "
    _check_keys(table, _OF_VOLUME, where, _OTHERS | _OTHERS_OF_VOLUME)
    if name is None:
        raise InputError(f'{where}`vol_name` is missing: vol_name = "rootfs"')
    length = len(name.encode())
    if not 1 <= length <= NAME_BYTES_MAX or "\0" in name:
        raise InputError(
            f"{where}`vol_name`: has {counted(length, 'byte')}; a name of UBI has 1 to {NAME_BYTES_MAX}, none zero"
        )
    if re.search(r"[\x00-\x1f\x7f]", name):
        raise InputError(f"{where}`vol_name`: may hold no controls")
    kind = _text(table, "vol_type", where) or "dynamic"
    if kind not in ("static", "dynamic"):
        raise InputError(f'{where}`vol_type`: must be "static" or "dynamic", not "{one_line(kind)}"')
    flags = [flag.strip() for flag in (_text(table, "vol_flags", where) or "").split(",") if flag.strip()]
    for flag in flags:
        if flag not in _FLAGS:
            raise InputError(f'{where}`vol_flags`: unknown "{one_line(flag)}"{meant(flag, _FLAGS)}')
    content = _content(folder, table, where, OF_VOLUME)
    is_static = kind == "static"
    if is_static and content.fs:
        raise InputError(f'{where}`vol_type`: {content.fs} writes LEB by LEB, as only a "dynamic" volume can')
    if "skip-check" in flags and not is_static:
        raise InputError(f"{where}`vol_flags`: skip-check is of static volumes: a dynamic one has no check to skip")
    size_B = _bytes(table, "vol_size", where)  # noqa: N806
    if size_B == 0:
        raise InputError(f'{where}`vol_size` must be more than 0: vol_size = "8MiB"')
    if is_static and content.image is None:
        raise InputError(f'{where}`image` is missing: a static volume is written as a whole: image = "zImage"')
    if size_B is None and "autoresize" not in flags and content.image is None:
        raise InputError(f'{where}say how large it is: vol_size = "8MiB", or vol_flags = "autoresize" for what is left')
    alignment = _whole(table, "vol_alignment", where, 1 << 24)
    alignment = 1 if alignment is None else alignment
    if alignment != 1 and content.fs:
        raise InputError(f"{where}`vol_alignment`: {content.fs} wants whole LEBs: leave it out")
    id = _whole(table, "vol_id", where, VOLUMES_MAX - 1)
    id = next(free) if id is None else id
    return Volume(where, id, name, is_static, size_B, alignment, "autoresize" in flags, "skip-check" in flags, content)


# ---- contents -----------------------------------------------------------------------------------------------


def _content(folder: Path, table: Settings, where: str, made: Mapping[str, Sequence[str]]) -> Content:
    image, fs, srcpath = (_text(table, key, where) for key in ("image", "fs", "srcpath"))
    options = {key: table[key] for key in _OPTIONS if key in table}
    if image is not None:
        if fs is not None or srcpath is not None:
            raise InputError(f"{where}`image` is a file as it is: leave out {'fs' if fs is not None else 'srcpath'}")
        if options:
            raise InputError(f"{where}`{next(iter(options))}`: `image` is a file as it is, and has no options")
        file = folder / image
        if file.is_dir():
            raise InputError(f'{where}`image`: {file} is a folder: srcpath = "{image}" with fs takes its files')
        try:
            check_is_input(file, "image")
        except InputError as error:
            raise InputError(f"{where}`image`: {error}") from None
        return Content(image=file)
    if fs is None:
        if srcpath is not None:
            raise InputError(f'{where}`srcpath` needs a file system: fs = "{next(iter(made))}"')
        if options:
            raise InputError(f'{where}`{next(iter(options))}` is of a file system: fs = "{next(iter(made))}"')
        return Content()
    _check_made(fs, where, made)
    for key in options:
        if key not in made[fs]:
            of = [name for name, keys in made.items() if key in keys]
            raise InputError(f"{where}`{key}` is not of {fs}{f', but of {of[0]}' if of else ''}")
    path = None if srcpath is None else folder / srcpath
    if path is not None and not path.is_dir():
        says = "is a file" if path.is_file() else "no such folder"
        raise InputError(f"{where}`srcpath`: {path}: {says}: name the folder whose files go into it")
    return Content(fs=fs, srcpath=path, settings=options)


def _check_made(fs: str, where: str, made: Mapping[str, Sequence[str]]) -> None:
    if fs in made:
        return
    if fs in OF_VOLUME:
        raise InputError(
            f'{where}`fs`: UBIFS stands in a volume of UBI: write [[partition.volume]] with vol_name = "data", '
            'vol_flags = "autoresize" and fs = "ubifs" below the partition'
        )
    if fs in MADE:
        raise InputError(f"{where}`fs`: {fs} stands on a partition, not in a volume: known are {', '.join(made)}")
    raise InputError(
        f"{where}`fs`: what another tool made, such as mksquashfs, is named as it is, image = FILE; "
        f'"{one_line(fs)}" is not made here{meant(fs, tuple(made))}'
    )


# ---- values -------------------------------------------------------------------------------------------------


def _check_keys(table: Settings, known: Sequence[str], where: str, others: Mapping[str, str]) -> None:
    for key in table:
        if key in known:
            continue
        said = one_line(key)
        if key in others and others[key].partition(" ")[0].partition(".")[0] in known:
            raise InputError(f"{where}unknown key `{said}`: it is called {others[key]} here")
        raise InputError(f"{where}unknown key `{said}`{meant(key, known)}")


def _tables(data: Settings, key: str, where: str) -> list[dict[str, Any]]:
    """The tables of a list."""
    tables = data.get(key, [])
    if key == "partition" and isinstance(tables, dict) and isinstance(tables.get("volume"), list):
        raise InputError(
            '[[partition.volume]] stands below its partition: write [[partition]] with name = "ubi" before'
        )
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        full = "partition" if key == "partition" else "partition.volume"
        raise InputError(f"{where}`{key}` must be a list of tables: write [[{full}]], with two brackets")
    return tables


def _text(table: Settings, key: str, where: str) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f'{where}`{key}` must be a text in quotes: {key} = "{value}"')
    if not value and key != "vol_name":
        raise InputError(f"{where}`{key}` is empty")
    return value


def _true(table: Settings, key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{where}`{key}` must be true or false")
    return value


def _whole(table: Settings, key: str, where: str, most: int) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    least = 1 if key in ("vol_alignment", "erase_block_KiB") else 0
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{where}`{key}` must be a whole number of {least} to {most}, not {one_line(str(value))}")
    return value


def _bytes(table: Settings, key: str, where: str) -> int | None:
    """A size: a number of bytes, or a text as genimage (8M), ubinize (8MiB) and the kernel (0x800000, 8m) have it."""
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        found: int | None = _native.memparse(re.sub(r"(?<=\d)\s*([kKMG])(iB)?$", r"\1", value.strip()))
    else:
        found = value if isinstance(value, int) and not isinstance(value, bool) else None
    if found is None or not 0 <= found < 1 << 48:
        raise InputError(
            f'{where}`{key}`: {one_line(repr(value))} is no size: bytes, or with a unit, as "8M", "8MiB", "0x800000"'
        )
    return found
