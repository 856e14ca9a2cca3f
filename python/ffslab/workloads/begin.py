"""`ffslab new`: an experiment to begin with, from what a device does, its part, board and kernel, and how full it is.

The texts, with comments that say what may be changed, are the files in `begun` beside this one.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import wrap

from ffslab._native import InputError
from ffslab.answers.profile import ShownProfile
from ffslab.api.machine import IMAGE_BOARD, LINUX_BOARD
from ffslab.file_systems import ON_LINUX
from ffslab.registries import profiles

# What a device does, and what is said of it.
WORKS = {
    "logger": "appends a record each second, and wants it on flash",
    "database": "inserts rows with SQLite",
    "files": "replaces small files, such as settings",
    "recording": "what a program did, recorded with strace",
}
# The board whose CPU takes no time.
FREE_BOARD = "zero-overhead"
# Shares of the space that may be filled before the workload comes.
FILLED_PERCENT = range(1, 96)
# What of the bytes a file says nobody answered: they decide what compression saves.
_CONTENT = {
    "logger": 'content = "mix": a compressor leaves about half of a record',
    "database": "content: the bytes that SQLite itself writes",
    "files": 'content = "mix": a compressor leaves about half of a file',
    "recording": "content: a recording has none, so nothing is said of it, and compression cannot be judged",
}
_COMPRESSION = "compression: lzo of UBIFS, as mkfs.ubifs has it, zlib-rtime of JFFS2, as its Kconfig; YAFFS2 has none"


@dataclass(frozen=True)
class Answers:
    """What is known. `recording`: for that work alone. `assumed`: what nobody answered, by the names of the fields."""

    work: str
    fs: Sequence[str]
    part: str
    board: str
    kernel: str
    size: int
    filled: int
    recording: Path | None = None
    assumed: Sequence[str] = ()


def work_of(text: str) -> str:
    """One of the works. Like all readers of answers it raises `ffslab.InputError` for one that cannot be."""
    if text not in WORKS:
        raise InputError(f"{text}: must be one of {', '.join(WORKS)}")
    return text


def recording_of(text: str) -> Path:
    """A recording that is there."""
    if not Path(text).is_file():
        raise InputError(f"{text}: is no file")
    return Path(text)


def file_systems_of(text: str) -> list[str]:
    """Names, with spaces or commas between them."""
    names = text.replace(",", " ").split()
    for name in names:
        if name not in ON_LINUX:
            raise InputError(f"{name}: is no file system of Linux here: {', '.join(ON_LINUX)}")
        if names.count(name) > 1:
            raise InputError(f"{name}: is given twice")
    return names


def part_named(text: str) -> str:
    """A part, by name or path."""
    return _named(text, "part")


def kernel_named(text: str) -> str:
    """A kernel, by name or path."""
    return _named(text, "kernel")


def board_named(text: str, part: str) -> str:
    """A board, by name or path, that can have the part."""
    board = _named(text, "board")
    if why := _refusal(board, part):
        raise InputError(f"{why}; {board_for(part)} can have it")
    return board


def _named(text: str, kind: str) -> str:
    found = profiles.shown(text)["kind"]
    if found != kind:
        raise InputError(f"{text}: is a {found}, no {kind}: `ffslab profiles` lists them")
    return text


def part_of(board: str) -> str:
    """The part that a board comes with."""
    return profiles.part_of(board)


def kernel_of(board: str) -> str:
    """The kernel of a board, or the one that is meant where a board names none."""
    return str(profiles.shown(board).get("kernel"))


def board_for(part: str) -> str:
    """A board that can have the part: one that comes with it, one with flash of the same kind, one with the same bus.

    Machines on which cases were measured, and boards whose CPU costs nothing, as those without an operating system have
    it here, come last.
    """
    kind = str(profiles.shown(part).get("part_kind"))
    boards = [profiles.shown(entry["name"]) for entry in profiles.listed() if entry["kind"] == "board"]

    def strangeness(board: ShownProfile) -> tuple[bool, bool, bool, bool, bool]:
        own = str(board.get("part"))
        own_kind = str(profiles.shown(own).get("part_kind"))
        other_bus = own_kind.startswith("spi") != kind.startswith("spi")
        name, is_free = board["name"], FREE_BOARD in (board["name"], board.get("base"))
        # Only of such a machine it is known when it is found, or what the program computes that measures.
        is_measured_machine = any(value["key"].startswith(("begin.", "program.")) for value in board["values"])
        return (
            is_free or is_measured_machine,
            own != part,
            own_kind != kind,
            other_bus,
            name not in (LINUX_BOARD, IMAGE_BOARD),
        )

    names = [board["name"] for board in sorted(boards, key=strangeness)]
    return next((name for name in names if _refusal(name, part) is None), LINUX_BOARD)


def _refusal(board: str, part: str) -> str | None:
    """Why the board cannot have the part."""
    from ffslab.api.experiment import Experiment

    stack = {"board": board, "part": part, "fs": "none", "partition_blocks": 1}
    loop = {"step": "mtd_loop", "op": "erase", "count": 1}
    try:
        Experiment.from_data({"title": "probe", "stack": stack, "measure": [loop]}, f"{board} with {part}").check()
    except InputError as error:
        return str(error)
    return None


def whole(text: str, least: int, most: int) -> int:
    """A whole number in a range."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise InputError(f"{text}: must be a whole number, {least} to {most}")
    return int(text)


