"""Signals that end the command: SIGTERM and SIGHUP end its work as Ctrl-C does, and the exit code says which it was."""

from __future__ import annotations

import signal
from types import FrameType

_received: list[int] = []


def catch_signals() -> None:
    """Lets SIGTERM and SIGHUP end the work as Ctrl-C does: as a `KeyboardInterrupt`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Whoever starts a program with nohup wants it to go on.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def exit_code() -> int:
    """What a shell says of a program that a signal ended: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def _end(number: int, _frame: FrameType | None) -> None:
    # One is enough: what it began to tidy up is not to be disturbed by the next.
    for other in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    _received.append(number)
    raise KeyboardInterrupt
