"""CPU time of commands as a person types them, by this tree and by another commit of it, in turn.

    make bench-compare REV=HEAD~20 [ROUNDS=7]

The other commit is built in a folder of its own below `target`. Both run each command in turn, so that what else the
machine does meets both alike; a row has moved only if it did so in nearly all rounds. What was measured is added to
`benches/history.csv`, which docs/speed.md draws.
"""

from __future__ import annotations

import argparse
import csv
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from speed_page import HISTORY, PAGE, page

from ffslab.text.tables import text_table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from trees import tree_of  # noqa: E402

# Less is no change that anybody feels, whatever the rounds say.
MOVED = 0.02
# So many rounds of all may go the other way by chance.
AGAINST = 1 / 7

STACK = """
title = "random writes, with garbage collection"
[stack]
board = "omap3evm"
fs = "jffs2"
compression = "none"
partition_blocks = 160
[[setup]]
step = "mount"
[[measure]]
step = "open"
file = "target"
flags = ["wronly", "create"]
[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = 200000
range_B = "8 MiB"
[[measure]]
step = "fsync"
file = "target"
"""
VARIANTS = '[axes]\n"requests.request_B" = [512, 1024, 2048, 4096]\n"requests.count" = [4000, 5000, 6000, 7000, 8000]\n'
WRITTEN = {
    "writes.toml": STACK,
    "small.toml": STACK.replace("200000", "20"),
    "cuts.toml": STACK.replace("200000", "400"),
    "variants.toml": STACK + VARIANTS,
}
# Run once by this tree before all rounds, for the commands that follow.
BEFORE = ("image build examples/chip/chip.toml --out chip",)
ROWS = {
    "the smallest run": "run small.toml --again",
    "JFFS2, random writes": "run writes.toml --again --fs jffs2",
    "YAFFS2, random writes": "run writes.toml --again --fs yaffs2",
    "UBIFS, random writes": "run writes.toml --again --fs ubifs",
    "20 variants": "run variants.toml --again --jobs 1",
    "a life": "lifetime writes.toml --per-day 24 --years 0.05 --again",
    "a crash test": "crashtest cuts.toml --points 60",
    "an image inspected": "inspect chip",
}


@dataclass(frozen=True)
class Row:
    """CPU seconds of a command, a round each."""

    name: str
    before_s: list[float]
    now_s: list[float]

    @property
    def ratios(self) -> list[float]:
        return [now / before for before, now in zip(self.before_s, self.now_s, strict=True)]

    @property
    def verdict(self) -> str:
        """Beyond the noise: the median has moved, and nearly each round in its direction."""
        ratio = median(self.ratios)
        against = sum((each < 1) == (ratio > 1) for each in self.ratios)
        if abs(ratio - 1) < MOVED or against > AGAINST * len(self.ratios):
            return "as before"
        return "slower" if ratio > 1 else "faster"


@contextmanager
def other_tree(commit: str) -> Iterator[Path]:
    """That commit with its own native module; what is compiled stays in `target/compare` for the next time."""
    place = ROOT / "target/compare"
    with tree_of(commit, place) as tree:
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(place / "built"),
            "CARGO_INCREMENTAL": "0",
            "PYO3_PYTHON": sys.executable,
        }
        cargo = "cargo build --release --quiet -p ffslab-python --lib --features pyo3/extension-module"
        subprocess.run(shlex.split(cargo), cwd=tree, env=environment, check=True)
        shutil.copy(place / "built/release/libffslab_native.so", tree / "python/ffslab/_native.abi3.so")
        yield tree


def cpu_s(tree: Path, command: str, place: Path) -> float:
    """What a command takes of all cores, its children included."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "python"), "XDG_CACHE_HOME": str(place / "cache")}
    words = [sys.executable, "-m", "ffslab", *shlex.split(command)]
    ran = subprocess.Popen(words, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert ran.stderr is not None
    said = ran.stderr.read()
    _, status, usage = os.wait4(ran.pid, 0)
    ran.returncode = os.waitstatus_to_exitcode(status)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{tree}: ffslab {command}: exit code {ran.returncode}: {said.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


def measured(before: Path, rounds: int) -> list[Row]:
    """All rows; who is first changes from round to round."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "examples").symlink_to(ROOT / "examples")
        for name, text in WRITTEN.items():
            (place / name).write_text(text, encoding="utf-8")
        for command in BEFORE:
            cpu_s(ROOT, command, place)
        rows = [Row(name, [], []) for name in ROWS]
        for number in range(rounds):
            for row in rows:
                print(f"\rround {number + 1} of {rounds}: {row.name:<30}", end="", file=sys.stderr, flush=True)
                both = [(before, row.before_s), (ROOT, row.now_s)]
                for tree, times_s in both if number % 2 else reversed(both):
                    times_s.append(cpu_s(tree, ROWS[row.name], place))
        print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return rows


def name_of(commit: str) -> str:
    """Its short name.

    Raises `SystemExit` for a commit that there is not.
    """
    words = ["git", "rev-parse", "--verify", "--short=10", f"{commit}^{{commit}}"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"REV={commit}: there is no such commit")
    return found.stdout.strip()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("commit")
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    before, now = name_of(given.commit), name_of("HEAD")
    with other_tree(before) as tree:
        rows = measured(tree, given.rounds)
    table = [
        [row.name, f"{median(row.before_s):.2f}", f"{median(row.now_s):.2f}", f"{median(row.ratios):.3f}", row.verdict]
        for row in rows
    ]
    print(text_table(["CPU time, s", before, now, "ratio", "beyond the noise"], table, "lrrrl"))
    is_new = not HISTORY.exists()
    with HISTORY.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(["before", "now", "rounds", "row", "before_s", "now_s", "ratio", "verdict"])
        writer.writerows([before, now, given.rounds, *line] for line in table)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
