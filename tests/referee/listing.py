"""What a file system holds, as the kernel says it and as ffslab says it, in one form."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ffslab.images import ImageTree, read_image

KINDS = {"f": "file", "d": "directory", "l": "symlink", "c": "char device", "b": "block device", "p": "fifo"}
KINDS |= {"s": "socket"}
DIFFERENCES_SHOWN = 12
# Damage cannot be told from what a power cut has torn: both are said, with these words.
TOLD_OF_DAMAGE = ("files or parts of them may be missing", "more pieces of damage: ffslab inspect lists them")


@dataclass(frozen=True)
class Entry:
    """What one name stands for. `None`: not compared."""

    kind: str
    permissions: int
    owner: tuple[int, int]
    links: int
    modified_s: int | None
    device: int | None
    first_path: str  # the first path, in order, that stands for the same inode
    data: bytes | None  # content of a file, target of a symbolic link


Listing = Mapping[str, Entry]


def from_kernel(place: Path) -> dict[str, Entry]:
    """What `list` of guest.sh left in PLACE.tar and PLACE.find; "" is the root."""
    contents: dict[str, tuple[bytes | None, int | None]] = {}
    with tarfile.open(place.with_suffix(".tar"), encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            path = member.name.removeprefix(".").lstrip("/")
            if member.islnk():  # a further name of a file in the archive
                contents[path] = contents[member.linkname.removeprefix(".").lstrip("/")]
            elif member.isreg():
                file = archive.extractfile(member)
                contents[path] = (file.read() if file else None, 0)
            elif member.issym():
                contents[path] = (os.fsencode(member.linkname), 0)
            elif member.ischr() or member.isblk():
                contents[path] = (b"", os.makedev(member.devmajor, member.devminor))
            else:
                contents[path] = (b"", 0)
    found = {}
    for line in os.fsdecode(place.with_suffix(".find").read_bytes()).split("\0")[:-1]:
        kind, ino, links, mode, uid, gid, size, modified, path = line.split(" ", 8)
        # tar leaves out sockets.
        data, device = contents.get(path, (b"", 0)) if kind == "s" else contents[path]
        assert kind != "f" or data is None or len(data) == int(size), path
        found[path] = (ino, kind, mode, links, uid, gid, modified, device, data)
    first_paths: dict[str, str] = {}
    for path in sorted(found, key=os.fsencode):
        first_paths.setdefault(found[path][0], path)
    return {
        path: Entry(
            kind=KINDS[kind],
            permissions=int(mode, 8),
            owner=(int(uid), int(gid)),
            links=int(links),
            modified_s=int(modified.split(".")[0]),
            device=device,
            first_path=first_paths[ino],
            data=data,
        )
        for path, (ino, kind, mode, links, uid, gid, modified, device, data) in found.items()
    }


def from_folder(root: Path) -> dict[str, Entry]:
    """What a folder of this computer holds; "" is the folder."""
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "symlink",
        stat.S_IFIFO: "fifo",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "char device",
        stat.S_IFBLK: "block device",
    }
    found = {}
    first_paths: dict[int, str] = {}
    for path in sorted((root, *root.rglob("*")), key=os.fsencode):
        info, name = path.lstat(), path.relative_to(root).as_posix().removeprefix(".")
        kind = kinds[stat.S_IFMT(info.st_mode)]
        data = path.read_bytes() if kind == "file" else os.fsencode(path.readlink()) if kind == "symlink" else b""
        found[name] = Entry(
            kind=kind,
            permissions=stat.S_IMODE(info.st_mode),
            owner=(info.st_uid, info.st_gid),
            links=info.st_nlink,
            modified_s=int(info.st_mtime),
            device=info.st_rdev,
            first_path=first_paths.setdefault(info.st_ino, name),
            data=data,
        )
    return found


def from_ffslab(tree: ImageTree, torn: bool = False) -> dict[str, Entry]:
    """What ffslab finds in an image. Of what a power cut has `torn` it may complain, of nothing else."""
    assert [text for text in tree.complaints if not (torn and text.endswith(TOLD_OF_DAMAGE))] == []
    first_paths: dict[int, str] = {}
    for entry in sorted(tree.entries, key=lambda entry: os.fsencode(entry.path)):
        first_paths.setdefault(entry.ino, entry.path)
    return {
        entry.path: Entry(
            kind=entry.kind,
            permissions=entry.permissions,
            owner=entry.owner,
            links=entry.links,
            modified_s=entry.modified_s,
            device=entry.device,
            first_path=first_paths[entry.ino],
            data=entry.data,
        )
        for entry in tree.entries
    }


def ours(image: Path, oob: bool = True, torn: bool = False) -> dict[str, Entry]:
    """What ffslab finds in an image, mounted on a chip of its own. For `torn` see `from_ffslab`."""
    return from_ffslab(read_image(image, oob=oob), torn)


def differences(expected: Listing, found: Listing) -> list[str]:
    """What is not as expected, one line each."""
    lines = [f"/{path}: missing" for path in expected if path not in found]
    lines += [f"/{path}: should not be there" for path in found if path not in expected]
    for path in sorted(expected.keys() & found.keys(), key=os.fsencode):
        for field in fields(Entry):
            wanted, seen = getattr(expected[path], field.name), getattr(found[path], field.name)
            if wanted is not None and seen is not None and wanted != seen:
                show = oct if field.name == "permissions" else short
                lines.append(f"/{path}: {field.name}: expected {show(wanted)}, found {show(seen)}")
    return lines


def assert_same(expected: Listing, found: Listing) -> None:
    lines = differences(expected, found)
    more = len(lines) - DIFFERENCES_SHOWN
    assert not lines, "\n".join(lines[:DIFFERENCES_SHOWN] + ([f"and {more} more"] if more > 0 else []))


def assert_kept(before: Listing, after: Listing) -> None:
    """What was there before is there still; the root has new names in it."""
    kept = {path: entry for path, entry in before.items() if path}
    assert_same(kept, {path: entry for path, entry in after.items() if path in kept})


def short(value: Any) -> str:
    if isinstance(value, bytes) and len(value) > 40:
        return f"{len(value)} B, SHA-256 {hashlib.sha256(value).hexdigest()[:16]}"
    return repr(value)


def manifest(listing: Listing) -> list[dict[str, Any]]:
    """The listing as plain values, checksums instead of content."""
    rows = []
    for path in sorted(listing, key=os.fsencode):
        entry = listing[path]
        data = entry.data or b""
        rows.append(
            {
                "path": os.fsencode(path).decode("utf-8", "backslashreplace"),
                "kind": entry.kind,
                "mode": f"{entry.permissions:04o}",
                "uid": entry.owner[0],
                "gid": entry.owner[1],
                "links": entry.links,
                "modified_s": entry.modified_s,
                "device": entry.device,
                "same_inode_as": entry.first_path,
                "size_B": len(data) if entry.kind == "file" else None,
                "sha256": hashlib.sha256(data).hexdigest() if entry.kind == "file" else None,
                "target": os.fsdecode(data) if entry.kind == "symlink" else None,
            }
        )
    return rows
