"""`ffslab replay`: an experiment for one recorded trace, written from the options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ffslab.api.experiment import Experiment
from ffslab.api.stack_table import Stack, quoted
from ffslab.files.inputs import check_is_input


def replay_experiment(
    trace: Path, stack: Stack, read_ahead_kib: Sequence[int], think: str, file_systems: Sequence[str] = ()
) -> Experiment:
    """The experiment that mounts an empty partition and replays `trace` on it.

    Several file systems, instead of that of `stack`, and several read-ahead windows (KiB) make several variants.
    """
    check_is_input(trace, "trace", "trace (a recording, for example of strace -f -ttt -T)")
    lines = [f"title = {quoted(f'Replay of {trace.name}')}", *stack.lines()]
    if len(read_ahead_kib) == 1:
        lines.append(f"read_ahead_KiB = {read_ahead_kib[0]}")
    lines += ["[[setup]]", 'step = "mount"']
    lines += ["[[measure]]", 'step = "replay"', f"file = {quoted(str(trace.absolute()))}", f"think = {quoted(think)}"]
    axes = [f"fs = [{', '.join(map(quoted, file_systems))}]"] if len(file_systems) > 1 else []
    if len(read_ahead_kib) > 1:
        axes.append(f"read_ahead_KiB = {list(read_ahead_kib)}")
    lines += ["[axes]", *axes] if axes else []
    return Experiment("\n".join(lines) + "\n", f"replay of {trace}", Path())
