"""A simulated machine whose system calls are made one by one: for programs that are really run, and for trying things.

>>> stack = ffslab.Stack("jffs2", partition_blocks=160, read_ahead_KiB=0)
>>> stack.mount()
>>> with stack.measured("write"):
...     fd = stack.open("a.txt", "wronly create")
...     stack.pwrite(fd, b"hello", 0)
...     stack.fsync(fd)
...     stack.close(fd)
>>> stack.counters()["page_programs"]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, cast

from ffslab import _native
from ffslab.answers.machine import Activity, SessionTotals
from ffslab.answers.stacks import StackKeys
from ffslab.answers.summary import VariantSummary
from ffslab.answers.typed_keys import OtherKeys, StepCalls
from ffslab.api.machine import LINUX, SETTLED, Value, completed

if TYPE_CHECKING:
    from ffslab.answers import Columns
    from ffslab.api.observe import Observe

# What one call of `read_file` asks for.
COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class FileStatus:
    """What stat(2) tells. `kind`: "file", "directory" ..."""

    kind: str
    size_bytes: int
    ino: int
    permissions: int


@dataclass(frozen=True)
class Measurement:
    """What the measured steps of a stack did: a variant of `summary.json`, its rows of calls and of erase blocks."""

    variant: VariantSummary
    request_columns: Columns
    block_columns: Columns
    stack_columns: Columns | None = None


class Stack(StepCalls):
    """A board with one partition or device, empty or holding an image; nothing is mounted at first.

    `system`: who answers its calls, a name of `ffslab.systems.TABLE`. The board of Linux is luckfox-pico-max with an
    mt29f1g01abafd unless another is named, its partition has 400 erase blocks.

    `keys` are those of an experiment's `[stack]` table (`ffslab schema`): `read_ahead_KiB`, `page_cache_KiB`, `kernel`,
    `compression` ... Paths in them start at `base_dir`. `seed` is that of the content that steps write.

    `initial`, as in experiments: with "settled" time passes behind the first mount until UBI's thread or JFFS2's has
    made the blocks of a new partition usable, unless that mount is measured; with "fresh" that work goes on meanwhile.

    A stack belongs to the thread that made it. Calls that fail raise `OSError` with the usual number; when the power is
    cut they raise `ffslab.PowerCut`, until `crash()` switches the chip on again.
    """

    def __init__(
        self,
        fs: str = "jffs2",
        *,
        system: str = LINUX,
        board: str | None = None,
        partition_blocks: int | None = None,
        seed: int = 1,
        base_dir: str | Path = ".",
        initial: str = SETTLED,
        **keys: Unpack[OtherKeys],
    ) -> None:
        given = {"system": system, "board": board, "fs": fs, "partition_blocks": partition_blocks}
        self._begin(given | cast("dict[str, Value]", keys), seed, Path(base_dir), initial)

    @classmethod
    def of(cls, keys: Mapping[str, Value], seed: int = 1, initial: str = SETTLED) -> Stack:
        """The stack that has these keys, as those of a `ffslab.api.machine.Machine`."""
        stack = cls.__new__(cls)
        stack._begin(keys, seed, Path(), initial)
        return stack

    def _begin(self, keys: Mapping[str, Value], seed: int, base_dir: Path, initial: str) -> None:
        self._session = _native.Session(completed(keys), seed, base_dir, initial)
        # How often memory was lost: what was open before is no more.
        self.boots = 0

    @property
    def keys(self) -> StackKeys:
        """The `[stack]` table with the board's values filled in."""
        keys: StackKeys = json.loads(self._session.keys())
        return keys

    # ---- the machine ----------------------------------------------------------------------------------------

    def mount(self, *options: str) -> None:
        """Mounts the partition; an erased one gets a new file system."""
        self._session.mount(list(options))

    def umount(self) -> None:
        """Unmounts; open files are in the way."""
        self._session.umount()

    @property
    def is_mounted(self) -> bool:
        return self._session.is_mounted()

    def crash(self) -> None:
        """Power is lost and comes back: memory is gone, the chip keeps what it holds, nothing is mounted."""
        self._session.crash()
        self.boots += 1

    def cut_power_after(
        self, operations: int, torn: Literal["nothing", "partial", "unstable", "complete"] = "partial", seed: int = 1
    ) -> None:
        """Lets the power go away at the `operations`-th page program or block erase from now.

        `torn`: that operation is not begun, left in its middle (how, `seed` decides), or done.
        """
        self._session.cut_power_after(operations, torn, seed)

    @property
    def is_powered(self) -> bool:
        return self._session.is_powered()

    @property
    def modifying_operations(self) -> int:
        """Page programs and block erases since the chip was made: what `cut_power_after` counts."""
        return self._session.modifying_operations()

    @property
    def time_us(self) -> float:
        """Virtual time since the stack was made."""
        time_us: float = self.counters()["time_us"]
        return time_us

    @property
    def clock_ns(self) -> int:
        """Time of day: nanoseconds since 1970."""
        return self._session.epoch_s() * 1_000_000_000 + self._session.now_ns()

    def sleep(self, us: int) -> None:
        """The program sleeps; background work of the file system runs."""
        self._session.sleep_ns(us * 1000)

    def compute(self, us: float) -> None:
        """The program computes between its calls: nobody else runs, and the CPU takes its power for work."""
        self._session.compute_ns(round(us * 1000))

    def restart(self) -> None:
        """Unmounts, switches the machine off and on, and mounts again: nothing is in memory any more."""
        self.umount()
        self.crash()
        self.mount()

    def drop_caches(self) -> None:
        """Clean pages, directory entries and unused inodes leave memory."""
        self._session.drop_caches()

    def drop_pages(self) -> None:
        """Clean pages leave memory (`echo 1 > /proc/sys/vm/drop_caches`); inodes stay."""
        self._session.drop_pages()

    def set_read_ahead(self, KiB: int) -> None:  # noqa: N803
        """Read-ahead of files that are opened from now on; 0 switches it off."""
        self._session.set_read_ahead_bytes(KiB * 1024)

    def counters(self) -> SessionTotals:
        """Flash operations, `energy_uJ` above idle (None: nothing is known) and `time_us` since the stack was made."""
        counters: SessionTotals = json.loads(self._session.counts())
        return counters

    def activity(self) -> Activity:
        """Since the stack was made: `work` of the CPU by kind (of a board that prices it), `functions` of the file
        system with their durations, flash operations and time by `tasks`."""
        activity: Activity = json.loads(self._session.activity())
        return activity

    def erase_counts(self) -> list[int]:
        """Erases of each block of the partition."""
        return self._session.erase_counts()

    @property
    def free_bytes(self) -> int | None:
        """Free space of the mounted file system."""
        return self._session.free_bytes()

    def image(self, *, oob: bool = False) -> bytes:
        """What the partition holds now, without what waits in memory; with OOB areas as `nanddump --oob` has them."""
        return self._session.image(oob)

    # ---- measuring ------------------------------------------------------------------------------------------

    def _run_step(self, step: dict[str, object]) -> None:
        self._session.run_step(json.dumps(step))

    @contextmanager
    def measured(self, title: str) -> Iterator[None]:
        """What is called inside is a measured step; the first one begins the measurement."""
        self._session.begin_step(title)
        try:
            yield
        finally:
            self._session.end_step()

    def observe(self, observe: Observe, title: str = "base", number: int = 1) -> None:
        """Writes down what happens from now until `measurement`: call it before the first measured step. `number`:
        which one of several that become one timeline (`Observe.part`, `Observe.join`).

        Raises `ffslab.InputError` when the file cannot be made.
        """
        self._session.observe(observe.native(), title, number)

    def note(self, text: str) -> None:
        """Something that a reader of the results should know. Belongs into a measured step."""
        self._session.note(text)

    def measurement(self, name: str = "base", axes: Mapping[str, str | int | bool] | None = None) -> Measurement:
        """What was measured so far, under the name of a variant."""
        summary, requests, blocks, stacks = self._session.result(name, json.dumps(dict(axes or {})))
        return Measurement(json.loads(summary), requests, blocks, stacks)

    # ---- system calls ---------------------------------------------------------------------------------------

    def open(self, path: str, flags: str = "rdonly", permissions: int = 0o644) -> int:
        """open(2). `flags`: words with blanks between them: rdonly, wronly, rdwr, create, exclusive, truncate, append,
        sync, dsync, directory, nofollow, direct."""
        return self._session.open(path, flags, permissions)

    def close(self, fd: int) -> None:
        """close(2)."""
        self._session.close(fd)

    def pread(self, fd: int, count: int, at: int) -> bytes:
        """pread(2)."""
        return self._session.pread(fd, count, at)

    def pwrite(self, fd: int, data: bytes, at: int) -> int:
        """pwrite(2): how many bytes were written."""
        return self._session.pwrite(fd, data, at)

    def truncate(self, fd: int, size_bytes: int) -> None:
        """ftruncate(2)."""
        self._session.ftruncate(fd, size_bytes)

    def fsync(self, fd: int, *, data_only: bool = False) -> None:
        """fsync(2), or fdatasync(2)."""
        self._session.fsync(fd, data_only)

    def sync(self) -> None:
        """sync(2)."""
        self._session.sync()

    def fstat(self, fd: int) -> FileStatus:
        """fstat(2)."""
        return FileStatus(*self._session.fstat(fd))

    def stat(self, path: str) -> FileStatus:
        """stat(2)."""
        return FileStatus(*self._session.stat(path))

    def unlink(self, path: str) -> None:
        """unlink(2)."""
        self._session.unlink(path)

    def rename(self, path: str, to: str) -> None:
        """rename(2)."""
        self._session.rename(path, to)

    def mkdir(self, path: str, permissions: int = 0o755) -> None:
        """mkdir(2)."""
        self._session.mkdir(path, permissions)

    def listdir(self, path: str = "/") -> list[str]:
        """Names in a directory, in the file system's order."""
        return self._session.readdir(path)

    # ---- whole files ----------------------------------------------------------------------------------------

    def read_file(self, path: str) -> bytes:
        """Content of a file."""
        fd = self.open(path)
        try:
            pieces = []
            at = 0
            while piece := self.pread(fd, COPY_BYTES, at):
                pieces.append(piece)
                at += len(piece)
            return b"".join(pieces)
        finally:
            self.close(fd)

    def write_file(self, path: str, data: bytes) -> None:
        """Makes a file, or replaces its content."""
        fd = self.open(path, "wronly create truncate")
        try:
            at = 0
            while at < len(data):
                at += self.pwrite(fd, data[at : at + COPY_BYTES], at)
        finally:
            self.close(fd)


def joined(tables: Sequence[Columns]) -> Columns:
    """The rows of several tables with the same columns."""
    import numpy as np

    whole: Columns = {}
    for name, first in tables[0].items():
        if isinstance(first, list):
            whole[name] = [str(cell) for table in tables for cell in table[name]]
        else:
            whole[name] = np.concatenate([table[name] for table in tables])
    return whole
