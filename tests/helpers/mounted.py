"""A mount for tests: `ffslab mount` in the background, and what it left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helpers.command import FFSLAB

FILE_SYSTEMS = ("jffs2", "yaffs2", "ubifs")
# Where it does not matter which it is, one is enough.
ANY_FILE_SYSTEM = ("ubifs", *(pytest.param(fs, marks=pytest.mark.long) for fs in ("jffs2", "yaffs2")))
# Those of RTEMS, which knows files by path alone.
RTEMS_FILE_SYSTEMS = ("imfs", "rfs", "dosfs", "jffs2", "yaffs2")


def need_fuse() -> None:
    """Skips the test where the running kernel has no FUSE: no package can change that."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse is missing: the kernel of this machine has no FUSE")


@dataclass
class Mounted:
    """A mount that is served by another process; `variant` is its summary after its end."""

    place: Path
    process: subprocess.Popen[str]
    said: str = ""
    variant: dict[str, Any] = field(default_factory=dict)

    def stat(self) -> dict[str, Any]:
        """`ffslab mount stat --json`."""
        ran = subprocess.run(
            [FFSLAB, "mount", "stat", self.place, "--json"], capture_output=True, text=True, check=True
        )
        now: dict[str, Any] = json.loads(ran.stdout)
        return now

    def end(self) -> None:
        """Unmounts and waits for the results."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            out, errors = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            # A failed test has left a file open: the mount would wait for it.
            self.process.send_signal(signal.SIGTERM)
            out, errors = self.process.communicate(timeout=60)
        self.said += errors
        if self.process.returncode == 0:
            self.variant = json.loads(out)["variants"][0]


@contextmanager
def mounted(folder: Path, fs: str, *options: str | Path) -> Iterator[Mounted]:
    """Mounts on `folder`/mount."""
    need_fuse()
    place = folder / "mount"
    place.mkdir(exist_ok=True)
    command = [FFSLAB, "mount", "--fs", fs, "--no-results", "--json", *options, place]
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stderr is not None
    mount = Mounted(place, process, process.stderr.readline())
    if "end it with" not in mount.said:
        mount.end()
        raise AssertionError(mount.said)
    try:
        yield mount
    finally:
        mount.end()
    assert process.returncode == 0, mount.said
