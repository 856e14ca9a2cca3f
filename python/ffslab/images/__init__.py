"""The files of flash images: read and listed; `ffslab.images.extraction` writes them into a folder."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict, Unpack

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers.inspection import Layout, Part
from ffslab.images.layout import layout_notes, layout_text
from ffslab.text.quoting import one_line, quoted


@dataclass(frozen=True)
class ImageEntry:
    """What stands under one name of a file system."""

    path: str  # below the root, "" is the root; bytes that are not UTF-8 as os.fsdecode has them
    kind: str  # file, directory, symlink, char device, block device, fifo, socket
    ino: int
    permissions: int  # bits 0o7777
    owner: tuple[int, int]  # uid, gid
    links: int
    device: int  # device number of a device file
    size_B: int  # noqa: N815
    modified_s: int  # seconds since 1970
    data: bytes  # content of a file, target of a symbolic link
    error: str | None  # why the entry could not be read
    missing: list[str] = field(default_factory=list)  # what of a directory was left out


@dataclass(frozen=True)
class ImageTree:
    """The files of an image; `notes` are reasons to doubt that everything was found."""

    entries: list[ImageEntry]
    notes: list[str]

    @property
    def complaints(self) -> list[str]:
        """Everything that went wrong, one line each."""
        about = [
            f"{quoted(f'/{entry.path}')}: {line}"
            for entry in self.entries
            for line in ([entry.error] if entry.error else []) + entry.missing
        ]
        return self.notes + about


@dataclass(frozen=True)
class Partition:
    """A partition of an image; of an image that is no dump of a whole chip the only one, without a name."""

    name: str
    offset_B: int  # noqa: N815  on the flash: page data, without OOB areas
    size_B: int  # noqa: N815
    layout: Layout | None  # what it is and its sizes, see docs/inspect.md; `None`: unknown data
    why: str  # that its content is not known

    @staticmethod
    def of(found: Part) -> Partition:
        """Makes a partition of what the native half found."""
        layout = found["layout"]
        return Partition(found["name"], found["offset_B"], found["size_B"], layout.get("Ok"), layout.get("Err", ""))

    @property
    def text(self) -> str:
        """Name, place and content in a few words."""
        holds = self.layout["fs"] if self.layout else "unknown data"
        return f"{quoted(self.name)} ({holds}, {self.size_B // 1024} KiB at {self.offset_B:#x})"


class Chosen(TypedDict, total=False):
    """Which partition of an image is meant."""

    mtdparts: str | None
    offset_B: int | None
    size_B: int | None
    partition: str | None


class How(Chosen, total=False):
    """What may be said about an image: the keywords of `said`."""

    fs: str
    block_KiB: int | None
    page_B: int | None
    oob_B: int | None
    oob: bool | None
    endian: str
    layout: str | None
    volume: str | None
    keys: list[bytes] | None


class Listed(TypedDict):
    """A file of an image without its content."""

    path: str
    kind: str
    ino: int
    mode: str
    uid: int
    gid: int
    links: int
    device: int
    size_B: int
    modified_s: int
    target: str | None
    error: str | None
    missing: list[str]


class ListedPartition(TypedDict):
    """A partition and its files; null: what it holds is not known."""

    name: str
    offset_B: int
    size_B: int
    layout: Layout | None
    files: list[Listed] | None


class ListedPartitions(TypedDict):
    """The files of a chip."""

    partitions: list[ListedPartition]


def said(
    *,
    fs: str = "auto",
    block_KiB: int | None = None,  # noqa: N803
    page_B: int | None = None,  # noqa: N803
    oob_B: int | None = None,  # noqa: N803
    oob: bool | None = None,
    endian: str = "auto",
    mtdparts: str | None = None,
    offset_B: int | None = None,  # noqa: N803
    size_B: int | None = None,  # noqa: N803
    partition: str | None = None,
    volume: str | None = None,
    keys: list[bytes] | None = None,
    layout: str | None = None,
) -> dict[str, str | int | bool | list[bytes] | None]:
    """What is said about an image, as the native half takes it. What is `None` or "auto" is found out.

    `block_KiB` is the size of its erase blocks, `page_B` of its pages, `oob_B` of the OOB area behind each (0: there is
    none), `oob` whether there are OOB areas. `endian` of JFFS2 is "little" or "big". Of a whole chip's dump `mtdparts`
    names the partitions as the kernel's command line does, or `offset_B` and `size_B` say where the only one is (page
    data, without OOB areas); `partition` is the name of the one that is meant. `volume` is name or number of
    the only volume of UBI that is wanted, `keys` are master keys of encrypted files (fscrypt), `layout` is how pages
    are laid out: "512+16x4" is four times 512 B and 16 B of OOB. Raises `ffslab.InputError`.
    """
    for name, value in (("block_KiB", block_KiB), ("page_B", page_B), ("oob_B", oob_B)):
        if value is not None and not 0 <= value < 1 << 20:
            raise InputError(f"{name} {value}: must be 0 to 1048575")
    if oob is not None and oob_B is not None and oob != (oob_B > 0):
        raise InputError(f"oob_B {oob_B}: contradicts what is said about OOB areas: leave one out")
    if layout is not None and (page_B is not None or oob_B is not None or oob is not None):
        raise InputError(f"layout {layout}: says how large pages and OOB areas are: leave the other sizes out")
    return {
        "fs": fs,
        "block_B": None if block_KiB is None else block_KiB * 1024,
        "page_B": page_B,
        "oob_B": oob_B,
        "oob": oob,
        "endian": endian,
        "mtdparts": mtdparts,
        "offset_B": offset_B,
        "size_B": size_B,
        "partition": partition,
        "volume": volume,
        "keys": keys,
        "layout": layout,
    }


def read_image(path: str | Path, **how: Unpack[How]) -> ImageTree:
    """Reads all files of an image of JFFS2, YAFFS2, UBI with UBIFS, UBIFS alone, littlefs, SPIFFS, squashfs, EROFS, FAT
    or RFS; of a store of keys and values (NVS of ESP-IDF or Zephyr) a file for each key.

    The keywords are those of `said`. Raises `ffslab.InputError`, also for an image of several partitions of which none
    is chosen.
    """
    trees = [(part, tree) for part, tree in read_partitions(path, **how) if tree is not None]
    if len(trees) != 1:
        known = ", ".join(part.text for part, _ in trees)
        raise InputError(f"{path}: it holds several partitions, choose one: {known}")
    return trees[0][1]


def read_partitions(path: str | Path, **how: Unpack[How]) -> list[tuple[Partition, ImageTree | None]]:
    """As `read_image`, of each partition of an image; no tree: what it holds is not known."""
    found = []
    for part, rows, notes in _native.read_trees(path, said(**how)):
        tree = None if rows is None else ImageTree([ImageEntry(**row) for row in rows], notes)
        found.append((Partition.of(json.loads(part)), tree))
    return found


def is_known(path: str | Path, **how: Unpack[How]) -> bool:
    """Whether it is known what the image holds, be it readable or not."""
    try:
        parts: list[Part] = json.loads(_native.recognise(path, said(**how)))
    except InputError:
        return False
    return any("Ok" in part["layout"] for part in parts)


def listing(tree: ImageTree) -> str:
    """The entries as `ls -l` shows them, with full paths, quoted as `ls` does; times are UTC."""
    lines = []
    for entry in tree.entries:
        uid, gid = entry.owner
        size = f"{os.major(entry.device)},{os.minor(entry.device)}" if "device" in entry.kind else str(entry.size_B)
        path = quoted(f"/{entry.path}")
        target = f" -> {quoted(entry.data)}" if entry.kind == "symlink" else ""
        owned = f"{stat.filemode(mode(entry))} {entry.links:3} {uid:5} {gid:5}"
        lines.append(f"{owned} {size:>10} {_when(entry.modified_s)} {path}{target}")
    return "\n".join(lines)


def _when(modified_s: int) -> str:
    try:
        return datetime.fromtimestamp(modified_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        # A year that no calendar has.
        return f"@{modified_s}".rjust(19)


def table(tree: ImageTree) -> list[Listed]:
    """The entries as plain values, without content."""
    return [
        {
            "path": os.fsencode(entry.path).decode("utf-8", "backslashreplace"),
            "kind": entry.kind,
            "ino": entry.ino,
            "mode": f"{entry.permissions:04o}",
            "uid": entry.owner[0],
            "gid": entry.owner[1],
            "links": entry.links,
            "device": entry.device,
            "size_B": entry.size_B,
            "modified_s": entry.modified_s,
            "target": entry.data.decode("utf-8", "backslashreplace") if entry.kind == "symlink" else None,
            "error": entry.error,
            "missing": entry.missing,
        }
        for entry in tree.entries
    ]


def tables(found: list[tuple[Partition, ImageTree | None]]) -> list[Listed] | ListedPartitions:
    """The entries of an image, or of each of its partitions, as plain values."""
    if len(found) == 1 and found[0][1] is not None:
        return table(found[0][1])
    rows: list[ListedPartition] = [
        {
            "name": part.name,
            "offset_B": part.offset_B,
            "size_B": part.size_B,
            "layout": part.layout,
            "files": None if tree is None else table(tree),
        }
        for part, tree in found
    ]
    return {"partitions": rows}


def said_of(file: str, found: list[tuple[Partition, ImageTree | None]], listed: bool) -> str:
    """What was found in an image, a line per partition, with the files if they are to be listed."""
    parts = []
    for part, tree in found:
        head = f"{part.text}: " if part.name else ""
        lines = [f"{one_line(file)}: {head}{layout_text(part.layout) if part.layout else part.why}"]
        if part.layout:
            lines += layout_notes(part.layout)
        if tree is not None and listed:
            lines.append(listing(tree))
        parts.append("\n".join(lines))
    return ("\n\n" if listed else "\n").join(parts)


def mode(entry: ImageEntry) -> int:
    """Type and permissions as `stat` has them."""
    kinds = {
        "file": stat.S_IFREG,
        "directory": stat.S_IFDIR,
        "symlink": stat.S_IFLNK,
        "char device": stat.S_IFCHR,
        "block device": stat.S_IFBLK,
        "fifo": stat.S_IFIFO,
        "socket": stat.S_IFSOCK,
    }
    return kinds[entry.kind] | entry.permissions
