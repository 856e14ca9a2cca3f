"""`ffslab replay`: an experiment for one recorded trace, made from the options."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from ffslab._native import InputError
from ffslab.answers.typed_keys import ContentName
from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.file_systems import BLOCK_DEVICE
from ffslab.files.inputs import check_is_input

# What the bytes of a write can be said to be like.
CONTENTS: tuple[str, ...] = get_args(ContentName)


@dataclass(frozen=True)
class How:
    """How a recording is replayed: keys of the step `replay`; `None` leaves one to its default."""

    think: str
    speed: float | None = None
    onto: str | None = None
    only: str | None = None
    content: str | None = None
    random_percent: int | None = None


def content_of(text: str | None) -> tuple[str | None, int | None]:
    """The keys `content` and `random_percent` for what `--content` says: a word, or what a compressor leaves, as "40%".

    Raises `ffslab.InputError` for anything else.
    """
    if text is None or text in CONTENTS:
        return text, None
    percent = text.removesuffix("%").strip()
    if text.endswith("%") and percent.isascii() and percent.isdigit() and int(percent) <= 100:
        return "mix", int(percent)
    raise InputError(f"--content {text}: must be {', '.join(CONTENTS)}, or a share as 40% (0% to 100%)")


def replay_experiment(trace: Path, machine: Machine, how: How, *, cold: bool = False) -> Experiment:
    """The experiment that mounts an empty partition, or takes a new device, and replays `trace` on it.

    `cold`: what was made for the recording to read is on the flash alone when it begins.
    """
    check_is_input(trace, "trace", "trace (a recording, for example of strace -f -ttt -T)")
    keys = machine.keys()
    step = {"step": "replay", "file": str(trace.absolute()), **asdict(how)}
    data = {
        "title": f"Replay of {trace.name}",
        "stack": keys,
        "setup": None if keys.get("fs") == BLOCK_DEVICE else [{"step": "mount"}],
        "measure": [{"step": "drop_caches"}, step] if cold else [step],
    }
    return Experiment.from_data(data, f"replay of {trace}")
