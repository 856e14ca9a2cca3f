"""`ffslab trace timeline`: logs of a real system as a timeline for Perfetto.

A thread is a track: its calls lie in one another as they did, with what it asked the flash for as instants, because the
logs say when an operation was asked for and not how long it took. The flash has a track of its own, and the markers of
the session are phases.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffslab import _native
from ffslab.api.observe import check_file
from ffslab.measured.tracereport.columns import OPERATIONS, Calls, Flash, Ints
from ffslab.measured.tracereport.header import FUNCMON, VFSMON

if TYPE_CHECKING:
    from ffslab.measured.tracereport.recording import Recording

Track = tuple[str, str, Ints, Ints, Ints, list[str], list[tuple[str, Ints]]]

OPERATION_NAMES = [name.removesuffix("s") for _, _, name in OPERATIONS]


def write(recording: Recording, path: Path) -> int:
    """Writes the timeline of a session; how many events it has.

    Raises `ffslab.InputError` when the file cannot be written.
    """
    flaws = f" (incomplete: {'; '.join(recording.flaws)})" if recording.flaws else ""
    title = ", ".join(log.path.name for log in recording.logs) + flaws
    check_file(path, str(path))
    tracks = [*_phases(recording), *_threads(recording), *_flash(recording)]
    return _native.write_timeline(path, title, tracks)


def _phases(recording: Recording) -> list[Track]:
    if not recording.markers:
        return []
    starts = np.array([marker.t_ns for marker in recording.markers], dtype=np.int64) - recording.start_ns
    starts = np.maximum(starts, 0)
    ends = np.append(starts[1:], max(recording.end_ns - recording.start_ns, int(starts[-1])))
    names = [marker.text for marker in recording.markers]
    return [("phases", "step", starts, ends, np.arange(len(names), dtype=np.int64), names, [])]


def _flash(recording: Recording) -> list[Track]:
    flash = recording.flash
    if flash is None or not len(flash):
        return []
    at = flash.t_ns - recording.start_ns
    kinds = flash.kind.astype(np.int64)
    return [("flash", "flash", at, at, kinds, OPERATION_NAMES, _places(recording, flash))]


def _places(recording: Recording, flash: Flash) -> list[tuple[str, Ints]]:
    block = flash.block(recording.chip.pages_per_block).astype(np.int64)
    return [("block", block), ("address", flash.address.astype(np.int64))]


def _threads(recording: Recording) -> list[Track]:
    """A track a thread. Calls and functions come from two logs, operations from a third one."""
    functions = list(recording.functions.texts)
    names = [*functions, *OPERATION_NAMES]
    parts: list[tuple[Ints, ...]] = []
    for kind in (VFSMON, FUNCMON):
        calls = recording.calls(kind)
        if calls is not None and len(calls):
            parts.append(_of_calls(calls))
    flash = recording.flash
    if flash is not None and len(flash):
        block = flash.block(recording.chip.pages_per_block).astype(np.int64)
        nothing = np.full(len(flash), -1, dtype=np.int64)
        number = flash.kind.astype(np.int64) + len(functions)
        task, pid = flash.task.astype(np.int64), flash.pid.astype(np.int64)
        parts.append((flash.t_ns, flash.t_ns, number, task, pid, nothing, nothing, block))
    if not parts:
        return []
    start, end, number, task, pid, inode, asked, block = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((-end, start))
    start, end, number, task, pid, inode, asked, block = (
        column[order] for column in (start, end, number, task, pid, inode, asked, block)
    )
    tracks: list[Track] = []
    for of_task, of_pid in sorted(set(zip(task.tolist(), pid.tolist(), strict=True))):
        mine = (task == of_task) & (pid == of_pid)
        shown = f"{recording.tasks.texts[of_task]} {of_pid}" if of_pid >= 0 else recording.tasks.texts[of_task]
        begun, ended = start[mine] - recording.start_ns, end[mine] - recording.start_ns
        args = [("inode", inode[mine]), ("asked_B", asked[mine]), ("block", block[mine])]
        tracks.append((shown, "call", begun, ended, number[mine], names, args))
    return tracks


def _of_calls(calls: Calls) -> tuple[Ints, ...]:
    number, task, pid = (column.astype(np.int64) for column in (calls.function, calls.task, calls.pid))
    nothing = np.full(len(calls), -1, dtype=np.int64)
    return calls.t_ns, calls.end_ns, number, task, pid, calls.inode, calls.asked_B, nothing
