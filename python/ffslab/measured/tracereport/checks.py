"""What a whole log must fulfil: its own ends, and threads that are in one place at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffslab._native import InputError
from ffslab.measured.tracereport.header import COLUMNS

if TYPE_CHECKING:
    from ffslab.measured.tracereport.columns import Calls
    from ffslab.measured.tracereport.log import Log

SECOND_NS = 1_000_000_000
# Of what one thread does nothing overlaps: more of it than this share is a wrong unit.
OVERLAPS_MAX = 0.01
# Starts and durations are rounded by themselves, each to a microsecond at worst.
ROUNDING_NS = 2_000


def complain(log: Log) -> None:
    """Flags of an incomplete log, refusals of times that its own ends contradict."""
    path, foot = log.path, log.foot
    columns = log.flash if log.flash is not None else log.calls
    if log.source not in COLUMNS:
        if columns is not None:
            log.notes.append(f"{path}: {log.source} does not say whether events were lost")
        return
    assert columns is not None
    if log.calls is not None:
        _check_overlaps(log, log.calls)
    ends = log.calls.end_ns if log.calls is not None else columns.t_ns
    if foot is None:
        log.flaws.append(f"{path}: the log is truncated: its last line, `# end: ...`, is missing")
    else:
        end_ns = foot.end_s * SECOND_NS
        # t_s of the last line may be rounded to whole seconds.
        if len(columns) and ends.max() > end_ns + SECOND_NS:
            late = int(np.argmax(ends))
            raise InputError(
                f"{path}: an event at {columns.t_ns[late] / 1e9:.6f} s ends at {ends[late] / 1e9:.6f} s, but the log "
                f"ended at {foot.end_s:.6f} s: t_s must be in seconds, duration_us in microseconds"
            )
        if foot.lost:
            size = f" (a buffer of {log.head.buffer_KiB} KiB)" if log.head.buffer_KiB else ""
            log.flaws.append(f"{path}: {foot.lost:,} events were lost{size}: all counts are lower limits")
        events = len(columns)
        if foot.events not in (events, events + len(log.markers)):
            log.flaws.append(f"{path}: {foot.events:,} events were written, the file holds {events:,}")
    started = log.head.started_s
    if started is not None and len(columns) and columns.t_ns[0] < (started - 1) * SECOND_NS:
        raise InputError(
            f"{path}: an event at {columns.t_ns[0] / 1e9:.6f} s is older than the log, started at {started:.6f} s: "
            "t_s and started_s must be seconds of one clock"
        )


def _check_overlaps(log: Log, calls: Calls) -> None:
    """A thread is in one call, and in that one's callees; idle tasks share the number 0."""
    own = np.flatnonzero((calls.pid > 0) & ~calls.under_way)
    start, end, pid = calls.t_ns[own], calls.end_ns[own], calls.pid[own]
    order = np.lexsort((-end, start, pid))
    start, end, pid = start[order], end[order], pid[order]
    wrong = (pid[1:] == pid[:-1]) & (start[1:] + ROUNDING_NS < end[:-1]) & (end[1:] > end[:-1] + ROUNDING_NS)
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    said = (
        f"{log.path}: {int(wrong.sum()):,} of {len(calls):,} calls begin inside a call of their thread and end after "
        f"it, first at {start[first + 1] / 1e9:.6f} s (process {pid[first]})"
    )
    if wrong.sum() > OVERLAPS_MAX * len(calls):
        raise InputError(f"{said}: duration_us must be in microseconds")
    log.flaws.append(f"{said}: ends of calls are missing")
