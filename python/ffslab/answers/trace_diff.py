"""What `ffslab trace diff --json` prints; `ffslab schema trace_diff` is made from these types."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ffslab.answers.trace_report import OperationKey, PartitionWear, Traced


class Counted(TypedDict):
    """A count in both sessions."""

    a: int
    b: int


class Quantity(TypedDict):
    """A quantity in both sessions; null: it is not known."""

    a: float | None
    b: float | None


class Duration(TypedDict):
    """A duration of calls in both sessions."""

    a: float
    b: float


class DiffSide(Traced):
    """One of the two sessions."""

    name: str


class CountChange(TypedDict):
    """Operations of a type. Rates are those of sessions that last; changes are fractions of what was before."""

    type: OperationKey
    a: int
    b: int
    difference: int
    change: float | None
    a_per_s: NotRequired[float]
    b_per_s: NotRequired[float]
    rate_change: NotRequired[float | None]
    p: NotRequired[float | None]


class OperationsCounted(TypedDict, total=False):
    """Operations by type in both sessions; types that neither has are left out."""

    page_reads: Counted
    page_programs: Counted
    erases: Counted
    oob_reads: Counted
    oob_programs: Counted
    page_buffer_hits: Counted


class TaskChange(OperationsCounted):
    """Operations of a task."""

    task: str


# Operations of a task inside a call.
CallChange = TypedDict(
    "CallChange",
    {
        "class": str,
        "task": str,
        "outermost": str | None,
        "innermost": str | None,
        "page_reads": NotRequired[Counted],
        "page_programs": NotRequired[Counted],
        "erases": NotRequired[Counted],
        "oob_reads": NotRequired[Counted],
        "oob_programs": NotRequired[Counted],
        "page_buffer_hits": NotRequired[Counted],
    },
)


class Shift(TypedDict):
    """A difference with its interval of 95 %; null: too few calls for one."""

    estimate: float
    low: float | None
    high: float | None


class Durations(TypedDict):
    """Durations of calls in both sessions."""

    n: Counted
    mean_us: Duration
    p50_us: Duration
    p99_us: Duration
    mean_difference_us: Shift
    sum_difference_us: float
    ks_distance: float
    ks_p: float


class FunctionChange(Durations):
    """Durations of a function that both sessions called."""

    level: str
    function: str


class Touched(TypedDict):
    """Blocks in which operations of a type happened."""

    a: int
    b: int
    both: int


class BlockChange(TypedDict):
    """Operations in an erase block."""

    block: int
    a: int
    b: int


class MapChange(TypedDict):
    """How far operations fell into other blocks; `moved_share`: the part that would have to move for equal maps."""

    moved_share: float
    blocks_touched: Touched
    largest_changes: list[BlockChange]


class Wears(TypedDict):
    """The wear of both sessions."""

    a: list[PartitionWear]
    b: list[PartitionWear]


class TraceDiff(TypedDict):
    """Everything in which two sessions differ. `moved`: what moved most, in words; `tests`: what was asked how."""

    version: str
    a: DiffSide
    b: DiffSide
    complete: bool
    flaws: list[str]
    notes: list[str]
    tests: dict[str, str]
    counts: list[CountChange]
    tasks: list[TaskChange]
    causes: list[CallChange]
    response_times: list[FunctionChange]
    amplification: dict[str, Quantity]
    maps: dict[OperationKey, MapChange]
    lifetimes: Wears
    moved: list[str]
