"""Logs of the probe kit: what a driver function took (funcmon), which flash operations happened meanwhile (flashmon).

A call of the driver takes its own time, and that of the page reads, page programs and erases in it. The calls are
matched with the operations by process and time. Nested calls are left out: the outermost one holds their time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ffslab._native import InputError
from ffslab.calibrate.observations import Numbers, Observations
from ffslab.calibrate.resolution import clock_step

KINDS = {"flashmon": 6, "funcmon": 5}
OPERATIONS = {"R": "driver.read_us", "W": "driver.program_us", "E": "driver.erase_us"}
CALL = "loop.driver_call_us"


@dataclass(frozen=True)
class Log:
    """One log. `rows`: its fields under their names; `overhead_us`: what logging one event costs the traced system."""

    source: str
    kind: str
    rows: pd.DataFrame
    overhead_us: float
    warnings: list[str]


def read(path: Path) -> Log:
    """Reads a log of kind flashmon or funcmon.

    Errors: another file, another kind, lines with other fields.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    first = lines[0].split() if lines else []
    if first[:3] != ["#", "ffslab-probe", "1"] or len(first) != 4:
        raise InputError(f"{path}: no log of ffslab-probe, version 1: its first line is # ffslab-probe 1 KIND")
    kind = first[3]
    if kind not in KINDS:
        raise InputError(f"{path}: is of kind {kind}; calibrate takes flashmon and funcmon")
    events = [(i + 1, line.split(";")) for i, line in enumerate(lines) if line and line[0] not in "#-"]
    events = [(number, fields) for number, fields in events if fields[1:2] != ["M"]]
    for number, fields in events:
        if len(fields) != KINDS[kind]:
            raise InputError(f"{path}: line {number}: {len(fields)} fields; {kind} has {KINDS[kind]}")
    names = ["t_s", "type", "address", "task", "pid", "bytes"] if kind == "flashmon" else None
    rows = pd.DataFrame(
        [fields for _, fields in events], columns=names or ["t_s", "duration_us", "function", "task", "pid"]
    )
    for name in ("t_s", "duration_us") if kind == "funcmon" else ("t_s",):
        rows[name] = pd.to_numeric(rows[name], errors="coerce")
        if rows[name].isna().any():
            number = events[int(rows[name].isna().to_numpy().argmax())][0]
            raise InputError(f"{path}: line {number}: {name} is no number")
    return Log(str(path), kind, rows.sort_values("t_s", ignore_index=True), *_foot(path, lines))


def _foot(path: Path, lines: list[str]) -> tuple[float, list[str]]:
    """(overhead of an event in us, what to say) of the last line."""
    end = next((line for line in reversed(lines) if line.startswith("# end:")), None)
    if end is None:
        return 0.0, [f"{path}: has no end: the log was cut off"]
    facts = dict(word.partition("=")[::2] for word in end.split()[2:])
    lost, overhead_ns = facts.get("lost", "0"), facts.get("overhead_ns_per_event", "0")
    if not (lost.isdigit() and overhead_ns.isdigit()):
        raise InputError(f"{path}: its last line must have numbers for lost and overhead_ns_per_event: {end}")
    return float(overhead_ns) / 1e3, [f"{path}: {lost} events were lost"] if lost != "0" else []


def observations(logs: list[Log]) -> Observations:
    """Durations of the outermost driver calls as sums of their flash operations.

    Errors: one of the two kinds is missing; no call has flash operations.
    """
    by_kind = {kind: [log for log in logs if log.kind == kind] for kind in KINDS}
    for kind, found in by_kind.items():
        if len(found) != 1:
            raise InputError(
                f"--probe: {len(found)} logs of kind {kind}: one of flashmon and one of funcmon are needed"
            )
    [flash], [calls] = by_kind["flashmon"], by_kind["funcmon"]
    outer = _outermost(calls.rows)
    counted = _counts(outer, flash.rows[flash.rows["type"].isin(OPERATIONS)])
    busy = counted.sum(axis=1) > 0
    if not busy.any():
        raise InputError(
            f"{flash.source}, {calls.source}: no flash operation falls into a call: are they of the same run?"
        )
    amounts = counted[busy].assign(**{CALL: 1.0})
    amounts = amounts.loc[:, (amounts != 0).any()]
    if amounts.drop(columns=CALL).drop_duplicates().shape[0] == 1:
        # Always the same operations: what a call costs by itself cannot be told from them.
        amounts = amounts.drop(columns=CALL)
    logged = counted[busy].sum(axis=1).to_numpy() * flash.overhead_us + calls.overhead_us
    durations = outer["duration_us"][busy].to_numpy()
    said = [*flash.warnings, *calls.warnings]
    outside = len(flash.rows) - int(counted.to_numpy().sum())
    if outside > 0.05 * len(flash.rows):
        said.append(f"{outside} of {len(flash.rows)} flash operations fall into no call of {calls.source}")
    source = f"{calls.source} with {flash.source}"
    step_us = clock_step(durations)
    return Observations(
        source, "driver calls, us", "us", amounts.reset_index(drop=True), durations - logged, step_us, warnings=said
    )


def _outermost(calls: pd.DataFrame) -> pd.DataFrame:
    """Calls that lie in no other one of their process, in order of time."""
    calls = calls.assign(end_s=calls["t_s"] + calls["duration_us"] / 1e6)
    kept = []
    for _, of_process in calls.groupby("pid", sort=False):
        before = of_process["end_s"].cummax().shift(fill_value=-np.inf)
        kept.append(of_process[of_process["end_s"] > before])
    return pd.concat(kept).sort_values("t_s", ignore_index=True)


def _counts(calls: pd.DataFrame, flash: pd.DataFrame) -> pd.DataFrame:
    """Operations of each kind between begin and end of each call, by the same process."""
    counted = pd.DataFrame(0.0, index=calls.index, columns=list(OPERATIONS.values()))
    for (pid, kind), events in flash.groupby(["pid", "type"], sort=False):
        of_process = calls[calls["pid"] == pid]
        times: Numbers = events["t_s"].to_numpy()
        begin = np.searchsorted(times, of_process["t_s"].to_numpy(), side="left")
        end = np.searchsorted(times, of_process["end_s"].to_numpy(), side="right")
        counted.loc[of_process.index, OPERATIONS[str(kind)]] = end - begin
    return counted
