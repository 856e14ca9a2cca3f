"""A simulated file system for the real programs of a test, mounted in a folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from ffslab._native import InputError
from ffslab.answers.mount import MountStat
from ffslab.api.machine import LINUX
from ffslab.api.run import Run
from ffslab.testing.figures import Figures
from ffslab.testing.machines import Asked

# Keys that are options of `ffslab mount`; others are `--set KEY=VALUE`.
_OPTIONS = ("system", "fs", "board", "part", "kernel", "partition_blocks")
# Keys that say what the partition holds before: its image says that then.
_OF_IMAGES = ("image", "image_oob", "image_autoplace")
END_SECONDS = 60


def lacks_fuse() -> str | None:
    """Why nothing can be mounted here; `None`: it can."""
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        return None
    return "/dev/fuse is missing or not ours: no file system can be mounted here"


class FlashMount:
    """A mount that another process serves. `place`: where its files are.

    Time on the board passes in the calls of programs, not while they compute: so figures are always the same.
    """

    def __init__(self, asked: Asked, folder: Path) -> None:
        """Prepares the machine and mounts it on `folder`/flash; results come into `folder`/flash-results.

        Raises `ffslab.InputError` when a step of the preparation or the mount is refused.
        """
        stack = asked.stack()
        if stack.is_mounted:
            stack.umount()
        image = folder / "flash.img"
        on_linux = stack.keys.get("system", LINUX) == LINUX
        image.write_bytes(stack.image(oob=on_linux))
        self.place = folder / "flash"
        self._results = folder / "flash-results"
        self._figures: Figures | None = None
        self.place.mkdir(parents=True)
        command = [sys.executable, "-m", "ffslab", "mount", "--think", "none", "--out", str(self._results)]
        command += ["--image", str(image), *(["--oob"] if on_linux else [])]
        for key, value in asked.keys.items():
            if key in _OF_IMAGES:
                continue
            if key in _OPTIONS:
                command += [f"--{key.replace('_', '-')}", str(value)]
            else:
                command += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        self._process = subprocess.Popen(
            [*command, str(self.place)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if "end it with" not in said:
            self.end()
            raise InputError(said.strip())

    def stat(self) -> MountStat:
        """What was done so far, as `ffslab mount stat` says it."""
        from ffslab.mount import control

        return control.stat(self.place)

    def figures(self) -> Figures:
        """Unmounts, and says what was done from the mount on.

        Raises `ffslab.InputError` when the mount did not end well.
        """
        if self._figures is None:
            said = self.end()
            if self._process.returncode:
                raise InputError(said.strip() or f"the mount ended with {self._process.returncode}")
            run = Run.load(self._results)
            self._figures = Figures.of(run.summary["variants"][0], run.request_columns)
        return self._figures

    def end(self) -> str:
        """Unmounts, if that is not done: what the mount said."""
        for _ in range(2):
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)
            try:
                return self._process.communicate(timeout=END_SECONDS)[0]
            except subprocess.TimeoutExpired:
                # Somebody holds a file open: the second signal does not wait for it.
                continue
            except ValueError:
                # It was read to its end before.
                return ""
        self._process.kill()
        return self._process.communicate()[0]
