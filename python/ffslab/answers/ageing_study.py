"""What `ffslab ageing --json` prints; `ffslab schema ageing_study` is made from these types."""

from __future__ import annotations

from typing import Literal, TypedDict


class ScrubChoice(TypedDict):
    """What is lost with a scrub in each interval."""

    days: float
    # Frames lost in the whole partition over all the years, and the probability of any.
    expected_losses: float
    any_loss: float


class Scrubbing(TypedDict):
    """How often the partition must be scrubbed."""

    years: float
    temperature_C: float
    reads_per_block_per_day: float
    choices: list[ScrubChoice]
    risk: float
    # The longest of these intervals whose probability of a loss is at most the risk; null: none of them.
    longest_days: float | None
    said: str


class ShelfLoss(TypedDict):
    """What is lost when nobody reads for so long."""

    years: float
    temperature_C: float
    rate: float
    frames_at_threshold: float
    frames_lost: float
    pages_lost_share: float
    any_loss: float


class Corrected(TypedDict):
    """Whether so many corrected bits are normal."""

    count: int
    page_reads: float
    age_years: float
    temperature_C: float
    expected: float
    low: int
    high: int
    at_least: float
    at_most: float
    answer: Literal["normal", "more", "fewer"]
    said: str


class AgeingStudy(TypedDict):
    """What the model of ageing says of a partition."""

    part: str
    erases: float
    endurance_erases: int
    partition_frames: int
    frame_bits: int
    corrected_bits: int
    threshold_bits: int
    scrubbing: Scrubbing
    shelf: list[ShelfLoss]
    corrected: Corrected | None
    # What these figures rest on.
    said: list[str]
