"""What `ffslab lifetime --json` prints; `ffslab schema lifetime` is made from these types."""

from __future__ import annotations

from typing import Literal, TypedDict

from ffslab.answers.summary import OfSetupSummary


class Years(TypedDict):
    """A lifetime and its interval of 95 %; null: without end, or too little was seen (`needs_us`)."""

    estimate: float | None
    low: float | None
    high: float | None


class LifetimeYears(TypedDict):
    """The two ends between which the lifetime is."""

    levelled: Years
    busiest_block: Years | None


class Worn(TypedDict):
    """Erases that the blocks had behind them before the workload."""

    mean: float
    max: float


class ErasesPerDay(TypedDict):
    """Erases of all blocks together, and of each."""

    all_blocks: float
    by_block: list[float]


class ErasesPerBlockPerDay(TypedDict):
    """How the erases of a day are spread over the blocks."""

    mean: float
    p5: float
    p50: float
    p95: float
    max: float


class WearCause(TypedDict):
    """Who and why, by the pages that were programmed."""

    cause: str
    page_programs: int
    share_of_programs: float
    erases: int
    share_of_erases: float


class Verdict(TypedDict):
    """Whether it lasts as long as was asked: open, where that hangs on how evenly the blocks share the erases; too
    short, where what was seen tells no years."""

    wanted_years: float
    answer: Literal["yes", "no", "open", "too short"]
    said: str


class WorkloadLife(TypedDict):
    """The lifetime under a workload, or at the past rate of a device in the field."""

    kind: Literal["workload", "past"]
    workload: str
    variant: str
    time_us: float
    times_per_day: float
    erases: float
    endurance_erases: int
    endurance_source: str
    worn: Worn
    erases_per_day: ErasesPerDay
    erases_per_block_per_day: ErasesPerBlockPerDay
    uncertainty: str
    lifetime_years: LifetimeYears
    busiest_block: int | None
    of_setup: OfSetupSummary | None
    causes: list[WearCause]
    formatting_erases: int
    # How much of the workload must be seen at least before years are told, which are null then; null: enough was.
    needs_us: float | None
    wear_said_by: str
    # What the years mean, and how far they are from what was seen.
    said: list[str]
    verdict: Verdict | None


class Lifetime(TypedDict):
    """How long a part bears workloads. `machine`: on what, from what state, how long was seen, in a line."""

    start: str
    machine: str
    workloads: list[WorkloadLife]
