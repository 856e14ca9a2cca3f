"""Images that no file system would write: names that lead out of a folder or act on a terminal, endless directories.

JFFS2 nodes are put together as `jffs2_raw_dirent` and `jffs2_raw_inode` of Linux's `include/uapi/linux/jffs2.h` have
them; the writer of YAFFS2 images of `yaffs2_images` puts its pages together.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence

from helpers.yaffs2_images import DIRECTORY, FILE, FIRST_SEQUENCE, ROOT, Layout, header, page

BLOCK_B = 128 << 10
DT_DIR, DT_REG, DT_LNK = 4, 8, 10
S_IFDIR, S_IFREG, S_IFLNK = 0o040000, 0o100000, 0o120000
JFFS2_ROOT = 1

# Each would do something on a terminal, or to the lines and words around it.
ACTING = (
    b"\x1b[31mred\x1b[0m",
    b"\x1b]0;title\x07",
    b"a\nffslab: forged",
    b"carriage\rreturn",
    b"del\x7f",
    "c1\x9b31m".encode(),
    b"raw c1 \x9b31m",
    "gpj\u202eexe.b".encode(),
    "iso\u2066late\u2069".encode(),
    "marks\u200e\u200f\u061c".encode(),
    "line\u2028paragraph\u2029".encode(),
    b"not UTF-8 \xff\xfe",
    b"[red]markup",
    b"<script>document.title='hit'<!--",
    b'"><img src=x onerror=document.title=1>',
    b"$\\frac$ math",
    b"_underscore",
    "größer 日本".encode(),
    "שלום".encode(),
)


def crc(data: bytes) -> int:
    """JFFS2's check sum: CRC-32 without the inversions at both ends."""
    return zlib.crc32(data, 0xFFFF_FFFF) ^ 0xFFFF_FFFF


def _node(kind: int, rest: bytes) -> bytes:
    start = struct.pack("<HHI", 0x1985, kind, 12 + len(rest))
    whole = start + struct.pack("<I", crc(start)) + rest
    return whole + b"\xff" * (-len(whole) % 4)


def dirent(parent: int, name: bytes, ino: int, kind: int, version: int = 1) -> bytes:
    body = struct.pack("<4I2B2x", parent, version, ino, 1_700_000_000, len(name), kind)
    start = struct.pack("<HHI", 0x1985, 0xE001, 40 + len(name))
    sums = struct.pack("<2I", crc(start + struct.pack("<I", crc(start)) + body[:20]), crc(name))
    return _node(0xE001, body + sums + name)


def inode(ino: int, mode: int, data: bytes = b"", hole_B: int = 0, version: int = 1) -> bytes:  # noqa: N803
    """An inode node with its data, or with a hole (`JFFS2_COMPR_ZERO`)."""
    size = hole_B or len(data)
    body = struct.pack("<3I2H7I2BH", ino, version, mode, 0, 0, size, *(3 * (1_700_000_000,)), 0, len(data), size,
                       1 if hole_B else 0, 0, 0)  # fmt: skip
    start = struct.pack("<HHI", 0x1985, 0xE002, 68 + len(data))
    sums = struct.pack("<2I", crc(data), crc(start + struct.pack("<I", crc(start)) + body))
    return _node(0xE002, body + sums + data)


def jffs2(nodes: Sequence[bytes]) -> bytes:
    """An image of these nodes, none of which crosses the end of an erase block."""
    blocks = [bytearray()]
    for node in nodes:
        if len(blocks[-1]) + len(node) > BLOCK_B:
            blocks.append(bytearray())
        blocks[-1] += node
    blocks += [bytearray()] * max(0, 6 - len(blocks))
    return b"".join(bytes(block).ljust(BLOCK_B, b"\xff") for block in blocks)


def jffs2_of_names(names: Sequence[bytes], directory: bool = False) -> bytes:
    """A file, or a directory, of each name in the root: file `i` holds the text of its number."""
    nodes = [inode(JFFS2_ROOT, S_IFDIR | 0o755)]
    for i, name in enumerate(names):
        ino = 2 + i
        nodes.append(dirent(JFFS2_ROOT, name, ino, DT_DIR if directory else DT_REG))
        nodes.append(inode(ino, S_IFDIR | 0o755) if directory else inode(ino, S_IFREG | 0o644, str(i).encode()))
    return jffs2(nodes)


def jffs2_nested(depth: int, name: bytes = b"d", permissions: int = 0o755) -> bytes:
    """A directory in a directory in a directory; a file `bottom` in the last."""
    nodes = [inode(JFFS2_ROOT, S_IFDIR | 0o755)]
    for ino in range(2, 2 + depth):
        nodes += [dirent(ino - 1, name, ino, DT_DIR), inode(ino, S_IFDIR | permissions)]
    nodes += [dirent(1 + depth, b"bottom", 2 + depth, DT_REG), inode(2 + depth, S_IFREG | 0o644, b"down here")]
    return jffs2(nodes)


def yaffs2_of_names(names: Sequence[bytes], nested: bool = False) -> bytes:
    """A file of each name in the root, or directories of these names, each in the one before it."""
    layout = Layout()
    info = os.stat_result((0o040755 if nested else 0o100644, 0, 0, 1, 0, 0, 0, 1, 1, 1), {"st_rdev": 0})
    pages: list[bytes] = []
    for i, name in enumerate(names):
        number, kind = 257 + i, DIRECTORY if nested else FILE
        parent = number - 1 if nested and i else ROOT
        fields = header(kind, parent, name, info, 0, b"")
        sequence = FIRST_SEQUENCE + len(pages) // layout.block_pages
        pages.append(page(layout, fields, (sequence, number, 0, 0xFFFF)))
    return b"".join(pages)
