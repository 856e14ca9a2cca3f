"""fio against power cuts: what fio has synced when the power goes away must pass fio's own verification afterwards.

A file has regions of a MiB. Each fio job rewrites one of them, chosen at random, in random order, with a way to sync, a
block size and a check of its own, until the power is cut at a random operation; then fio reads everything back that it
had synced, on every region, from a mount of what the cut has left. The next cut comes on the same image.

Which writes are safe fio says itself (fio 3.33, `td_io_queue` of ioengines.c and `io_queue_event` of backend.c): in its
report `total_ios` counts the call that failed, the latencies' `N` counts those that came back well. A job with the same
seed that reads and has `number_ios=N` visits the first N places of the writer, in its order, if the file has the size
that it had then. All else that the jobs have written is not looked at: the one write that the cut has hit (`sync=1`),
what came after the last fsync, and of the region in which that was the blocks of the version before. fio's crc32c does
not tell versions apart, because a job that only reads takes the seed that it finds (`verify_io_u` of verify.c); half of
the jobs have a pattern that carries the version.

Run as a program it prints a table: `.venv/bin/python tools/fio_cuts.py [--cuts N] [FS ...]`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.left_out import leave_out
from helpers.mount_programs import CLEAN
from helpers.mounted import FILE_SYSTEMS, mounted

MIB = 1 << 20
REGIONS = 10
BLOCKS = 160
# fio multiplies a job's seed by its place among the jobs (`setup_random_seeds` of init.c). What writes a region stands
# elsewhere than what reads it: so the seeds are quotients of a number that all places divide.
JOBS_OF_ONE_FIO = REGIONS
SEED_STEP = math.lcm(*range(1, JOBS_OF_ONE_FIO + 1))
# Operations until the power is cut are drawn from one to this: fifty times make a GiB.
CUT_AFTER_MAX = {"jffs2": 40_000, "yaffs2": 40_000, "ubifs": 75_000}
# How a job syncs, and how many writes are synced at once.
SYNCS = (("sync=1", 1), ("fsync=1", 1), ("fdatasync=4", 4), ("fsync=16", 16))
BLOCKS_B = (2048, 4096, 4096, 16384)
COMMON = "[global]\nioengine=psync\nthread=1\nrandrepeat=0\nfilename=records\nstonewall=1\nfallocate=none\n"


@dataclass(frozen=True)
class Job:
    """One version of a region."""

    region: int
    version: int
    sync: str
    writes_of_sync: int
    block_B: int  # noqa: N815
    is_pattern: bool

    def section(self, place: int, does: str, *options: str) -> str:
        """The section of fio's job file that stands at `place`, from 1."""
        check = f'verify=pattern\nverify_pattern=%o"v{self.version:07}"' if self.is_pattern else "verify=crc32c"
        lines = [f"[v{self.version}]", f"rw={does}", f"offset={self.region}m", "size=1m", f"bs={self.block_B}", check]
        return "\n".join([*lines, f"randseed={self.version * SEED_STEP // place}", *options]) + "\n"


