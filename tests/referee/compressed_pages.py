"""Compressed pages: what a real kernel leaves on flash, byte by byte beside what ffslab writes for the same pages.

    .venv/bin/python tests/referee/compressed_pages.py          # 10,000 pages: prints the table of docs/referee.md
    .venv/bin/python tests/referee/compressed_pages.py --keep   # 300 pages: tests/measured/compressed-pages.json.gz

What is kept is the compressor, the size and a check sum of each node of the kernel; with these `make test` compares
without a kernel (`tests/images/test_compressed_pages.py`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ffslab.measured.reference.kit import Kit, module_bytes
from ffslab.measured.reference.machine import Machine
from helpers.command import ROOT
from helpers.jffs2_images import experiment, run, step, text, tool
from referee.parts import find_kit, machine_of

MEASURED = ROOT / "tests" / "measured"
KEPT = MEASURED / "compressed-pages.json.gz"
PAGE_B = 4096
KINDS = ("random", "text", "zeros", "mix", "files")
# Pages of a kind: of the table in the documentation, and of what is kept.
PAGES_OF_TABLE = 2000
PAGES_KEPT = 60
# All compressors and copies take about a minute.
JOB_S_MAX = 1800

# What was made of a piece of the file: the compressor's code and its bytes. By place and length of the piece.
Pieces = dict[tuple[int, int], tuple[int, bytes]]


@dataclass(frozen=True)
class Case:
    """A compressor of a file system, and its code in a node. `by_mkfs`: mkfs.jffs2 writes, and no kernel."""

    fs: str
    compression: str
    code: int
    by_mkfs: bool = False
    # Of the nodes at least this share is compressed, or little would be compared. rtime shortens little but runs.
    compressed_share_min: float = 0.5

    @property
    def name(self) -> str:
        return f"{self.fs} {self.compression}"

    @property
    def exact(self) -> bool:
        """Whether ffslab's compressor makes the kernel's bytes; of zstd the kernel has another version."""
        return self.compression != "zstd"


# The codes of include/uapi/linux/jffs2.h and fs/ubifs/ubifs-media.h. Debian's JFFS2 has rtime, but asks it only where
# LZO and zlib fail; mkfs.jffs2 has the kernel's compr_rtime.c, and can leave the others out.
CASES = (
    Case("jffs2", "lzo", 7),
    Case("jffs2", "zlib", 6),
    Case("jffs2", "rtime", 2, by_mkfs=True, compressed_share_min=0.25),
    Case("ubifs", "lzo", 1),
    Case("ubifs", "zlib", 2),
    Case("ubifs", "zstd", 3),
)


# ---- what is compressed ---------------------------------------------------------------------------------------------


def corpus(pages_of_a_kind: int, files: bytes) -> bytes:
    """Pages of the kinds of `KINDS` in turn, all drawn from one seed but those of `files`."""
    draw = random.Random(20)
    words = text(pages_of_a_kind * PAGE_B, 5)
    pages = b""
    for number in range(pages_of_a_kind):
        at = number * PAGE_B
        makers = (noise(draw, number), prose(draw, number, words[at : at + PAGE_B]), sparse(draw, number))
        pages += b"".join(makers) + mixed(draw, number, words) + files[at : at + PAGE_B]
    assert len(pages) == pages_of_a_kind * len(KINDS) * PAGE_B, "there are too few files"
    return pages


def noise(draw: random.Random, number: int) -> bytes:
    """Random bytes; every other page has only some of the 256."""
    if number % 2 == 0:
        return draw.randbytes(PAGE_B)
    return bytes(draw.choices(draw.sample(range(256), draw.randint(2, 255)), k=PAGE_B))


def prose(draw: random.Random, number: int, words: bytes) -> bytes:
    """Words; every fourth page is one sentence over and over, as experiments have it, with some letters changed."""
    if number % 4 != 3:
        return words
    start = draw.randrange(45)
    page = bytearray((b"The quick brown fox jumps over the lazy dog. " * 94)[start:][:PAGE_B])
    for _ in range(draw.randint(0, 20)):
        page[draw.randrange(PAGE_B)] = draw.randrange(32, 127)
    return bytes(page)


def sparse(draw: random.Random, number: int) -> bytes:
    """Zeros with at most twelve other bytes, the first page without any."""
    page = bytearray(PAGE_B)
    for _ in range(draw.randint(0, 12) if number else 0):
        page[draw.randrange(PAGE_B)] = draw.randrange(256)
    return bytes(page)


def mixed(draw: random.Random, number: int, words: bytes) -> bytes:
    """Noise, runs and words of any length; every other page has noise and words in turn, as experiments have them."""
    parts = b""
    while len(parts) < PAGE_B:
        at = draw.randrange(len(words) - 700)
        if number % 2:
            parts += draw.randbytes(512) + words[at : at + 512]
        else:
            size = draw.randint(1, 700)
            parts += draw.choice((draw.randbytes(size), bytes([draw.randrange(256)]) * size, words[at : at + size]))
    return parts[:PAGE_B]


def kept_files() -> bytes:
    """Files of the repository that do not change: the licence, measured cases as archives and as text."""
    archives = [(MEASURED / f"{name}.jsonl.gz").read_bytes() for name in ("linux-6.1", "linux-2.6.37", "yaffs2")]
    plain = [(ROOT / "LICENSE-APACHE").read_bytes(), *map(gzip.decompress, archives)]
    return b"".join((*spread(plain, 40), *spread(archives, 4)))[: PAGES_KEPT * PAGE_B]


def real_files(kit: Kit) -> bytes:
    """Pages of files of all sizes: at most half are our own sources, the others are modules of the kernel."""
    modules = sorted(kit.kernel.modules.rglob("*.ko*"))
    sources = sorted(path for suffix in ("rs", "py", "toml", "md") for path in ROOT.glob(f"[a-z]*/**/*.{suffix}"))
    sources = [
        path for path in sources if path.relative_to(ROOT).parts[0] in ("crates", "python", "docs", "experiments")
    ]
    own = spread((path.read_bytes() for path in sources), 12)[: PAGES_OF_TABLE // 2]
    return b"".join((*own, *spread(map(module_bytes, modules[:: len(modules) // 300]), 12)))


def spread(files: Iterable[bytes], pages_of_each: int) -> list[bytes]:
    """Whole pages of files, at most so many of each, that lie apart."""
    found = []
    for data in files:
        pages = [data[at : at + PAGE_B] for at in range(0, len(data) - PAGE_B + 1, PAGE_B)]
        found += pages[:: max(1, len(pages) // pages_of_each)][:pages_of_each]
    return found


# ---- what is on flash -----------------------------------------------------------------------------------------------


def jffs2_pieces(data: bytes) -> Pieces:
    """The nodes of an image's one file (`include/uapi/linux/jffs2.h`): a page, or what a block had room for."""
    found: Pieces = {}
    for at in range(0, len(data) - 68, 4):
        if data[at : at + 4] != b"\x85\x19\x02\xe0":
            continue
        offset, stored_B, plain_B = struct.unpack_from("<III", data, at + 44)  # noqa: N806
        if plain_B:
            found[offset, plain_B] = (data[at + 56], data[at + 68 : at + 68 + stored_B])
    return found


