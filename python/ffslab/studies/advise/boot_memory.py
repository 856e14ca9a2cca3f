"""The kernel memory that layouts of a boot differ in: buffers that UBI and the root's file system ask for, and keep.

They are reckoned from the sources of Linux 6.1, on one CPU, and were not measured. What is alike in all layouts (tables
of compressors, indexes of UBIFS), the page cache and programs are not in them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError

KIB = 1024
# drivers/mtd/ubi: of each erase block a `ubi_wl_entry` (20 B where pointers have 4), a pointer to it and an entry of a
# table of a volume.
UBI_BYTES_PER_BLOCK = 28
# fs/ubifs: `sbuf`, `ileb_buf` and `lpt_buf` have the size of a LEB each.
UBIFS_LEBS = 3
# fs/squashfs/super.c: eight metadata blocks of 8 KiB, three blocks for ends of files, one for pages that are read.
SQUASHFS_METADATA_BYTES = 8 * 8 * KIB
SQUASHFS_BLOCKS = 3 + 1
# The room of a dictionary or window is 8 KiB at least.
SQUASHFS_WINDOW_BYTES_MIN = 8 * KIB
# lib/zlib_inflate: the state and a window of 32 KiB. lib/zstd: `ZSTD_DCtx`, beside its window and what waits before it.
ZLIB_BYTES, ZSTD_BYTES, ZSTD_BLOCK_BYTES = 42 * KIB, 156 * KIB, 128 * KIB
XZ_BYTES = 30 * KIB
# fs/erofs: a buffer of the largest cluster for each CPU, and the 64 KiB to which lz4 looks back.
EROFS_PAGE_BYTES, LZ4_DISTANCE_BYTES = 4 * KIB, 64 * KIB
EROFS_BIG_CLUSTERS = 2

SQUASHFS_MAGIC, EROFS_MAGIC = b"hsqs", 0xE0F5_E1E2
_EROFS_AT = 1024


@dataclass(frozen=True)
class Root:
    """A root's file system. `memory_bytes`: what a mount asks for beside UBI and UBIFS."""

    fs: str
    memory_bytes: int


def root_at(path: Path) -> Root:
    """What a root is: a folder, of which a UBIFS is made, or an image of squashfs or EROFS.

    Raises `ffslab.InputError` for anything else.
    """
    if path.is_dir():
        return Root("ubifs", 0)
    if not path.is_file():
        raise InputError(f"{path}: there is no such root: name a folder, or what mksquashfs or mkfs.erofs made")
    with path.open("rb") as file:
        head = file.read(2 * _EROFS_AT)
    if head[:4] == SQUASHFS_MAGIC and len(head) >= 96:
        return Root("squashfs", _of_squashfs(head, path))
    if len(head) >= _EROFS_AT + 144 and struct.unpack_from("<I", head, _EROFS_AT)[0] == EROFS_MAGIC:
        return Root("erofs", _of_erofs(head[_EROFS_AT:]))
    raise InputError(
        f"{path}: is no root that a boot is compared with: a folder (UBIFS), or what mksquashfs or mkfs.erofs made"
    )


def _of_squashfs(head: bytes, path: Path) -> int:
    block: int
    block, fragments, compressor = struct.unpack_from("<IIH", head, 12)
    window = max(block, SQUASHFS_WINDOW_BYTES_MIN)
    # By the number of the compressor in fs/squashfs/squashfs_fs.h.
    workspaces = {
        1: ZLIB_BYTES,
        3: 2 * window,
        4: window + XZ_BYTES,
        5: 2 * window,
        6: ZSTD_BYTES + window + 2 * min(window, ZSTD_BLOCK_BYTES),
    }
    if compressor not in workspaces:
        raise InputError(f"{path}: is compressed in a way that Linux cannot mount: mksquashfs -comp gzip")
    blocks = SQUASHFS_BLOCKS if fragments else 1
    return SQUASHFS_METADATA_BYTES + blocks * block + workspaces[compressor]


def _of_erofs(superblock: bytes) -> int:
    incompatible = struct.unpack_from("<I", superblock, 80)[0]
    # Behind the superblock: the length of what lz4 is told, its distance, and the pages of the largest cluster.
    pages = max(struct.unpack_from("<H", superblock, 128 + 4)[0], 1) if incompatible & EROFS_BIG_CLUSTERS else 1
    return pages * EROFS_PAGE_BYTES + LZ4_DISTANCE_BYTES


def of_ubi(blocks: int, block_bytes: int, leb_bytes: int, *, fastmap: bool) -> int:
    """What an attached UBI keeps: tables, `peb_buf`, and with fastmaps `fm_buf`, which is as large as whole LEBs."""
    kept = block_bytes + blocks * UBI_BYTES_PER_BLOCK
    if not fastmap:
        return kept
    # `ubi_calc_fm_size`: two headers, two pools, 8 B of each block, 4 B of each in a volume, headers of 128 volumes.
    fastmap_bytes = 4 * KIB + blocks * 12 + 128 * 24
    return kept + -(-fastmap_bytes // leb_bytes) * leb_bytes


def of_ubifs(leb_bytes: int) -> int:
    """What a writable UBIFS keeps."""
    return UBIFS_LEBS * leb_bytes
