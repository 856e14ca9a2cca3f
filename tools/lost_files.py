"""How many deleted and replaced files come back from an image, on each file system that keeps old nodes.

    .venv/bin/python tools/lost_files.py

Prints the table of docs/inspect.md. 240 files of known content are copied to a simulated board, 80 of them are deleted
and 40 replaced by rename(2); the partition is saved at once, after a power cut, and after more was written and
collected.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from ffslab.file_systems import title
from helpers.command import FFSLAB
from helpers.jffs2_images import experiment, run, step, text

FILES, DELETED, REPLACED = 240, 80, 40
# Keys of `[stack]` by file system; a part of what is written is compressed where the file system can.
STACKS: dict[str, dict[str, object]] = {
    "jffs2": {"compression": "zlib"},
    "yaffs2": {},
    "ubifs": {"compression": "lzo", "max_beb_per1024": 1},
}
# What happens after the deletions.
LATER: dict[str, list[str]] = {
    "at once": [],
    "after a power cut": [step("crash"), step("mount"), step("sleep", us="60 s")],
    "after a part was collected": [
        step("create", file="busy", bytes="1 MiB"),
        step("age", file="busy", overwrites=2.0),
        step("sync"),
        step("sleep", us="60 s"),
    ],
}
BLOCKS = 64
HEAD = f"| | {' | '.join(LATER)} |\n|---|{'--:|' * len(LATER)}"


@dataclass(frozen=True)
class Outcome:
    """Files that are lost, those of them that came back with equal check sums, and what holds no known content."""

    lost: int
    came_back: int
    others: list[str]


def path_of(number: int) -> str:
    """Of a file among the known ones."""
    return f"dir{number % 4}/file{number:03}"


def sources(folder: Path) -> None:
    """The known files, and those that replace some of them: text and noise, of no page, one and many."""
    draw = random.Random(9)
    sizes = (1, 100, 2048, 4096, 5000, 20_000, 60_000)
    for name, numbers in (("source", range(FILES)), ("incoming", range(DELETED, DELETED + REPLACED))):
        for number in numbers:
            place = folder / name / path_of(number)
            place.parent.mkdir(parents=True, exist_ok=True)
            size = sizes[number % len(sizes)]
            place.write_bytes(text(size, number) if number % 2 else draw.randbytes(size))


def steps() -> list[str]:
    """Up to the deletions."""
    done = [step("mount"), step("sleep", us="5 s"), step("copy_in", **{"from": "source"}), step("sync")]
    done += [
        step("sleep", us="60 s"),
        step("mkdir", dir="incoming"),
        step("copy_in", dir="incoming", **{"from": "incoming"}),
    ]
    done += [step("unlink", file=path_of(number)) for number in range(DELETED)]
    replaced = range(DELETED, DELETED + REPLACED)
    done += [step("rename", file=f"incoming/{path_of(number)}", to=path_of(number)) for number in replaced]
    return [*done, step("sync")]


def digest(path: Path) -> str:
    """The check sum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def outcome(fs: str, later: Sequence[str], folder: Path) -> Outcome:
    """Runs the experiment and recovers from its image what is lost, with the command."""
    sources(folder)
    text_of = experiment([*steps(), *later, step("save_image", file="dump.bin", oob=True)], fs=fs,
                         partition_blocks=BLOCKS, **STACKS[fs])  # fmt: skip
    (folder / "dump.bin").write_bytes(run(text_of, folder).images["dump.bin"])
    ran = subprocess.run(
        [FFSLAB, "inspect", "--fs", fs, "--block-KiB", "128", "dump.bin", "--recover", "lost"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    # A node of the write buffer may be torn, which is damage.
    assert ran.returncode in (0, 1) and not ran.stderr, ran.stderr
    came_back = sum(
        (folder / "lost" / path_of(number)).is_file()
        and digest(folder / "lost" / path_of(number)) == digest(folder / "source" / path_of(number))
        for number in range(DELETED + REPLACED)
    )
    (folder / "lost/recovered.json").unlink()
    known = {digest(path) for name in ("source", "incoming") for path in (folder / name).rglob("*") if path.is_file()}
    # What the file held that was written to have garbage collected is not known here.
    found = (path for path in (folder / "lost").rglob("*") if path.is_file() and not path.name.startswith("busy"))
    others = [path.relative_to(folder / "lost").as_posix() for path in found if digest(path) not in known]
    return Outcome(DELETED + REPLACED, came_back, others)


def row(fs: str, outcomes: Sequence[Outcome]) -> str:
    """Of the table."""
    return f"| {title(fs)} | {' | '.join(f'{each.came_back} of {each.lost}' for each in outcomes)} |"


def main() -> int:
    print(HEAD)
    for fs in STACKS:
        outcomes = []
        for later in LATER.values():
            with tempfile.TemporaryDirectory(prefix="ffslab-lost-") as folder:
                outcomes.append(outcome(fs, later, Path(folder)))
        print(row(fs, outcomes), flush=True)
        for each in outcomes:
            print("\n".join(each.others), end="\n" if each.others else "", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
