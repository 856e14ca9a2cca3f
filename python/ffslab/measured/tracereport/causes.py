"""The levels put together: operations by call, the cost of calls, and amplification."""

from __future__ import annotations

import re

import numpy as np

from ffslab.answers.trace_report import (
    Amplification,
    Amplified,
    CallCost,
    CallOperations,
    Causes,
    InodeOperations,
    ResponseTimes,
)
from ffslab.measured.tracereport.attribution import CALL, CLASSES, NONE, Attribution
from ffslab.measured.tracereport.columns import (
    NO_RESULT,
    OPERATIONS,
    PROGRAM,
    READ,
    UNKNOWN,
    Calls,
    Flash,
    Ints,
    Mask,
    Small,
)
from ffslab.measured.tracereport.operations import counted_by, counts, named
from ffslab.measured.tracereport.recording import Recording
from ffslab.measured.tracereport.statistics import distribution

# Calls by which programs read and write, under their names in kernels 2.6 to 6.x; not those of the page cache below.
# The simulator's `append` and `create` are several calls that write.
MOVING = {
    way: re.compile(rf"(vfs_|ksys_|sys_|SyS_|do_|new_|generic_file_)?(iter_|sync_|aio_)?p?{way}(v|64|_iter)?$|{own}$")
    for way, own in (("read", "read"), ("write", "append|create"))
}
INODES_MAX = 10


def response_times(recording: Recording, level: str, calls: Calls) -> list[ResponseTimes]:
    """The distribution of durations of each function, the one with the largest sum first."""
    rows: list[ResponseTimes] = []
    for number in np.unique(calls.function):
        chosen = (calls.function == number) & ~calls.under_way
        name = recording.functions.texts[number]
        under_way = int((calls.function == number).sum() - chosen.sum())
        spread = distribution(calls.duration_ns[chosen])
        rows.append({"level": level, "function": name, "under_way": under_way, **spread})
    return sorted(rows, key=lambda row: (-row["sum_us"], row["function"]))


def causes(recording: Recording, flash: Flash, levels: list[Calls], found: Attribution) -> Causes:
    """Operations by class; by task, outermost and innermost call; what a call of each function cost; by inode."""
    classes = counted_by(flash, found.kind, len(CLASSES))
    function = _functions(levels, found)
    return {
        "joined_by": found.joined_by,
        "classes": [{"class": name, **named(classes[i])} for i, name in enumerate(CLASSES)],
        "background_beside_calls": counts(flash, found.beside_call),
        "rows": _rows(recording, flash, found, function),
        "per_call": _per_call(recording, flash, found, function),
        "inodes": _inodes(flash, levels, found),
    }


def operations_per_call(flash: Flash, found: Attribution) -> Small:
    """Operations inside each call of the stack, calls inside it included: a row a call, a column a type."""
    table = np.zeros((len(found.stack.parent), len(OPERATIONS)), dtype=np.int32)
    at = found.innermost.copy()
    while (inside := at != NONE).any():
        np.add.at(table, (at[inside], flash.kind[inside]), 1)
        at[inside] = found.stack.parent[at[inside]]
    return table


def _functions(levels: list[Calls], found: Attribution) -> Ints:
    """The number of the function of each call of the stack."""
    function = np.zeros(len(found.stack.parent), dtype=np.int64)
    for level, calls in enumerate(levels):
        own = found.stack.level == level
        function[own] = calls.function[found.stack.row[own]]
    return function


def _rows(recording: Recording, flash: Flash, found: Attribution, function: Ints) -> list[CallOperations]:
    # The last function is none at all; NONE picks it as the last element.
    names = [*recording.functions.texts, None]
    padded = np.append(function, len(names) - 1)
    sizes = (len(CLASSES), len(recording.tasks.texts), len(names), len(names))
    keys = np.ravel_multi_index((found.kind, flash.task, padded[found.outermost], padded[found.innermost]), sizes)
    groups, group = np.unique(keys, return_inverse=True)
    table = counted_by(flash, group, len(groups))
    rows: list[CallOperations] = [
        {
            "class": CLASSES[kind],
            "task": recording.tasks.texts[task],
            "outermost": names[outer],
            "innermost": names[inner],
            **named(table[i]),
        }
        for i, (kind, task, outer, inner) in enumerate(zip(*np.unravel_index(groups, sizes), strict=True))
    ]
    size = table.sum(axis=1)
    return [rows[i] for i in np.argsort(-size, kind="stable")]


