"""The calls of programs that took longest, and the flash operations that went on meanwhile."""

from __future__ import annotations

import numpy as np

from ffslab.answers.trace_report import SlowestCall
from ffslab.measured.tracereport.attribution import Attribution, roots
from ffslab.measured.tracereport.columns import Calls, Flash, Mask
from ffslab.measured.tracereport.operations import counts
from ffslab.measured.tracereport.recording import Recording

CALLS_MAX = 10


def slowest(
    recording: Recording, calls: Calls, flash: Flash | None = None, found: Attribution | None = None
) -> list[SlowestCall]:
    """The calls that took longest, the slowest first: of the outermost level that is recorded, the first of `found`.

    Without a log of the flash nothing is known of what a call waited for.
    """
    ended = np.flatnonzero(~recording.is_background()[calls.task] & ~calls.under_way & (calls.duration_ns > 0))
    longest = ended[np.argsort(-calls.duration_ns[ended], kind="stable")]
    outermost = _outermost(calls, found)
    rows: list[SlowestCall] = []
    for row in longest[outermost[longest]][:CALLS_MAX]:
        told: SlowestCall = {
            "function": recording.functions.texts[calls.function[row]],
            "task": recording.tasks.texts[calls.task[row]],
            "start_s": float(calls.t_ns[row] - recording.start_ns) / 1e9,
            "duration_us": float(calls.duration_ns[row]) / 1e3,
        }
        if flash is not None and found is not None:
            # What it made itself ends within the clock's resolution of it, so it is told by the attribution.
            own = found.outermost == _place(found, row)
            during = (flash.t_ns >= calls.t_ns[row]) & (flash.t_ns <= calls.end_ns[row])
            told["inside"] = counts(flash, own)
            told["of_others"] = counts(flash, during & ~own)
        rows.append(told)
    return rows


def _place(found: Attribution, row: np.intp) -> int:
    """The position in the stack of a call of the first level."""
    return int(np.flatnonzero((found.stack.level == 0) & (found.stack.row == row))[0])


def _outermost(calls: Calls, found: Attribution | None) -> Mask:
    """Which calls are inside no other one: another level above them is not recorded."""
    if found is None:
        return np.ones(len(calls), dtype=bool)
    own = np.flatnonzero(found.stack.level == 0)
    is_root = np.zeros(len(calls), dtype=bool)
    is_root[found.stack.row[own]] = roots(found.stack, own) == own
    return is_root
