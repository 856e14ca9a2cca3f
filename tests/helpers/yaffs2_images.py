"""Helpers of the tests of YAFFS2 images: a writer made from crates/yaffs2/README.md alone, and other people's programs.

`unyaffs` reads images as `mkyaffs2image` lays them out, not media that a file system has worked on: each object once,
parents first, the data of a file behind its header, no extra tags. `in_order` brings the pages of a medium into that
order and takes the extracts out of the tags; headers and data stay as they are.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers.jffs2_images import Seen, text
from helpers.left_out import leave_out

FILE, SYMLINK, DIRECTORY, HARD_LINK, SPECIAL = 1, 2, 3, 4, 5
ROOT = 1
SUMMARY = 0x10
CHECKPOINT = 0x21
FIRST_SEQUENCE = 0x1000
EXTRA = 1 << 31
TIMES = (0, 1, 946_684_800, 1_700_000_000, 2_147_483_647)


def tool(name: str) -> str:
    """Path of a Debian program; see `left_out` about what happens when it is missing."""
    path = shutil.which(name)
    if path is None:
        leave_out(f"{name} is missing: apt-get install {name}")
    return path


def make_tree(root: Path) -> Path:
    """Files of every kind, within the limits of YAFFS2."""
    draw = random.Random(9)
    contents = {
        "empty": b"",
        "one byte": b"x",
        "etc/fstab": b"/dev/root / yaffs2 rw 0 0\n",
        "exactly one chunk": draw.randbytes(2048),
        "one chunk and a byte": text(2049, 2),
        "zeros": bytes(30_000),
        "erased": b"\xff" * 10_000,
        "big": draw.randbytes(400_001),
        "deep/" + "/".join("abcdefghij") + "/bottom": b"down here\n",
        "n" * 255: b"the longest name\n",
        "names/ümläut 日本": b"UTF-8\n",
    }
    contents |= {f"many/f{i:03}": text(i * 37 % 5000, i) for i in range(120)}
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "empty directory").mkdir()
    (root / "relative").symlink_to("etc/fstab")
    (root / "dangling").symlink_to("/" + "t" * 158)
    (root / "names/hard link").hardlink_to(root / "big")
    os.mkfifo(root / "fifo")
    if os.geteuid() == 0:
        os.mknod(root / "tty", stat.S_IFCHR | 0o620, os.makedev(5, 1))
        os.chown(root / "etc/fstab", 1000, 1001)
    for i, path in enumerate(sorted(root.rglob("*"))):
        if not path.is_symlink():
            path.chmod((0o644, 0o600, 0o4755, 0o444)[i % 4] if path.is_file() else (0o755, 0o700, 0o1777)[i % 3])
        os.utime(path, (TIMES[i % 5], TIMES[i % 5]), follow_symlinks=False)
    return root


def seen(path: Path) -> Seen:
    """What a name of this computer stands for."""
    info = path.lstat()
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "symlink",
        stat.S_IFIFO: "fifo",
        stat.S_IFCHR: "char device",
    }
    kind = kinds[stat.S_IFMT(info.st_mode)]
    data = path.read_bytes() if kind == "file" else os.fsencode(path.readlink()) if kind == "symlink" else b""
    owner = (info.st_uid, info.st_gid)
    return Seen(kind, stat.S_IMODE(info.st_mode), owner, info.st_rdev, int(info.st_mtime), data)


def seen_below(root: Path) -> dict[str, Seen]:
    return {path.relative_to(root).as_posix(): seen(path) for path in root.rglob("*")}


# ---- a writer of images ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How an image is laid out. `tags_offset` counts from the start of a page with its OOB area."""

    page_B: int = 2048  # noqa: N815
    oob_B: int = 64  # noqa: N815
    tags_offset: int = 2050
    block_pages: int = 64
    extra: bool = True
    ecc: bool = True

    @property
    def inband(self) -> bool:
        return self.tags_offset < self.page_B

    @property
    def chunk_B(self) -> int:  # noqa: N802
        return self.page_B - 16 if self.inband else self.page_B

    @property
    def stride_B(self) -> int:  # noqa: N802
        return self.page_B + self.oob_B


def tags_ecc(tags: bytes) -> bytes:
    columns = lines = inverted = 0
    for position, byte in enumerate(tags):
        bits = [bit for bit in range(8) if byte >> bit & 1]
        for bit in bits:
            for digit in range(3):
                columns ^= 1 << (2 * digit + (bit >> digit & 1))
        if len(bits) % 2:
            lines ^= position
            inverted ^= position ^ 0xFFFF_FFFF
    return struct.pack("<BxxxII", columns, lines, inverted)


def page(layout: Layout, data: bytes, tags: tuple[int, int, int, int]) -> bytes:
    out = bytearray(b"\xff" * layout.stride_B)
    out[: layout.chunk_B] = data.ljust(layout.chunk_B, b"\xff")
    packed = struct.pack("<4I", *tags)
    if layout.ecc and not layout.inband:
        packed += tags_ecc(packed)
    out[layout.tags_offset : layout.tags_offset + len(packed)] = packed
    return bytes(out)