def ubifs_pieces(data: bytes) -> Pieces:
    """The same of UBIFS (`fs/ubifs/ubifs-media.h`), where a piece is a page."""
    found: Pieces = {}
    for at in range(0, len(data) - 48, 8):
        if data[at : at + 4] != b"\x31\x18\x10\x06" or data[at + 20] != 1:
            continue
        (length,) = struct.unpack_from("<I", data, at + 16)
        block = struct.unpack_from("<I", data, at + 28)[0] & (1 << 29) - 1
        plain_B, code = struct.unpack_from("<IH", data, at + 40)  # noqa: N806
        found[block * PAGE_B, plain_B] = (code, data[at + 48 : at + length])
    return found


READERS = {"jffs2": jffs2_pieces, "ubifs": ubifs_pieces}


def blocks_for(pages: bytes) -> int:
    """Blocks of 128 KiB that hold them uncompressed, with room for the journal of UBIFS."""
    return len(pages) * 9 // 8 // (128 << 10) + 64


def of_kernel(case: Case, pages: bytes, machine: Machine) -> Pieces:
    """What the kernel writes, or mkfs.jffs2."""
    if case.by_mkfs:
        return of_mkfs(case, pages)
    prepare = "flash_erase -q -j /dev/mtd0 0 0" if case.fs == "jffs2" else "make_volume"
    lines = [
        f"chip {blocks_for(pages)}",
        prepare,
        "cp corpus /tmp/corpus",
        # However slow the machine is: JFFS2 pads a page that has waited for 5 s, and a block then ends elsewhere.
        "hold_write_back",
        f"mount_fs {case.fs} compr={case.compression}",
        f"dd if=/tmp/corpus of=/mnt/corpus bs={PAGE_B} 2> /dev/null",
        "umount_fs",
        "rm /tmp/corpus",
        "read_data image",
    ]
    done = machine.run("\n".join(lines), {"corpus": pages}, JOB_S_MAX)
    image = done.folder / "image.data"
    found = READERS[case.fs](image.read_bytes())
    image.unlink()
    (done.folder / "corpus").unlink()
    return found


