"""Made by tools/native_types.py from `ffslab schema lives`."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from ffslab.answers import Json
from ffslab.answers.stacks import StackTable
from ffslab.answers.summary import CauseSummary, FailedVariant


class CallsOfPoint(TypedDict):
    """Latencies of calls: of a point of those since the last one."""

    calls: int
    max_us: float | None
    mean_us: float | None
    p99_us: float | None


End: TypeAlias = Literal["limit", "no-spare-blocks", "full", "read-only", "endurance", "failed", "unworn", "unknown"]


class Ended(TypedDict):
    """Ended."""

    by: End
    error: str | None


class ErasesSpread(TypedDict):
    """How erases are spread over the blocks."""

    max: int
    mean: float
    min: int
    p5: int
    p50: int
    p95: int


class Lives(TypedDict):
    """Lives of all variants."""

    failed: list[FailedVariant]
    lives: list[VariantLife]
    title: str


class Point(TypedDict):
    """How it stands at an instant of the life."""

    bad_blocks: int
    calls: int
    days: float
    erases: ErasesSpread
    free_bytes: int | None
    leapt: bool
    max_us: float | None
    mean_us: float | None
    p99_us: float | None


class VariantLife(TypedDict):
    """The life of a variant."""

    axes: dict[str, Json]
    bad_blocks: int
    blocks_fail: bool
    by_cause: list[CauseSummary]
    ended: Ended
    endurance_erases: int
    erases: ErasesSpread
    erases_of_setup: int
    first_bad_block_years: float | None
    latency: CallsOfPoint
    leaps: int
    levels_from_erases: int | None
    name: str
    per_day: float | None
    period_us: float
    points: list[Point]
    repetitions: int
    repetitions_late: int
    repetitions_run: int
    stack: StackTable
    steady_from_days: float | None
    wear: Wear
    written_B: int
    years: float
    years_run: float


class Wear(TypedDict):
    """How the erases of each block grow."""

    days: list[float]
    erases: list[list[int]]
