"""Flips every bit of a small image of each format, one after the other, and reads the image each time.

    .venv/bin/python tools/flip_bits.py [--every N] [--first N] [--show N] [--workers N] [--written] [FORMAT ...]

Prints a row per image: bits that were flipped; how many of them were told (exit code 1), refused (exit code 2),
changed what the format has no check sums for and the answer says so (named), changed a file without a word (silent),
or changed nothing that files show. The exit code is 1 when one was silent. `--every 97` takes each 97th bit, from
`--first` on; `--show` lists so many of the silent ones. All bits of all images take some hours on one core, and
`--workers` shares the bits of an image out among so many processes. `--written` leaves out what is erased, in pages of
512 B: of UBIFS, whose smallest image has 13 LEBs of which most are empty, and of UBI below it.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.flipped_bits import IMAGES, KINDS, flips

PAGE_B = 512
# Rows and silent flips of a share of an image's bits.
Share = tuple[Counter[str], list[str]]


def share(name: str, image: bytes, place: Path, bits: Sequence[int]) -> Share:
    """What became of these bits. The flips themselves are not kept: there are millions."""
    # Nothing here has circles, and a collection costs a third of the time.
    gc.disable()
    counts: Counter[str] = Counter()
    silent: list[str] = []
    for flip in flips(name, image, place, bits):
        counts[flip.kind] += 1
        if flip.kind == "silent":
            silent.append(f"byte {flip.bit // 8:#x}, bit {flip.bit % 8}: {flip.changed}")
    return counts, silent


def of_written(image: bytes, bits: range) -> Sequence[int]:
    """Those of these bits that are in pages which are not erased."""
    pages = [image[at : at + PAGE_B] for at in range(0, len(image), PAGE_B)]
    written = [page.count(0xFF) < len(page) for page in pages]
    return [bit for bit in bits if written[bit // (8 * PAGE_B)]]


def all_of(name: str, bits: slice, workers: int, is_written: bool) -> tuple[int, Share]:
    """How large the image is in bytes, and what became of its bits."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        image = IMAGES[name](Path(folder))
        chosen: Sequence[int] = range(8 * len(image))[bits]
        if is_written:
            chosen = of_written(image, range(8 * len(image))[bits])
        work = [(name, image, Path(folder) / f"flipped-{own}.bin", chosen[own::workers]) for own in range(workers)]
        with multiprocessing.Pool(workers) as pool:
            shares = pool.starmap(share, work, chunksize=1)
    silent = [line for _, found in shares for line in found]
    return len(image), (sum((counts for counts, _ in shares), Counter()), silent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(IMAGES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--written", action="store_true")
    said = parser.parse_args()
    any_silent = False
    print(f"{'image':22} {'B':>8} {'bits':>8} " + " ".join(f"{kind:>14}" for kind in KINDS))
    for name in said.formats or IMAGES:
        bits = slice(said.first, None, said.every)
        size_B, (counts, silent) = all_of(name, bits, said.workers, said.written)  # noqa: N806
        any_silent |= bool(silent)
        cells = " ".join(f"{counts[kind]:14}" for kind in KINDS)
        print(f"{name:22} {size_B:8} {counts.total():8} {cells}", flush=True)
        for line in silent[: said.show]:
            print(f"    {line}")
    return 1 if any_silent else 0


if __name__ == "__main__":
    sys.exit(main())
