"""Flash operations counted: by type, task, phase, partition, erase block and moment."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ffslab.answers.trace_report import (
    Blocks,
    BlocksTouched,
    BusyBlock,
    ErasedReads,
    OperationCounts,
    PartitionOperations,
    PhaseOperations,
    TaskOperations,
    Timeline,
)
from ffslab.measured.tracereport.columns import (
    ERASE,
    HIT,
    OOB_PROGRAM,
    OOB_READ,
    OPERATIONS,
    PROGRAM,
    READ,
    Flash,
    Ints,
    Mask,
    Small,
)
from ffslab.measured.tracereport.recording import Recording

BINS = 200
# Reads, programs and erases: what the map of blocks shows.
MAPPED = (READ, PROGRAM, ERASE)
KEYS_MAPPED: dict[int, Literal["page_reads", "page_programs", "erases"]] = {
    READ: "page_reads",
    PROGRAM: "page_programs",
    ERASE: "erases",
}
HOTTEST = 10


def counts(flash: Flash, chosen: Mask | slice = slice(None)) -> OperationCounts:
    """The number of operations of each type."""
    return named(np.bincount(flash.kind[chosen], minlength=len(OPERATIONS)))


def named(numbers: Ints) -> OperationCounts:
    """Numbers in the order of `OPERATIONS` under their keys."""
    return {
        "page_reads": int(numbers[READ]),
        "page_programs": int(numbers[PROGRAM]),
        "erases": int(numbers[ERASE]),
        "oob_reads": int(numbers[OOB_READ]),
        "oob_programs": int(numbers[OOB_PROGRAM]),
        "page_buffer_hits": int(numbers[HIT]),
    }


def counted_by(flash: Flash, group: Small | Ints, groups: int) -> Ints:
    """A row a group, a column a type."""
    index = np.asarray(group, dtype=np.int64) * len(OPERATIONS) + flash.kind
    table = np.bincount(index, minlength=groups * len(OPERATIONS))
    return table.reshape(groups, len(OPERATIONS)).astype(np.int64)


def by_task(recording: Recording, flash: Flash) -> list[TaskOperations]:
    """The tasks with the most operations first; when each made its first and its last."""
    background = recording.is_background()
    table = counted_by(flash, flash.task, len(recording.tasks.texts))
    order = [i for i in np.argsort(-table.sum(axis=1), kind="stable") if table[i].any()]
    last = np.zeros(len(table), dtype=np.int64)
    last[flash.task] = flash.t_ns
    first = np.zeros(len(table), dtype=np.int64)
    first[flash.task[::-1]] = flash.t_ns[::-1]
    return [
        {
            "task": recording.tasks.texts[i],
            "background": bool(background[i]),
            "first_s": first[i] / 1e9,
            "last_s": last[i] / 1e9,
            **named(table[i]),
        }
        for i in order
    ]


def by_phase(recording: Recording, flash: Flash) -> list[PhaseOperations]:
    """The phases between the markers, in the order of time; a first one without operations is left out."""
    names = recording.phases
    borders = [recording.start_ns, *(marker.t_ns for marker in recording.markers), recording.end_ns]
    table = counted_by(flash, recording.phase_of(flash.t_ns), len(names))
    rows: list[PhaseOperations] = [
        {"phase": name, "start_s": borders[i] / 1e9, "duration_s": (borders[i + 1] - borders[i]) / 1e9, **named(row)}
        for i, (name, row) in enumerate(zip(names, table, strict=True))
    ]
    return rows[1:] if len(rows) > 1 and not table[0].any() else rows


def by_partition(recording: Recording, flash: Flash) -> list[PartitionOperations]:
    """The partitions of the chip, and what is in none of them."""
    block = flash.block(recording.chip.pages_per_block)
    rows: list[PartitionOperations] = []
    inside = np.zeros(len(flash), dtype=bool)
    for part in recording.partitions:
        own = (block >= part.first_block) & (block < part.first_block + part.blocks)
        inside |= own
        rows.append({"partition": f"{part.device} {part.name}", "blocks": part.blocks, **counts(flash, own)})
    if rows and not inside.all():
        rows.append({"partition": "none", "blocks": None, **counts(flash, ~inside)})
    return rows


def block_map(recording: Recording) -> Ints | None:
    """Reads, programs and erases of each erase block of the chip; of the spatial view when there is no log."""
    blocks = recording.chip.blocks
    flash = recording.flash
    if flash is not None:
        block = flash.block(recording.chip.pages_per_block)
        return np.stack([np.bincount(block[flash.kind == kind], minlength=blocks) for kind in MAPPED], axis=1)
    if recording.spatial is not None:
        table = np.zeros((blocks, len(MAPPED)), dtype=np.int64)
        table[: len(recording.spatial)] = recording.spatial
        return table
    return None


def mapped_blocks(recording: Recording, table: Ints) -> range:
    """The blocks that a map shows: from the first to the last partition in which something happened; the whole chip
    when no partitions are known, or something happened outside of them."""
    touched = np.flatnonzero(table.any(axis=1))
    spans = [range(part.first_block, part.first_block + part.blocks) for part in recording.partitions]
    used = [span for span in spans if ((touched >= span.start) & (touched < span.stop)).any()]
    shown = range(min(span.start for span in used), max(span.stop for span in used)) if used else range(0)
    return shown if len(touched) and touched[0] in shown and touched[-1] in shown else range(len(table))


def block_summary(table: Ints) -> Blocks:
    """What the map says in numbers: blocks touched, and the busiest ones."""
    reads, programs, erases = (_touched(table[:, column], kind) for column, kind in enumerate(MAPPED))
    return {"page_reads": reads, "page_programs": programs, "erases": erases}


def _touched(numbers: Ints, kind: int) -> BlocksTouched:
    busiest: list[BusyBlock] = []
    for block in np.argsort(-numbers, kind="stable")[:HOTTEST]:
        if numbers[block]:
            busiest.append({"block": int(block)})
            busiest[-1][KEYS_MAPPED[kind]] = int(numbers[block])
    return {
        "blocks_touched": int((numbers > 0).sum()),
        "max": int(numbers.max(initial=0)),
        "busiest_blocks": busiest,
    }


def timeline(recording: Recording, flash: Flash, bins: int = BINS) -> Timeline:
    """Operations in equal intervals of time, programs' and background threads' apart."""
    span = max(recording.end_ns - recording.start_ns, 1)
    at = np.clip((flash.t_ns - recording.start_ns) // -(-span // bins), 0, bins - 1)
    background = recording.is_background()[flash.task]

    def of(kind: int, who: Mask) -> list[int]:
        counted: list[int] = np.bincount(at[who & (flash.kind == kind)], minlength=bins).tolist()
        return counted

    return {
        "start_s": recording.start_ns / 1e9,
        "interval_s": -(-span // bins) / 1e9,
        "page_reads_foreground": of(READ, ~background),
        "page_reads_background": of(READ, background),
        "page_programs_foreground": of(PROGRAM, ~background),
        "page_programs_background": of(PROGRAM, background),
        "erases_foreground": of(ERASE, ~background),
        "erases_background": of(ERASE, background),
    }


def reads_of_erased(recording: Recording, flash: Flash) -> list[ErasedReads]:
    """Page reads of a block between its erase and its next program: checks that it is empty, as JFFS2 makes them.

    A row per task that made some, with the erases by the same task.
    """
    seen = np.flatnonzero((flash.kind == READ) | (flash.kind == PROGRAM) | (flash.kind == ERASE))
    block, kind = flash.block(recording.chip.pages_per_block)[seen], flash.kind[seen]
    order = np.argsort(block, kind="stable")
    block, kind, task = block[order], kind[order], flash.task[seen][order]
    # The latest erase or program at or before each operation; 0 when there is none, which the next line excludes.
    change = np.maximum.accumulate(np.where(kind != READ, np.arange(len(kind)), 0)) if len(kind) else kind
    checks = (kind == READ) & (kind[change] == ERASE) & (block[change] == block)
    rows: list[ErasedReads] = []
    for number in np.unique(task[checks]):
        erases = int(((kind == ERASE) & (task == number)).sum())
        reads = int((checks & (task == number)).sum())
        rows.append({"task": recording.tasks.texts[number], "page_reads_of_erased_blocks": reads, "erases": erases})
    return rows