@dataclass
class Soak:
    """What is known about the regions, and what has been done."""

    dice: random.Random
    # By region: the job that wrote it last, and how many of its writes are safe.
    safe: dict[int, tuple[Job, int]] = field(default_factory=dict)
    version: int = 0
    written_B: int = 0  # noqa: N815
    verified_B: int = 0  # noqa: N815
    cuts: int = 0
    errors: list[str] = field(default_factory=list)

    def jobs(self) -> list[Job]:
        """What a fio writes next."""
        jobs = []
        for _ in range(JOBS_OF_ONE_FIO):
            self.version += 1
            sync, writes = self.dice.choice(SYNCS)
            size, is_pattern = self.dice.choice(BLOCKS_B), self.dice.random() < 0.5
            jobs.append(Job(self.dice.randrange(REGIONS), self.version, sync, writes, size, is_pattern))
        return jobs

    def write(self, folder: Path) -> bool:
        """Has fio write until its jobs are done or the power is cut. Was it cut?"""
        jobs = self.jobs()
        options = ("randwrite", "do_verify=0", "verify_state_save=0")
        text = COMMON + "exitall_on_error=1\n"
        text += "".join(job.section(place, *options, job.sync) for place, job in enumerate(jobs, 1))
        said, _ = fio(folder, text)
        for job, told in zip(jobs, said, strict=False):
            done = told["write"]["clat_ns"]["N"]
            self.written_B += done * job.block_B
            synced = done if job.sync == "sync=1" else told["sync"]["lat_ns"]["N"] * job.writes_of_sync
            self.safe[job.region] = (job, synced)
            if told["error"]:
                return True
        assert len(said) == len(jobs), "fio has left out jobs without an error"
        return False

    def verify(self, folder: Path) -> None:
        """Has fio read what is safe. What it finds wrong is added to `errors`."""
        wanted = [(job, count) for job, count in self.safe.values() if count]
        if not wanted:
            return
        options = [(job, "randread", f"number_ios={count}") for job, count in wanted]
        text = COMMON + "".join(job.section(place, *more) for place, (job, *more) in enumerate(options, 1))
        said, errors = fio(folder, text)
        assert len(said) == len(wanted), errors
        for (job, count), told in zip(wanted, said, strict=True):
            if told["error"] or told["read"]["total_ios"] != count:
                self.errors.append(f"cut {self.cuts}: {job}: {count} writes were synced; {errors}")
            self.verified_B += count * job.block_B


def need_fio() -> None:
    """Leaves a test out where fio is missing."""
    if shutil.which("fio") is None:
        leave_out("fio is missing; as root: make packages")


def fio(folder: Path, jobs: str) -> tuple[list[dict[str, Any]], str]:
    """Runs fio; the reports of its jobs, and what it complained about."""
    ran = subprocess.run(
        ["fio", "--output-format=json", "-"], cwd=folder, env=CLEAN, input=jobs, capture_output=True, text=True,
        check=False, timeout=3000,
    )  # fmt: skip
    # Complaints stand before the report or on the other stream.
    start = ran.stdout.index("{\n")
    said: list[dict[str, Any]] = json.loads(ran.stdout[start:])["jobs"]
    return said, ran.stdout[:start] + ran.stderr


def soak(folder: Path, fs: str, cuts: int, cut_after_max: int | None = None, seed: int = 7) -> Soak:
    """Cuts the power so often, and has fio verify after each cut; at the end the file system must be good for more."""
    state = Soak(random.Random(seed))
    image = folder / "nand.bin"
    with mounted(folder, fs, "--think", "none", "--blocks", str(BLOCKS), "--save", image) as mount:
        (mount.place / "records").touch()
        os.truncate(mount.place / "records", REGIONS * MIB)
    most = cut_after_max or CUT_AFTER_MAX[fs]
    for cut in range(cuts):
        options: list[str | Path] = ["--think", "none", "--save", image, "--seed", str(cut)]
        options += ["--image", image, "--power-cut-after", str(state.dice.randint(1, most))]
        with mounted(folder, fs, *options) as mount:
            while not state.write(mount.place):
                pass
        assert any("power was cut" in note for note in mount.variant["notes"]), "fio has ended for another reason"
        state.cuts += 1
        # The mount that verifies is thrown away: the next cut comes before the file system was ever unmounted.
        with mounted(folder, fs, "--think", "none", "--image", image) as mount:
            state.verify(mount.place)
    with mounted(folder, fs, "--think", "none", "--image", image, "--save", image) as mount:
        assert not state.write(mount.place), "it could not be written any more"
    with mounted(folder, fs, "--think", "none", "--image", image) as mount:
        state.verify(mount.place)
    return state


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("fs", nargs="*", default=FILE_SYSTEMS, help=", ".join(FILE_SYSTEMS))
    given = parser.parse_args()
    print("| fs | written, GiB | power cuts | read back, GiB | verify errors | host s |\n|---|--:|--:|--:|--:|--:|")
    failed = False
    for fs in given.fs:
        begun_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ffslab-cuts-") as folder:
            done = soak(Path(folder), fs, given.cuts)
        sizes = [f"{count / (1 << 30):.2f}" for count in (done.written_B, done.verified_B)]
        cells = [fs, sizes[0], str(done.cuts), sizes[1], str(len(done.errors)), f"{time.monotonic() - begun_s:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
        print("\n".join(done.errors), file=sys.stderr)
        failed = failed or bool(done.errors)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
