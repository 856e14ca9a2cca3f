"""A real program on a mount that keeps each flash operation, so that every power cut of it can be made afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.api.machine import SETTLED
from ffslab.mount.control import socket_path
from ffslab.mount.running import Running, stops_heard
from ffslab.terminal.printing import tell

# Where the command finds the folder of the test; it is started in the mounted one.
FOLDER = "FFSLAB_FOLDER"


def recorded(
    keys: Mapping[str, Any],
    command: Sequence[str],
    *,
    seed: int,
    options: Sequence[str],
    folder: Path,
    initial: str = SETTLED,
) -> _native.CrashRecording:
    """Runs a command in a mounted folder until its end, and keeps what it did to the flash.

    `keys`: of the stack, whose files are relative to `folder`, as the program is when its name has a slash. Time passes
    in the calls of the command alone, so that a command that always does the same gives the same recording.

    Raises `ffslab.InputError` when the mount or the command cannot be had, or the command fails.
    """
    folder = folder.resolve()
    with tempfile.TemporaryDirectory(prefix="ffslab-crashtest-") as place, stops_heard() as wishes:
        mountpoint = Path(place) / "flash"
        mountpoint.mkdir()
        running = Running(_found(command, folder), {**os.environ, FOLDER: str(folder)}, wishes, mountpoint)
        *_, recording = _native.mount(
            keys,
            mountpoint,
            socket=socket_path(mountpoint, make=True),
            options=list(options),
            owner=None,
            seed=seed,
            think=False,
            realtime=False,
            power_cut_after=None,
            torn="nothing",
            epoch_s=_native.EPOCH_S,
            save=None,
            observe=None,
            records=True,
            base_dir=folder,
            initial=initial,
            ready=running.start,
            say=tell,
            shall_end=running.shall_end,
        )
        if wishes:
            raise KeyboardInterrupt
        code = running.code()
    if code:
        raise InputError(f"{command[0]}: ended with {code}: the workload must come to its end before its power is cut")
    assert recording is not None, "it was asked for"
    return recording


def _found(command: Sequence[str], folder: Path) -> list[str]:
    """The command, its program named in a way that holds in another folder, too."""
    name = Path(command[0])
    place = folder / name if len(name.parts) > 1 and not name.is_absolute() else name
    return [str(place), *command[1:]]
