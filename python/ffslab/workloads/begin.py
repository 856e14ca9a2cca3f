"""`ffslab new`: an experiment to begin with, from what a device does, its board, its size, how full it is.

The texts, with comments that say what may be changed, are the files in `begun` beside this one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from ffslab._native import InputError
from ffslab.api import profiles

# What a device does, and what is said of it.
WORKS = {
    "logger": "appends a record each second, and wants it on flash",
    "database": "inserts rows with SQLite",
    "files": "replaces small files, such as settings",
    "recording": "what a program did, recorded with strace",
}
# Shares of the space that may be filled before the workload comes.
FILLED_PERCENT = range(1, 96)


@dataclass(frozen=True)
class Answers:
    """What is known. `part`: in place of the board's. `recording`: of a program, for that work alone."""

    work: str
    board: str
    size_MiB: int  # noqa: N815
    filled_percent: int
    file_systems: Sequence[str]
    part: str | None = None
    recording: Path | None = None


def text_of(answers: Answers, file: Path) -> str:
    """The experiment that is to be written to this file; it runs as it is.

    Raises `ffslab.InputError` when one of the answers cannot be.
    """
    if answers.filled_percent not in FILLED_PERCENT:
        raise InputError(f"--filled {answers.filled_percent}: must be {FILLED_PERCENT[0]} to {FILLED_PERCENT[-1]}")
    if (answers.work == "recording") != (answers.recording is not None):
        raise InputError("--recording: belongs to --work recording, and that to it: give both")
    part = answers.part or profiles.part_of(answers.board)
    blocks, block_bytes = _geometry(part)
    wanted = answers.size_MiB * 1024 * 1024 // block_bytes
    if not 1 <= wanted <= blocks:
        raise InputError(
            f"--size-MiB {answers.size_MiB}: {part} has {blocks} erase blocks of {block_bytes // 1024} KiB"
        )
    template = files("ffslab.workloads").joinpath("begun", f"{answers.work}.toml.in").read_text(encoding="utf-8")
    title = f"{answers.work.capitalize()} on {' and '.join(answers.file_systems)}"
    recording = "" if answers.recording is None else os.path.relpath(answers.recording, file.parent)
    return Template(template).substitute(
        title=title,
        title_text=_quoted(title),
        file=file.name,
        initial=_quoted(f"df {answers.filled_percent} %"),
        board=_quoted(answers.board),
        part=f"part = {_quoted(answers.part)}" if answers.part else f"# part = {_quoted(part)}  # the board's own",
        fs=_quoted(answers.file_systems[0]),
        blocks=wanted,
        MiB=answers.size_MiB,
        recording=_quoted(recording),
        file_systems=f"[{', '.join(map(_quoted, answers.file_systems))}]",
    )


def write(answers: Answers, file: Path) -> None:
    """Writes it, after the native half has found nothing wrong with it.

    Raises `ffslab.InputError`, also when the file is there already.
    """
    from ffslab.api.experiment import Experiment
    from ffslab.files.results import write_new_text

    text = text_of(answers, file)
    Experiment(text, str(file), file.parent).check()
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
