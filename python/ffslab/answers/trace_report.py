"""What `ffslab trace report --json` prints; `ffslab schema trace_report` is made from these types."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

# Types of flash operations.
OperationKey = Literal["page_reads", "page_programs", "erases", "oob_reads", "oob_programs", "page_buffer_hits"]


class OperationCounts(TypedDict):
    """Flash operations by type."""

    page_reads: int
    page_programs: int
    erases: int
    oob_reads: int
    oob_programs: int
    page_buffer_hits: int


class SlowestCall(TypedDict):
    """A slow call of a program; `inside`: the operations that it made, `of_others`: those that went on meanwhile."""

    function: str
    task: str
    start_s: float
    duration_us: float
    inside: NotRequired[OperationCounts]
    of_others: NotRequired[OperationCounts]


class LogFacts(TypedDict):
    """A log; `overhead_percent`: the share of the session that its probes took."""

    file: str
    source: str
    events: int | None
    lost: int | None
    overhead_ns_per_event: float | None
    overhead_percent: float | None
    functions: str | None
    buffer_KiB: int | None


class MarkerFacts(TypedDict):
    """A line that somebody wrote into a log."""

    t_s: float
    text: str


class SessionFacts(TypedDict):
    """Where and when the logs were written."""

    kernel: str | None
    machine: str | None
    clock: str | None
    scope: str | None
    start_s: float
    duration_s: float
    markers: list[MarkerFacts]


class ChipFacts(TypedDict):
    """Geometry of the chip."""

    page_B: int
    oob_B: int
    pages_per_block: int
    blocks: int


class Distribution(TypedDict):
    """Of durations; without one only `n` and `sum_us` are there. `step_us`: the resolution of the clock at best."""

    n: int
    sum_us: float
    mean_us: NotRequired[float]
    sd_us: NotRequired[float]
    min_us: NotRequired[float]
    p50_us: NotRequired[float]
    p90_us: NotRequired[float]
    p95_us: NotRequired[float]
    p99_us: NotRequired[float]
    p99_9_us: NotRequired[float]
    max_us: NotRequired[float]
    step_us: NotRequired[float | None]


class ResponseTimes(Distribution):
    """Durations of a function."""

    level: str
    function: str
    under_way: int


class TaskOperations(OperationCounts):
    """Operations of a task."""

    task: str
    background: bool
    first_s: float
    last_s: float


class PhaseOperations(OperationCounts):
    """Operations between two markers."""

    phase: str
    start_s: float
    duration_s: float


class PartitionOperations(OperationCounts):
    """Operations of a partition; "none": outside of all."""

    partition: str
    blocks: int | None


class ErasedReads(TypedDict):
    """Page reads of a block between its erase and its next program, and erases, of a task."""

    task: str
    page_reads_of_erased_blocks: int
    erases: int


class Operations(TypedDict):
    """Operations by type, task, phase and partition."""

    totals: OperationCounts
    by_task: list[TaskOperations]
    by_phase: list[PhaseOperations]
    by_partition: list[PartitionOperations]
    reads_of_erased: list[ErasedReads]


class Timeline(TypedDict):
    """Operations in equal intervals of time."""

    start_s: float
    interval_s: float
    page_reads_foreground: list[int]
    page_reads_background: list[int]
    page_programs_foreground: list[int]
    page_programs_background: list[int]
    erases_foreground: list[int]
    erases_background: list[int]


# Of whom the operations are: of a call, of a background thread ...
ClassOperations = TypedDict(
    "ClassOperations",
    {
        "class": str,
        "page_reads": int,
        "page_programs": int,
        "erases": int,
        "oob_reads": int,
        "oob_programs": int,
        "page_buffer_hits": int,
    },
)
# Operations of a task inside a call.
CallOperations = TypedDict(
    "CallOperations",
    {
        "class": str,
        "task": str,
        "outermost": str | None,
        "innermost": str | None,
        "page_reads": int,
        "page_programs": int,
        "erases": int,
        "oob_reads": int,
        "oob_programs": int,
        "page_buffer_hits": int,
    },
)


class MeanMax(TypedDict):
    """Operations in a call."""

    mean: float
    max: int


class CallCost(TypedDict):
    """What a call of a function cost, calls inside it included; types that did not occur are left out."""

    function: str
    calls: int
    calls_with_operations: int
    page_reads: NotRequired[MeanMax]
    page_programs: NotRequired[MeanMax]
    erases: NotRequired[MeanMax]
    oob_reads: NotRequired[MeanMax]
    oob_programs: NotRequired[MeanMax]
    page_buffer_hits: NotRequired[MeanMax]


class InodeOperations(OperationCounts):
    """Operations of calls for an inode."""

    inode: int


class Causes(TypedDict):
    """Operations by class; by task, outermost and innermost call; what a call cost; by inode."""

    joined_by: str
    classes: list[ClassOperations]
    background_beside_calls: OperationCounts
    rows: list[CallOperations]
    per_call: list[CallCost]
    inodes: list[InodeOperations]


class Amplified(TypedDict):
    """Bytes of the pages that the chip moved over the bytes that programs' calls moved."""

    calls_B: int
    flash_B: int
    factor: float | None
    factor_in_calls: float | None


class Amplification(TypedDict):
    """Both ways."""

    read: Amplified
    write: Amplified


class BusyBlock(TypedDict):
    """An erase block and how many operations of the type it had."""

    block: int
    page_reads: NotRequired[int]
    page_programs: NotRequired[int]
    erases: NotRequired[int]


class BlocksTouched(TypedDict):
    """Blocks in which operations of a type happened."""

    blocks_touched: int
    max: int
    busiest_blocks: list[BusyBlock]


class Blocks(TypedDict):
    """What the map of erase blocks says in numbers."""

    page_reads: BlocksTouched
    page_programs: BlocksTouched
    erases: BlocksTouched


class BlockErases(TypedDict):
    """Erases per block; `dispersion`: variance over mean."""

    mean: float
    sd: float
    max: int
    dispersion: float


class PerBlockAndDay(TypedDict):
    """Erases per block and day with their interval of 95 %."""

    mean: float
    low: float
    high: float


class Until(TypedDict):
    """Years with their interval of 95 %; null: no limit."""

    estimate: float | None
    low: float | None
    high: float | None


class Limits(TypedDict):
    """The upper and the lower bound of a lifetime."""

    levelled: Until
    busiest_block: Until


class PartitionWear(TypedDict):
    """Wear of a partition, and the lifetime that it predicts."""

    partition: str
    blocks: int
    erases: int
    blocks_erased: int
    erases_per_block: BlockErases
    busiest_block: int | None
    burstiness: NotRequired[float]
    erases_per_block_per_day: NotRequired[PerBlockAndDay]
    endurance_erases: NotRequired[int]
    endurance_source: NotRequired[str]
    lifetime_years: NotRequired[Limits]


class Traced(TypedDict):
    """What was traced, where and for how long."""

    logs: list[LogFacts]
    session: SessionFacts
    chip: ChipFacts


class TraceReport(Traced):
    """Everything that a report of logs says; what its logs do not tell is left out."""

    version: str
    complete: bool
    flaws: list[str]
    notes: list[str]
    response_times: list[ResponseTimes]
    slowest: list[SlowestCall]
    operations: NotRequired[Operations]
    timeline: NotRequired[Timeline]
    causes: NotRequired[Causes]
    amplification: NotRequired[Amplification]
    blocks: NotRequired[Blocks]
    wear: NotRequired[list[PartitionWear]]
