"""An experiment on a real Linux in QEMU: its flash operations beside those of the simulation.

What is drawn are the calls of programs on JFFS2 and UBIFS, think times, dropped caches, remounts and power cuts between
two operations. A counter may be off by one operation or 1 %, or lie inside what the simulation has at 16 phases of the
tick; `ffslab validate` says so of every measured case.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign.case import Case, Found, Verdict, fewer, judged, without
from campaign.workloads import Part, Step, steps_of
from ffslab import _native
from ffslab.measured.reference.kit import find_kit

COUNTERS = ("page_reads", "page_programs", "erases")
ERROR_MAX, PHASES = 0.01, 16
# A boot and a case take 15 s of a core; what takes this long stands beside too much other work to tell anything.
SECONDS_MAX = 240
SIZES = (0, 1, 100, 4096, 5000, 20_000, 65_536, 200_000)
SLEEPS_US = (1000, 40_000, 700_000, 1_300_000, 3_000_000, 6_000_000, 12_000_000, 33_000_000)


class OnKernel:
    """See the head of this file."""

    name = "kernel"
    weight = 1

    def draw(self, draw: random.Random) -> Case:
        fs = draw.choice(("jffs2", "ubifs"))
        blocks = draw.choice((40, 52, 80) if fs == "ubifs" else (12, 20, 48))
        machine = {"system": "linux", "fs": fs, "partition_blocks": blocks}
        machine |= {"compression": draw.choice(("none", "none", "lzo", "zlib"))}
        return {"machine": machine, "measure": Names(draw, fs).parts(draw.randrange(12, 40))}

    def run(self, case: Case, folder: Path) -> Verdict:
        return judged(run, case, folder)

    def smaller(self, case: Case) -> Iterator[Case]:
        for parts in fewer(case["measure"]):
            yield {**case, "measure": parts}
        yield from without(case, "machine", ["compression"])


class Names:
    """Calls on files, most of which are there: what fails in the simulation is no case."""

    def __init__(self, draw: random.Random, fs: str) -> None:
        self.draw, self.fs, self.made = draw, fs, 0
        self.sizes: dict[str, int] = {}
        self.folders = [""]

    def parts(self, count: int) -> list[Part]:
        """So many calls, and a look at what is there."""
        made = [part for part in (self.part() for _ in range(count)) if part]
        seen: Part = [{"step": "sync"}, {"step": "drop_caches"}, {"step": "readdir", "dir": ""}]
        return [*made, [*seen, *({"step": "stat", "file": path} for path in sorted(self.sizes)[:4])]]

    def part(self) -> Part:
        of_names = (self.create, self.create, self.many, self.mkdir, self.symlink)
        of_none = (self.sleep, self.sleep, self.sync, self.drop, self.look, self.remount, self.cut)
        of_files = (self.append, self.requests, self.requests, self.truncate, self.rename, self.unlink, self.attribute)
        kind = self.draw.random()
        if kind < 0.25 or not self.sizes:
            return self.draw.choice(of_names)()
        return (
            self.draw.choice(of_none)() if kind < 0.45 else self.draw.choice(of_files)(self.draw.choice([*self.sizes]))
        )

    def name(self) -> str:
        self.made += 1
        folder = self.draw.choice(self.folders)
        return f"{folder}/n{self.made}" if folder else f"n{self.made}"

    def create(self) -> Part:
        path, size = self.name(), self.draw.choice(SIZES)
        self.sizes[path] = size
        return [{"step": "create", "file": path, "bytes": size}]

    def many(self) -> Part:
        of: Step = {"dir": self.draw.choice(self.folders), "count": self.draw.randrange(3, 25)}
        made: Part = [{"step": "create_many", **of, "bytes": self.draw.choice((0, 50, 3000))}]
        made += [{"step": "stat_many", **of}] if self.draw.random() < 0.6 else []
        return [*made, {"step": "unlink_many", **of}] if self.draw.random() < 0.5 else made

    def mkdir(self) -> Part:
        self.folders.append(self.name())
        return [{"step": "mkdir", "dir": self.folders[-1]}]

    def symlink(self) -> Part:
        path = self.name()
        target = "x" * self.draw.choice((5, 60, 200))
        return [{"step": "symlink", "file": path, "target": target}, {"step": "readlink", "file": path}]

    def sleep(self) -> Part:
        return [{"step": "sleep", "us": self.draw.choice(SLEEPS_US)}]

    def sync(self) -> Part:
        return [{"step": "sync"}]

    def drop(self) -> Part:
        return [*(self.sync() if self.draw.random() < 0.6 else []), {"step": "drop_caches"}]

    def look(self) -> Part:
        return [{"step": "readdir", "dir": self.draw.choice(self.folders)}, {"step": "statfs"}]

    def remount(self) -> Part:
        return [{"step": "umount"}, {"step": "mount"}]

    def cut(self) -> Part:
        """What was not synced may be gone, and later calls need it."""
        return [*self.sync(), *self.sleep(), {"step": "crash"}, {"step": "mount"}]

    def opened(self, path: str, *steps: Step) -> Part:
        durable = [{"step": "fsync", "file": path}] if self.draw.random() < 0.4 else []
        opened: Step = {"step": "open", "file": path, "flags": ["rdwr"]}
        return [opened, *steps, *durable, {"step": "close", "file": path}]

    def append(self, path: str) -> Part:
        of: Step = {"request_B": self.draw.choice((1, 60, 512, 4096, 9000)), "count": self.draw.choice((1, 3, 10))}
        self.sizes[path] += of["request_B"] * of["count"]
        return self.opened(path, {"step": "append", "file": path, "sync": self.draw.choice(("none", "fsync")), **of})

    def requests(self, path: str) -> Part:
        size = self.sizes[path]
        if size < 4096:
            return self.append(path)
        of: Step = {
            "request_B": min(self.draw.choice((512, 1000, 4096, 8192)), size // 2),
            "seed": self.draw.randrange(99),
        }
        of |= {"count": self.draw.choice((1, 4, 9, 60, 150)), "pattern": "random"}
        if size >= 8192 and self.draw.random() < 0.2:
            access = "write" if self.fs == "ubifs" and self.draw.random() < 0.5 else "read"
            flags = ["rdwr" if access == "write" else "rdonly"]
            ends: Part = [{"step": "open", "file": path, "flags": flags}, {"step": "close", "file": path}]
            return [ends[0], {"step": "mmap", "file": path, "access": access, **of, "request_B": 1000}, ends[1]]
        return self.opened(
            path, {"step": "requests", "file": path, "op": self.draw.choice(("read", "write", "write")), **of}
        )

    def truncate(self, path: str) -> Part:
        size = self.sizes[path]
        self.sizes[path] = self.draw.choice((0, 1, size // 2, size + 5000))
        return [{"step": "truncate", "file": path, "bytes": self.sizes[path]}]

    def rename(self, path: str) -> Part:
        to = self.draw.choice([*self.sizes]) if self.draw.random() < 0.4 else self.name()
        self.sizes[to] = self.sizes.pop(path)
        return [{"step": "rename", "file": path, "to": to}]

    def unlink(self, path: str) -> Part:
        if self.draw.random() < 0.3:
            linked = self.name()
            self.sizes[linked] = self.sizes[path]
            return [{"step": "link", "file": path, "to": linked}]
        del self.sizes[path]
        return [{"step": "unlink", "file": path}]

    def attribute(self, path: str) -> Part:
        size = self.draw.choice((1, 30, 400))
        name = self.draw.choice(("user.a", "user.b", "trusted.c"))
        changes: Part = [
            {"step": "setxattr", "file": path, "name": name, "bytes": size},
            {"step": "chmod", "file": path, "permissions": self.draw.choice(("600", "644"))},
            {"step": "utimens", "file": path, "modified_s": self.draw.randrange(1, 1 << 30)},
        ]
        return [self.draw.choice(changes)]


def toml(case: Case) -> str:
    """The file of the experiment; the blocks of a new partition are erased in the background first."""
    machine = {key: value for key, value in case["machine"].items() if key != "system"}
    more = {"max_beb_per1024": 1} if machine["fs"] == "ubifs" else {}
    return _native.toml_of(
        {
            "title": "campaign",
            "initial": "fresh",
            "stack": {"board": "zero-overhead", **machine, **more},
            "setup": [{"step": "mount"}, {"step": "sleep", "us": 20_000_000}],
            "measure": steps_of(case["measure"]),
        }
    )


def run(case: Case, folder: Path, counts: Counter[str]) -> None:
    (folder / "a.toml").write_text(toml(case), encoding="utf-8")
    if ffslab("run", "a.toml", "--out", "simulated", at=folder).returncode:
        # No room, or a shrunk case without what a call needs.
        counts["ended early"] += 1
        return
    ran = ffslab("reference", "run", "a.toml", "--jobs", "1", "--out", "real", "--json", at=folder)
    if ran.returncode:
        raise Found("kernel", f"the real one ends otherwise: {ran.stderr.strip()[-400:]}")
    counts["kernels"] += 1
    if not misses(ran.stdout):
        return
    judged_again = ffslab("validate", "real/cases.jsonl", "--phases", str(PHASES), "--json", at=folder)
    if found := misses(judged_again.stdout):
        raise Found("counters", f"simulated / real: {', '.join(found)}")


def misses(told: str) -> list[str]:
    """The counters of the one case that are off."""
    case: dict[str, Any] = json.loads(told)["cases"][0]
    ranges: dict[str, Any] = (case.get("ranges") or {"counters": {}})["counters"]
    off = []
    for name in COUNTERS:
        real, simulated = case["counters"][name]["expected"], case["counters"][name]["simulated"]
        is_near = abs(simulated - real) <= max(1, ERROR_MAX * real)
        if not is_near and not ranges.get(name, {"inside": False})["inside"]:
            off.append(f"{name} {simulated} / {real}")
    return off


def ffslab(*words: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FFSLAB_STATES": "", "FFSLAB_STORE": ""}
    command = [sys.executable, "-m", "ffslab", *words, "-q"]
    return subprocess.run(
        command, cwd=at, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS_MAX
    )


def missing() -> list[str]:
    """What this kind needs and this computer lacks."""
    return find_kit()[1]
