"""Logs of one execution on clocks of their own: which flash operation belongs to which call.

Tracers count from different instants. The offset between two of their clocks is the one at which most operations fall
into calls that can have caused them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ffslab.measured.compare.board_logs import FunctionCall
from ffslab.measured.compare.sessions import Replayed
from ffslab.measured.compare.trace_folder import Recording
from ffslab.measured.threads import is_background

# One of so many first operations and calls belong to each other.
CANDIDATES = 40
# A clock step more or less: 32,768 Hz on the papers' board.
STEP_S = 1 / 32_768
# Calls are recorded with 10 ms resolution, some 0.1 s late.
CALL_SLACK_S = 0.15
# Share of the operations that must fall into calls, or the logs are of different executions.
MATCHED_MIN = 0.6


def offset_s(starts: Sequence[float], durations: Sequence[float], instants: Sequence[float]) -> tuple[float, float]:
    """(what to add to `instants` to bring them onto the clock of the calls, share of them that falls into calls)."""
    begin = np.asarray(starts, dtype=float)
    end = begin + np.asarray(durations, dtype=float) + STEP_S
    events = np.asarray(instants, dtype=float)
    if not len(begin) or not len(events):
        return 0.0, 0.0
    tried = np.subtract.outer(begin[:CANDIDATES], events[: 4 * CANDIDATES]).ravel()
    best = (0.0, 0.0)
    for candidate in np.unique(np.round(tried, 5)):
        # The operation comes some time after its call began.
        for later_s in (0.0, 2 * STEP_S, 6 * STEP_S, 12 * STEP_S):
            share = float(_inside(begin, end, events + candidate + later_s).mean())
            if share > best[1]:
                best = (float(candidate + later_s), share)
    return best


def _inside(begin: NDArray[np.float64], end: NDArray[np.float64], events: NDArray[np.float64]) -> NDArray[np.bool_]:
    last = np.searchsorted(begin, events, side="right") - 1
    return (last >= 0) & (events <= end[np.maximum(last, 0)])


def reads_in_functions(recording: Recording) -> dict[FunctionCall, int] | None:
    """Page reads of the program in each call of readpage. `None`: they were not logged, or in another execution."""
    if recording.functions is None or recording.flash is None:
        return None
    calls = [call for call in recording.functions if call.name.endswith("readpage")]
    reads = [op.t_s for op in recording.flash if op.kind == "R" and not is_background(op.task)]
    starts, durations = [call.start_s for call in calls], [call.duration_s for call in calls]
    offset, share = offset_s(starts, durations, reads)
    if share < MATCHED_MIN:
        return None
    at = np.asarray(reads) + offset
    begin = np.asarray(starts)
    inside = _inside(begin, begin + np.asarray(durations) + STEP_S, at)
    owners = np.searchsorted(begin, at[inside], side="right") - 1
    counts = np.bincount(owners, minlength=len(calls))
    return dict(zip(calls, (int(count) for count in counts), strict=True))


def before_first_call(recording: Recording, replayed: Sequence[Replayed]) -> set[int]:
    """Which operations of the flash log (by position) come before its first recorded call.

    The clocks of both logs are brought together by the calls that read here, and are to have read there.
    """
    log = recording.flash or []
    own = [i for i, op in enumerate(log) if not is_background(op.task) and op.kind == "R"]
    reading = [made for made in replayed if _reads(made)]
    if not own or not reading:
        return set()
    starts = [made.call.t_s - CALL_SLACK_S for made in reading]
    durations = [made.latency_us * 1e-6 + 2 * CALL_SLACK_S for made in reading]
    offset, share = offset_s(starts, durations, [log[i].t_s for i in own])
    if share < MATCHED_MIN:
        return set()
    first_s = replayed[0].call.t_s - 2 * CALL_SLACK_S
    return {i for i, op in enumerate(log) if op.t_s + offset < first_s}


def _reads(made: Replayed) -> bool:
    none = {"page_reads": 0}
    after, before = made.after["tasks"].get("caller", none), made.before["tasks"].get("caller", none)
    return bool(after["page_reads"] > before["page_reads"])
