"""Signals that end a program: SIGTERM and SIGHUP end its work as Ctrl-C does, and the exit code says which it was."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# What ends a program from outside and can be caught.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_received: list[int] = []


def catch_signals() -> None:
    """Lets the signals that would end the program at once raise `KeyboardInterrupt`.

    Others stay as they are: what the program takes care of itself, and what it was told to ignore. Whoever starts a
    program with nohup wants it to go on.
    """
    for number in STOPS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            # A signal that ended other work of this process, before anybody caught them again, says nothing of this.
            _received.clear()
            signal.signal(number, _end)


@contextmanager
def caught_signals() -> Iterator[None]:
    """`catch_signals` until the end of a block. Only the main thread gets signals; in others nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPS}
    catch_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: set by a program around Python, which keeps it.
            if handler is not None:
                signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds up Ctrl-C and its like until the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = {int(number): signal.signal(number, lambda got, _: caught.append(got)) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(caught):
            signal.raise_signal(number)


def has_come() -> bool:
    """Whether one of them has come. What it breaks off, such as an import, may then fail in words of its own."""
    return bool(_received)


def exit_code() -> int:
    """What a shell says of a program that a signal ended: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def _end(number: int, _frame: FrameType | None) -> None:
    # One is enough: what it began to tidy up is not to be disturbed by the next, unless a person insists.
    if number != signal.SIGINT:
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
    _received.append(number)
    raise KeyboardInterrupt
