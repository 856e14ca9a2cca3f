"""Measured and simulated side by side: durations of calls and functions, flash operations by task."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ffslab._native import InputError
from ffslab.answers.comparison import BoardComparison, FlashError, TimeError
from ffslab.answers.machine import Activity
from ffslab.api.machine import LINUX_BOARD, Machine
from ffslab.files.inputs import read_text, resolved
from ffslab.measured.compare.alignment import before_first_call
from ffslab.measured.compare.sessions import Replayed
from ffslab.measured.compare.trace_folder import Recording, replay_recording, runs_before
from ffslab.measured.threads import is_kernel_thread, task_of

FUNCTIONS = {"jffs2_write_end": "write_end", "jffs2_write_begin": "write_begin", "jffs2_readpage": "readpage"}
CALLS = {"vfs_write": "write", "vfs_read": "read"}
Counter = Literal["page_reads", "page_programs", "erases"]
OPERATIONS: dict[str, tuple[str, Counter]] = {
    "reads": ("R", "page_reads"),
    "programs": ("W", "page_programs"),
    "erases": ("E", "erases"),
}
KEY = ("workload", "record", "run")
TIME_ERRORS = ("fresh_mean_err_pct", "fresh_total_err_pct")
FLASH_COUNTS = {operation: f"openflash_{letter}" for operation, (letter, _) in OPERATIONS.items()}
OPENFLASH_TIMES, OPENFLASH_FLASH = "openflash_time_error.csv", "openflash_flashop_error.csv"


@dataclass(frozen=True)
class TimeRow:
    """Durations of one kind of call in a session. Times in us; errors in percent, those of OpenFlash if it is known."""

    workload: str
    record_bytes: int
    run: int
    call: str
    measured_n: int
    measured_mean_us: float
    simulated_n: int
    simulated_mean_us: float
    openflash_mean_error: float | None
    openflash_total_error: float | None

    @property
    def session(self) -> str:
        """The session as tables name it."""
        return session_of(self.workload, self.record_bytes, self.run)

    @property
    def mean_error(self) -> float:
        """The error of the mean duration, in percent."""
        return _error(self.simulated_mean_us, self.measured_mean_us)

    @property
    def total_error(self) -> float:
        """The error of the sum of all durations, in percent."""
        return _error(self.simulated_mean_us * self.simulated_n, self.measured_mean_us * self.measured_n)

    def as_dict(self) -> TimeError:
        """The row with its errors, as plain values."""
        return {
            "workload": self.workload,
            "record_bytes": self.record_bytes,
            "run": self.run,
            "call": self.call,
            "measured_n": self.measured_n,
            "measured_mean_us": self.measured_mean_us,
            "simulated_n": self.simulated_n,
            "simulated_mean_us": self.simulated_mean_us,
            "openflash_mean_error": self.openflash_mean_error,
            "openflash_total_error": self.openflash_total_error,
            "mean_error_pct": self.mean_error,
            "total_error_pct": self.total_error,
        }


@dataclass(frozen=True)
class FlashRow:
    """Flash operations of one task ("all": of all of them) in a session."""

    workload: str
    record_bytes: int
    run: int
    operation: str
    task: str
    measured: int
    simulated: int
    openflash: int | None

    @property
    def session(self) -> str:
        """The session as tables name it."""
        return session_of(self.workload, self.record_bytes, self.run)

    @property
    def error(self) -> float | None:
        """The error in percent; `None` if nothing was measured."""
        return _error(self.simulated, self.measured) if self.measured else None

    @property
    def openflash_error(self) -> float | None:
        """The error of OpenFlash in percent; `None` if it is not known."""
        return _error(self.openflash, self.measured) if self.measured and self.openflash is not None else None

    def as_dict(self) -> FlashError:
        """The row with its errors, as plain values."""
        return {
            "workload": self.workload,
            "record_bytes": self.record_bytes,
            "run": self.run,
            "operation": self.operation,
            "task": self.task,
            "measured": self.measured,
            "simulated": self.simulated,
            "openflash": self.openflash,
            "error_pct": self.error,
            "openflash_error_pct": self.openflash_error,
        }


@dataclass(frozen=True)
class Comparison:
    """All sessions of folders, and recordings. `traced`: tracers ran here, too."""

    board: str
    times: list[TimeRow]
    flash: list[FlashRow]
    notes: list[str]
    traced: bool = True

    @property
    def has_openflash(self) -> bool:
        """Whether errors of OpenFlash are known."""
        told = [row.openflash_mean_error for row in self.times]
        return any(one is not None for one in (*told, *(row.openflash for row in self.flash)))

    @property
    def setting(self) -> str:
        """What ran on both sides."""
        return "tracers running in both" if self.traced else "tracers running on the board alone"

    def as_dict(self) -> BoardComparison:
        """The comparison as `--json` prints it."""
        return {
            "board": self.board,
            "times": [row.as_dict() for row in self.times],
            "flash": [row.as_dict() for row in self.flash],
            "notes": self.notes,
        }


def session_of(workload: str, record_bytes: int, run: int) -> str:
    """What a session is called; a recording, which has no record size, by its name."""
    return f"{workload} {record_bytes} run {run}" if record_bytes else workload


def _error(simulated: float, measured: float) -> float:
    return 100 * (simulated / measured - 1) if measured else 0.0


def compare(
    recordings: Sequence[Recording], machine: Machine, progress: Callable[[float], object] | None = None
) -> Comparison:
    """Replays all sessions."""
    times: list[TimeRow] = []
    flash: list[FlashRow] = []
    notes: list[str] = []
    for number, recording in enumerate(recordings):
        published = _OpenFlash(recording)
        session, made = replay_recording(recording, machine)
        begin = session.stack.activity()
        replayed = list(made)
        end = session.stack.activity()
        times += _times(recording, replayed, begin, end, published)
        if recording.flash is not None:
            early = before_first_call(recording, replayed)
            flash += _flash(recording, begin, end, early, published)
            if early:
                notes.append(
                    f"{recording.title}: {len(early)} flash operations of the log come before the first recorded call "
                    "and are left out: the program did something that the tracer did not record"
                )
        notes += _notes(recording, replayed)
        if progress is not None:
            progress((number + 1) / len(recordings))
    return Comparison(machine.board or LINUX_BOARD, times, flash, list(dict.fromkeys(notes)))


def _times(
    recording: Recording, replayed: Sequence[Replayed], begin: Activity, end: Activity, published: _OpenFlash
) -> list[TimeRow]:
    rows = []

    def add(call: str, measured_us: list[float], simulated_n: int, simulated_us: float) -> None:
        if measured_us:
            known = published.time_errors(call)
            mean = sum(measured_us) / len(measured_us)
            rows.append(
                TimeRow(
                    recording.workload,
                    recording.record_bytes,
                    recording.run,
                    call,
                    len(measured_us),
                    mean,
                    simulated_n,
                    simulated_us / simulated_n if simulated_n else 0.0,
                    *known,
                )
            )

    for name, op in CALLS.items():
        calls = [made for made in replayed if made.call.op == op and made.call.elapsed_s is not None]
        measured = [made.call.elapsed_s * 1e6 for made in calls if made.call.elapsed_s is not None]
        add(name, measured, len(calls), sum(made.latency_us for made in calls))
    for name, function in FUNCTIONS.items():
        durations = [call.duration_s * 1e6 for call in recording.functions or [] if call.name == name]
        before, after = begin["functions"][function], end["functions"][function]
        spent_us = (after["total_ns"] - before["total_ns"]) / 1e3
        add(name, durations, after["calls"] - before["calls"], spent_us)
    return rows


def _flash(
    recording: Recording, begin: Activity, end: Activity, early: set[int], published: _OpenFlash
) -> list[FlashRow]:
    logged = [op for i, op in enumerate(recording.flash or []) if i not in early]
    own = recording.workload.lower()
    names = sorted({op.task for op in logged} | {own}, key=lambda task: (task != own, task))
    rows = []
    for operation, (kind, counter) in OPERATIONS.items():
        before = {task: counts[counter] for task, counts in begin["tasks"].items()}
        simulated = {task: counts[counter] - before.get(task, 0) for task, counts in end["tasks"].items()}
        key = (recording.workload, recording.record_bytes, recording.run, operation)
        total = sum(op.kind == kind for op in logged)
        rows.append(FlashRow(*key, "all", total, sum(simulated.values()), published.flash(operation)))
        for name in names:
            count = sum(op.kind == kind and op.task == name for op in logged)
            # Another program, such as sync, does nothing here.
            here = simulated.get(task_of(name), 0) if name == own or is_kernel_thread(name) else 0
            if count or here:
                rows.append(FlashRow(*key, name, count, here, None))
    return rows


def _notes(recording: Recording, replayed: Sequence[Replayed]) -> list[str]:
    notes = []
    inferred = [made.call.op for made in replayed if made.call.inferred]
    if inferred:
        counted = ", ".join(f"{inferred.count(op)} {op}" for op in dict.fromkeys(inferred))
        notes.append(f"{recording.workload}: calls that the tracer does not record are inferred ({counted} a run)")
    if recording.workload == "SELECT":
        notes.append(
            "SELECT: the data base is what 100 INSERTs leave on an erased partition; pages were dropped before"
        )
    elif runs_before(recording):
        before = runs_before(recording)
        notes.append(f"{recording.title}: {100 * before} INSERTs went before into the same table, as its calls show")
    return notes


class _OpenFlash:
    """What the authors' simulator says of the same session, if the tables are beside the folder."""

    def __init__(self, recording: Recording) -> None:
        self._key = (recording.workload.lower(), str(recording.record_bytes), str(recording.run))
        folder = resolved(recording.folder).parent
        self._times = self._rows(folder / OPENFLASH_TIMES, TIME_ERRORS)
        # Its flash operations are those of capture B, as are all flash logs of INSERT.
        self._flash = self._rows(folder / OPENFLASH_FLASH, tuple(FLASH_COUNTS.values()))

    def _rows(self, path: Path, numbers: Sequence[str]) -> list[dict[str, str]]:
        """The rows of this session, in which `numbers` are numbers."""
        if not path.is_file():
            return []
        lines = csv.DictReader(io.StringIO(read_text(path, "table"), newline=""))
        try:
            rows = [row for row in lines if tuple(row[name] for name in KEY) == self._key]
            for row in rows:
                for name in numbers:
                    float(row[name])
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise InputError(f"{path}:{lines.line_num}: is not as OpenFlash writes it: {error}") from None
        return rows

    def time_errors(self, call: str) -> tuple[float | None, float | None]:
        """(of the mean, of the total) in percent: of a rebuild with the constants of the authors' scripts."""
        for row in self._times:
            if row.get("call") == call:
                mean, total = (float(row[name]) for name in TIME_ERRORS)
                return mean, total
        return None, None

    def flash(self, operation: str) -> int | None:
        """Operations of all tasks."""
        return int(float(self._flash[0][FLASH_COUNTS[operation]])) if self._flash else None
