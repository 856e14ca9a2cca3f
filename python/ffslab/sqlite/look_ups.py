"""The SQLite experiment of the read-ahead study (section 4.3): look-ups by id with and without read-ahead.

The data base is made once for each file system, size of texts and read-ahead. Before each run the page cache is
dropped. The data base stays open as a file, as on a board where only the page cache is dropped: without that, opening
it would read the header of each of its nodes on JFFS2. SQLite's own computing and that of the kernel take no time here;
on the board they are in the published figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ffslab.sqlite import contacts
from ffslab.sqlite.run import DATABASE, execute_script
from ffslab.sqlite.vfs import connected
from ffslab.stack import Stack

if TYPE_CHECKING:
    import pandas as pd

COUNTS = (1, 10, 50, 100, 200, 500, 1000)
PATTERNS = ("sequential", "random")
READ_AHEAD_KIB = 128


def look_ups(
    file_systems: Sequence[str] = ("jffs2", "yaffs2"),
    kinds: Sequence[str] = ("small", "large"),
    counts: Iterable[int] = COUNTS,
    **keys: str | int | bool | None,
) -> pd.DataFrame:
    """A row per run: `fs`, `kind` (of texts, see `contacts.TEXT_BYTES`), `pattern`, `records`, `read_ahead_KiB`, and
    what it took: `time_us`, `energy_uJ` (by rail: `rails_uJ`), `page_reads`. `keys` are further keys of the stack."""
    import pandas as pd

    counts = list(counts)
    rows = []
    for fs in file_systems:
        for kind in kinds:
            for read_ahead in (READ_AHEAD_KIB, 0):
                of_all: dict[str, Any] = {"fs": fs, "kind": kind, "read_ahead_KiB": read_ahead}
                for run in _runs(_filled(fs, kind, read_ahead, keys), counts):
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


def _filled(fs: str, kind: str, read_ahead_kib: int, keys: dict[str, str | int | bool | None]) -> Stack:
    stack = Stack(fs, **{"partition_blocks": 160, "read_ahead_KiB": read_ahead_kib, **keys})  # type: ignore[arg-type]
    stack.mount()
    # The blocks of a new partition are erased and marked in the background.
    stack.sleep(30_000_000)
    records = range(1, contacts.RECORDS + 1)
    statements = contacts.schema() + contacts.inserts(records, contacts.TEXT_BYTES[kind])
    execute_script(stack, contacts.script(statements, "contacts"))
    stack.sync()
    return stack


def _runs(stack: Stack, counts: Iterable[int]) -> Iterable[dict[str, Any]]:
    keeps_inode = stack.open(DATABASE)
    for pattern in PATTERNS:
        for count in counts:
            stack.drop_caches()
            before = stack.counters()
            with connected(stack, DATABASE, wal=False) as database:
                for select in contacts.selects(count, pattern):
                    database.execute(select).fetchall()
            after = stack.counters()
            yield {
                "pattern": pattern,
                "records": count,
                "time_us": after["time_us"] - before["time_us"],
                "energy_uJ": after["energy_uJ"]["total"] - before["energy_uJ"]["total"],
                "rails_uJ": {rail: after["energy_uJ"][rail] - before["energy_uJ"][rail] for rail in ("cpu", "memory")},
                "page_reads": after["page_reads"] - before["page_reads"],
            }
    stack.close(keeps_inode)
