"""The machine on which a workload runs once, and which keeps what power cuts need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab._native import InputError
from ffslab.api.stack import Stack


class WatchedStack(Stack):
    """A stack whose program may say what it has promised to somebody: `told`."""

    @classmethod
    def watched(cls, keys: Mapping[str, Any], seed: int, base_dir: Path, initial: str) -> WatchedStack:
        """The stack that has these keys."""
        stack = cls.__new__(cls)
        stack._session = _native.Session.watched(keys, seed, base_dir, initial)
        stack.boots = 0
        return stack

    def told(self, what: str) -> None:
        """The program tells its user that something is done and will stay. Takes no time."""
        self._session.told(what)

    def begin_recording(self, options: Sequence[str]) -> None:
        """From now on every power cut can be made. What is mounted is unmounted."""
        self._session.begin_recording(list(options))

    def end_recording(self) -> _native.CrashRecording:
        """What has happened since."""
        return self._session.end_recording()

    def run_step(self, step: Mapping[str, Any]) -> None:
        """A step of the vocabulary, or `told` with what is told.

        Raises `ffslab.InputError` when it ends with a part of it done.
        """
        if step["step"] == "told":
            self.told(str(step.get("what", "")))
        elif stopped_by := self._session.run_step(json.dumps(step)):
            raise InputError(f"{stopped_by} after a part of it: nobody can say what should be there after a power cut")
