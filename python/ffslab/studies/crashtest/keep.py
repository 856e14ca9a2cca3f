"""Failures as files: a test that fails again, what the medium held, what happened before."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab.answers.crashtest import CrashFailure
from ffslab.files.os_errors import reason
from ffslab.files.results import write_text
from ffslab.studies.crashtest.file import Program
from ffslab.studies.crashtest.programs import ProgramRecording
from ffslab.studies.crashtest.run import Outcome

# Calls that are told of what happened before the cut.
CALLS = 20


def keep(outcome: Outcome, failure: CrashFailure, folder: Path, number: int) -> Path:
    """Writes `failure-N.toml`, which `ffslab crashtest` runs, and `failure-N.img`, the partition after the cut.

    Of a program on libffslab it is `failure-N.journal`, from which its check begins once more.

    Raises `ffslab.InputError` when a file cannot be written.
    """
    path = folder / f"failure-{number}.toml"
    point = (failure["operation"], failure["torn"], failure["seed"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(outcome.recording, ProgramRecording):
            write_text(path.with_suffix(".journal"), outcome.recording.whole())
        else:
            image, _, _ = outcome.recording.after(point, oob=False)
            if image is not None:
                path.with_suffix(".img").write_bytes(image)
    except OSError as error:
        raise _native.InputError(f"{folder}: cannot be written: {reason(error)}") from None
    write_text(path, _native.toml_of(_as_table(outcome, failure, folder, number)))
    return path


def _as_table(outcome: Outcome, failure: CrashFailure, folder: Path, number: int) -> dict[str, Any]:
    test = outcome.test
    cuts = test.cuts
    table: dict[str, Any] = {
        "title": f"{test.title}: {failure['found']}: {failure['says']}",
        "seed": test.seed,
        "initial": None if test.on_chip else test.initial,
        # From where relative paths in it start.
        "folder": os.path.relpath(test.folder.resolve(), folder.resolve()),
        "program": test.program or (test.on_chip and _of_program(test.on_chip)),
        "command": list(test.command),
        "mount": list(test.mount),
        "timeline": timeline(outcome, failure["operation"])
        + _again(outcome, failure, folder / f"failure-{number}.journal"),
        "stack": dict(test.stack) or None,
        "judge": dict(test.judge) or None,
        "cuts": {"recovery": cuts.recovery, "depth": cuts.depth}
        | ({} if test.on_chip else {"second_mount": cuts.second_mount}),
        "cut": {
            "operation": failure["operation"],
            "torn": failure["torn"],
            "seed": failure["seed"],
            "says": failure["says"],
        },
        "setup": list(test.setup),
        "steps": list(test.steps),
    }
    return {key: value for key, value in table.items() if value not in (None, [])}


def _of_program(program: Program) -> dict[str, Any]:
    """Its table."""
    said = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(program).items()}
    return {key: value for key, value in said.items() if value != []}


def _again(outcome: Outcome, failure: CrashFailure, journal: Path) -> list[str]:
    """How a person runs the check of a program once more, in a debugger, too."""
    recording = outcome.recording
    if not isinstance(recording, ProgramRecording) or failure["recoveries_cut"]:
        return []
    return [recording.again((failure["operation"], failure["torn"], failure["seed"]), journal)]


def timeline(outcome: Outcome, operation: int) -> list[str]:
    """The last calls before the cut, a line each: when, operations of the flash before and after, what."""
    last = f"power cut at operation {operation} of {outcome.points.operations}"
    if isinstance(outcome.recording, ProgramRecording):
        return [*outcome.recording.timeline(operation, CALLS), last]
    calls = [call for call in outcome.recording.calls() if call[1] < operation]
    lines = [f"{at_ns / 1e6:10.3f} ms  {before}..{after}  {text}" for text, before, after, at_ns in calls[-CALLS:]]
    return [*lines, last]
