"""Images of squashfs 4.0, as `fs/squashfs/squashfs_fs.h` describes them, also such as no tool makes."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable, Mapping

METADATA_B = 8192
PLAIN_METADATA = 0x8000
PLAIN_DATA = 1 << 24
NOTHING = 0xFFFF_FFFF
NOWHERE = 0xFFFF_FFFF_FFFF_FFFF
DIRECTORY, FILE, SYMLINK = 1, 2, 3
COMPRESSORS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, zlib.compress),
    "xz": (4, lambda data: lzma.compress(data, check=lzma.CHECK_CRC32)),
    # Nothing shrinks, so that all stands there as it is.
    "none": (1, lambda data: data + b" "),
    # What a kernel of tomorrow may have.
    "unknown": (9, zlib.compress),
}


class Metadata:
    """A table: runs of 8 KiB, each compressed where that helps."""

    def __init__(self, pack: Callable[[bytes], bytes]) -> None:
        self.pack, self.done, self.open = pack, b"", b""

    def place(self) -> tuple[int, int]:
        """Where the next byte will stand: the block, and the place in it once expanded."""
        return len(self.done), len(self.open)

    def add(self, data: bytes) -> tuple[int, int]:
        at = self.place()
        self.open += data
        while len(self.open) >= METADATA_B:
            self._close(METADATA_B)
        return at

    def _close(self, count: int) -> None:
        data, self.open = self.open[:count], self.open[count:]
        packed = self.pack(data)
        if len(packed) < len(data):
            self.done += struct.pack("<H", len(packed)) + packed
        else:
            self.done += struct.pack("<H", len(data) | PLAIN_METADATA) + data

    def finish(self) -> bytes:
        if self.open:
            self._close(len(self.open))
        return self.done


class Image:
    """An image that is being made."""

    def __init__(self, compressor: str, block_B: int, packs_ends: bool = True) -> None:  # noqa: N803
        self.packs_ends = packs_ends
        self.number, self.pack = COMPRESSORS[compressor]
        self.block_B = block_B
        self.data = b"\0" * 96
        self.inodes, self.directories = Metadata(self.pack), Metadata(self.pack)
        self.inodes_count = 0
        self.tails, self.fragments = b"", Metadata(self.pack)
        self.fragments_count = 0
        # The number of the inode that stands there.
        self.numbers: dict[tuple[int, int], int] = {}

    def _stored(self, block: bytes) -> int:
        """Adds a block of data; what stands for it in a list of sizes."""
        if not block.strip(b"\0"):
            return 0
        packed = self.pack(block)
        is_shorter = len(packed) < len(block)
        self.data += packed if is_shorter else block
        return len(packed) if is_shorter else len(block) | PLAIN_DATA

    def _base(self, kind: int, mode: int) -> bytes:
        self.inodes_count += 1
        return struct.pack("<HHHHII", kind, mode, 0, 0, 1_700_000_000, self.inodes_count)

    def _end(self) -> None:
        """Closes the fragment that is open."""
        if self.tails:
            at, stored = len(self.data), self._stored(self.tails) or PLAIN_DATA
            self.fragments.add(struct.pack("<QII", at, stored, 0))
            self.fragments_count, self.tails = self.fragments_count + 1, b""

    def file(self, content: bytes) -> tuple[int, int]:
        whole = len(content) // self.block_B * self.block_B if self.packs_ends else len(content)
        tail = content[whole:]
        if len(self.tails) + len(tail) > self.block_B:
            self._end()
        at = len(self.data)
        sizes = [self._stored(content[start : start + self.block_B]) for start in range(0, whole, self.block_B)]
        fragment = (self.fragments_count, len(self.tails)) if tail else (NOTHING, 0)
        self.tails += tail
        return self._inode(
            self._base(FILE, 0o644)
            + struct.pack("<IIII", at, *fragment, len(content))
            + struct.pack(f"<{len(sizes)}I", *sizes)
        )

    def _inode(self, data: bytes) -> tuple[int, int]:
        at = self.inodes.add(data)
        self.numbers[at] = self.inodes_count
        return at

    def symlink(self, target: str) -> tuple[int, int]:
        return self._inode(self._base(SYMLINK, 0o777) + struct.pack("<II", 1, len(target)) + target.encode())

    def directory(self, held: list[tuple[bytes, int, tuple[int, int]]]) -> tuple[int, int]:
        """`held`: name, kind and place of the inode of each."""
        block, offset = self.directories.place()
        size = 3
        for name, kind, (inode_block, inode_at) in sorted(held):
            # A head for each name: longer runs are what mksquashfs makes.
            number = self.numbers.get((inode_block, inode_at), 1)
            head = struct.pack("<III", 0, inode_block, number)
            entry = head + struct.pack("<HhHH", inode_at, 0, kind, len(name) - 1) + name
            self.directories.add(entry)
            size += len(entry)
        return self._inode(self._base(DIRECTORY, 0o755) + struct.pack("<IIHHI", block, 2, size, offset, 1))

    def finish(self, root: tuple[int, int]) -> bytes:
        self._end()
        out = self.data
        inodes_at = len(out)
        out += self.inodes.finish()
        directories_at = len(out)
        out += self.directories.finish()
        fragments_at = NOWHERE
        if self.fragments_count:
            at = len(out)
            out += self.fragments.finish()
            fragments_at = len(out)
            out += struct.pack("<Q", at)
        ids = Metadata(self.pack)
        ids.add(struct.pack("<I", 1000))
        at = len(out)
        out += ids.finish()
        ids_at = len(out)
        out += struct.pack("<Q", at)
        head = struct.pack(
            "<4sIIIIHHHHHHQQQQQQQQ",
            *(b"hsqs", self.inodes_count, 1_700_000_000, self.block_B, self.fragments_count, self.number),
            *(self.block_B.bit_length() - 1, 0, 1, 4, 0, root[0] << 16 | root[1], len(out), ids_at, NOWHERE),
            *(inodes_at, directories_at, fragments_at, NOWHERE),
        )
        return head + out[len(head) :]


def squashfs(
    files: Mapping[str, bytes | str],
    compressor: str = "gzip",
    block_B: int = 4096,  # noqa: N803
    packs_ends: bool = True,
) -> bytes:
    """An image with these files; a text is the target of a symbolic link. Directories are made of their paths.

    `packs_ends`: ends of files stand in fragments, otherwise in blocks of their own, which are shorter.
    """
    image = Image(compressor, block_B, packs_ends)

    def directory(held: Mapping[str, bytes | str]) -> tuple[int, int]:
        below: dict[str, dict[str, bytes | str]] = {}
        entries = []
        for path, content in held.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = content
            elif isinstance(content, str):
                entries.append((name.encode(), SYMLINK, image.symlink(content)))
            else:
                entries.append((name.encode(), FILE, image.file(content)))
        entries += [(name.encode(), DIRECTORY, directory(content)) for name, content in below.items()]
        return image.directory(entries)

    return image.finish(directory(files))
