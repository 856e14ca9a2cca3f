"""`ffslab mount`: which stack, where, for how long; the mount itself is native."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TextIO

from ffslab import _native
from ffslab._native import InputError, __version__
from ffslab.answers.image import Place
from ffslab.answers.inspection import Part
from ffslab.api.machine import (
    FILE_SYSTEM,
    IMAGE_BOARD,
    LINUX,
    SETTLED,
    Machine,
    Value,
    settings_of,
)
from ffslab.api.observe import Observe
from ffslab.api.run import Run
from ffslab.file_systems import NOT_AS_FOLDER, ON_LINUX
from ffslab.files.inputs import resolved
from ffslab.images.inspection import stack_keys
from ffslab.mount.control import socket_path
from ffslab.mount.point import check_mountpoint, check_save, root_owner
from ffslab.mount.running import Running, stops_heard
from ffslab.mount.sleeps import remarks, sleeps_library
from ffslab.systems import TABLE, file_systems_of_others
from ffslab.terminal.printing import remark, say, tell
from ffslab.text.quoting import quoted

DEFAULT_BLOCKS = 400


def _otherwise(fs: str) -> str:
    """What may be done with the image of a file system that Linux does not mount."""
    rtems = next(system for system in TABLE if system.name == "rtems")
    named = "dosfs" if fs == "fat" else fs
    return f"--system rtems --fs {named} does" if named in rtems.file_systems else "look into it with ffslab inspect"


@dataclass(frozen=True)
class Wanted:
    """What the options say of the machine and of what its chip holds at the start."""

    system: str
    # That of the image, or JFFS2.
    fs: str | None
    # The system's choice.
    board: str | None
    part: str | None
    kernel: str | None
    blocks: int | None
    image: Path | None
    oob: bool | None
    autoplace: bool
    settings: Sequence[str]
    options: Sequence[str]
    # Keywords of `ffslab.images.said`: which partition of the image.
    where: dict[str, object] = field(default_factory=dict)

    def machine(self) -> Machine:
        """The machine that is simulated."""
        given = settings_of(self.settings)
        if self.system != LINUX:
            return self._without_linux(given)
        if self.fs in NOT_AS_FOLDER:
            raise InputError(
                f"--fs {self.fs}: no folder shows it here: an experiment reads it (docs/{self.fs}.md), and ffslab "
                "inspect looks into an image"
            )
        if self.image is None:
            if self.oob is not None or self.autoplace or self.where:
                what = "--partition, --mtdparts, --offset and --size" if self.where else "--oob and --autoplace"
                raise InputError(f"{what}: say what is in an image; name it with --image")
            blocks = self.blocks or DEFAULT_BLOCKS
            settings: dict[str, Value] = {"part": self.part, **given}
            return Machine(self.on_board, self.kernel, self.fs or FILE_SYSTEM, blocks, settings=settings)
        blocks, fs, arranged = self._arranged(self.image, bool(given.get("inband_tags")))
        settings = {"part": self.part, "image": str(self.image.absolute()), **arranged}
        if self.autoplace:
            settings["image_autoplace"] = True
        blocks = max(blocks, self.blocks or 0)
        return Machine(self.on_board, self.kernel, fs, blocks, settings={**settings, **given})

    @property
    def on_board(self) -> str:
        """The board with Linux: what a mount saves can be mounted again, so it is that of images."""
        return self.board or IMAGE_BOARD

    @property
    def runs_on(self) -> str:
        """What people call the machine."""
        return self.on_board if self.system == LINUX else f"{self.system}, {self.board or 'its board'}"

    def _without_linux(self, given: Mapping[str, Value]) -> Machine:
        """A machine with another system, which reads images as they are."""
        if self.fs is None:
            raise InputError(f"--system {self.system}: say with --fs what is mounted: {file_systems_of_others()}")
        if self.oob is not None or self.autoplace or self.where:
            raise InputError(
                f"--oob, --autoplace, --partition, --mtdparts, --offset and --size are of images for Linux: "
                f"leave them out with --system {self.system}"
            )
        image = None if self.image is None else str(self.image.absolute())
        settings = {"part": self.part, "image": image, **given}
        return Machine(self.board, self.kernel, self.fs, self.blocks, system=self.system, settings=settings)

    def explained(self, refused: InputError) -> InputError:
        """A refusal, with what would be right where the image alone was taken for the partition."""
        if self.image is None or self.blocks is not None or refused.missing_blocks is None:
            return refused
        return InputError(
            f"{self.image}: {refused}. The partition is as large as the image: give it the board's size with --blocks"
        )

    def _arranged(self, image: Path, inband: bool) -> tuple[int, str, dict[str, Value]]:
        """How many erase blocks the image has, its file system, and how it is arranged.

        That is what is found in it, or what the user says and its size, where nothing is found.
        """
        page_B, oob_B, pages, _ = _native.chip_geometry(self.on_board, self.part, ".")  # noqa: N806
        block_B = pages * page_B  # noqa: N806
        part = self._found(image, page_B, block_B)
        if part is None:
            size, with_oob = image.stat().st_size, pages * (page_B + oob_B)
            oob = self.oob
            if oob is None:
                fits = size % with_oob == 0 and size % block_B != 0
                oob = fits or self.autoplace or (self.fs == "yaffs2" and not inband)
            arranged: dict[str, Value] = {"image_oob": True} if oob else {}
            return -(-size // (with_oob if oob else block_B)), str(self.fs), arranged
        layout = part["layout"]["Ok"]
        fs = layout["fs"]
        if fs not in ON_LINUX:
            raise InputError(f"{image}: holds {fs.upper()}, which Linux does not mount here: {_otherwise(fs)}")
        if fs != (self.fs or fs):
            raise InputError(f"{image}: holds {fs}, not {self.fs}: leave --fs out or say --fs {fs}")
        if self.oob is not None and (layout["oob_B"] > 0) != self.oob:
            raise InputError(f"{image}: its pages have OOB areas of {layout['oob_B']} B: leave --oob or --no-oob out")
        if (layout["page_B"], layout["block_B"]) != (page_B, block_B) or layout["oob_B"] not in (0, oob_B):
            raise InputError(
                f"{image}: has pages of {layout['page_B']} + {layout['oob_B']} B and erase blocks of "
                f"{layout['block_B'] // 1024} KiB; {self.part or self.on_board} has {page_B} + {oob_B} B and "
                f"{block_B // 1024} KiB: name another --part (ffslab profiles)"
            )
        wanted = bool(part["name"] or self.where)
        place: Place | None = None
        if wanted:
            place = {"name": part["name"], "offset_B": part["offset_B"], "size_B": part["size_B"]}
        return layout["blocks"], fs, {**stack_keys(layout, place)}

    def _found(self, image: Path, page_B: int, block_B: int) -> Part | None:  # noqa: N803
        """The partition that is to be mounted: with the board's sizes, or else as it is, to say how it differs.

        `None`: nothing is known in the image, but the user says what it is.
        """
        of_board = {"page_B": page_B, "block_B": block_B, "oob": self.oob, "fs": self.fs, **self.where}
        try:
            found: Part = json.loads(_native.recognise_one(image, of_board))
            return found
        except InputError as error:
            refused = error
        try:
            parts: list[Part] = json.loads(_native.recognise(image, dict(self.where)))
        except InputError:
            if self.where or not image.is_file():
                raise refused from None
            if self.fs is None:
                raise InputError(
                    f"{image}: no file system is found in it: say with --fs as what it is to be mounted"
                ) from None
            return None
        known = [part for part in parts if "Ok" in part["layout"]]
        if len(known) != 1 or known[0]["layout"]["Ok"].get("lacks_ubi"):
            raise refused
        return known[0]


@dataclass(frozen=True)
class Mount:
    """A mount to be."""

    wanted: Wanted
    mountpoint: Path
    # What the time between the calls of a program is on the board: as long as here ("real"), nothing ("none"), or that
    # of its sleeps alone ("fast").
    think: Literal["real", "none", "fast"] = "real"
    realtime: bool = False
    power_cut_after: int | None = None
    torn: str = "partial"
    seed: int = 1
    save: Path | None = None
    # UID[:GID] of the root of the file system.
    owner: str | None = None
    observe: Observe | None = None
    initial: str = SETTLED

    def serve(self, command: Sequence[str] = (), to: TextIO | None = None) -> tuple[Run, int]:
        """Serves until the file system is unmounted, a signal comes, or `command` has ended.

        What it did, and the exit code of the command.
        """
        check_mountpoint(self.mountpoint)
        # The programs of other systems are one user, who may do everything.
        owner = root_owner(self.owner, new=self.wanted.image is None and self.wanted.system == LINUX)
        if self.save is not None:
            check_save(self.save)
            if resolved(self.save.absolute().parent).is_relative_to(resolved(self.mountpoint)):
                raise InputError(f"--save {self.save}: is on the mount itself: name a file elsewhere")
        keys = self.wanted.machine().keys()

        def ready() -> None:
            if command:
                running.start()
                return
            where = f"{quoted(self.mountpoint)}: {keys['fs']} on {self.wanted.runs_on}"
            say(f"{where}; end it with Ctrl-C or umount {quoted(self.mountpoint)}", to)
            if preloaded:
                names = " ".join(f"{name}={quoted(value)}" for name, value in preloaded.items())
                say(f"programs that shall sleep on the board: env {names} PROGRAM", to)

        socket = socket_path(self.mountpoint, make=True)
        with stops_heard() as wishes, sleeps_library(socket if self.think == "fast" else None) as preloaded:
            for text in remarks(command) if preloaded else ():
                remark(text)
            running = Running(command, {**os.environ, **preloaded}, wishes)
            # Without think time nothing of the host enters the results, not even the day.
            epoch_s = int(time.time()) if self.think == "real" else _native.EPOCH_S
            try:
                summary, requests, blocks, used, stacks, _ = _native.mount(
                    keys,
                    self.mountpoint,
                    socket=socket,
                    options=list(self.wanted.options),
                    owner=owner,
                    seed=self.seed,
                    think=self.think == "real",
                    realtime=self.realtime,
                    power_cut_after=self.power_cut_after,
                    torn=self.torn,
                    epoch_s=epoch_s,
                    save=self.save.absolute() if self.save is not None else None,
                    observe=None if self.observe is None else self.observe.native(),
                    records=False,
                    base_dir=".",
                    initial=self.initial,
                    ready=ready,
                    say=tell,
                    shall_end=running.shall_end,
                )
            except InputError as error:
                raise self.wanted.explained(error) from None
        code = running.code()
        title = f"{keys['fs']} on {self.wanted.runs_on}, mounted" + (f" for {command[0]}" if command else "")
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
            stacks=stacks,
        )
        return run, code

    def _resolved(self, title: str, used: Mapping[str, object], command: Sequence[str]) -> str:
        cut = {"power_cut_after": self.power_cut_after, "torn": self.torn} if self.power_cut_after is not None else {}
        served = {
            "think": self.think,
            "realtime": self.realtime,
            "seed": self.seed,
            "options": list(self.wanted.options),
            "owner": self.owner,
            **cut,
            "command": list(command) or None,
        }
        # What an image holds is taken as it is.
        begun = {"initial": self.initial} if self.wanted.image is None else {}
        data = {"title": title, **begun, "stack": used, "mount": served}
        return "# What `ffslab mount` served.\n" + _native.toml_of(data)
