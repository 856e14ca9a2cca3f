"""The table of docs/images.md: how many files each reader of dumps gets right, wrong, or not at all.

    python tools/other_readers.py [--programs FOLDER]

Readers that are not installed have no column: ubi_reader, jefferson, unblob, dissect.jffs and dissect.squashfs of PyPI,
Debian's unyaffs. `--programs` is the `bin` folder of an environment that has those of PyPI. Dumps and their content are
made by what the tests make them with: Debian's mtd-utils, and writers of this project. Each reader has its defaults.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers import dumps  # noqa: E402
from helpers.flipped_bits import jffs2, tree, ubi, volume  # noqa: E402
from helpers.squashfs_images import squashfs  # noqa: E402
from helpers.yaffs2_images import Layout, build  # noqa: E402

SECONDS_MAX = 120
HANG = "hang"

DISSECT = """
import pathlib, sys
image, to = sys.argv[1:]
with open(image, "rb") as file:
    try:
        from dissect.squashfs import SquashFS
        root = SquashFS(file).get("/")
    except Exception:
        from dissect.jffs import jffs2
        file.seek(0)
        root = jffs2.JFFS2(file).get("/")
    todo = [("", root)]
    while todo:
        path, node = todo.pop()
        if node.is_dir():
            todo += [(f"{path}/{name}", below) for name, below in node.listdir().items()]
        elif node.is_file():
            at = pathlib.Path(to + path)
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(node.open().read())
"""

Files = Mapping[str, bytes]
# What is dumped, and what files are in it.
Dump = tuple[bytes, Files]
Command = Callable[[Path, Path], list[str | Path]]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--programs", type=Path)
    words.add_argument("--seconds", type=int, default=SECONDS_MAX, help="so long an answer may take")
    given = words.parse_args()
    readers = installed(given.programs)
    print(f"| dumps | {' | '.join(readers)} |")
    print("|---" * (len(readers) + 1) + "|")
    with tempfile.TemporaryDirectory() as name:
        ground = Path(name)
        for kind, made in kinds(ground):
            count = f": {len(made)}" if len(made) > 1 else ""
            cells = [cell(command, made, ground, given.seconds) for command in readers.values()]
            print(f"| {kind}{count} | {' | '.join(cells)} |", flush=True)


def installed(programs: Path | None) -> dict[str, Command]:
    """Those readers of which there is a program, with the words that call it."""
    here = Path(sys.executable).parent
    places = os.pathsep.join([*([str(programs)] if programs else []), str(here), os.environ.get("PATH", "")])

    def found(name: str) -> str | None:
        return shutil.which(name, path=places)

    python = found("python") or sys.executable
    has_dissect = subprocess.run(
        [python, "-c", "import dissect.jffs, dissect.squashfs"], capture_output=True, check=False
    )
    called: dict[str, tuple[str | None, Command]] = {
        "ffslab": ("ffslab", lambda image, to: [sys.executable, "-m", "ffslab", "extract", image, to]),
        "ubi_reader": (
            found("ubireader_extract_files"),
            lambda image, to: [found("ubireader_extract_files") or "", "-o", to, image],
        ),
        "jefferson": (found("jefferson"), lambda image, to: [found("jefferson") or "", "-f", "-d", to, image]),
        "unblob": (found("unblob"), lambda image, to: [found("unblob") or "", "-f", "-e", to, image]),
        "unyaffs": (found("unyaffs"), lambda image, to: [found("unyaffs") or "", image, to]),
        "dissect": (
            python if has_dissect.returncode == 0 else None,
            lambda image, to: [python, "-c", DISSECT, image, to],
        ),
    }
    return {name: command for name, (program, command) in called.items() if program}


def cell(command: Command, made: list[Dump], ground: Path, seconds: int) -> str:
    """Files right, wrong and missing over these dumps, and the exit codes, the frequent one first."""
    right = wrong = missing = 0
    codes: Counter[str] = Counter()
    for image, files in made:
        place = ground / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / "dump.bin").write_bytes(image)
        to = place / "files"
        codes[ran(command(place / "dump.bin", to), place, seconds)] += 1
        got = extracted(to)
        for path, content in files.items():
            of_it = [held for name, held in got.items() if name == path or name.endswith(f"/{path}")]
            right += content in of_it
            wrong += bool(of_it) and content not in of_it
            missing += not of_it
    return f"{right}/{wrong}/{missing}; {', '.join(code for code, _ in codes.most_common())}"


def ran(words: list[str | Path], place: Path, seconds: int) -> str:
    # A reader of its own that one of these calls is looked for beside it.
    environment = {**os.environ, "PATH": f"{Path(words[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    try:
        done = subprocess.run(
            [str(word) for word in words], cwd=place, env=environment, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return HANG
    return str(done.returncode)


def extracted(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        return {}
    held = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in held}


def kinds(ground: Path) -> Iterator[tuple[str, list[Dump]]]:
    """The kinds of dumps, most of them odd on purpose: plain ones are read by all."""
    tree(ground / "root")
    # An empty file is right whatever was read.
    files = {path: content for path, content in dumps.expected(ground).items() if content}
    nodes, image, held = jffs2(ground), ubi(ground), volume(ground)
    yield "JFFS2, UBI: plain", [(nodes, files), (image, files)]
    recoded = [dumps.recoded(nodes, 0x1985, 8, dumps.lzma1), dumps.recoded(nodes, 0x1984, 6, zlib.compress)]
    yield "JFFS2 with LZMA, with the magic number of before 2001", [(dump, files) for dump in recoded]
    yield "UBI with OOB areas of odd sizes", [(dumps.with_oob(image, 512, oob), files) for oob in (18, 24, 40)]
    yield "UBI behind something else", [(b"Z" * before + image, files) for before in (48, 512, 4096)]
    large = dumps.ubi_of_large_pages(ground)
    yield "UBI in pieces of 512 + 16 B", [(dumps.with_oob(large, 512, 16), files)]
    kernel = ground / "kernel.bin"
    kernel.write_bytes(b"kernel" * 5000 + b"\1")
    volumes = dumps.ubinized(ground, {"root": held, "kernel": kernel})
    yield "UBI with two volumes", [(volumes, files)]
    yield "UBIFS without UBI", [(held.read_bytes(), files)]
    yield "UBIFS, a flipped bit in one place", [(_flipped(image, at), files) for at in (40_000, 90_000, 140_000)]
    packed = [squashfs(files, name) for name in ("gzip", "xz", "none")]
    yield "squashfs with gzip, xz and without a compressor", [(dump, files) for dump in packed]
    yield (
        "squashfs behind something else, and on pages of 2048 + 64 B",
        [
            (b"Z" * 70_001 + packed[1], files),
            (dumps.with_oob(packed[1], 2048, 64), files),
        ],
    )
    pages = build(tree(ground / "root"), Layout(ecc=False, extra=False))
    yield "YAFFS2: plain, big-endian", [(pages, files), (dumps.big_endian(pages, 2), files)]
    yield "YAFFS2, tags in pieces", [(dumps.moved(pages, dumps.pieces((2, 8), (18, 24), (34, 40), (50, 56))), files)]
    yield "YAFFS1", [(dumps.yaffs1(pages), files)]


def _flipped(image: bytes, at: int) -> bytes:
    return image[:at] + bytes([image[at] ^ 4]) + image[at + 1 :]


if __name__ == "__main__":
    main()
