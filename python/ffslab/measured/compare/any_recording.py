"""Any recording whose calls were timed beside a replay of it: how long each kind of call took there, and takes here.

`ffslab replay` makes the calls again, each when it came. A recording has no flash operations, so times alone are
compared. What is on the medium before is what a replay puts there: the files that the recording reads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ffslab._native import InputError
from ffslab.api.machine import LINUX_BOARD, Machine
from ffslab.api.run import Progress
from ffslab.files import traces
from ffslab.measured.compare.comparison import TimeRow
from ffslab.registries import profiles
from ffslab.workloads.replay import How, replay_experiment

# Calls that a result has under one name.
SAME: Mapping[str, str] = {"pread": "read", "pwrite": "write", "fsync": "sync", "fdatasync": "sync", "lstat": "stat"}


def times_of(source: Path, machine: Machine, progress: Progress | None = None) -> tuple[list[TimeRow], list[str]]:
    """A row for each kind of call, and notes.

    Raises `ffslab.InputError` when the file is no recording, or its calls have no durations.
    """
    with tempfile.TemporaryDirectory(prefix="ffslab-compare.") as folder:
        table = Path(folder) / f"{source.name.removesuffix('.gz')}{traces.PARQUET}"
        _, notes = traces.convert(source, table, None)
        measured = _by_call(_measured(table))
        if not any(any(durations) for durations in measured.values()):
            raise InputError(f"{source}: its calls have no durations (strace -T records them), so nothing is compared")
        run = replay_experiment(source, machine, How("arrivals")).run(progress).whole()
    columns = run.request_columns
    made = zip(map(str, columns["op"]), map(float, columns["latency_us"]), strict=True)
    simulated = _by_call(made)
    rows, missing = [], []
    for call, durations in measured.items():
        here = simulated.get(call)
        if here is None:
            missing.append(f"{call} ({len(durations):,})")
            continue
        means = sum(durations) / len(durations), sum(here) / len(here)
        rows.append(TimeRow(source.name, 0, 1, call, len(durations), means[0], len(here), means[1], None, None))
    if missing:
        notes.append(f"{source.name}: a replay times no {', '.join(missing)}")
    return rows, notes


def machine_for(machine: Machine) -> tuple[Machine, bool]:
    """The machine on which a recording is made again, and whether tracers run on it: unless `traced` is set they do, if
    its board says what they cost."""
    prices = profiles.shown(machine.board or LINUX_BOARD)["values"]
    usual = any(one["key"].startswith("tracers.") for one in prices)
    settings = {"traced": usual, **machine.settings}
    return replace(machine, settings=settings), settings["traced"] is True


def _measured(table: Path) -> Iterator[tuple[str, float]]:
    import pyarrow.parquet as pq

    columns = pq.read_table(table, columns=["op", "duration_ns"]).to_pydict()
    return ((op, ns / 1e3) for op, ns in zip(columns["op"], columns["duration_ns"], strict=True))


def _by_call(calls: Iterator[tuple[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for op, us in calls:
        found.setdefault(SAME.get(op, op), []).append(us)
    return found
