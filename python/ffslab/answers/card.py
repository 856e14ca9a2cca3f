"""What `ffslab calibrate --flashbench --json` prints; `ffslab schema card` is made from it."""

from __future__ import annotations

from typing import TypedDict


class CardConstant(TypedDict):
    """A constant of a card. `identified`: the lines determine it; otherwise it is one of many that fit them as well."""

    key: str
    about: str
    value: float
    unit: str
    identified: bool


class CardLine(TypedDict):
    """A line of the probe beside the card that was fitted; `error`: (fitted - measured) / measured."""

    name: str
    source: str
    measured_us: float
    fitted_us: float
    error: float


class CardStructure(TypedDict):
    """What stands inside the card. `slc_cache_bytes`: 0 without a cache; `random_log_pages`: None, a whole segment."""

    ftl: str
    page_bytes: int
    segment_bytes: int
    spare_share: float
    buffer_pages: int
    log_blocks: int
    random_segments: int
    random_log_pages: int | None
    slc_cache_bytes: int
    cell_bits: int


class CardOfClass(TypedDict):
    """The best structure of a class; `error`: mean of |ln(fitted / measured)|, reads and writes in equal shares."""

    card_class: str
    error: float
    structure: CardStructure


class CardFacts(TypedDict):
    """What was fitted to the lines of a probe. `classes`: those that were tried, the best one first."""

    title: str
    ffslab: str
    classes: list[CardOfClass]
    constants: list[CardConstant]
    lines: list[CardLine]
    median_error: float
    worst_error: float
    remarks: list[str]
