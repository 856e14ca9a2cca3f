"""Talking to a mount: what it has done, and an image of its chip."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat as modes
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from ffslab._native import InputError
from ffslab.answers import Operation
from ffslab.answers.mount import MountStat
from ffslab.files.inputs import resolved
from ffslab.files.os_errors import reason
from ffslab.text.energy import energy_mj, missing_price
from ffslab.text.slowest import HEAD, alignment, cells_of
from ffslab.text.summary import aligned
from ffslab.text.tables import counted, number, text_table

# Of each cause.
SHOWN: tuple[Operation, ...] = ("page_reads", "page_programs", "erases")
# Calls that `stat` lists.
SLOWEST_SHOWN = 5
# Erase blocks a line of the wear map.
MAP_COLUMNS = 64
# Shades of the wear map, from a block that was never erased to those erased most.
SHADES = " .:-=+*#%@"


def socket_path(mountpoint: Path, *, make: bool = False) -> Path:
    """Where the mount on a folder listens. `make`: the folder of the sockets is made, readable for its owner alone."""
    # The mount point itself is not looked at: that would be a call of a program on the simulated file system.
    place = resolved(mountpoint.parent) / mountpoint.name if mountpoint.name else resolved(mountpoint)
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    folder = base / f"ffslab-{os.getuid()}"
    if make:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
        except OSError as error:
            raise InputError(f"{folder}: cannot be made: {reason(error)}") from None
        if not modes.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise InputError(f"{folder}: must be a folder of yours that is closed to others: remove it")
    return folder / f"{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}.sock"


class Saved(TypedDict):
    """The answer to a question for the image of the chip."""

    file: str
    bytes: int


class SoFar(TypedDict):
    """The answer to a question for the timeline."""

    file: str
    bytes: int


def stat(mountpoint: Path) -> MountStat:
    """What a mount has done so far and what its blocks hold."""
    now: MountStat = json.loads(_ask(mountpoint, {"ask": "stat"}))["ok"]
    return now


def checkpoint(mountpoint: Path, file: Path, *, sync: bool, oob: bool) -> int:
    """Saves what the chip holds to a file; its size in bytes."""
    question = {"ask": "checkpoint", "file": str(file.absolute()), "oob": oob, "sync": sync}
    saved: Saved = json.loads(_ask(mountpoint, question))["ok"]
    return saved["bytes"]


def timeline(mountpoint: Path) -> tuple[Path, int]:
    """Lets a mount write its timeline up to now: the file, and how many bytes of it are whole."""
    so_far: SoFar = json.loads(_ask(mountpoint, {"ask": "timeline"}))["ok"]
    return Path(so_far["file"]), so_far["bytes"]


def is_there(mountpoint: Path) -> bool:
    """Whether the mount still goes on; it is asked for nothing."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(socket_path(mountpoint)))
    except OSError:
        return False
    return True


def mounts() -> list[str]:
    """The mount points of this user that answer, in order."""
    try:
        table = Path("/proc/self/mounts").read_bytes()
    except OSError:
        return []
    # Spaces and others stand there as octal numbers.
    rows = [line.split(b" ") for line in table.splitlines()]
    places = [row[1].decode("unicode_escape").encode("latin-1") for row in rows if row[2] == b"fuse.ffslab"]
    return sorted(place for place in map(os.fsdecode, places) if is_there(Path(place)))


def _ask(mountpoint: Path, question: Mapping[str, object]) -> bytes:
    """The answer of a mount, in JSON.

    Errors: there is no mount, it has ended, or it says what is wrong.
    """
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(socket_path(mountpoint)))
            line.sendall(json.dumps(question).encode() + b"\n")
            with line.makefile("rb") as reply:
                said = reply.readline()
    except (FileNotFoundError, ConnectionError):
        raise InputError(f"{mountpoint}: no ffslab mount of yours is here: ffslab mount makes one") from None
    if not said:
        raise InputError(f"{mountpoint}: the mount has ended")
    error: str | None = json.loads(said).get("error")
    if error is not None:
        raise InputError(f"{mountpoint}: {error}")
    return said


def text(now: MountStat) -> str:
    """What `ffslab mount stat` prints."""
    totals = now["totals"]
    new = totals["formatting"]
    facts = [
        ("file system", now["fs"] + ("" if now["powered"] else ", without power")),
        ("board", f"{now['board']}, {now['system']}"),
        ("virtual time, s", number(totals["time_us"] / 1e6, 3)),
        ("host time, s", number(now["host_s"], 1)),
        ("FUSE requests", number(now["fuse_requests"], 0)),
        ("page reads", number(totals["page_reads"], 0)),
        ("page programs", number(totals["page_programs"], 0)),
        ("block erases", number(totals["erases"], 0)),
    ]
    if new["page_programs"] or new["erases"]:
        told = f"{counted(round(new['page_programs']), 'program')}, {counted(round(new['erases']), 'erase')}"
        facts.append(("of formatting", told))
    energy = energy_mj(totals)
    if energy is not None and missing_price({"board": now["board"]}) is None:
        facts.append(("energy, mJ", number(energy, 2)))
    if now["free_B"] is not None:
        facts.append(("free, MiB", number(now["free_B"] / 2**20, 1)))
    width = max(len(name) for name, _ in facts)
    parts = ["\n".join(f"{name:{width}}  {value}" for name, value in facts)]
    rows = [
        [cause["task"], cause["reason"], *(number(cause[key], 0) for key in SHOWN)]
        for cause in sorted(now["by_cause"], key=lambda cause: -cause["busy_us"])
        if cause["page_reads"] or cause["page_programs"] or cause["erases"] or cause["oob_reads"]
    ]
    if slowest := cells_of(now, SLOWEST_SHOWN):
        parts.append(text_table(HEAD, slowest, alignment(HEAD)))
    parts.append(aligned(["task", "reason", "page reads", "programs", "erases"], rows))
    # A disk and flash without a driver of its own have no erase blocks that are counted.
    if now["blocks"]["erases"]:
        parts.append(wear_map(now["blocks"]["erases"]))
    return "\n\n".join(parts)


def wear_map(erases: list[int]) -> str:
    """A character an erase block: the darker, the more often it was erased."""
    most = max(erases, default=0)
    shades = "".join(SHADES[-(-count * (len(SHADES) - 1) // most) if most else 0] for count in erases)
    lines = [f"|{shades[at : at + MAP_COLUMNS]:{MAP_COLUMNS}}|" for at in range(0, len(shades), MAP_COLUMNS)]
    return "\n".join([f"erases per block, ' ' is 0 and '{SHADES[-1]}' is {most}:", *lines])