def header(kind: int, parent: int, name: bytes, info: os.stat_result, rest: int, target: bytes) -> bytes:
    out = bytearray(b"\xff" * 512)
    struct.pack_into("<2I", out, 0, kind, parent)
    out[10:266] = name.ljust(256, b"\0")
    times = (int(info.st_atime), int(info.st_mtime), int(info.st_ctime))
    struct.pack_into("<6I", out, 268, info.st_mode, info.st_uid, info.st_gid, *times)
    if kind == FILE:
        struct.pack_into("<I", out, 292, rest)
        struct.pack_into("<I", out, 496, 0)
    elif kind == HARD_LINK:
        struct.pack_into("<I", out, 296, rest)
    elif kind == SYMLINK:
        out[300:460] = target.ljust(160, b"\0")
    struct.pack_into("<I", out, 460, info.st_rdev)
    struct.pack_into("<2I", out, 488, 0, 0)
    struct.pack_into("<2I", out, 504, 0, 0)
    return bytes(out)


def build(root: Path, layout: Layout) -> bytes:
    """An image of a folder: each block has its own sequence number."""
    pages: list[bytes] = []
    known: dict[int, int] = {}

    def add(data: bytes, number: int, chunk: int, count: int) -> None:
        sequence = FIRST_SEQUENCE + len(pages) // layout.block_pages
        pages.append(page(layout, data, (sequence, number, chunk, count)))

    def walk(folder: Path, parent: int) -> None:
        for path in sorted(folder.iterdir()):
            info = path.lstat()
            number = 257 + len(known) + len(links)
            rest, target, data = 0, b"", b""
            if info.st_ino in known:
                kind, rest = HARD_LINK, known[info.st_ino]
                links.append(number)
            else:
                known[info.st_ino] = number
                kinds = {stat.S_IFREG: FILE, stat.S_IFLNK: SYMLINK, stat.S_IFDIR: DIRECTORY}
                kind = kinds.get(stat.S_IFMT(info.st_mode), SPECIAL)
            if kind == FILE:
                data = path.read_bytes()
                rest = len(data)
            elif kind == SYMLINK:
                target = os.fsencode(path.readlink())
            fields = header(kind, parent, os.fsencode(path.name), info, rest, target)
            if layout.extra:
                add(fields, kind << 28 | number, EXTRA | parent, rest)
            else:
                add(fields, number, 0, 0xFFFF)
            for chunk, at in enumerate(range(0, len(data), layout.chunk_B), 1):
                piece = data[at : at + layout.chunk_B]
                add(piece, number, chunk, len(piece))
            if kind == DIRECTORY:
                walk(path, number)

    links: list[int] = []
    walk(root, ROOT)
    return b"".join(pages)


# ---- what other programs read ---------------------------------------------------------------------------------


def written_pages(image: bytes, layout: Layout) -> Iterator[tuple[int, int, int, bytes]]:
    """Object, chunk, bytes and page with OOB of everything that belongs to files, the newest first."""
    found = []
    for number, start in enumerate(range(0, len(image), layout.stride_B)):
        whole = image[start : start + layout.stride_B]
        sequence, number_of, chunk, count = struct.unpack_from("<4I", whole, layout.tags_offset)
        if sequence not in (0xFFFF_FFFF, CHECKPOINT) and number_of != SUMMARY:
            found.append((sequence, number, number_of, chunk, count, whole))
    for _, _, number_of, chunk, count, whole in sorted(found, reverse=True):
        yield number_of, chunk, count, whole


def in_order(image: bytes, layout: Layout, tags_offset: int) -> bytes:
    """The newest pages of a medium as mkyaffs2image would arrange them, tags at `tags_offset` and without extracts."""
    headers: dict[int, bytes] = {}
    data: dict[tuple[int, int], bytes] = {}
    moved = Layout(layout.page_B, layout.oob_B, tags_offset)
    for number, chunk, count, whole in written_pages(image, layout):
        content = whole[: layout.page_B]
        if chunk == 0 or chunk & EXTRA:
            number &= 0x0FFF_FFFF
            headers.setdefault(number, page(moved, content, (FIRST_SEQUENCE, number, 0, 0xFFFF)))
        else:
            data.setdefault((number, chunk), page(moved, content, (FIRST_SEQUENCE, number, chunk, count)))
    children: dict[int, list[int]] = {}
    for number, whole in headers.items():
        if number != ROOT:
            children.setdefault(struct.unpack_from("<I", whole, 4)[0], []).append(number)
    out: list[bytes] = []
    links: list[bytes] = []

    def walk(parent: int) -> None:
        for number in sorted(children.get(parent, [])):
            whole = headers[number]
            kind, size = struct.unpack_from("<I", whole)[0], struct.unpack_from("<I", whole, 292)[0]
            (links if kind == HARD_LINK else out).append(whole)
            if kind == FILE:
                out.extend(data[number, chunk] for chunk in range(1, -(-size // layout.page_B) + 1))
            elif kind == DIRECTORY:
                walk(number)

    walk(ROOT)
    return b"".join(out + links)


def unyaffs(image: Path, folder: Path, *options: str) -> dict[str, Seen]:
    """What unyaffs extracts."""
    command: list[str | Path] = [tool("unyaffs"), *options, image, folder]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return seen_below(folder)
