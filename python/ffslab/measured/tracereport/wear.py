"""Wear and the lifetime that it predicts: erases per block over the time of the log against the part's endurance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffslab.answers.trace_report import PartitionWear, PerBlockAndDay, Until
from ffslab.measured.tracereport.columns import ERASE, Flash, Ints
from ffslab.measured.tracereport.header import Partition
from ffslab.measured.tracereport.operations import MAPPED
from ffslab.measured.tracereport.recording import Recording
from ffslab.measured.tracereport.statistics import burst_interval, dispersion, poisson_interval

DAY_S = 86_400.0
YEAR_S = 365.25 * DAY_S
# Parts of the log whose erases are compared to see whether they come in bursts.
INTERVALS = 20


@dataclass(frozen=True)
class Endurance:
    """Erases that a block bears, and who says so."""

    erases: int
    source: str


def wear(recording: Recording, table: Ints, endurance: Endurance | None) -> list[PartitionWear]:
    """A row per partition that was erased in, or for the chip where no partitions are known.

    `lifetime_years` is what is left to a new part when the log's time goes on for ever:
    `levelled`: until all blocks have reached the endurance, erases spread evenly: the upper bound;
    `busiest_block`: until the block with the most erases has, if it goes on like that: the lower bound.
    Both with the 95 % interval that the number of erases alone leaves, wider when they come in bursts.
    """
    whole = [Partition("chip", "chip", 0, recording.chip.blocks)]
    rows = []
    for part in recording.partitions or whole:
        own = slice(part.first_block, part.first_block + part.blocks)
        erases = table[own, MAPPED.index(ERASE)]
        if not erases.any() and len(recording.partitions) > 1:
            continue
        flash = recording.flash
        times = np.zeros(0, np.int64) if flash is None else _erase_times(flash, own)
        rows.append(_row(part, erases, times, recording, endurance))
    return rows


def _row(
    part: Partition, erases: Ints, times: Ints, recording: Recording, endurance: Endurance | None
) -> PartitionWear:
    total, most = int(erases.sum()), int(erases.max(initial=0))
    row: PartitionWear = {
        "partition": part.name if part.name == part.device else f"{part.device} {part.name}",
        "blocks": part.blocks,
        "erases": total,
        "blocks_erased": int((erases > 0).sum()),
        "erases_per_block": {
            "mean": total / part.blocks,
            "sd": float(erases.std()),
            "max": most,
            "dispersion": dispersion(erases),
        },
        "busiest_block": part.first_block + int(np.argmax(erases)) if total else None,
    }
    seconds = recording.duration_s
    if seconds <= 0:
        return row
    edges = np.linspace(recording.start_ns, recording.end_ns, INTERVALS + 1)
    burstiness = dispersion(np.histogram(times, edges)[0])
    low, high = burst_interval(total, burstiness)
    row["burstiness"] = burstiness
    row["erases_per_block_per_day"] = _per_block_and_day(total, low, high, part.blocks, seconds)
    if endurance is None:
        return row
    row["endurance_erases"] = endurance.erases
    row["endurance_source"] = endurance.source
    row["lifetime_years"] = {
        "levelled": _years(endurance.erases * part.blocks, total, low, high, seconds),
        "busiest_block": _years(endurance.erases, most, *poisson_interval(most), seconds),
    }
    return row


def _per_block_and_day(total: int, low: float, high: float, blocks: int, seconds: float) -> PerBlockAndDay:
    scale = DAY_S / seconds / blocks
    return {"mean": total * scale, "low": low * scale, "high": high * scale}


def _years(budget: int, count: float, low: float, high: float, seconds: float) -> Until:
    """Years until `budget` erases at a rate of `count` in `seconds`; `None`: no limit."""

    def until(erases: float) -> float | None:
        return budget / erases * seconds / YEAR_S if erases > 0 else None

    return {"estimate": until(count), "low": until(high), "high": until(low)}


def _erase_times(flash: Flash, blocks: slice) -> Ints:
    chosen: Ints = flash.t_ns[(flash.kind == ERASE) & (flash.address >= blocks.start) & (flash.address < blocks.stop)]
    return chosen
