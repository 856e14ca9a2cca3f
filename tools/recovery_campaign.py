"""Random histories of files, and whether what is recovered from their images was ever there.

    .venv/bin/python tools/recovery_campaign.py [--histories N] [--first SEED] [SETTING ...]

Each history makes, changes, replaces and deletes files on a simulated board, lets time pass, cuts the power. Every
content that a file had, page for page as it was written, is noted. Then `inspect --deleted` looks at the image: each
file that it calls whole must hold one of these contents. Prints a row per setting; the exit code is 1 if one did not.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ffslab import PowerCut, Stack
from ffslab.images.recovery import read_lost

PAGE_B = 4096
# What a history is played on.
SETTINGS: dict[str, dict[str, Any]] = {
    "JFFS2": {"fs": "jffs2", "compression": "none"},
    "JFFS2 zlib": {"fs": "jffs2", "compression": "zlib"},
    "YAFFS2": {"fs": "yaffs2"},
    "YAFFS2 of today": {"fs": "yaffs2", "yaffs2_version": "today"},
    "YAFFS2 in-band": {"fs": "yaffs2", "inband_tags": True},
    "UBIFS": {"fs": "ubifs", "max_beb_per1024": 1, "compression": "none"},
    "UBIFS lzo": {"fs": "ubifs", "max_beb_per1024": 1, "compression": "lzo"},
}
# Every other history fills a smaller partition several times, so that garbage is collected.
BLOCKS, STEPS = (48, 28), (150, 800)
HEAD = "| setting | histories | lost files | whole | doubtful | partial | never there |\n|---|--:|--:|--:|--:|--:|--:|"


@dataclass
class Tally:
    """What came of the histories of a setting."""

    name: str
    histories: int = 0
    states: dict[str, int] = field(default_factory=lambda: {"whole": 0, "doubtful": 0, "partial": 0})
    # Of whole files whose content no file ever had: seed, path, size, version.
    wrong: list[str] = field(default_factory=list)

    def row(self) -> str:
        """Of the table."""
        numbers = [self.histories, sum(self.states.values()), *self.states.values(), len(self.wrong)]
        return f"| {self.name} | {' | '.join(map(str, numbers))} |"


def digest(content: bytes) -> bytes:
    """What is noted of a content."""
    return hashlib.sha256(content).digest()


class History:
    """A file system, and a model of what its files hold and have held."""

    def __init__(self, setting: dict[str, Any], seed: int) -> None:
        self.draw = random.Random(seed)
        # Power cuts while the blocks of a new partition are formatted are histories, too.
        keys = {"board": "omap3evm", "kernel": "2.6.37", "partition_blocks": BLOCKS[seed % 2], **setting}
        self.stack = Stack(initial="fresh", **keys)
        self.stack.mount()
        self.now: dict[str, bytes] = {}
        self.ever: set[bytes] = {digest(b"")}
        self.open: dict[str, int] = {}
        self.boots = 0

    def play(self, steps: int) -> None:
        """So many random steps."""
        does = [self.write, self.write, self.replace, self.overwrite, self.overwrite, self.append, self.append,
                self.cut, self.delete, self.rename, self.rest, self.rest, self.sync, self.close]  # fmt: skip
        if self.draw.random() < 0.5:
            self.stack.cut_power_after(self.draw.randrange(50, 3000), "partial", self.draw.randrange(1000))
        for _ in range(steps):
            try:
                self.draw.choice(does)()
            except (PowerCut, OSError):
                # Without power, or without space.
                self.boot() if not self.stack.is_powered else self.resume()
        try:
            self.stack.sync()
        except PowerCut:
            self.boot()

    def content(self, count: int) -> bytes:
        """Bytes that nobody wrote before, some of which compress."""
        if self.draw.random() < 0.5:
            return self.draw.randbytes(count)
        words = [self.draw.randbytes(4).hex().encode() for _ in range(20)]
        return b" ".join(self.draw.choice(words) for _ in range(count // 8 + 1))[:count]

    def note(self, path: str, content: bytes) -> None:
        """The file holds this from now on."""
        self.now[path] = content
        self.ever.add(digest(content))

    def put(self, path: str, fd: int, data: bytes, at: int) -> None:
        """A write, which reaches the file page by page, behind zeros that fill a gap before it."""
        self.note(path, self.now[path].ljust(at, b"\0"))
        done = 0
        while done < len(data):
            count = min(PAGE_B - (at + done) % PAGE_B, len(data) - done)
            before = self.now[path]
            self.note(path, before[: at + done] + data[done : done + count] + before[at + done + count :])
            done += count
        assert self.stack.pwrite(fd, data, at) == len(data)

    def handle(self, path: str, flags: str) -> int:
        """A descriptor; some stay open."""
        if path not in self.open:
            self.open[path] = self.stack.open(path, f"rdwr {flags}")
        return self.open[path]

    def close_some(self, path: str) -> None:
        if self.draw.random() < 0.7 and path in self.open:
            self.stack.close(self.open.pop(path))

    def any(self) -> str | None:
        return self.draw.choice(sorted(self.now)) if self.now else None

    def size(self) -> int:
        return self.draw.choice((0, 100, 2000, PAGE_B, 5000, 3 * PAGE_B, 30_000, 90_000))

    # ---- steps ------------------------------------------------------------------------------------------

    def write(self) -> None:
        path = f"f{self.draw.randrange(30)}"
        if path in self.now:
            return
        fd = self.handle(path, "create")
        self.note(path, b"")
        self.put(path, fd, self.content(self.size()), 0)
        self.close_some(path)

    def replace(self) -> None:
        """By truncating, or by a new file that gets the name."""
        if (path := self.any()) is None:
            return
        if self.draw.random() < 0.5:
            fd = self.handle(path, "")
            self.stack.truncate(fd, 0)
            self.note(path, b"")
            self.put(path, fd, self.content(self.size()), 0)
            self.close_some(path)
            return
        fd = self.stack.open("new", "rdwr create truncate")
        self.note("new", b"")
        self.put("new", fd, self.content(self.size()), 0)
        if self.draw.random() < 0.5:
            self.stack.fsync(fd)
        self.stack.close(fd)
        self.stack.rename("new", path)
        self.now[path] = self.now.pop("new")
        if path in self.open:
            self.stack.close(self.open.pop(path))

    def overwrite(self) -> None:
        if (path := self.any()) is None or not self.now[path]:
            return
        at = self.draw.randrange(len(self.now[path]))
        at = at // PAGE_B * PAGE_B if self.draw.random() < 0.5 else at
        count = min(self.draw.choice((1, 100, PAGE_B, 3 * PAGE_B)), len(self.now[path]) - at)
        self.put(path, self.handle(path, ""), self.content(count), at)
        self.close_some(path)

    def append(self) -> None:
        if (path := self.any()) is None:
            return
        gap = self.draw.choice((0, 0, 0, 100, 9000))
        self.put(
            path, self.handle(path, ""), self.content(self.draw.choice((50, 700, 5000))), len(self.now[path]) + gap
        )
        self.close_some(path)

    def cut(self) -> None:
        if (path := self.any()) is None:
            return
        size = self.draw.randrange(len(self.now[path]) + 1)
        self.stack.truncate(self.handle(path, ""), size)
        self.note(path, self.now[path][:size])
        self.close_some(path)

    def delete(self) -> None:
        if (path := self.any()) is None:
            return
        if path in self.open and self.draw.random() < 0.7:
            self.stack.close(self.open.pop(path))
        self.stack.unlink(path)
        del self.now[path]
        if path in self.open:
            self.stack.close(self.open.pop(path))

    def rename(self) -> None:
        if (path := self.any()) is None:
            return
        to = f"f{self.draw.randrange(30)}"
        if to == path:
            return
        if to in self.open:
            self.stack.close(self.open.pop(to))
        self.stack.rename(path, to)
        self.now[to] = self.now.pop(path)
        if path in self.open:
            self.open[to] = self.open.pop(path)

    def rest(self) -> None:
        self.stack.sleep(self.draw.choice((1_000, 100_000, 1_500_000, 7_000_000, 40_000_000)))

    def sync(self) -> None:
        if self.open and self.draw.random() < 0.5:
            self.stack.fsync(self.open[self.draw.choice(sorted(self.open))])
        else:
            self.stack.sync()

    def close(self) -> None:
        if self.open:
            self.stack.close(self.open.pop(self.draw.choice(sorted(self.open))))

    # ---- after a power cut, or without space --------------------------------------------------------------

    def boot(self) -> None:
        """What is there after a power cut was there."""
        self.stack.crash()
        self.stack.mount()
        self.open = {}
        self.look()

    def resume(self) -> None:
        for fd in self.open.values():
            self.stack.close(fd)
        self.open = {}
        self.look()

    def look(self) -> None:
        """Reads everything again."""
        self.now = {}
        for name in self.stack.listdir("/"):
            if self.stack.stat(name).kind == "file":
                self.note(name, self.stack.read_file(name))


def check(setting: dict[str, Any], seed: int, folder: Path, tally: Tally) -> None:
    """Plays a history and looks at its image."""
    history = History(setting, seed)
    history.play(STEPS[seed % 2])
    image = folder / f"image-{seed}"
    image.write_bytes(history.stack.image(oob=True))
    tally.histories += 1
    for _, lost in read_lost(image, fs=setting["fs"], block_KiB=128):
        for entry in lost or []:
            facts = entry.facts
            if facts["kind"] != "file":
                continue
            tally.states[facts["state"]] += 1
            if facts["state"] == "whole" and digest(entry.data or b"") not in history.ever:
                told = f"{facts['why']} {entry.path} (inode {facts['ino']}), {facts['size_B']} B"
                tally.wrong.append(f"seed {seed}: {told}, version {facts['version']}")
    image.unlink()


def campaign(name: str, histories: int, folder: Path, first: int = 1) -> Tally:
    """So many histories on a setting."""
    tally = Tally(name)
    for seed in range(first, first + histories):
        check(SETTINGS[name], seed, folder, tally)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--histories", type=int, default=200, help="of each setting")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("setting", nargs="*", help=", ".join(SETTINGS))
    given = parser.parse_args()
    print(HEAD, flush=True)
    wrong = 0
    for name in given.setting or SETTINGS:
        with tempfile.TemporaryDirectory(prefix="ffslab-recovery-") as folder:
            tally = campaign(name, given.histories, Path(folder), given.first)
        print(tally.row(), flush=True)
        print("\n".join(f"  {line}" for line in tally.wrong), end="\n" if tally.wrong else "", file=sys.stderr)
        wrong += len(tally.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