def _per_call(recording: Recording, flash: Flash, found: Attribution, function: Ints) -> list[CallCost]:
    table = operations_per_call(flash, found)
    rows: list[CallCost] = []
    for number in np.unique(function):
        own = table[function == number]
        row: CallCost = {
            "function": recording.functions.texts[number],
            "calls": len(own),
            "calls_with_operations": int(own.any(axis=1).sum()),
        }
        for column, (_, key, _) in enumerate(OPERATIONS):
            if own[:, column].any():
                row[key] = {"mean": float(own[:, column].mean()), "max": int(own[:, column].max())}
        rows.append(row)
    return sorted(rows, key=lambda row: (-row["calls_with_operations"], row["function"]))


def _inodes(flash: Flash, levels: list[Calls], found: Attribution) -> list[InodeOperations]:
    """The inodes whose outermost calls made the most operations."""
    inode = np.full(len(found.stack.parent) + 1, UNKNOWN, dtype=np.int64)
    for level, calls in enumerate(levels):
        own = np.flatnonzero(found.stack.level == level)
        inode[own] = calls.inode[found.stack.row[own]]
    of_operation = inode[found.outermost]
    known, group = np.unique(of_operation, return_inverse=True)
    table = counted_by(flash, group, len(known)) if len(known) else np.zeros((0, len(OPERATIONS)), np.int64)
    order = [i for i in np.argsort(-table.sum(axis=1), kind="stable") if known[i] != UNKNOWN][:INODES_MAX]
    return [{"inode": int(known[i]), **named(table[i])} for i in order]


def amplification(recording: Recording, flash: Flash, calls: Calls, found: Attribution) -> Amplification:
    """Bytes of the pages that the chip moved over the bytes that programs' calls moved, all causes together.

    `in_calls`: only operations inside calls of programs. Calls that a program makes for another (mmap) are not known.
    """
    page_bytes = recording.chip.page_B
    foreground = ~recording.is_background()[calls.task]

    def moved(way: str, kind: int) -> Amplified:
        asked = moved_bytes(recording, calls, foreground, way)
        flash_bytes = int((flash.kind == kind).sum()) * page_bytes
        inside = int(((flash.kind == kind) & (found.kind == CALL)).sum()) * page_bytes
        return {
            "calls_B": asked,
            "flash_B": flash_bytes,
            "factor": flash_bytes / asked if asked else None,
            "factor_in_calls": inside / asked if asked else None,
        }

    return {"read": moved("read", READ), "write": moved("write", PROGRAM)}


def moved_bytes(recording: Recording, calls: Calls, foreground: Mask, way: str) -> int:
    """Bytes that the calls moved; a call inside another of its kind moves the same bytes and does not count."""
    is_way = np.array([bool(MOVING[way].match(name)) for name in recording.functions.texts], dtype=bool)
    chosen = np.flatnonzero(is_way[calls.function] & foreground)
    if not len(chosen):
        return 0
    known = (calls.pid[chosen] != UNKNOWN).all()
    thread = (calls.pid if known else calls.task)[chosen]
    start = calls.t_ns[chosen]
    end = calls.end_ns[chosen]
    order = np.lexsort((-end, start, thread))
    start, end = start[order], end[order]
    inner = np.zeros(len(order), dtype=bool)
    borders = np.flatnonzero(np.diff(thread[order])) + 1
    for own in np.split(np.arange(len(order)), borders):
        # The latest end of the calls before. A call that takes no time and begins there comes next and is no inner one.
        reach = np.maximum.accumulate(end[own])[:-1]
        inner[own[1:]] = (end[own[1:]] <= reach) & (start[own[1:]] < reach)
    outer = chosen[order][~inner]
    result, asked = calls.result[outer], calls.asked_B[outer]
    moved = np.where(result == NO_RESULT, np.maximum(asked, 0), np.maximum(result, 0))
    return int(moved.sum())
