"""`ffslab mount`: which stack, where, for how long; the mount itself is native."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from ffslab import __version__, _native
from ffslab._native import InputError
from ffslab.experiment import Run
from ffslab.mount_control import socket_path
from ffslab.os_errors import reason
from ffslab.stack import stack_toml

DEFAULT_BLOCKS = 400
# What erase blocks begin with: JFFS2's nodes in both byte orders, UBI's header.
MAGICS = (b"\x85\x19", b"\x19\x85", b"UBI#")

Value = str | int | bool


@dataclass(frozen=True)
class Device:
    """The simulated machine and what its chip holds at the start."""

    fs: str
    board: str
    part: str | None
    kernel: str | None
    blocks: int | None
    image: Path | None
    oob: bool | None
    autoplace: bool
    settings: Sequence[str]
    options: Sequence[str]

    def keys(self) -> dict[str, Value | None]:
        """The `[stack]` table of an experiment."""
        given = dict(_setting(text) for text in self.settings)
        keys: dict[str, Value | None] = {"board": self.board, "part": self.part, "kernel": self.kernel, "fs": self.fs}
        if self.image is None:
            if self.oob is not None or self.autoplace:
                raise InputError("--oob and --autoplace: say what is in an image; name it with --image")
            return {**keys, "partition_blocks": self.blocks or DEFAULT_BLOCKS, **given}
        oob, blocks = self._layout(self.image, bool(given.get("inband_tags")))
        keys |= {
            "image": str(self.image.absolute()),
            "image_oob": oob or None,
            "image_autoplace": self.autoplace or None,
        }
        return {**keys, "partition_blocks": max(blocks, self.blocks or 0), **given}

    def _layout(self, image: Path, inband: bool) -> tuple[bool, int]:
        """Whether the image has OOB areas, and how many erase blocks it has."""
        page_B, oob_B, pages, _ = _native.chip_geometry(self.board, self.part, ".")  # noqa: N806
        with_oob, without = pages * (page_B + oob_B), pages * page_B
        try:
            size = image.stat().st_size
            with image.open("rb") as file:
                begins = {block_B: _begins(file, size, block_B) for block_B in (with_oob, without)}
        except OSError as error:
            raise InputError(f"{image}: cannot read the image: {reason(error)}") from None
        if size == 0:
            raise InputError(f"{image}: the image is empty")
        oob = self.oob
        if oob is None:
            looks = size % with_oob == 0 and (size % without != 0 or begins[with_oob] > begins[without])
            oob = self.autoplace or (self.fs == "yaffs2" and not inband) or looks
        return oob, -(-size // (with_oob if oob else without))


def _begins(file: BinaryIO, size: int, block_B: int) -> int:  # noqa: N803
    """How many erase blocks begin as they should, if they are so large."""
    found = 0
    for at in range(0, size, block_B):
        file.seek(at)
        found += file.read(4).startswith(MAGICS)
    return found


def _setting(text: str) -> tuple[str, Value]:
    """KEY=VALUE; a value is a number, true or false, or else a text."""
    key, equals, value = text.partition("=")
    if not equals or not key.replace("_", "a").isalnum():
        raise InputError(f'--set "{text}": must be KEY=VALUE, as compression=zlib')
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    return key, parsed if isinstance(parsed, str | int | bool) else value


@dataclass(frozen=True)
class Mount:
    """A mount to be."""

    device: Device
    mountpoint: Path
    think: bool = True
    realtime: bool = False
    power_cut_after: int | None = None
    torn: str = "partial"
    seed: int = 1
    save: Path | None = None

    def serve(self, command: Sequence[str] = (), tell: TextIO = sys.stdout) -> tuple[Run, int]:
        """Serves until the file system is unmounted, a signal comes, or `command` has ended.

        What it did, and the exit code of the command.
        """
        if not self.mountpoint.is_dir():
            raise InputError(f"{self.mountpoint}: is not a folder: make an empty one to mount on")
        if self.save is not None:
            self._check_save(self.save)
        keys = self.device.keys()
        child: subprocess.Popen[bytes] | None = None
        failed: InputError | None = None

        def ready() -> None:
            nonlocal child, failed
            if not command:
                where = f"{self.mountpoint}: {self.device.fs} on {self.device.board}"
                print(f"{where}; end it with Ctrl-C or umount {self.mountpoint}", file=tell, flush=True)
                return
            try:
                child = subprocess.Popen(list(command))
            except OSError as error:
                failed = InputError(f"{command[0]}: cannot be run: {reason(error)}")

        def say(text: str) -> None:
            print(f"ffslab: {text}", file=sys.stderr, flush=True)

        with _signals() as wishes:
            asked = 0
            ended = False

            def shall_end() -> bool:
                nonlocal asked, ended
                over = failed is not None or (child is not None and child.poll() is not None)
                if over and not ended:
                    ended = True
                    return True
                fresh = len(wishes) > asked
                asked = len(wishes)
                return fresh

            # Without think time nothing of the host enters the results, not even the day.
            epoch_s = int(time.time()) if self.think else _native.EPOCH_S
            summary, requests, blocks, used = _native.mount(
                stack_toml(keys),
                self.mountpoint,
                socket=socket_path(self.mountpoint, make=True),
                options=list(self.device.options),
                seed=self.seed,
                think=self.think,
                realtime=self.realtime,
                power_cut_after=self.power_cut_after,
                torn=self.torn,
                epoch_s=epoch_s,
                save=self.save.absolute() if self.save is not None else None,
                ready=ready,
                say=say,
                shall_end=shall_end,
            )
        if failed is not None:
            raise failed
        title = f"{self.device.fs} on {self.device.board}, mounted" + (f" for {command[0]}" if command else "")
        run = Run(
            {
                "title": title,
                "version": __version__,
                "generator": "mount",
                "seed": self.seed,
                "variants": [json.loads(summary)],
            },
            requests,
            blocks,
            self._resolved(title, json.loads(used), command),
        )
        code = 0 if child is None else child.wait()
        return run, code if code >= 0 else 128 - code

    def _check_save(self, file: Path) -> None:
        """Refuses a place for the image before anything is mounted: what a program did would be lost at the end."""
        if file.is_dir():
            raise InputError(f"--save {file}: is a folder: name a file")
        folder = file.absolute().parent
        if not os.access(folder, os.W_OK | os.X_OK):
            why = "cannot be written to" if folder.is_dir() else "no such folder"
            raise InputError(f"--save {file}: {folder}: {why}")
        if folder.resolve().is_relative_to(self.mountpoint.resolve()):
            raise InputError(f"--save {file}: is on the mount itself: name a file elsewhere")

    def _resolved(self, title: str, used: dict[str, Any], command: Sequence[str]) -> str:
        lines = [
            "# What `ffslab mount` served.",
            f"title = {json.dumps(title)}",
            "",
            "[stack]",
            stack_toml(used).rstrip(),
        ]
        lines += ["", "[mount]", f"think = {json.dumps('real' if self.think else 'none')}"]
        lines += [f"realtime = {json.dumps(self.realtime)}", f"seed = {self.seed}"]
        lines += [f"options = {json.dumps(list(self.device.options))}"]
        if self.power_cut_after is not None:
            lines += [f"power_cut_after = {self.power_cut_after}", f"torn = {json.dumps(self.torn)}"]
        if command:
            lines += [f"command = {json.dumps(list(command))}"]
        return "\n".join(lines) + "\n"


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM instead of dying of them."""
    caught: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _: caught.append(got)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
