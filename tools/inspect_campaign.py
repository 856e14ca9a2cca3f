"""Damaged images of each format, and what becomes of those who look into them.

    .venv/bin/python tools/inspect_campaign.py [--images N] [--does inspect|load|mount] [FORMAT ...]

Prints a row per format: how many images ended with which exit code of `ffslab inspect`, how many in another way, the
longest look in seconds of the CPU, and the highest memory of a look over the size of its image. The exit code is 1
when there was another way, or a look of more than 10 s, or memory of 5 times the image and more. The same seeds make
the same images.

Memory is the growth of a process that has loaded ffslab and nothing else, up to its peak: nothing is taken off. Of that
growth some 6 MiB are the pages of the program and Python's objects, whatever the image.

With `--does load` an experiment loads each image, mounts it and uses it; with `mount` programs use it on
`ffslab mount`. Then memory does not count: a page cache is part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers import inspect_images as made
from helpers.command import FFSLAB, ROOT
from helpers.looker import PATIENCE_S
from helpers.mutations import Image

BLOCKS, HOT = 128, "7 MiB"
OOB_B = 64
MEMORY_OF_IMAGE = 5


def simulated(fs: str, oob_B: int = 0, **stack: object) -> Callable[[Path], Image]:  # noqa: N803
    """A maker of the image of a full partition of 16 MiB."""

    def make(folder: Path) -> Image:
        images = made.simulated(folder, fs, BLOCKS, HOT, **stack)
        return Image(fs, images["dump.bin" if oob_B else "raw.bin"], oob_B=oob_B)

    return make


FORMATS: dict[str, Callable[[Path], Image]] = {
    "JFFS2": simulated("jffs2"),
    "JFFS2 with OOB": simulated("jffs2", OOB_B),
    "UBIFS": simulated("ubifs"),
    "UBIFS with OOB": simulated("ubifs", OOB_B),
    "YAFFS2 with OOB": simulated("yaffs2", OOB_B),
    "YAFFS2 in-band": simulated("yaffs2", inband_tags=True),
    "FAT": lambda folder: Image("fat", made.made_by_mkfs_fat(folder, 16).read_bytes()),
    "RFS": lambda folder: Image("rfs", made.simulated_rfs(folder, 16)),
}
# Of these the simulator has a stack to load them into.
LOADED = tuple(name for name in FORMATS if name not in ("FAT", "RFS"))


@dataclass
class Tally:
    """What became of the images of a format."""

    name: str
    does: str
    codes: dict[str, int] = field(default_factory=dict)
    # Seed and what happened.
    others: list[tuple[int, str]] = field(default_factory=list)
    longest_s: float = 0.0
    longest_seed: int = 0
    # Of the image.
    highest_memory: float = 0.0
    highest_seed: int = 0
    images: int = 0

    def add(self, seed: int, size_B: int, answer: dict[str, Any]) -> None:  # noqa: N803
        """Counts an image."""
        self.images += 1
        outcome = answer["outcome"]
        if outcome in ("0", "1", "2"):
            self.codes[outcome] = self.codes.get(outcome, 0) + 1
        else:
            self.others.append((seed, outcome))
        if answer["cpu_s"] > self.longest_s:
            self.longest_s, self.longest_seed = answer["cpu_s"], seed
        if self.does != "inspect":
            return
        memory = answer["grown_B"] / max(size_B, 1)
        if size_B < MEASURED_B and answer["grown_B"] > MEMORY_OF_IMAGE * size_B + ALLOWANCE_B:
            self.others.append((seed, f"{answer['grown_B']} B of memory for an image of {size_B} B"))
        if size_B >= MEASURED_B and memory > self.highest_memory:
            self.highest_memory, self.highest_seed = memory, seed

    def is_well(self) -> bool:
        """No panic, no hang, no memory without measure."""
        return not self.others and self.longest_s <= PATIENCE_S and self.highest_memory < MEMORY_OF_IMAGE

    def row(self) -> str:
        """Of the table."""
        codes = [f"{self.codes.get(code, 0)}" for code in ("0", "1", "2")]
        cells = [self.name, f"{self.images}", *codes, f"{len(self.others)}", f"{self.longest_s:.2f}"]
        return f"| {' | '.join([*cells, f'{self.highest_memory:.2f}'])} |"


# What files that were cut short may take beside: most of it is the program, and the blocks of a volume of UBI that the
# file does not hold; larger ones may not.
MEASURED_B, ALLOWANCE_B = 8 << 20, 8 << 20
HEAD = (
    "| format | images | nothing wrong (0) | damage told (1) | refused (2) | anything else | longest, s "
    "| memory / image |\n|---|--:|--:|--:|--:|--:|--:|--:|"
)


Ask = Callable[[dict[str, Any]], dict[str, Any]]
# What a program does on the mount: it reads everything, writes, deletes, and does not mind errors.
USE = 'cd "$1" && find . -type f -exec cat {} + >/dev/null 2>&1; echo new 2>/dev/null >new; rm -f hot; sync new; exit 0'


def mount(wanted: dict[str, Any]) -> dict[str, Any]:
    """`ffslab mount` with the image, and a shell that uses it."""
    place = Path(wanted["path"]).with_name("mount")
    place.mkdir(exist_ok=True)
    command = [FFSLAB, "mount", "--fs", wanted["fs"], "--no-results", "--think", "none", "--image", wanted["path"]]
    command += ["--set", "inband_tags=true"] if wanted["inband"] else []
    command += ["--oob" if wanted["oob"] else "--no-oob", place, "--", "sh", "-c", USE, "sh", place]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    is_clear = ran.returncode == 0 or (ran.returncode == 2 and ran.stderr.count("\n") == 1)
    is_well = is_clear and "panicked" not in ran.stderr
    outcome = str(ran.returncode) if is_well else f"exit code {ran.returncode}: {ran.stderr}"
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"outcome": outcome, "grown_B": 0, "cpu_s": cpu_s}


@contextmanager
def looker() -> Iterator[Ask]:
    """A process that looks; what to ask it with."""
    command = [sys.executable, str(ROOT / "tests" / "helpers" / "looker.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None and answers is not None

        def ask(wanted: dict[str, Any]) -> dict[str, Any]:
            print(json.dumps(wanted), file=asked, flush=True)
            answer: dict[str, Any] = json.loads(answers.readline())
            return answer

        yield ask
        asked.close()


def campaign(name: str, images: int, folder: Path, does: str = "inspect", first: int = 1) -> Tally:
    """Damages the image of a format so often; each time another process looks. Before, at the image as it is."""
    place = folder / name.replace(" ", "-")
    place.mkdir()
    image = FORMATS[name](place)
    tally, damaged = Tally(name, does), place / "damaged"
    oob, inband = image.oob_B > 0, image.fs == "yaffs2" and image.oob_B == 0
    wanted = {"does": does, "path": str(damaged), "fs": image.fs, "oob": oob, "inband": inband}
    with looker() as asked_looker:
        ask = mount if does == "mount" else asked_looker
        damaged.write_bytes(image.content)
        assert (said := ask(wanted)["outcome"]) == "0", f"nothing is wrong with the image, and yet: {said}"
        for seed in range(first, first + images):
            content = image.damaged(seed)
            damaged.write_bytes(content)
            tally.add(seed, len(content), ask(wanted))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=1000, help="of each format")
    parser.add_argument("--does", choices=("inspect", "load", "mount"), default="inspect")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("format", nargs="*", help=", ".join(FORMATS))
    given = parser.parse_args()
    names = given.format or (FORMATS if given.does == "inspect" else LOADED)
    print(HEAD, flush=True)
    is_well = True
    for name in names:
        with tempfile.TemporaryDirectory(prefix="ffslab-damaged-") as folder:
            tally = campaign(name, given.images, Path(folder), given.does, given.first)
        print(tally.row(), flush=True)
        seeds = f"seed {tally.longest_seed} took longest, seed {tally.highest_seed} most memory"
        told = [f"  seed {seed}: {what}" for seed, what in tally.others]
        print("\n".join([f"{name}: {seeds}", *told]), file=sys.stderr)
        is_well = is_well and tally.is_well()
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
