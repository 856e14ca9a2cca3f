"""Partitions as a simulated system leaves them: a file system is made, filled with the files of a folder, unmounted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ffslab import _native
from ffslab._native import InputError
from ffslab.api.machine import IMAGE_BOARD, SETTLED, Value
from ffslab.images.build.description import Content, Description
from ffslab.systems import DEFAULT
from ffslab.text.tables import size

# File systems of programs that have no Linux.
_BARE = ("littlefs", "fat")
# The ECC that the driver computes, whose bytes stand in the OOB areas; other ECC is the controller's or the chip's.
_BY_DRIVER = ("sw", "bch")

# Those of the root of a file system that was just made.
_ROOT_PERMISSIONS = 0o755

# How messages begin that name a step.
_STEP = re.compile(r"^\w+ step \d+ \(copy_in .*?\): ")


class Chip:
    """The chip of a description, of which a partition is simulated at a time."""

    def __init__(self, description: Description) -> None:
        target = description.target
        self._keys: dict[str, Value] = {
            "board": target.board or IMAGE_BOARD,
            "part": target.part,
            "kernel": target.kernel or None,
            **description.chip,
        }

    def _session(self, keys: Mapping[str, Value], initial: str) -> _native.Session:
        said = {key: value for key, value in {**self._keys, **keys}.items() if value is not None}
        if said.get("system", DEFAULT.name) != DEFAULT.name:
            said.pop("kernel", None)
        return _native.Session(said, 1, Path(), initial)

    def filled(
        self, where: str, content: Content, blocks: int, settings: Mapping[str, Value], room: str
    ) -> _native.Session:
        """A partition with the file system of `content` and its files, unmounted. `room`: what it has, in words.

        Raises `ffslab.InputError`: what the file system cannot be, a folder that cannot be read or does not fit.
        """
        keys: dict[str, Value] = {"fs": content.fs, "partition_blocks": blocks, **content.settings, **settings}
        if content.fs in _BARE:
            keys["system"] = "bare"
        try:
            session = self._session(keys, SETTLED)
            session.mount([])
        except InputError as error:
            raise InputError(f"{where}{str(error).removeprefix('stack: ')}") from None
        if content.srcpath is not None:
            self._copy(where, session, content.srcpath, room)
            if content.fs not in _BARE:
                _give_permissions(session, content.srcpath)
        # A program without a system has no call for it: what it closed is written.
        with suppress(OSError):
            session.sync()
        session.umount()
        return session

    def _copy(self, where: str, session: _native.Session, folder: Path, room: str) -> None:
        step = {"step": "copy_in", "from": str(folder.absolute())}
        try:
            stopped = session.run_step(json.dumps(step))
        except InputError as error:
            # The step is ours, nobody wrote it.
            said = _STEP.sub("", str(error))
            if "ENOSPC" not in said:
                raise InputError(f"{where}`srcpath`: {folder}: {said}") from None
            stopped = "ENOSPC"
        if stopped is not None:
            raise InputError(
                f"{where}`srcpath`: {folder} ({size(_bytes_below(folder))}) does not fit into "
                f"{room}, of which the file system keeps some ({stopped}): "
                "make it larger, or take files out"
            )

    def holding(self, where: str, file: Path, blocks: int) -> _native.Session:
        """A partition with the bytes of a file, as `nandwrite` puts them there."""
        keys: dict[str, Value] = {"fs": "none", "partition_blocks": blocks, "image": str(file), "image_oob": False}
        try:
            return self._session(keys, SETTLED)
        except InputError as error:
            raise InputError(f"{where}{error}") from None

    def ecc_lacks(self) -> str:
        """Why the OOB areas hold no ECC; empty: they do.

        Raises `ffslab.InputError` where the chip cannot be so.
        """
        keys: dict[str, Value] = {"fs": "none", "partition_blocks": 1}
        try:
            name = json.loads(self._session(keys, SETTLED).keys()).get("ecc")
        except InputError as error:
            raise InputError(str(error).removeprefix("stack: ")) from None
        if name in _BY_DRIVER:
            return ""
        maker = "the chip itself makes it" if name == "on-die" else "the board's controller makes it"
        return f"ECC: {maker} ({name}), so the OOB areas hold none: switch the programmer's on"


def _give_permissions(session: _native.Session, folder: Path) -> None:
    """The root gets the permissions of the folder, as each folder in it did when it was made."""
    permissions = folder.stat().st_mode & 0o7777
    if permissions != _ROOT_PERMISSIONS:
        session.run_step(json.dumps({"step": "chmod", "file": "/", "permissions": f"{permissions:o}"}))


def _bytes_below(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
