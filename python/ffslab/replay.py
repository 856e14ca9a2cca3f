"""`ffslab replay`: an experiment for one recorded trace, written from the options."""

from __future__ import annotations

from pathlib import Path

from ffslab.experiment import Experiment
from ffslab.inputs import check_is_input
from ffslab.stack_table import Stack, quoted


def replay_experiment(trace: Path, stack: Stack, read_ahead_kib: list[int], think: str) -> Experiment:
    """The experiment that mounts an empty partition and replays `trace` on it.

    Several read-ahead windows (KiB) make several variants.
    """
    check_is_input(trace, "trace", "trace (a recording, for example of strace -f -ttt -T)")
    lines = [f"title = {quoted(f'Replay of {trace.name}')}", *stack.lines()]
    if len(read_ahead_kib) == 1:
        lines.append(f"read_ahead_KiB = {read_ahead_kib[0]}")
    lines += ["[[setup]]", 'step = "mount"']
    lines += ["[[measure]]", 'step = "replay"', f"file = {quoted(str(trace.absolute()))}", f"think = {quoted(think)}"]
    if len(read_ahead_kib) > 1:
        lines += ["[axes]", f"read_ahead_KiB = {read_ahead_kib}"]
    return Experiment("\n".join(lines) + "\n", f"replay of {trace}", Path())
