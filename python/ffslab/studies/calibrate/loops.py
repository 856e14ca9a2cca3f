"""Driver-level loops: n operations without a file system, their total time, mean power while they ran.

The method of the papers (openflash-slides, driver level): linear regression of the total time on n gives the time of
one operation, whatever starting a loop costs; mean power times time is energy. The log is a table with a row per loop:

    operation,n,time_us,power_cpu_mW,power_memory_mW
    read,4096,758026,455.9,159.7

`operation` is read, program (or write), erase, or idle: a stretch in which nothing runs, whose power is what the others
are above. Powers may be missing, as a whole or by rail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, combinations, islice
from pathlib import Path

import numpy as np
import pandas as pd

from ffslab._native import InputError
from ffslab.studies.calibrate import tables
from ffslab.studies.calibrate.observations import Numbers, Observations
from ffslab.studies.calibrate.resolution import clock_step

OPERATIONS = ("read", "program", "erase")
RAILS = ("cpu", "memory")
IDLE = "idle"
# Differences of repeats that the step of the clock is looked for in; of n repeats there are n^2 / 2.
PAIRS_MAX = 200_000
WORDS = {**{name: name for name in OPERATIONS}, "write": "program", IDLE: IDLE}


@dataclass(frozen=True)
class Loops:
    """A log. `table`: columns operation, n, time_us and for each measured rail RAIL_mW, in the order of the log."""

    source: str
    table: pd.DataFrame
    warnings: list[str] = field(default_factory=list)

    @property
    def rails(self) -> list[str]:
        """Rails whose power was measured."""
        return [rail for rail in RAILS if f"{rail}_mW" in self.table]

    def of(self, operation: str) -> pd.DataFrame:
        """The loops of one operation."""
        return self.table[self.table["operation"] == operation]

    def step_us(self) -> float | None:
        """The step of the clock: repeats of a loop differ by multiples of it."""
        logged = self.table[self.table["operation"] != IDLE]
        groups = logged.groupby(["operation", "n"], sort=False)["time_us"]
        pairs = chain.from_iterable(combinations(times.tolist(), 2) for _, times in groups)
        differences = [abs(a - b) for a, b in islice(pairs, PAIRS_MAX)]
        return clock_step(np.array(differences))


def read(path: Path) -> Loops:
    """Reads a log.

    Errors: columns that are missing, operations that are none, numbers that cannot be.
    """
    frame = tables.read(path)
    for name in ("operation", "n"):
        if name not in frame:
            raise InputError(f"{path}: no column {name}; it has {', '.join(frame.columns)}")
    operations = frame["operation"].astype(str).str.strip()
    for row, word in enumerate(operations):
        if word not in WORDS:
            raise InputError(f"{path}: row {row + 1} below the head: operation {word!r}: it is {', '.join(WORDS)}")
    counts = tables.numbers(path, frame, "n").fillna(0.0)
    time_us = tables.required(path, frame, "time", "time")
    table = pd.DataFrame({"operation": operations.map(WORDS), "n": counts.to_numpy(dtype=float), "time_us": time_us})
    for rail in RAILS:
        column = tables.column(frame, f"power_{rail}", "power")
        if column is not None:
            table[f"{rail}_mW"] = tables.quantity(path, frame, column, f"power_{rail}")
    wrong = (table["operation"] != IDLE) & ~(table["n"] >= 1) | ~(table["time_us"] > 0)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(f"{path}: row {row + 1} below the head: a loop has n of 1 or more and a time above 0")
    return Loops(str(path), table)


def observations(loops: Loops) -> list[Observations]:
    """Time, energy above idle by rail, and idle power, as regression takes them."""
    step_us = loops.step_us()
    found = []
    idle = {rail: loops.of(IDLE)[f"{rail}_mW"].dropna() for rail in loops.rails}
    for operation in OPERATIONS:
        rows = loops.of(operation)
        if rows.empty:
            continue
        time_us = rows["time_us"].to_numpy()
        found.append(_on_n(loops, operation, f"driver.{operation}_us", "us", rows, time_us, resolution=step_us))
        for rail, powers in idle.items():
            measured = rows[f"{rail}_mW"]
            if measured.notna().any() and len(powers):
                kept = measured.notna()
                # mW x us = nJ
                energy_uj = ((measured - powers.mean()) * rows["time_us"])[kept].to_numpy() / 1e3
                key = f"driver.{operation}_{rail}_uJ"
                found.append(_on_n(loops, operation, key, "uJ", rows[kept], energy_uj))
    for rail, powers in idle.items():
        if len(powers):
            key = f"{IDLE}.{rail}_mW"
            rows_of_one = [{key: 1.0} for _ in powers]
            found.append(Observations.of(loops.source, f"{rail} rail, idle", "mW", rows_of_one, powers.to_numpy()))
    return found


def notes(loops: Loops) -> list[str]:
    """What the log lacks."""
    said = list(loops.warnings)
    missing = [operation for operation in OPERATIONS if loops.of(operation).empty]
    if missing:
        said.append(f"{loops.source}: no loops of {', '.join(missing)}")
    if loops.rails and loops.of(IDLE).empty:
        said.append(f"{loops.source}: no idle rows: energy above idle cannot be told from the powers")
    if not loops.rails:
        said.append(f"{loops.source}: no power columns: the profile gets no energies from it")
    return said


def _on_n(
    loops: Loops,
    operation: str,
    key: str,
    unit: str,
    rows: pd.DataFrame,
    measured: Numbers,
    resolution: float | None = None,
) -> Observations:
    """A value that grows with n, and what starting the loop costs, when loops of several lengths can tell."""
    start = {f"loop.{key.removeprefix('driver.')}": 1.0} if rows["n"].nunique() > 1 else {}
    amounts = [{key: n, **start} for n in rows["n"]]
    warnings = []
    if not start:
        warnings.append(
            f"{operation}: all loops have the same n: what starting a loop costs is taken for the operation's"
        )
    scatter = _scatter(rows["n"].to_numpy(), measured, resolution)
    what = f"{operation} loops, {unit}" if unit == "us" else f"{operation} loops, {key.split('_')[-2]} rail, {unit}"
    return Observations.of(loops.source, what, unit, amounts, measured, resolution, scatter, warnings=warnings)


def _scatter(n: Numbers, measured: Numbers, step: float | None) -> Numbers | None:
    """What loops scatter, as their repeats show it: in proportion to their length, and the clock's step besides.

    None: there are too few repeats to tell, or they do not scatter.
    """
    groups = pd.Series(measured).groupby(n)
    free = int((groups.size() - 1).sum())
    relative = groups.var().mul(groups.size() - 1).div(groups.mean() ** 2).sum() / max(free, 1)
    if free < 4 or not relative > 0 or not (groups.mean() > 0).all():
        return None
    # Two readings of a clock, each off by up to a step: the difference has the variance of a triangle.
    ticks = 0.0 if step is None else step**2 / 6
    return np.asarray(np.sqrt(relative * groups.transform("mean").to_numpy() ** 2 + ticks))
