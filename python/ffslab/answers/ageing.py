"""Made by tools/native_types.py from `ffslab schema ageing`."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers.stacks import AgeingKeys


class AgeingSummary(TypedDict):
    """The chip, and what was asked of it."""

    constants: list[ConstantSummary]
    corrected_bits: int
    frame_bits: int
    frames: list[FramesSummary]
    frames_per_page: int
    keys: AgeingKeys
    pages_per_block: int
    part: str
    partition_blocks: int
    threshold_bits: int


class ConstantSummary(TypedDict):
    """A default of the model with where it comes from."""

    name: str
    source: str
    status: str
    value: float


class FramesSummary(TypedDict):
    """Frames that have borne that."""

    failure: float
    mean_bits: float
    overdispersion: float
    probabilities: list[float]
    rate: float
    reported: float
    variance_bits: float
