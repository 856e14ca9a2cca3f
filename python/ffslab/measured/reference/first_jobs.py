"""Boots several virtual machines side by side, each for the one job that it does before it meets its host."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ffslab.measured.reference.machine import Done, GuestError, Machine

FIRST_JOB_S_MAX = 3600
# How lines of the guest begin that tell how far its job is.
PROGRESS = "at "


def ignore(number: int, progress: str) -> None:
    pass


def run_first_jobs(
    machines: Sequence[Machine],
    at_once: int = 1,
    at: Callable[[int, str], object] = ignore,
    timeout_s: float = FIRST_JOB_S_MAX,
) -> list[Done]:
    """What the program /first.sh of each machine left; `at_once` machines run at a time, and none afterwards.

    `at` takes what machine NUMBER tells of its progress. Raises `GuestError` when a command of a job failed, or a job
    takes too long.
    """
    found: dict[int, Done] = {}
    deadlines: dict[int, float] = {}
    waiting = list(range(len(machines)))
    with ExitStack() as ends, selectors.DefaultSelector() as selector:
        while len(found) < len(machines):
            while waiting and len(deadlines) < at_once:
                number = waiting.pop(0)
                ends.callback(machines[number].stop)
                selector.register(machines[number].start(), selectors.EVENT_READ, number)
                deadlines[number] = time.monotonic() + timeout_s
            slowest = min(deadlines, key=lambda number: deadlines[number])
            ready = selector.select(max(0.0, deadlines[slowest] - time.monotonic()))
            if not ready:
                raise GuestError(f"no answer after {timeout_s:.0f} s\n{machines[slowest].story()}")
            for key, _ in ready:
                number = key.data
                for line in heard(machines[number]):
                    if line.startswith(PROGRESS):
                        at(number, line.removeprefix(PROGRESS))
                        continue
                    selector.unregister(key.fileobj)
                    del deadlines[number]
                    found[number] = machines[number].first_done()
                    machines[number].stop()
    return [found[number] for number in range(len(machines))]


def heard(machine: Machine) -> list[str]:
    """Lines of progress; the last one may be "ready". Raises `GuestError` when the machine says or does otherwise."""
    try:
        lines = machine.hear()
    except GuestError as error:
        raise GuestError(f"{error}\n{machine.story()}") from None
    for line in lines:
        if not line.startswith(PROGRESS) and line != "ready":
            raise GuestError(f"booting: {line}\n{machine.story()}")
    return lines
