"""Partitions as a simulated system leaves them: a file system is made, filled with the files of a folder, unmounted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ffslab import _native
from ffslab._native import InputError
from ffslab.api.machine import IMAGE_BOARD, SETTLED, Value, as_json
from ffslab.images.build.description import Content, Description
from ffslab.systems import DEFAULT
from ffslab.text.tables import counted, size

# File systems of programs that have no Linux.
_BARE = ("littlefs", "fat")
# The ECC that the driver computes, whose bytes stand in the OOB areas; other ECC is the controller's or the chip's.
_BY_DRIVER = ("sw", "bch")


class Chip:
    """The chip of a description, of which a partition is simulated at a time."""

    def __init__(self, description: Description) -> None:
        self._description = description
        target = description.target
        self._keys: dict[str, Value] = {
            "board": target.board or IMAGE_BOARD,
            "part": target.part,
            "kernel": target.kernel or None,
            **description.ecc,
        }

    def _session(self, keys: Mapping[str, Value], initial: str) -> _native.Session:
        said = {key: value for key, value in {**self._keys, **keys}.items() if value is not None}
        if said.get("system", DEFAULT.name) != DEFAULT.name:
            said.pop("kernel", None)
        return _native.Session(as_json(said), 1, Path(), initial)

    def filled(self, where: str, content: Content, blocks: int, settings: Mapping[str, Value]) -> _native.Session:
        """A partition with the file system of `content` and its files, unmounted.

        Raises `ffslab.InputError`: what the file system cannot be, a folder that cannot be read or does not fit.
        """
        keys: dict[str, Value] = {"fs": content.fs, "partition_blocks": blocks, **content.settings, **settings}
        if content.fs in _BARE:
            keys["system"] = "bare"
        try:
            session = self._session(keys, SETTLED)
            session.mount([])
        except InputError as error:
            raise InputError(f"{where}{error}") from None
        if content.srcpath is not None:
            self._copy(where, session, content.srcpath, blocks)
        # A program without a system has no call for it: what it closed is written.
        with suppress(OSError):
            session.sync()
        session.umount()
        return session

    def _copy(self, where: str, session: _native.Session, folder: Path, blocks: int) -> None:
        step = {"step": "copy_in", "from": str(folder.absolute())}
        try:
            stopped = session.run_step(json.dumps(step))
        except InputError as error:
            said = str(error)
            if "ENOSPC" in said or "no space" in said.lower():
                stopped = "ENOSPC"
            else:
                raise InputError(f"{where}`srcpath`: {said}") from None
        if stopped is not None:
            room = size(blocks * self._description.target.block_B)
            raise InputError(
                f"{where}`srcpath`: {folder} ({size(_bytes_below(folder))}) does not fit into "
                f"{counted(blocks, 'erase block')} ({room}), of which the file system keeps some ({stopped}): "
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
        """Why the OOB areas hold no ECC; empty: they do."""
        keys: dict[str, Value] = {"fs": "none", "partition_blocks": 1}
        name = json.loads(self._session(keys, SETTLED).keys()).get("ecc")
        if name in _BY_DRIVER:
            return ""
        maker = "the chip itself makes it" if name == "on-die" else "the board's controller makes it"
        return f"{maker} ({name}), so the OOB areas hold none: switch that of the programmer on"


def _bytes_below(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
