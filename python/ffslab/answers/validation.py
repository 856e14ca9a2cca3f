"""Made by tools/native_types.py from `ffslab schema validation`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ffslab.answers import Json


class BootRanges(TypedDict):
    """What the same machine counted in the same steps when it was booted several times."""

    boots: int
    counters: dict[str, CounterRange]


class CaseReport(TypedDict):
    """CaseReport."""

    after_step: list[Json]
    boots: NotRequired[BootRanges | None]
    by_task: dict[str, dict[str, Pair]]
    counters: dict[str, Pair]
    erases_per_block: dict[str, Pair]
    error: str | None
    facts: dict[str, Pair]
    family: str
    fs: str
    id: str
    latency_unlink_us: dict[str, Pair]
    latency_us: dict[str, Pair]
    not_counted: str | None
    ranges: NotRequired[PhaseRanges | None]


class CounterRange(TypedDict):
    """The least and the largest value of a counter, and whether the other side's is among them."""

    inside: bool
    max: int
    min: int


class Pair(TypedDict):
    """An expected and a simulated value under one name."""

    expected: float
    simulated: float


class PhaseRanges(TypedDict):
    """The counters of a case over simulations that begin at different phases."""

    counters: dict[str, CounterRange]
    phases: int


class RangeSummary(TypedDict):
    """How many cases are met in page reads, page programs and erases, as far as these were measured."""

    cases: int
    cases_with_ranges: int
    cases_within_1_percent: int
    cases_within_1_percent_or_inside: int


class SummaryRow(TypedDict):
    """Errors of one counter, as absolute values in percent of the expected value."""

    counter: str
    exact_share: float
    family: str
    fs: str
    inside_share: NotRequired[float | None]
    median_error_percent: float
    n: int
    p95_error_percent: float
    unexpected_max: float
    worst_error_percent: float
    worst_id: str


class ValidationReport(TypedDict):
    """All comparisons, in the order of the file."""

    cases: list[CaseReport]
    summary: ValidationSummary


class ValidationSummary(TypedDict):
    """ValidationSummary."""

    cases: int
    failed: int
    ranges: RangeSummary
    rows: list[SummaryRow]
    uncounted_cases: int
