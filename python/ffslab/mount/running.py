"""The program that a mount is for: it is started when the mount is ready, and the mount ends with it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.interruption import STOPS
from ffslab.files.os_errors import reason


class Running:
    """A command on a mount, or none. `wishes`: the signals that came, each of which asks the mount to end."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        wishes: Sequence[int],
        folder: Path | None = None,
    ) -> None:
        self._command = list(command)
        self._environment = environment
        self._wishes = wishes
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None
        self._failed: InputError | None = None
        self._asked = 0
        self._ended = False

    def start(self) -> None:
        """Starts the command in its folder. That it cannot be run is told by `code`, when the mount has ended."""
        try:
            self._child = subprocess.Popen(self._command, env=dict(self._environment), cwd=self._folder)
        except OSError as error:
            self._failed = InputError(f"{self._command[0]}: cannot be run: {reason(error)}")

    def shall_end(self) -> bool:
        """Whether the mount should end: the command is over, or a signal has come since the last question."""
        over = self._failed is not None or (self._child is not None and self._child.poll() is not None)
        if over and not self._ended:
            self._ended = True
            return True
        fresh = len(self._wishes) > self._asked
        self._asked = len(self._wishes)
        return fresh

    def code(self) -> int:
        """The exit code of the command, as a shell tells it: 128 and more when a signal has ended it.

        Raises `ffslab.InputError` when it could not be run.
        """
        if self._failed is not None:
            raise self._failed
        code = 0 if self._child is None else self._child.wait()
        return code if code >= 0 else 128 - code


@contextmanager
def stops_heard() -> Iterator[list[int]]:
    """Collects the signals that end programs instead of dying of them."""
    caught: list[int] = []
    heard = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda got, _: caught.append(got)) for number in heard}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
