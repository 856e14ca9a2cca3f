"""`ffslab replay`: an experiment for one recorded trace, made from the options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.files.inputs import check_is_input


def replay_experiment(
    trace: Path, machine: Machine, read_ahead_kib: Sequence[int], think: str, file_systems: Sequence[str] = ()
) -> Experiment:
    """The experiment that mounts an empty partition and replays `trace` on it.

    Several file systems, instead of that of `machine`, and several read-ahead windows (KiB) make several variants.
    """
    check_is_input(trace, "trace", "trace (a recording, for example of strace -f -ttt -T)")
    stack = machine.keys()
    if len(read_ahead_kib) == 1:
        stack["read_ahead_KiB"] = read_ahead_kib[0]
    axes: dict[str, Sequence[object]] = {"fs": file_systems, "read_ahead_KiB": read_ahead_kib}
    data = {
        "title": f"Replay of {trace.name}",
        "stack": stack,
        "setup": [{"step": "mount"}],
        "measure": [{"step": "replay", "file": str(trace.absolute()), "think": think}],
        "axes": {key: list(values) for key, values in axes.items() if len(values) > 1} or None,
    }
    return Experiment.from_data(data, f"replay of {trace}")
