"""Failures as files: a test that fails again, what the medium held, what happened before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab.answers.crashtest import CrashFailure
from ffslab.files.os_errors import reason
from ffslab.files.results import write_text
from ffslab.studies.crashtest.run import Outcome

# Calls that are told of what happened before the cut.
CALLS = 20


def keep(outcome: Outcome, failure: CrashFailure, folder: Path, number: int) -> Path:
    """Writes `failure-N.toml`, which `ffslab crashtest` runs, and `failure-N.img`, the partition after the cut.

    Raises `ffslab.InputError` when a file cannot be written.
    """
    path = folder / f"failure-{number}.toml"
    point = (failure["operation"], failure["torn"], failure["seed"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        image, _, _ = outcome.recording.after(point, oob=False)
        if image is not None:
            path.with_suffix(".img").write_bytes(image)
    except OSError as error:
        raise _native.InputError(f"{folder}: cannot be written: {reason(error)}") from None
    write_text(path, _native.toml_of(_as_table(outcome, failure, folder)))
    return path


def _as_table(outcome: Outcome, failure: CrashFailure, folder: Path) -> dict[str, Any]:
    test = outcome.test
    cuts = test.cuts
    table: dict[str, Any] = {
        "title": f"{test.title}: {failure['found']}: {failure['says']}",
        "seed": test.seed,
        "initial": test.initial,
        # From where relative paths in it start.
        "folder": os.path.relpath(test.folder.resolve(), folder.resolve()),
        "program": test.program,
        "command": list(test.command),
        "mount": list(test.mount),
        "timeline": timeline(outcome, failure["operation"]),
        "stack": dict(test.stack),
        "judge": dict(test.judge),
        "cuts": {"recovery": cuts.recovery, "depth": cuts.depth, "second_mount": cuts.second_mount},
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


def timeline(outcome: Outcome, operation: int) -> list[str]:
    """The last calls before the cut, a line each: when, operations of the flash before and after, what."""
    calls = [call for call in outcome.recording.calls() if call[1] < operation]
    lines = [f"{at_ns / 1e6:10.3f} ms  {before}..{after}  {text}" for text, before, after, at_ns in calls[-CALLS:]]
    return [*lines, f"power cut at operation {operation} of {outcome.points.operations}"]
