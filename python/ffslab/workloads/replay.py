"""`ffslab replay`: an experiment for one recorded trace, made from the options."""

from __future__ import annotations

from pathlib import Path

from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.files.inputs import check_is_input


def replay_experiment(trace: Path, machine: Machine, think: str) -> Experiment:
    """The experiment that mounts an empty partition and replays `trace` on it."""
    check_is_input(trace, "trace", "trace (a recording, for example of strace -f -ttt -T)")
    data = {
        "title": f"Replay of {trace.name}",
        "stack": machine.keys(),
        "setup": [{"step": "mount"}],
        "measure": [{"step": "replay", "file": str(trace.absolute()), "think": think}],
    }
    return Experiment.from_data(data, f"replay of {trace}")
