"""What SQLite promises about transactions must hold on the simulated flash when the power goes away.

A script of transactions is cut after flash operation k; the stack comes back, and the data base with its journal is
read out of the simulated file system and given to the host's sqlite3: it must be whole, and hold the transactions that
were committed and no others. The one whose COMMIT the cut hit may be there or not, but not in part.

In the mode `delete` with `synchronous = full` SQLite promises less: the deletion of the journal, which commits, is not
synced (<https://www.sqlite.org/pragma.html#pragma_synchronous>, EXTRA), so the last transaction may be rolled back.
UBIFS keeps the deletion in its write buffer and shows it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

import ffslab
from ffslab.sqlite import connected
from ffslab.sqlite.vfs import execute

FILE_SYSTEMS = ("jffs2", "yaffs2", "ubifs")
# Journal mode, synchronous, and how many transactions may be lost that were reported as committed.
MODES = (
    ("delete", "extra", 0),
    ("delete", "full", 1),
    ("truncate", "full", 0),
    ("persist", "full", 0),
    ("wal", "full", 0),
)
TRANSACTIONS = 40
SCHEMA = ("CREATE TABLE t (id INTEGER PRIMARY KEY, x)", "CREATE TABLE log (n)")
State = tuple[list[Any], list[Any]]


def transaction(number: int) -> list[str]:
    statements = ["BEGIN"]
    for i in range(3):
        statements.append(f"INSERT INTO t VALUES ({number * 10 + i}, '{(str(number) * 80)[: 150 + number]}')")
    statements.append(f"UPDATE t SET x = x || 'u{number}' WHERE id < {number * 5}")
    statements.append(f"DELETE FROM t WHERE id = {number * 10 - 20}")
    return [*statements, f"INSERT INTO log VALUES ({number})", "COMMIT"]


def state_of(connection: sqlite3.Connection) -> State:
    rows = connection.execute("SELECT * FROM t ORDER BY id").fetchall()
    return rows, connection.execute("SELECT n FROM log ORDER BY n").fetchall()


@pytest.fixture(scope="module")
def states() -> list[State]:
    """What the tables hold after so many transactions."""
    model = sqlite3.connect(":memory:", isolation_level=None)
    for statement in SCHEMA:
        model.execute(statement)
    found = [state_of(model)]
    for number in range(1, TRANSACTIONS + 1):
        for statement in transaction(number):
            model.execute(statement)
        found.append(state_of(model))
    model.close()
    return found


@dataclass
class Cut:
    """What was going on when the power went away."""

    operations: int
    committed: int = 0
    in_commit: bool = False


def run(stack: ffslab.Stack, mode: str, synchronous: str, cut_after: int | None) -> Cut:
    """Runs the transactions; without a cut it tells how many operations they need."""
    cut = Cut(0)
    try:
        with connected(stack, "d.db") as database:
            execute(database, f"PRAGMA journal_mode = {mode}")
            execute(database, f"PRAGMA synchronous = {synchronous}")
            for statement in SCHEMA:
                execute(database, statement)
            stack.sync()
            before = stack.modifying_operations
            if cut_after is not None:
                stack.cut_power_after(cut_after, "partial", seed=cut_after)
            for number in range(1, TRANSACTIONS + 1):
                for statement in transaction(number):
                    cut.in_commit = statement == "COMMIT"
                    execute(database, statement)
                cut.committed, cut.in_commit = number, False
            cut.operations = stack.modifying_operations - before
    except (apsw.IOError, apsw.CantOpenError):
        assert not stack.is_powered
    return cut


def read_out(stack: ffslab.Stack, folder: Path) -> State:
    """The tables as the host's sqlite3 finds them, which must find nothing wrong."""
    folder.mkdir()
    for name in stack.listdir("/"):
        if name.startswith("d.db"):
            (folder / name).write_bytes(stack.read_file(name))
    host = sqlite3.connect(folder / "d.db")
    assert host.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    state = state_of(host)
    host.close()
    return state


def check(fs: str, mode: str, synchronous: str, lost_max: int, points: int, states: list[State], folder: Path) -> None:
    def fresh() -> ffslab.Stack:
        stack = ffslab.Stack(fs, partition_blocks=80)
        stack.mount()
        return stack

    operations = run(fresh(), mode, synchronous, None).operations
    assert operations >= points
    hit_commits = 0
    for i in range(points):
        after = 1 + i * operations // points
        stack = fresh()
        cut = run(stack, mode, synchronous, after)
        if stack.is_powered:
            # The last operations are those of closing.
            assert cut.committed == TRANSACTIONS
            continue
        stack.crash()
        stack.mount()
        state = read_out(stack, folder / str(after))
        allowed = states[max(cut.committed - lost_max, 0) : cut.committed + 1 + cut.in_commit]
        assert state in allowed, f"{fs}, {mode}, cut after {after}: {state[1]}, committed {cut.committed}"
        hit_commits += cut.in_commit
    assert hit_commits > 0


@pytest.mark.parametrize("fs", FILE_SYSTEMS)
@pytest.mark.parametrize(("mode", "synchronous", "lost_max"), MODES)
def test_committed_transactions_survive_and_others_leave_no_trace(
    fs: str, mode: str, synchronous: str, lost_max: int, states: list[State], tmp_path: Path
) -> None:
    check(fs, mode, synchronous, lost_max, 12, states, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("fs", FILE_SYSTEMS)
@pytest.mark.parametrize(("mode", "synchronous", "lost_max"), MODES)
def test_the_same_at_200_points(
    fs: str, mode: str, synchronous: str, lost_max: int, states: list[State], tmp_path: Path
) -> None:
    check(fs, mode, synchronous, lost_max, 200, states, tmp_path)


def test_the_check_finds_a_transaction_that_is_not_safe(states: list[State], tmp_path: Path) -> None:
    """Without syncs a power cut must lose transactions or the data base: else the tests above show nothing."""
    with pytest.raises((AssertionError, sqlite3.DatabaseError)):
        check("ubifs", "delete", "off", 0, 40, states, tmp_path)
