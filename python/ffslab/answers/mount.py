"""Made by tools/native_types.py from `ffslab schema mount`."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers.machine import SessionTotals
from ffslab.answers.summary import CauseSummary, Legend, SlowCall


class MountBlocks(TypedDict):
    """The erase blocks of the partition: one value each."""

    erases: list[int]
    free_B: list[int]
    invalid_B: list[int]
    valid_B: list[int]


class MountStat(TypedDict):
    """What a mount has done so far."""

    block_B: int | None
    blocks: MountBlocks
    board: str
    by_cause: list[CauseSummary]
    causes: Legend
    free_B: int | None
    fs: str
    fuse_requests: int
    host_s: float
    part: str | None
    partition_B: int
    powered: bool
    slowest: list[SlowCall]
    system: str
    timeline: bool
    totals: SessionTotals
