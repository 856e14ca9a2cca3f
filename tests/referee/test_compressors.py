"""Compressed pages: what a real kernel has left on flash, byte by byte beside what ffslab writes for the same pages."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from ffslab.boards.reference.machine import Machine
from jffs2_images import experiment, run, step, text
from referee.jobs import make_and_list

PAGE_B = 4096
PAGES_OF_A_KIND = 250
BLOCKS = 128

# Compressor and what it made of a page, by place in the file.
Pages = dict[int, tuple[int, bytes]]


def corpus() -> bytes:
    """Pages of five kinds: noise, text, mostly zeros, half bytes at random, and texts, runs and noise in one page."""
    draw = random.Random(20)

    def sparse() -> bytes:
        page = bytearray(PAGE_B)
        for _ in range(draw.randint(0, 12)):
            page[draw.randrange(PAGE_B)] = draw.randrange(256)
        return bytes(page)

    def mixed() -> bytes:
        parts = b""
        while len(parts) < PAGE_B:
            size = draw.randint(1, 700)
            parts += draw.choice((draw.randbytes(size), bytes([draw.randrange(256)]) * size, words[:size]))
        return parts[:PAGE_B]

    words = text(PAGES_OF_A_KIND * PAGE_B, 5)
    pages = b""
    for number in range(PAGES_OF_A_KIND):
        pages += draw.randbytes(PAGE_B) + words[number * PAGE_B :][:PAGE_B] + sparse()
        pages += bytes(draw.randrange(16) for _ in range(PAGE_B)) + mixed()
    return pages


def jffs2_pages(data: bytes) -> Pages:
    """The whole pages of the one file of an image (`include/uapi/linux/jffs2.h`).

    Where a page did not fit into the rest of a block it stands in two nodes, which are not compared.
    """
    found: Pages = {}
    for at in range(0, len(data) - 68, 4):
        if data[at : at + 4] != b"\x85\x19\x02\xe0":
            continue
        offset, stored_B, plain_B = struct.unpack_from("<III", data, at + 44)  # noqa: N806
        if plain_B == PAGE_B:
            found[offset] = (data[at + 56], data[at + 68 : at + 68 + stored_B])
    return found


def ubifs_pages(data: bytes) -> Pages:
    """The same of UBIFS (`fs/ubifs/ubifs-media.h`)."""
    found: Pages = {}
    for at in range(0, len(data) - 48, 8):
        if data[at : at + 4] != b"\x31\x18\x10\x06" or data[at + 20] != 1:
            continue
        (length,) = struct.unpack_from("<I", data, at + 16)
        block = struct.unpack_from("<I", data, at + 28)[0] & (1 << 29) - 1
        found[block * PAGE_B] = (struct.unpack_from("<H", data, at + 44)[0], data[at + 48 : at + length])
    return found


READERS = {"jffs2": jffs2_pages, "ubifs": ubifs_pages}
# With the code of the compressor in a node. Not here: rtime, which a kernel cannot be told to use; zstd, of which the
# kernel has another version.
CASES = [("jffs2", "lzo", 7), ("jffs2", "zlib", 6), ("ubifs", "lzo", 1), ("ubifs", "zlib", 2)]


@pytest.mark.parametrize(("fs", "compression", "code"), CASES)
def test_pages_are_compressed_as_the_kernel_does(
    fs: str, compression: str, code: int, tmp_path: Path, machine: Machine
) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "corpus").write_bytes(corpus())
    fill = f"dd if=corpus of=/mnt/corpus bs={PAGE_B} 2> /dev/null"
    made = make_and_list(
        machine,
        fs,
        blocks=BLOCKS,
        fill=fill,
        files={"corpus": tmp_path / "pages" / "corpus"},
        options=f"compr={compression}",
    )
    assert made.data is not None
    steps = [
        step("mount"),
        step("copy_in", **{"from": "pages"}),
        step("umount"),
        step("save_image", file="raw.bin", oob=False),
    ]
    # Debian's JFFS2 writes summaries, and zlib takes as much of a page as the rest of a block has room for.
    own = {"summary": True} if fs == "jffs2" else {}
    text_of_it = experiment(steps, fs=fs, partition_blocks=BLOCKS, compression=compression, ecc="sw", **own)
    kernels = READERS[fs](made.data.read_bytes())
    ours = READERS[fs](run(text_of_it, tmp_path).images["raw.bin"])
    assert sum(compressor == code for compressor, _ in kernels.values()) > len(kernels) // 2
    assert len(kernels.keys() & ours.keys()) > 0.9 * 5 * PAGES_OF_A_KIND
    assert list(unlike(kernels, ours)) == []


def unlike(kernels: Pages, ours: Pages) -> Iterator[str]:
    """The pages that differ, with compressor and size on both sides."""
    for offset in sorted(kernels.keys() & ours.keys()):
        if kernels[offset] != ours[offset]:
            kind = ("noise", "text", "sparse", "half bytes", "mixed")[offset // PAGE_B % 5]
            yield f"{offset} ({kind}): " + ", ".join(f"{n}: {len(to)} B" for n, to in (kernels[offset], ours[offset]))
