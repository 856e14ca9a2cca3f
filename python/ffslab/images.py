"""The files of flash images: listed, and extracted into a folder."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.os_errors import reason


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


@dataclass(frozen=True)
class ImageTree:
    """The files of an image; `notes` are reasons to doubt that everything was found."""

    entries: list[ImageEntry]
    notes: list[str]

    @property
    def complaints(self) -> list[str]:
        """Everything that went wrong, one line each."""
        return self.notes + [f"/{entry.path}: {entry.error}" for entry in self.entries if entry.error]


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
    """The entries as `ls -l` shows them, with full paths; times are UTC."""
    lines = []
    for entry in tree.entries:
        when = datetime.fromtimestamp(entry.modified_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
        uid, gid = entry.owner
        size = f"{os.major(entry.device)},{os.minor(entry.device)}" if "device" in entry.kind else str(entry.size_B)
        path = os.fsencode(f"/{entry.path}").decode("utf-8", "backslashreplace")
        target = f" -> {entry.data.decode('utf-8', 'backslashreplace')}" if entry.kind == "symlink" else ""
        lines.append(f"{stat.filemode(_mode(entry))} {entry.links:3} {uid:5} {gid:5} {size:>10} {when} {path}{target}")
    return "\n".join(lines)


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
        }
        for entry in tree.entries
    ]


def extract(tree: ImageTree, folder: str | Path) -> list[str]:
    """Writes the files into a new or empty folder, complete or not at all; returns what had to be left out.

    Permissions and times are kept; owners, device files and set-ID bits only when root extracts, as `tar` does.
    """
    folder = Path(folder)
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}: is not a folder: name a new or empty one")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: holds files already: name a new or empty folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            fresh = temporary / "fresh"
            left_out = _write(tree.entries, fresh)
            fresh.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {reason(error)}") from None
    return left_out


def _write(entries: Iterable[ImageEntry], root: Path) -> list[str]:
    left_out: list[str] = []
    first_names: dict[int, Path] = {}
    directories = []
    for entry in entries:
        place = root / entry.path
        if entry.error is not None or not place.parent.is_dir():
            continue  # among the complaints of the tree already, as what a damaged directory held is lost
        if entry.kind == "directory":
            place.mkdir(mode=0o700)
            directories.append((entry, place))
            continue
        if entry.ino in first_names:
            os.link(first_names[entry.ino], place, follow_symlinks=False)
            continue
        reason = _make(entry, place)
        if reason is not None:
            left_out.append(f"/{entry.path}: {entry.kind} left out: {reason}")
            continue
        first_names[entry.ino] = place
        _set_attributes(entry, place)
    # Files that were made in a directory changed its time, and it may be closed to its owner.
    for entry, place in reversed(directories):
        _set_attributes(entry, place)
    return left_out


def _make(entry: ImageEntry, place: Path) -> str | None:
    """Makes one file; the reason why not."""
    try:
        match entry.kind:
            case "file":
                with place.open("xb") as file:
                    file.write(entry.data)
            case "symlink":
                place.symlink_to(os.fsdecode(entry.data))
            case _:
                os.mknod(place, stat.S_IFMT(_mode(entry)) | 0o600, entry.device)
    except PermissionError:
        if "device" in entry.kind:
            return "only root can make device files"
        raise
    return None


def _set_attributes(entry: ImageEntry, place: Path) -> None:
    root = os.geteuid() == 0
    if root:
        os.lchown(place, *entry.owner)
    if entry.kind != "symlink":
        place.chmod(entry.permissions if root else entry.permissions & 0o777)
    os.utime(place, (entry.modified_s, entry.modified_s), follow_symlinks=False)


def _mode(entry: ImageEntry) -> int:
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
