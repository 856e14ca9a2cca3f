"""A folder of a board's logs: which sessions are in it, which logs belong to the same execution.

FOLDER/vfs/RECORD_runK.csv[.gz]             system calls with durations
FOLDER/vfs_repaired/..., vfs_times_only/... system calls without durations
FOLDER/ffs/...                              functions of the file system
FOLDER/flash/...                            flash operations
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ffslab._native import InputError
from ffslab.api.machine import Machine
from ffslab.measured.compare.board_logs import Call, FlashOp, FunctionCall, read_calls, read_flash_ops, read_functions
from ffslab.measured.compare.content import insert_writes
from ffslab.measured.compare.sessions import JOURNAL_END, PAUSE_US, Replayed, Session, is_insert, with_inferred

NAME = re.compile(r"(\d+)_run(\d+)\.csv(?:\.gz)?")
CALL_FOLDERS = ("vfs", "vfs_repaired", "vfs_times_only")
RECORDS = 100


@dataclass(frozen=True)
class Recording:
    """One session of a program: its logs of the same execution."""

    folder: Path
    record_bytes: int
    run: int
    calls_path: Path
    functions_path: Path | None
    flash_path: Path | None

    @property
    def title(self) -> str:
        """The session as tables name it."""
        return f"{self.workload} {self.record_bytes} run {self.run}"

    @property
    def workload(self) -> str:
        """INSERT or SELECT."""
        return "INSERT" if is_insert(self.calls) else "SELECT"

    @cached_property
    def calls(self) -> list[Call]:
        """Its system calls."""
        return read_calls(self.calls_path)

    @cached_property
    def functions(self) -> list[FunctionCall] | None:
        """Calls of functions of the file system, if they were logged."""
        return read_functions(self.functions_path) if self.functions_path else None

    @cached_property
    def flash(self) -> list[FlashOp] | None:
        """Flash operations, if they were logged."""
        return read_flash_ops(self.flash_path) if self.flash_path else None

    @property
    def timed(self) -> bool:
        """Whether its calls have durations."""
        return all(call.elapsed_s is not None for call in self.calls if call.op in ("read", "write"))


def recordings(*folders: Path, record_bytes: Sequence[int] = ()) -> list[Recording]:
    """The sessions in folders, by record size and run; of `record_bytes` alone if any are given.

    Errors: no such folder, no log of system calls in it, none of the wanted size.
    """
    found = [recording for folder in folders for recording in _recordings(folder)]
    wanted = [recording for recording in found if not record_bytes or recording.record_bytes in record_bytes]
    if not wanted:
        there = ", ".join(map(str, sorted({recording.record_bytes for recording in found})))
        raise InputError(f"no session with records of {record_bytes[0]} B: there are {there}")
    return wanted


def _recordings(folder: Path) -> list[Recording]:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of traces")
    found: dict[tuple[int, int], Path] = {}
    for kind in CALL_FOLDERS:
        for path in sorted((folder / kind).glob("*.csv*")):
            if match := NAME.fullmatch(path.name):
                found.setdefault((int(match[1]), int(match[2])), path)
    if not found:
        wanted = ", ".join(f"{kind}/" for kind in CALL_FOLDERS)
        raise InputError(f"{folder}: no log of system calls: expected files such as 128_run1.csv in {wanted}")
    return [
        Recording(
            folder, record, run, path, _beside(folder / "ffs", record, run), _beside(folder / "flash", record, run)
        )
        for (record, run), path in sorted(found.items())
    ]


def _beside(folder: Path, record: int, run: int) -> Path | None:
    for ending in (".csv", ".csv.gz"):
        if (path := folder / f"{record}_run{run}{ending}").is_file():
            return path
    return None


def runs_before(recording: Recording) -> int:
    """How many runs of 100 INSERTs went before on the same file system: as many as make SQLite write as in the trace.

    Errors: neither a new table nor one that the runs before have filled does.
    """
    if recording.workload == "SELECT":
        return 1
    traced = [(call.path.endswith(JOURNAL_END), call.bytes) for call in recording.calls if call.op == "write"]
    for before in dict.fromkeys((0, recording.run - 1)):
        _, inserts = insert_writes(recording.record_bytes, RECORDS * (before + 1))
        expected = [(write.journal, len(write.data)) for insert in inserts[RECORDS * before :] for write in insert]
        if traced == expected[: len(traced)]:
            return before
    raise InputError(
        f"{recording.calls_path}: these are not the writes of {RECORDS} INSERTs of 5 texts of "
        f"{recording.record_bytes} B each into a new table, nor into one with {RECORDS * (recording.run - 1)} rows"
    )


def replay_recording(recording: Recording, machine: Machine) -> tuple[Session, Iterator[Replayed]]:
    """Makes the calls of a session again, after what was before it. The second result makes them, one by one."""
    before = runs_before(recording)
    session = Session(machine, recording.record_bytes, RECORDS * (before + 1))
    for _ in range(before):
        session.insert(RECORDS)
        session.stack.sleep(PAUSE_US)
    return session, session.run(with_inferred(recording.calls))
