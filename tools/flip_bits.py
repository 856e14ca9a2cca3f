"""Flips every bit of a small image of each format, one after the other, and reads the image each time.

    .venv/bin/python tools/flip_bits.py [--every N] [--first N] [--show N] [FORMAT ...]

Prints a row per image: bits that were flipped; how many of them were told (exit code 1), refused (exit code 2),
changed what the format has no check sums for and the answer says so (named), changed a file without a word (silent),
or changed nothing that files show. The exit code is 1 when one was silent. `--every 97` takes each 97th bit, from
`--first` on; `--show` lists so many of the silent ones. All bits of all images take some hours on one core.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.flipped_bits import IMAGES, KINDS, counted, flips


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(IMAGES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=0)
    said = parser.parse_args()
    silent = 0
    print(f"{'image':22} {'B':>8} {'bits':>8} " + " ".join(f"{kind:>14}" for kind in KINDS))
    for name in said.formats or IMAGES:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            image = IMAGES[name](Path(folder))
            found = list(
                flips(name, image, Path(folder) / "flipped.bin", range(said.first, 8 * len(image), said.every))
            )
        counts = counted(found)
        silent += counts["silent"]
        cells = " ".join(f"{counts[kind]:14}" for kind in KINDS)
        print(f"{name:22} {len(image):8} {len(found):8} {cells}", flush=True)
        for flip in [flip for flip in found if flip.kind == "silent"][: said.show]:
            print(f"    byte {flip.bit // 8:#x}, bit {flip.bit % 8}: {flip.changed}")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