def size_of(part: str) -> int:
    """The size of a part in MiB."""
    blocks, block_bytes = _geometry(part)
    return max(blocks * block_bytes // 1024 // 1024, 1)


def text_of(answers: Answers, file: Path) -> str:
    """The experiment that is to be written to this file; it runs as it is.

    Raises `ffslab.InputError` when one of the answers cannot be.
    """
    if answers.filled not in FILLED_PERCENT:
        raise InputError(f"--filled {answers.filled}: must be {FILLED_PERCENT[0]} to {FILLED_PERCENT[-1]}")
    if (answers.work == "recording") != (answers.recording is not None):
        raise InputError("--recording: belongs to --work recording, and that to it: give both")
    part = answers.part
    blocks, block_bytes = _geometry(part)
    wanted = answers.size * 1024 * 1024 // block_bytes
    if not 1 <= wanted <= blocks:
        raise InputError(f"--size-MiB {answers.size}: {part} has {blocks} erase blocks of {block_bytes // 1024} KiB")
    template = files("ffslab.workloads").joinpath("begun", f"{answers.work}.toml.in").read_text(encoding="utf-8")
    title = f"{answers.work.capitalize()} on {' and '.join(answers.fs)}"
    recording = "" if answers.recording is None else os.path.relpath(answers.recording, file.parent)
    return Template(template).substitute(
        title=title,
        title_text=_quoted(title),
        file=file.name,
        assumed=_assumed(answers),
        initial=_quoted(f"df {answers.filled} %"),
        board=_quoted(answers.board),
        part=_quoted(part),
        kernel=_quoted(answers.kernel),
        fs=_quoted(answers.fs[0]),
        blocks=wanted,
        MiB=answers.size,
        recording=_quoted(recording),
        file_systems=f"[{', '.join(map(_quoted, answers.fs))}]",
    )


def _assumed(answers: Answers) -> str:
    """What nobody answered, as comments; what is about compression always, as it is not asked."""
    values = {
        "work": f"work {answers.work}",
        "fs": f"file systems {', '.join(answers.fs)}",
        "part": f"part {answers.part}",
        "board": f"board {answers.board}",
        "kernel": f"kernel {answers.kernel}",
        "size": f"a partition of {answers.size} MiB",
        "filled": f"{answers.filled} % of it filled",
    }
    named = [", ".join(values[name] for name in answers.assumed)] if answers.assumed else []
    lines = [*named, _COMPRESSION, _CONTENT[answers.work]]
    wrapped = [wrap(line, 114, initial_indent="#   ", subsequent_indent="#     ") for line in lines]
    return "\n".join(["# Assumed, as nobody said otherwise:", *(line for lines in wrapped for line in lines)])


def write(answers: Answers, file: Path) -> None:
    """Writes it, after the native half has found nothing wrong with it and each file system could be mounted.

    Raises `ffslab.InputError`, also when the file is there already.
    """
    from ffslab.api.experiment import Experiment
    from ffslab.api.stack import Stack
    from ffslab.files.results import write_new_text

    text = text_of(answers, file)
    Experiment(text, str(file), file.parent).check()
    stack = tomllib.loads(text)["stack"]
    for fs in answers.fs:
        try:
            Stack(**{**stack, "fs": fs}, base_dir=file.parent, initial="fresh").mount()
        except InputError as error:
            raise InputError(f"{fs} on {answers.size} MiB of {answers.part}: {error}") from None
    write_new_text(file, text)


def _geometry(part: str) -> tuple[int, int]:
    """How many erase blocks a part has, and bytes of one."""
    known = profiles.numbers(part)
    if "erase_block_KiB" in known:
        return int(known["size_KiB"] // known["erase_block_KiB"]), int(known["erase_block_KiB"]) * 1024
    return int(known["blocks"]), int(known["page_B"] * known["pages_per_block"])


def _quoted(text: str) -> str:
    """Text as TOML and JSON have it alike."""
    return json.dumps(text)