def of_mkfs(case: Case, pages: bytes) -> Pieces:
    others = (name for name in ("lzo", "zlib", "rtime") if name != case.compression)
    without = [word for name in others for word in ("-x", name)]
    with tempfile.TemporaryDirectory() as temporary:
        tree, image = Path(temporary) / "tree", Path(temporary) / "image"
        tree.mkdir()
        (tree / "corpus").write_bytes(pages)
        options = ["-n", "-l", "-e", "128KiB", "-m", "priority", *without]
        subprocess.run([tool("mkfs.jffs2"), "-d", tree, "-o", image, *options], check=True, capture_output=True)
        return jffs2_pieces(image.read_bytes())


def of_ffslab(case: Case, pages: bytes, folder: Path) -> Pieces:
    """What ffslab writes; `folder` is for its input."""
    (folder / "pages").mkdir(exist_ok=True)
    (folder / "pages" / "corpus").write_bytes(pages)
    steps = [
        step("mount"),
        step("copy_in", **{"from": "pages"}),
        step("umount"),
        step("save_image", file="raw.bin", oob=False),
    ]
    # Debian's JFFS2 writes summaries, and a compressor takes as much of a page as the rest of a block has room for.
    own = {"summary": True} if case.fs == "jffs2" else {}
    words = experiment(
        steps, fs=case.fs, partition_blocks=blocks_for(pages), compression=case.compression, ecc="sw", **own
    )
    return READERS[case.fs](run(words, folder).images["raw.bin"])


# ---- both side by side ----------------------------------------------------------------------------------------------


def kind_at(offset: int) -> str:
    return KINDS[offset // PAGE_B % len(KINDS)]


def unlike(kernels: Pieces, ours: Pieces) -> Iterator[str]:
    """The pieces that differ, with compressor and size on both sides."""
    for offset, plain_B in sorted(kernels.keys() & ours.keys()):  # noqa: N806
        both = kernels[offset, plain_B], ours[offset, plain_B]
        if both[0] != both[1]:
            yield f"{plain_B} B at {offset} ({kind_at(offset)}): " + ", ".join(f"{n}: {len(to)} B" for n, to in both)


def sum_of(piece: tuple[int, bytes]) -> tuple[int, int, int]:
    """What is kept of a piece: compressor, size, check sum."""
    return (piece[0], len(piece[1]), zlib.crc32(piece[1]))


def row(case: Case, kind: str, kernels: Pieces, ours: Pieces) -> str:
    """A line of the table: whole pages that are compressed on both sides, their bytes on flash, how many are equal."""
    whole = [key for key in kernels.keys() & ours.keys() if key[1] == PAGE_B and kind in ("all", kind_at(key[0]))]
    theirs, own = (sum(len(pieces[key][1]) for key in whole) for pieces in (kernels, ours))
    equal = sum(kernels[key] == ours[key] for key in whole)
    return f"| {case.name} | {kind} | {len(whole)} | {theirs} | {own} | {equal} |"


def print_table(kit: Kit, machine: Machine, folder: Path) -> None:
    pages = corpus(PAGES_OF_TABLE, real_files(kit))
    print("| compressor | content | pages | bytes on flash, kernel | ffslab | equal to the byte |")
    print("|---|---|--:|--:|--:|--:|")
    for case in CASES:
        kernels, ours = of_kernel(case, pages, machine), of_ffslab(case, pages, folder)
        for kind in (*KINDS, "all"):
            print(row(case, kind, kernels, ours), flush=True)
        print(f"{case.name}: {len(kernels)} nodes, {len(ours)} of ffslab, {len(kernels.keys() & ours.keys())} of the "
              "same place and length", file=sys.stderr)  # fmt: skip


def kept_corpus() -> bytes:
    return corpus(PAGES_KEPT, kept_files())


def keep(kit: Kit, machine: Machine) -> None:
    pages = kept_corpus()
    made = {
        case.name: [[*key, *sum_of(piece)] for key, piece in sorted(of_kernel(case, pages, machine).items())]
        for case in CASES
    }
    about = {"kernel": kit.kernel.image.name, "pages_sha256": hashlib.sha256(pages).hexdigest(), "pieces": made}
    KEPT.write_bytes(gzip.compress(json.dumps(about, separators=(",", ":")).encode(), mtime=0))


def main() -> int:
    kit, missing = find_kit()
    if sys.argv[1:] not in ([], ["--keep"]) or kit is None:
        print(f"missing: {', '.join(missing)}" if missing else "usage: compressed_pages.py [--keep]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        machine = machine_of(kit, Path(temporary) / "machine")
        try:
            if sys.argv[1:]:
                keep(kit, machine)
            else:
                print_table(kit, machine, Path(temporary))
        finally:
            machine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
