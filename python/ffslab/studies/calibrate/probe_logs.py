"""Logs of the probe kit: what driver functions took (funcmon), which flash operations happened meanwhile (flashmon).

A call of the driver takes its own time and that of the page reads, page programs and erases in it. Each operation
belongs to the outermost recorded call of its thread (`tracereport.attribution`), so only functions of the driver should
have been traced: what a file system computes would count as the driver's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ffslab._native import InputError
from ffslab.measured.tracereport.attribution import NONE, attribute
from ffslab.measured.tracereport.columns import ERASE, OOB_PROGRAM, OOB_READ, PROGRAM, READ
from ffslab.measured.tracereport.header import FLASHMON, FUNCMON
from ffslab.measured.tracereport.recording import Recording, load
from ffslab.studies.calibrate.observations import Observations
from ffslab.studies.calibrate.resolution import clock_step

# The constant of each kind of flash operation. A profile has none for those of the OOB area alone.
CONSTANTS = {
    READ: "driver.read_us",
    PROGRAM: "driver.program_us",
    ERASE: "driver.erase_us",
    OOB_READ: "loop.oob_read_us",
    OOB_PROGRAM: "loop.oob_program_us",
}
CALL = "loop.driver_call_us"
# Operations outside all calls are worth a word from this share on.
OUTSIDE_SHARE = 0.05


def observations(paths: list[Path], *, large: bool = False) -> Observations:
    """Durations of the outermost calls that did something to the flash, as sums of their operations.

    `large`: however many events there are.
    Errors: those of the logs; one of the two kinds is missing; no operation falls into a call.
    """
    session = load(paths, large=large)
    flash, calls = session.flash, session.calls(FUNCMON)
    if flash is None or calls is None:
        missing = FLASHMON if flash is None else FUNCMON
        raise InputError(f"--probe: no {missing} log: one of flashmon and one of funcmon of the same run are needed")
    found = attribute(flash, [calls], session.tasks.texts, session.is_background())
    inside = found.outermost != NONE
    counted = np.zeros((len(calls), max(CONSTANTS) + 1))
    known = inside & np.isin(flash.kind, list(CONSTANTS))
    np.add.at(counted, (found.stack.row[found.outermost[known]], flash.kind[known]), 1)
    kept = (counted.sum(axis=1) > 0) & ~calls.under_way
    source = " with ".join(str(log.path) for log in session.logs if log.head.kind in (FLASHMON, FUNCMON))
    if not kept.any():
        raise InputError(f"{source}: no flash operation falls into a call: are they of the same run?")
    amounts = pd.DataFrame({key: counted[kept, kind] for kind, key in CONSTANTS.items() if counted[kept, kind].any()})
    said = [*session.flaws]
    durations_us = calls.duration_ns[kept] / 1e3
    with_call = amounts.assign(**{CALL: 1.0})
    if np.linalg.matrix_rank(with_call.to_numpy()) > np.linalg.matrix_rank(amounts.to_numpy()):
        amounts = with_call
    else:
        said.append(f"{source}: what a call costs by itself cannot be told from its operations, and is in their times")
    if (~inside).sum() > OUTSIDE_SHARE * len(flash):
        said.append(f"{source}: {(~inside).sum()} of {len(flash)} flash operations fall into no call")
    logged_us = counted[kept].sum(axis=1) * _overhead_us(session, FLASHMON) + _overhead_us(session, FUNCMON)
    step_us = clock_step(durations_us)
    return Observations(source, "driver calls, us", "us", amounts, durations_us - logged_us, step_us, warnings=said)


def _overhead_us(session: Recording, kind: str) -> float:
    """What logging one event cost the traced system, as the log says; 0 when it does not."""
    feet = [log.foot for log in session.logs if log.head.kind == kind]
    return (feet[0].overhead_ns_per_event or 0.0) / 1e3 if feet and feet[0] is not None else 0.0
