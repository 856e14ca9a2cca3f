"""The measured sessions again, on the simulated stack: what was on the flash before, every call at its time.

State before a session, from what the logs show:

* INSERT: an erased partition, mounted, on which a program has made the table (three pages are programmed when the flash
  log begins). In capture B run k goes on in the table of run k - 1; every run of capture A has the same calls on a new
  table, so it begins anew.
* SELECT: the data base that INSERT leaves; before each session only the page cache is dropped (the first open of the
  128 B log reads node headers, no later one does).

What the tracer did not see is inferred, as in the repaired trace of the board data: SQLite syncs the journal after its
0-byte read and after its 12-byte header, the directory when it opens it, the data base after its last page, and deletes
the journal after closing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from ffslab._native import InputError
from ffslab.answers.machine import Activity
from ffslab.api.machine import Machine, Value
from ffslab.api.stack import Stack
from ffslab.measured.compare.board_logs import Call
from ffslab.measured.compare.content import Written, insert_writes

MOUNT_POINT = "/mnt/flash"
JOURNAL_END = "-journal"
DATABASE = f"{MOUNT_POINT}/test.db"
JOURNAL = DATABASE + JOURNAL_END
# Of the random records.
SEED = 1
# Between two calls of an INSERT under a tracer.
PACE_S = 0.1
# A call that the tracer missed follows the one that it saw.
INFERRED_AFTER_S = 0.002
# All blocks of an erased partition are erased once more after the first mount.
SETTLE_US = 120_000_000
# Between making the table and the first call.
PAUSE_US = 20_000_000
# The pause between two parts of a SELECT session is longer, and so are other calls apart.
NEW_PART_S = 5.0
# Where the published traces were recorded.
TRACED_BOARD, TRACED_KERNEL = "omap3evm", "2.6.37"


def traced_machine(
    board: str = TRACED_BOARD,
    kernel: str | None = None,
    partition_blocks: int = 800,
    *,
    traced: bool = True,
    uptime_us: int = 0,
    settings: Mapping[str, Value] | None = None,
) -> Machine:
    """What the sessions run on: tracers run, the file system compresses as Linux does by itself."""
    if kernel is None and board == TRACED_BOARD:
        kernel = TRACED_KERNEL
    own: dict[str, Value] = {"compression": "priority", "traced": traced, "uptime_us": uptime_us, **(settings or {})}
    return Machine(board, kernel, "jffs2", partition_blocks, settings=own)


@dataclass(frozen=True)
class Replayed:
    """A call that was made again: how long it took here, and what was done before and after it."""

    call: Call
    latency_us: float
    before: Activity
    after: Activity


def with_inferred(calls: Sequence[Call]) -> list[Call]:
    """The calls with those that the tracer did not see; a trace that has them already is left as it is."""
    if any(call.op in ("fsync", "unlink") for call in calls):
        return list(calls)
    whole = []
    for i, call in enumerate(calls):
        whole.append(call)
        journal = call.path.endswith(JOURNAL_END)
        following = calls[i + 1].op if i + 1 < len(calls) else "close"
        missed = None
        if call.op == "close" and journal:
            missed = "unlink"
        elif (
            (call.op == "read" and journal and call.bytes == 0)
            or (call.op == "write" and journal and call.bytes == 12)
            or (call.op == "open" and call.path == MOUNT_POINT)
            or (call.op == "write" and not journal and following == "close")
        ):
            missed = "fsync"
        if missed:
            whole.append(Call(call.t_s + INFERRED_AFTER_S, missed, call.path, inferred=True))
    return whole


def insert_calls(writes: Sequence[Written]) -> list[Call]:
    """The calls of an INSERT that a tracer sees, from what SQLite writes in it."""
    header = next(i for i, write in enumerate(writes) if i > 0 and write.journal and write.offset == 0)
    calls = [Call(0.0, "open", JOURNAL)]
    for i, write in enumerate(writes):
        if i == header:
            # Is there another header behind the last page? Then the journal and the directory are synced.
            calls.append(Call(0.0, "read", JOURNAL, 0, 0))
            calls += [Call(0.0, "open", MOUNT_POINT), Call(0.0, "close", MOUNT_POINT)]
        path = JOURNAL if write.journal else DATABASE
        calls.append(Call(0.0, "write", path, write.offset, len(write.data)))
    return [*calls, Call(0.0, "close", JOURNAL)]


def is_insert(calls: Sequence[Call]) -> bool:
    """Whether the session writes."""
    return any(call.op == "write" for call in calls)


class Session:
    """A machine with the table made, ready for the first run."""

    def __init__(self, machine: Machine, record_bytes: int, records: int) -> None:
        self.stack = Stack.of(machine.keys(), initial="fresh")
        created, inserts = insert_writes(record_bytes, records, SEED)
        self._inserts = iter(inserts)
        self._content: Iterator[Written] = iter(())
        self._database_bytes = 0
        self._open: dict[str, int] = {}
        self.stack.mount()
        self.stack.sleep(SETTLE_US)
        self._make_table(created)
        self.stack.sleep(PAUSE_US)

    def _make_table(self, writes: Sequence[Written]) -> None:
        stack = self.stack
        database = stack.open("/test.db", "rdwr create")
        journal = stack.open("/test.db-journal", "rdwr create")
        directory = stack.open("/", "rdonly directory")
        header, count, *pages = writes
        stack.pwrite(journal, header.data, header.offset)
        stack.fsync(journal)
        stack.fsync(directory)
        stack.pwrite(journal, count.data, count.offset)
        stack.fsync(journal)
        for page in pages:
            stack.pwrite(database, page.data, page.offset)
        stack.fsync(database)
        for fd in (journal, directory, database):
            stack.close(fd)
        stack.unlink("/test.db-journal")

    def insert(self, records: int) -> None:
        """Makes the calls of so many INSERTs, as traced ones, one each 0.1 s."""
        calls = [Call(0.0, "open", DATABASE)]
        for writes in islice(self._inserts, records):
            calls += insert_calls(writes)
            self._content = chain(self._content, writes)
        calls.append(Call(0.0, "close", DATABASE))
        paced = [replace(call, t_s=i * PACE_S) for i, call in enumerate(calls)]
        for _ in self.run(with_inferred(paced)):
            pass

    def run(self, calls: Sequence[Call]) -> Iterator[Replayed]:
        """Makes the calls at their times. The page cache is dropped before, and in long pauses after a close."""
        stack = self.stack
        begin_us = stack.time_us
        stack.drop_pages()
        last: Call | None = None
        for traced in calls:
            due_us = begin_us + traced.t_s * 1e6
            now_us = stack.time_us
            if due_us > now_us:
                stack.sleep(int(due_us - now_us))
            if last is not None and last.op == "close" and traced.t_s - last.t_s > NEW_PART_S:
                stack.drop_pages()
            call, data = traced, b""
            if traced.op == "write":
                call, data = self._written(traced)
            before, start_ns = stack.activity(), stack.clock_ns
            self._make(call, data)
            yield Replayed(call, (stack.clock_ns - start_ns) / 1e3, before, stack.activity())
            last = traced

    def _written(self, call: Call) -> tuple[Call, bytes]:
        """The next write of SQLite. Where it went SQLite knows better than a trace without lseek."""
        written = next(self._content, None)
        if written is None:
            self._content = iter(next(self._inserts, []))
            written = next(self._content, None)
        journal = call.path.endswith(JOURNAL_END)
        if written is None or (written.journal, len(written.data)) != (journal, call.bytes):
            wanted = f"{len(written.data)} B" if written is not None else "nothing more"
            raise InputError(
                f"a write of {call.bytes} B to {call.path} at {call.t_s:.2f} s: SQLite writes {wanted} there; "
                "is this a trace of 100 INSERTs of the record size in its file name?"
            )
        return replace(call, offset=written.offset), written.data

    def _make(self, call: Call, data: bytes) -> None:
        stack = self.stack
        path = call.path.removeprefix(MOUNT_POINT) or "/"
        match call.op:
            case "open":
                flags = "rdonly directory" if path == "/" else "rdwr create"
                self._open[path] = stack.open(path, flags)
            case "close":
                stack.close(self._open.pop(path))
            case "read":
                stack.pread(self._open[path], call.bytes, call.offset)
            case "write":
                stack.pwrite(self._open[path], data, call.offset)
            case "fsync":
                stack.fsync(self._open[path])
            case "unlink":
                stack.unlink(path)
