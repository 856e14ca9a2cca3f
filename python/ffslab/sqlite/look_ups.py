"""The SQLite experiment of the read-ahead study (section 4.3): look-ups by id with and without read-ahead.

The data base is made once for each file system, size of texts and read-ahead. Before each run the page cache is
dropped. The data base stays open as a file, as on a board where only the page cache is dropped: without that, opening
it would read the header of each of its nodes on JFFS2.

SQLite computes between its system calls, which counts in published figures of total time. The papers do not say how
long, and traces of the board cannot: what stands between their calls is the tracer. So `SELECT_CPU_US` is an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ffslab.api.stack import Stack
from ffslab.sqlite import contacts
from ffslab.sqlite.run import DATABASE, execute_script
from ffslab.sqlite.vfs import connected

if TYPE_CHECKING:
    import pandas as pd

# One SELECT of the paper's table by id, warm, through sqlite3_exec: 162,700 instructions (SQLite 3.40, gcc -O2, x86-64,
# counted by valgrind; 17 columns), at 2 cycles each and 720 MHz. The 2 are inferred: aricwang.blogspot.com (March
# 2012) measured 653 us for a SELECT of 6 columns on an ARM9 of 400 MHz, which takes 69,300 instructions, so 3.8 cycles
# each; a Cortex-A8 does 2.0 DMIPS/MHz and an ARM9 1.1.
SELECT_INSTRUCTIONS = 162_700
CYCLES_PER_INSTRUCTION = 2
CPU_MHZ = 720
SELECT_CPU_US = SELECT_INSTRUCTIONS * CYCLES_PER_INSTRUCTION / CPU_MHZ

# The kernel's defaults.
COMPRESSION = {"jffs2": "priority", "ubifs": "lzo"}
COUNTS = (1, 10, 50, 100, 200, 500, 1000)
PATTERNS = ("sequential", "random")
READ_AHEAD_KIB = 128
# Random ids are drawn so often; times are sums over the draws.
DRAWS = {"sequential": 1, "random": 4}


def look_ups(
    file_systems: Sequence[str] = ("jffs2", "yaffs2"),
    kinds: Sequence[str] = ("small", "large"),
    counts: Iterable[int] = COUNTS,
    in_transaction: int = contacts.RECORDS_IN_TRANSACTION,
    selects_together: bool = False,
    select_cpu_us: float = SELECT_CPU_US,
    **keys: str | int | bool | None,
) -> pd.DataFrame:
    """A row per run: `fs`, `kind` (of texts, see `contacts.TEXT_BYTES`), `pattern`, `records`, `read_ahead_KiB`, and
    what it took: `time_us`, `energy_uJ` (by rail: `rails_uJ`), `page_reads`, of `selects` statements.

    `in_transaction`: records that a transaction inserted when the data base was made. `selects_together`: a run is one
    transaction; otherwise each statement is, which looks for other programs' changes first. `select_cpu_us`: what
    SQLite computes for each statement. `keys` are further keys of the stack.
    """
    import pandas as pd

    counts = list(counts)
    rows = []
    for fs in file_systems:
        for kind in kinds:
            for read_ahead in (READ_AHEAD_KIB, 0):
                of_all: dict[str, object] = {"fs": fs, "kind": kind, "read_ahead_KiB": read_ahead}
                stack = _filled(fs, kind, in_transaction, {"read_ahead_KiB": read_ahead, **keys})
                for run in _runs(stack, counts, selects_together, select_cpu_us):
                    rows.append({**of_all, **run})
    return pd.DataFrame(rows)


def gains(runs: pd.DataFrame) -> pd.DataFrame:
    """A row per pair of runs: the shares of time, energy and page reads that are saved without read-ahead."""
    index = ["fs", "kind", "pattern", "records"]
    ahead = runs[runs["read_ahead_KiB"] > 0].set_index(index)
    without = runs[runs["read_ahead_KiB"] == 0].set_index(index)
    columns = {"time_gain": "time_us", "energy_gain": "energy_uJ", "page_reads_gain": "page_reads"}
    return ahead.assign(**{gain: 1 - without[of] / ahead[of] for gain, of in columns.items()})[
        list(columns)
    ].reset_index()


def _filled(fs: str, kind: str, in_transaction: int, keys: dict[str, str | int | bool | None]) -> Stack:
    papers = {"board": "omap3evm", "kernel": "2.6.37", "partition_blocks": 160, "compression": COMPRESSION.get(fs)}
    stack = Stack(fs, initial="fresh", **{**papers, **keys})  # type: ignore[arg-type]
    stack.mount()
    # The blocks of a new partition are erased and marked in the background.
    stack.sleep(30_000_000)
    records = range(1, contacts.RECORDS + 1)
    inserts = contacts.inserts(records, contacts.TEXT_BYTES[kind], in_transaction=in_transaction)
    execute_script(stack, contacts.script(contacts.schema() + inserts, "contacts"))
    stack.sync()
    return stack


def _runs(stack: Stack, counts: Iterable[int], together: bool, select_cpu_us: float) -> Iterable[dict[str, object]]:
    keeps_inode = stack.open(DATABASE)
    for pattern in PATTERNS:
        for count in counts:
            before = stack.counters()
            for draw in range(1, DRAWS[pattern] + 1):
                stack.drop_caches()
                with connected(stack, DATABASE, wal=False) as database, database if together else nullcontext():
                    for select in contacts.selects(count, pattern, seed=draw):
                        database.execute(select).fetchall()
                        stack.compute(select_cpu_us)
            after = stack.counters()
            energy_before, energy_after = before["energy_uJ"], after["energy_uJ"]
            # Boards with Linux, on which these runs are made, have an energy.
            assert energy_before is not None and energy_after is not None
            yield {
                "pattern": pattern,
                "records": count,
                "selects": count * DRAWS[pattern],
                "time_us": after["time_us"] - before["time_us"],
                "energy_uJ": energy_after["total"] - energy_before["total"],
                "rails_uJ": {rail: energy_after[rail] - energy_before[rail] for rail in ("cpu", "memory")},
                "page_reads": after["page_reads"] - before["page_reads"],
            }
    stack.close(keeps_inode)
