"""The files of flash images: read and listed; `ffslab.extraction` writes them into a folder."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.quoting import quoted


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


def read_image(
    path: str | Path,
    *,
    fs: str = "auto",
    block_KiB: int = 128,  # noqa: N803
    page_B: int = 2048,  # noqa: N803
    oob_B: int = 64,  # noqa: N803
    oob: bool = False,
    endian: str = "auto",
) -> ImageTree:
    """Reads all files of a JFFS2 or YAFFS2 image, or of an image of UBI that holds UBIFS.

    `fs` is "jffs2", "yaffs2", "ubifs" or "auto" (what the image looks like). `block_KiB` is the size of its erase
    blocks. `oob`: each page of `page_B` is followed by an OOB area of `oob_B`. Of YAFFS2 images these sizes are only
    what is tried first. `endian` of JFFS2 is "little", "big" or "auto" (as the first node has it). Raises
    `ffslab.InputError`.
    """
    for name, value in (("block_KiB", block_KiB), ("page_B", page_B), ("oob_B", oob_B)):
        if not 0 < value < 1 << 20:
            raise InputError(f"{name} {value}: must be 1 to 1048575")
    rows, notes = _native.read_tree(
        path, fs=fs, page_bytes=page_B, oob_bytes=oob_B, block_bytes=block_KiB * 1024, oob=oob, endian=endian
    )
    return ImageTree([ImageEntry(*row) for row in rows], notes)


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


def table(tree: ImageTree) -> list[dict[str, Any]]:
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
