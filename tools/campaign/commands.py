"""Commands of ffslab in processes of their own, with limits of time and memory, as the hostile corpus calls them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from helpers.command import ROOT
from helpers.scripts import loaded

RUNNER = loaded(ROOT / "tests" / "images" / "hostile" / "runner.py")
SECONDS_MAX, BYTES_MAX = 20, 1 << 30
# A run of an experiment computes, where a look at a file must not.
RUN_SECONDS_MAX = 60

Outcome = dict[str, Any]


def called(
    words: Sequence[str | Path],
    folder: Path,
    seconds: float = SECONDS_MAX,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """What became of `ffslab WORDS` in a folder; see `runner.outcome`."""
    before = dict(os.environ)
    os.environ.update({"COLUMNS": "120", "FFSLAB_STATES": "", "FFSLAB_STORE": ""} | dict(environment or {}))
    try:
        found = RUNNER.outcome({"args": [str(word) for word in words]}, str(folder), seconds, BYTES_MAX)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return cast(Outcome, found)


def faults_of(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome, whatever was asked."""
    return cast(list[str], RUNNER.faults(outcome))


def resident_bytes(pid: int) -> int:
    """Memory that a process has in use."""
    return cast(int, RUNNER._resident_bytes(pid))
