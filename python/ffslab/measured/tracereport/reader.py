"""Logs of the probe kit, of Flashmon v2 and of the original FuncMon, read into columns.

What cannot be right is refused with one line that says where: an unknown header, lines that are no events, addresses
beyond the chip, times that go backwards, values whose unit cannot be meant. What is right but not all that happened
(events lost, no end) is read, and the log says in `flaws` what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffslab._native import InputError
from ffslab.measured.tracereport import header
from ffslab.measured.tracereport.checks import ROUNDING_NS, SECOND_NS, complain
from ffslab.measured.tracereport.columns import ERASE, LETTERS, NO_RESULT, UNKNOWN, Calls, Flash, Marker, Mask, Names
from ffslab.measured.tracereport.header import COLUMNS, FLASHMON, FUNCMON, MAGIC, VFSMON, Chip, Head
from ffslab.measured.tracereport.lines import Chunk, Odd, first_lines, read_chunks
from ffslab.measured.tracereport.log import Log

if TYPE_CHECKING:
    import pyarrow as pa

FLASHMON_2, FUNCMON_1, SPATIAL = "Flashmon v2", "FuncMon of OpenFlash", "Flashmon v2, spatial view"
# Columns of logs without a header, by the look of a line.
PLAIN = {
    FLASHMON_2: (re.compile(r"\d+\.\d+;[RWEC];\d+(;[^;]*)?$|---"), ("t_s", "type", "address", "task")),
    FUNCMON_1: (
        re.compile(r"\d+\.\d+;\d+\.\d+;\d+\.\d+;\w+;\d+$"),
        ("t_s", "end_s", "duration_s", "function", "pid"),
    ),
    SPATIAL: (re.compile(r"\d+ \d+ \d+\s*$"), ("reads", "programs", "erases")),
}
TIMES = frozenset({"t_s", "end_s", "duration_s"})
TEXTS = frozenset({"type", "task", "function"})
FIELD = {
    "t_s": r"\d{1,9}(\.\d{1,9})?",
    "type": f"[{LETTERS}]",
    "address": r"\d{1,9}",
    "task": "[^;]*",
    "function": "[^;]+",
    "duration_us": r"(\d{1,12}(\.\d+)?)?",
    "bytes": r"-?\d{0,18}",
    "result": r"-?\d{0,18}",
}
# A call that had not returned when the log ended has no duration.
UNDER_WAY = -1


class TooManyEventsError(Exception):
    """A log has more events than its reader was to take."""


# A column of a log: which numbers it holds is known by its name alone.
Column = NDArray[Any]


def read_log(
    path: Path, tasks: Names, functions: Names, chip: Chip | None = None, events_max: int | None = None
) -> Log:
    """One log of any kind. `chip`: the geometry of a log that does not say one. `events_max`: what is read of it.

    Raises `TooManyEventsError` as soon as there are more of them.
    """
    top = first_lines(path)
    if not top:
        raise InputError(f"{path}: the log is empty")
    if top[0].startswith(MAGIC):
        kind = header.kind_of(top[0], path)
        log = Log(path, kind, Head(kind))
        columns = COLUMNS[kind]
    else:
        first = next((line for line in top if line.strip() and not line.startswith("#")), "")
        source = next((name for name, (look, _) in PLAIN.items() if look.match(first)), None)
        if source is None:
            raise InputError(
                f"{path}:1: unknown header `{header.shown(top[0])}`: neither a log of the probe kit "
                f"(`{MAGIC} 1 flashmon`) nor one of Flashmon v2 (`1.989929257;R;55426;task`)"
            )
        kind = FUNCMON if source == FUNCMON_1 else FLASHMON
        log = Log(path, source, Head(kind, chip=chip))
        columns = PLAIN[source][1]
        if source == FLASHMON_2 and ";" in first:
            columns = columns[: first.count(";") + 1]
    if log.source == SPATIAL:
        log.spatial = _spatial(path, chip)
    else:
        _Reading(log, columns, tasks, functions, events_max).read()
    complain(log)
    return log


class _Reading:
    """The state of reading one log, chunk by chunk."""

    def __init__(
        self, log: Log, columns: tuple[str, ...], tasks: Names, functions: Names, events_max: int | None
    ) -> None:
        self.log, self.columns, self.events_max = log, columns, events_max
        self.names = {"task": tasks, "function": functions}
        self.parts: dict[str, list[Column]] = {name: [] for name in columns}
        self.events = 0
        self.head_lines: list[tuple[int, str]] = []
        self.untimed: list[tuple[int, str]] = []
        self.last_ns = -1
        pattern = ";".join(FIELD.get(name, FIELD["t_s"] if name in TIMES else r"\d{0,18}") for name in columns)
        self.line_looks = re.compile(pattern + "$")

    def read(self) -> None:
        log = self.log
        in_head = log.source in COLUMNS
        for chunk in read_chunks(log.path):
            ended = self.log.foot is not None
            for odd in chunk.odd:
                self._odd(odd, in_head)
            if log.foot is not None:
                rows_before_end = 0 if ended else chunk.odd[-1].before
                if chunk.rows.rstrip().count(b"\n") + bool(chunk.rows.strip()) > rows_before_end:
                    raise InputError(
                        f"{log.path}:{chunk.line_of(rows_before_end)}: something follows the end of the log"
                    )
            if in_head:
                log.head = header.read_head(log.source, self.head_lines, log.path)
                log.notes += [f"{log.path}: {note}" for note in log.head.notes]
                in_head = False
            if chunk.rows.strip():
                self._rows(chunk)
        # An empty log has columns too. The pieces go as the whole is made, or both would be in memory.
        joined = {name: np.concatenate(self.parts.pop(name) or [np.zeros(0, np.int64)]) for name in self.columns}
        if log.head.kind == FLASHMON:
            log.flash = self._flash(joined)
            times = log.flash.t_ns
        else:
            log.calls, times = self._calls(joined)
        for index, text in self.untimed:
            at = min(index, len(times) - 1)
            log.markers.append(Marker(int(times[at]) if at >= 0 else 0, text))

    def _odd(self, odd: Odd, in_head: bool) -> None:
        log, where = self.log, f"{self.log.path}:{odd.line}"
        if log.foot is not None:
            raise InputError(f"{where}: something follows the end of the log")
        if odd.text.startswith("#"):
            if log.source not in COLUMNS or odd.line == 1:
                return
            if odd.text.removeprefix("#").strip().startswith(f"{header.END}:"):
                log.foot = header.read_foot(odd.text, where)
            elif in_head and odd.before == 0 and self.events == 0:
                self.head_lines.append((odd.line, odd.text))
            else:
                raise InputError(f"{where}: a header line in the middle of the log: two logs in one file?")
        elif odd.text.startswith("---"):
            self.untimed.append((self.events + odd.before, odd.text.removeprefix("---").strip()))
        else:
            fields = odd.text.split(";", 3)
            if not re.fullmatch(FIELD["t_s"], fields[0]):
                raise InputError(f"{where}: a marker is `12.345678;M;;text`, not `{odd.text[:60]}`")
            text = fields[3] if len(fields) > 3 else ""
            log.markers.append(Marker(round(float(fields[0]) * SECOND_NS), text.rstrip(";").strip()))

    def _rows(self, chunk: Chunk) -> None:
        import pyarrow as pa

        try:
            table = self._table(chunk.rows)
        except pa.ArrowInvalid:
            chunk = self._without_torn_line(chunk)
            if not chunk.rows:
                return
            table = self._table(chunk.rows)
        for name in self.columns:
            if name != "offset_B":  # which no question needs
                self.parts[name].append(self._column(table, name, chunk))
        self._check(chunk)
        self.events += table.num_rows
        if self.events_max is not None and self.events > self.events_max:
            raise TooManyEventsError

    def _table(self, rows: bytes) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        text = pa.dictionary(pa.int32(), pa.binary())
        types = {
            name: pa.decimal128(19, 9) if name in TIMES else text if name in TEXTS else
            pa.float64() if name == "duration_us" else pa.int64()
            for name in self.columns
        }  # fmt: skip
        return csv.read_csv(
            pa.BufferReader(rows),
            csv.ReadOptions(column_names=list(self.columns), block_size=len(rows) + 1, use_threads=True),
            csv.ParseOptions(delimiter=";", quote_char=False),
            csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=False),
        ).combine_chunks()

    def _column(self, table: pa.Table, name: str, chunk: Chunk) -> Column:
        column = table.column(name).chunk(0)
        if name in TEXTS:
            words = [word.decode("utf-8", "replace") for word in column.dictionary.to_pylist()]
            if name == "type":
                if any(word not in LETTERS or len(word) != 1 for word in words):
                    self._refuse_bad_line(chunk)
                codes = np.array([LETTERS.index(word) for word in words], dtype=np.uint8)
            else:
                codes = np.array([self.names[name].number(word) for word in words], dtype=np.int32)
            picked: Column = codes[column.indices.to_numpy()]
            return picked
        if column.null_count and (name in TIMES or name == "address"):
            self._refuse_bad_line(chunk)
        if name in TIMES:
            # The lower half of each decimal: whole nanoseconds, exactly.
            lower: Column = np.frombuffer(column.buffers()[1], np.int64)[::2]
            return lower[column.offset : column.offset + len(column)].copy()
        if name == "duration_us":
            us = column.to_numpy(zero_copy_only=False)
            self._refuse_row(chunk, us < 0, lambda row: f"a duration of {us[row]} us")
            return np.where(np.isnan(us), UNDER_WAY, np.rint(np.nan_to_num(us) * 1e3)).astype(np.int64)
        numbers: Column = column.fill_null(NO_RESULT if name == "result" else UNKNOWN).to_numpy()
        wide = name in ("inode", "offset_B", "result") or self.log.head.kind != FLASHMON
        if not wide and len(numbers) and numbers.max() > np.iinfo(np.int32).max:
            row = int(np.argmax(numbers))
            raise InputError(f"{self.log.path}:{chunk.line_of(row)}: {name} {numbers[row]} is too large")
        return numbers if wide else numbers.astype(np.int32)

    def _check(self, chunk: Chunk) -> None:
        """Refuses times that go backwards and operations that the chip cannot do, in the last chunk."""
        times = self.parts["t_s"][-1]
        self._refuse_row(chunk, times < 0, lambda row: "a negative time")
        if self.log.head.kind != FLASHMON:
            return
        before = np.concatenate([[self.last_ns], times[:-1]])
        self._refuse_row(
            chunk,
            times < before,
            lambda row: (
                f"{times[row] / 1e9:.9f} s comes after {before[row] / 1e9:.9f} s: times go backwards "
                "(a clock that was reset? split the log there)"
            ),
        )
        self.last_ns = int(times[-1])
        chip = self.log.head.chip
        if chip is None:
            return
        address, erase = self.parts["address"][-1], self.parts["type"][-1] == ERASE
        self._refuse_row(
            chunk,
            address >= np.where(erase, chip.blocks, chip.pages),
            lambda row: (
                f"{'block' if erase[row] else 'page'} {address[row]} is beyond the chip "
                f"({chip.blocks} blocks of {chip.pages_per_block} pages of {chip.page_B} B): wrong geometry, "
                "or addresses in bytes"
            ),
        )
        if "bytes" in self.parts:
            moved = self.parts["bytes"][-1]
            self._refuse_row(
                chunk,
                moved > np.where(erase, chip.block_B, chip.page_B + chip.oob_B),
                lambda row: (
                    f"one {'erase' if erase[row] else 'page operation'} of {moved[row]} B on a chip with "
                    f"{chip.block_B if erase[row] else chip.page_B} B: wrong geometry, or no bytes"
                ),
            )

    def _refuse_row(self, chunk: Chunk, wrong: Mask, says: Callable[[int], str]) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(f"{self.log.path}:{chunk.line_of(row)}: {says(row)}")

    def _without_torn_line(self, chunk: Chunk) -> Chunk:
        """A chunk whose last line the end of the file cuts loses that line; any other bad line is refused."""
        rows = chunk.rows.splitlines()
        bad = next(self._bad_rows(rows), None)
        if bad is None or bad < len(rows) - 1 or not chunk.ends_open:
            self._refuse_bad_line(chunk)
        line = chunk.line_of(len(rows) - 1)
        self.log.flaws.append(f"{self.log.path}:{line}: the file ends in the middle of a line, which is left out")
        return Chunk(chunk.first_line, b"".join(row + b"\n" for row in rows[:-1]), chunk.odd, ends_open=False)

    def _bad_rows(self, rows: list[bytes]) -> Iterator[int]:
        return (i for i, row in enumerate(rows) if not self.line_looks.match(row.decode("utf-8", "replace")))

    def _refuse_bad_line(self, chunk: Chunk) -> None:
        rows = chunk.rows.splitlines()
        bad = next(self._bad_rows(rows), 0)
        shown = rows[bad].decode("utf-8", "replace")[:60]
        raise InputError(
            f"{self.log.path}:{chunk.line_of(bad)}: `{shown}` is no event of {self.log.source}: "
            f"{';'.join(self.columns)} are needed"
        )

    def _flash(self, joined: dict[str, Column]) -> Flash:
        unknown = np.full(self.events, UNKNOWN, np.int32)
        return Flash(
            joined["t_s"],
            joined["type"].astype(np.uint8, copy=False),
            joined["address"].astype(np.int32, copy=False),
            self._tasks(joined),
            joined.get("pid", unknown).astype(np.int32, copy=False),
            joined.get("bytes", unknown).astype(np.int32, copy=False),
        )

    def _tasks(self, joined: dict[str, Column]) -> NDArray[np.int32]:
        """The task of each event; the one without a name where the log says none."""
        if "task" in joined:
            return joined["task"].astype(np.int32, copy=False)
        return np.full(self.events, self.names["task"].number("") if self.events else 0, np.int32)

    def _calls(self, joined: dict[str, Column]) -> tuple[Calls, Column]:
        """The calls by start, and the times in the order of the lines."""
        t_ns = joined["t_s"]
        duration = joined["duration_us" if "duration_us" in joined else "duration_s"]
        under_way = duration == UNDER_WAY
        self._check_order(t_ns[~under_way], (t_ns + duration)[~under_way])
        foot = self.log.foot
        ends = [int((t_ns + duration).max())] if len(t_ns) else []
        end_ns = max([*ends, round(foot.end_s * SECOND_NS)] if foot is not None else ends, default=0)
        duration = np.where(under_way, end_ns - t_ns, duration)
        # Stable, and of calls that start together the longer one first: it is the outer one.
        order = np.lexsort((-duration, t_ns))
        unknown = np.full(self.events, UNKNOWN, np.int64)
        calls = Calls(
            t_ns[order],
            duration[order],
            joined["function"].astype(np.int32)[order],
            self._tasks(joined)[order],
            joined.get("pid", unknown).astype(np.int32)[order],
            joined.get("inode", unknown)[order],
            joined.get("bytes", unknown)[order],
            joined.get("result", np.full(self.events, NO_RESULT, np.int64))[order],
            under_way[order],
        )
        return calls, t_ns

    def _check_order(self, starts: Column, ends: Column) -> None:
        """Calls are logged as they start or as they end; in neither order may times go backwards."""
        if len(starts) < 2 or (np.diff(starts) >= 0).all():
            return
        back = np.flatnonzero(np.diff(ends) < -ROUNDING_NS)
        if len(back):
            row = int(back[0]) + 1
            raise InputError(
                f"{self.log.path}: event {row + 1} at {starts[row] / 1e9:.9f} s both starts and ends before the one "
                "above it: times go backwards, or the unit of duration_us is wrong"
            )


def _spatial(path: Path, chip: Chip | None) -> NDArray[np.int64]:
    """`/proc/flashmon`: a line a block, `reads programs erases`."""
    rows = []
    number = 0
    for chunk in read_chunks(path):
        for text in chunk.rows.decode("utf-8", "replace").splitlines():
            number += 1
            words = text.split()
            if len(words) != 3 or not all(word.isascii() and word.isdecimal() for word in words):
                raise InputError(f"{path}:{number}: `{text[:60]}` is no line of /proc/flashmon: reads programs erases")
            rows.append([int(word) for word in words])
    if chip is not None and len(rows) > chip.blocks:
        raise InputError(f"{path}: {len(rows)} blocks, but the chip has {chip.blocks}: wrong geometry")
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


__all__ = ["FLASHMON", "FUNCMON", "VFSMON", "Log", "read_log"]
