"""What was recorded in one session: up to one log of each kind, with one clock and one chip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ffslab._native import InputError
from ffslab.files import results, tables
from ffslab.measured.threads import is_kernel_thread
from ffslab.measured.tracereport.checks import SECOND_NS
from ffslab.measured.tracereport.columns import Calls, Flash, Ints, Marker, Mask, Names
from ffslab.measured.tracereport.header import BLOCKS_MAX, FLASHMON, FUNCMON, VFSMON, Chip, Head, Partition
from ffslab.measured.tracereport.log import Log
from ffslab.measured.tracereport.reader import SPATIAL, TooManyEventsError, read_log

# Where a log of Flashmon v2 does not say what the chip is like: the commonest SLC chip.
USUAL_PAGE_B, USUAL_OOB_B, USUAL_PAGES_PER_BLOCK = 2048, 64, 64
WITHOUT_PHASE = "start"
# Events of all logs of a session that are read unasked: at 160 B each they and their report take less than 1 GiB.
EVENTS_MAX = 4_000_000
EVENT_B = 160


@dataclass
class Recording:
    """All that is known of a session. `flaws` and `notes` are sentences of its logs."""

    logs: list[Log]
    chip: Chip
    tasks: Names
    functions: Names
    start_ns: int
    end_ns: int
    markers: list[Marker] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def flash(self) -> Flash | None:
        return next((log.flash for log in self.logs if log.flash is not None), None)

    @property
    def spatial(self) -> Ints | None:
        return next((log.spatial for log in self.logs if log.spatial is not None), None)

    def calls(self, kind: str) -> Calls | None:
        """The calls of a level, VFSMON or FUNCMON."""
        return next((log.calls for log in self.logs if log.head.kind == kind), None)

    @property
    def head(self) -> Head:
        """The head that says most: that of the flash log if there is one."""
        return min((log.head for log in self.logs), key=lambda head: (head.kind != FLASHMON, head.kernel is None))

    @property
    def partitions(self) -> list[Partition]:
        return self.head.partitions

    @property
    def duration_s(self) -> float:
        return (self.end_ns - self.start_ns) / SECOND_NS

    @property
    def phases(self) -> list[str]:
        """Names of the phases: the markers, and what is before the first; repeated ones are numbered."""
        names = [WITHOUT_PHASE]
        for marker in self.markers:
            text = marker.text or f"marker {len(names)}"
            times = sum(name == text or name.startswith(f"{text} (") for name in names)
            names.append(f"{text} ({times + 1})" if times else text)
        return names

    def phase_of(self, t_ns: Ints) -> Ints:
        """The number of the phase of each moment."""
        return np.searchsorted([marker.t_ns for marker in self.markers], t_ns, side="right").astype(np.int64)

    def is_background(self) -> Mask:
        """For each task, whether it is a thread of the kernel."""
        return np.array([is_kernel_thread(name) for name in self.tasks.texts], dtype=bool)


def load(
    paths: list[Path],
    chip: Chip | None = None,
    shifts_s: dict[str, float] | None = None,
    progress: Callable[[float], object] | None = None,
    *,
    large: bool = False,
) -> Recording:
    """The logs of one session: files, or a folder that holds them, or the results of a run that kept them.

    `chip`: the geometry, for logs that do not say it. `shifts_s`: seconds to add to the times of a kind of log.
    `large`: read more than `EVENTS_MAX` events.
    Raises `InputError` when a log cannot be right, has too many events, or the logs are not of one session.
    """
    tasks, functions = Names(), Names()
    logs: list[Log] = []
    events = 0
    files = [file for path in paths for file in _files(path)]
    for done, path in enumerate(files):
        try:
            log = read_log(path, tasks, functions, chip, None if large else EVENTS_MAX - events)
        except TooManyEventsError:
            together = " with those of the logs before it" if events else ""
            raise InputError(
                f"{path}: more than {EVENTS_MAX:,} events{together}, each of which takes about {EVENT_B} B of memory: "
                "if they are to be read, give --yes"
            ) from None
        events += log.events
        twin = next((other for other in logs if other.head.kind == log.head.kind), None)
        if twin is not None:
            raise InputError(
                f"{path} and {twin.path} are both {log.head.kind} logs: one of each kind makes a report, "
                "`ffslab trace diff` compares two"
            )
        logs.append(_shifted(log, (shifts_s or {}).get(log.head.kind, 0.0)))
        if progress is not None:
            progress((done + 1) / len(files))
    _check_one_session(logs)
    start, end = _span(logs)
    recording = Recording(logs, _chip(logs, chip), tasks, functions, start, end)
    recording.flaws = [flaw for log in logs for flaw in log.flaws]
    recording.notes = [note for log in logs for note in log.notes]
    if all(log.head.chip is None for log in logs) and recording.flash is not None and chip is None:
        recording.notes.append(
            f"the logs do not say what the chip is like: {USUAL_PAGES_PER_BLOCK} pages of {USUAL_PAGE_B} B a block and "
            "the largest address are assumed (--part NAME or --chip says it)"
        )
    seen = {(marker.t_ns, marker.text) for log in logs for marker in log.markers}
    recording.markers = [Marker(*marker) for marker in sorted(seen)]
    return recording


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if (path / results.SUMMARY).is_file():  # of a simulated run
        path = path / tables.LOGS
        if not path.is_dir():
            raise InputError(f"{path.parent}: the run kept no logs: `probe_logs = true` in its experiment does")
    found = sorted(entry for entry in path.iterdir() if entry.is_file() and not entry.name.startswith("."))
    if not found:
        variants = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
        which = f", but those of several variants: name one, such as {path / variants[0]}" if variants else ""
        raise InputError(f"{path}: the folder holds no logs{which}")
    return found


def _shifted(log: Log, shift_s: float) -> Log:
    if not shift_s:
        return log
    shift = round(shift_s * SECOND_NS)
    if log.flash is not None:
        log.flash.t_ns[:] += shift
    if log.calls is not None:
        log.calls.t_ns[:] += shift
    log.markers = [Marker(marker.t_ns + shift, marker.text) for marker in log.markers]
    if log.head.started_s is not None:
        log.head.started_s += shift_s
    log.notes.append(f"{log.path}: {shift_s:+g} s are added to its times")
    return log


def _check_one_session(logs: list[Log]) -> None:
    for what in ("clock", "chip", "kernel"):
        known = [(log.path, getattr(log.head, what)) for log in logs if getattr(log.head, what) is not None]
        for path, value in known[1:]:
            if value != known[0][1]:
                raise InputError(
                    f"{known[0][0]} and {path} are not of one session: {what} is `{known[0][1]}` and `{value}`"
                )
    spans = [(log.path, _log_span(log)) for log in logs]
    timed = [(path, span) for path, span in spans if span is not None]
    for path, (start, end) in timed[1:]:
        first, (other_start, other_end) = timed[0]
        if start > other_end or end < other_start:
            raise InputError(
                f"{first} ({other_start / 1e9:.3f} to {other_end / 1e9:.3f} s) and {path} ({start / 1e9:.3f} to "
                f"{end / 1e9:.3f} s) are not of one session, or of two clocks: --shift KIND=SECONDS moves one"
            )


def _log_span(log: Log) -> tuple[int, int] | None:
    """From the start of a log, or its first event, to its end, or its last event."""
    columns = log.flash if log.flash is not None else log.calls
    if columns is None:
        return None
    ends = log.calls.end_ns if log.calls is not None else columns.t_ns
    first = [int(columns.t_ns[0])] if len(columns) else []
    last = [int(ends.max())] if len(columns) else []
    if log.head.started_s is not None:
        first.append(round(log.head.started_s * SECOND_NS))
    if log.foot is not None:
        last.append(round(log.foot.end_s * SECOND_NS))
    return (min(first), max(last)) if first and last else None


def _span(logs: list[Log]) -> tuple[int, int]:
    spans = [span for log in logs if (span := _log_span(log)) is not None]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else (0, 0)


def _chip(logs: list[Log], given: Chip | None) -> Chip:
    """The chip of the headers, the one that was named, or the usual one, as large as the addresses need."""
    said = next((log.head.chip for log in logs if log.head.chip is not None), given)
    if said is not None:
        return said
    blocks = 1
    for log in logs:
        if log.flash is not None and len(log.flash):
            blocks = max(blocks, int(log.flash.block(USUAL_PAGES_PER_BLOCK).max()) + 1)
        if log.spatial is not None:
            blocks = max(blocks, len(log.spatial))
    if blocks > BLOCKS_MAX:
        raise InputError(
            f"{logs[0].path}: the largest address is of erase block {blocks - 1}, no chip has more than {BLOCKS_MAX}: "
            "are the addresses in bytes? (--part NAME or --chip says what the chip is like)"
        )
    return Chip(USUAL_PAGE_B, USUAL_OOB_B, USUAL_PAGES_PER_BLOCK, blocks)


__all__ = ["FLASHMON", "FUNCMON", "SPATIAL", "VFSMON", "Recording", "load"]
