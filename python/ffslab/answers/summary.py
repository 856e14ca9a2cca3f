"""Made by tools/native_types.py from `ffslab schema variant and summary`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ffslab.answers import Json
from ffslab.answers.stacks import StackTable


class CauseSummary(TypedDict):
    """Flash operations under the names of the measured cases."""

    bus_in_B: int
    bus_out_B: int
    busy_us: float
    cpu_us: float
    driver_us: float
    erases: int
    oob_programs: int
    oob_reads: int
    page_programs: int
    page_reads: int
    partial_page_reads: int
    reason: str
    reprograms: int
    task: str


class Counts(TypedDict):
    """Flash operations under the names of the measured cases."""

    bus_in_B: int
    bus_out_B: int
    busy_us: float
    cpu_us: float
    driver_us: float
    erases: int
    oob_programs: int
    oob_reads: int
    page_programs: int
    page_reads: int
    partial_page_reads: int
    reprograms: int


class DirectionReport(TypedDict):
    """Reads or writes."""

    bw: int
    bw_bytes: int
    clat_ns: Latency
    io_bytes: int
    io_kbytes: int
    iops: float
    lat_ns: Latency
    runtime: int
    slat_ns: Latency
    total_ios: int


class EnergySummary(TypedDict):
    """Energy by rail."""

    cpu: float
    memory: float
    total: float


class FailedVariant(TypedDict):
    """A variant that ended in an error, such as a file that did not fit."""

    axes: dict[str, Json]
    error: str
    name: str
    stack: StackTable


class FioReport(TypedDict):
    """All jobs of a file."""

    generator: str
    jobs: list[JobReport]
    warnings: list[str]


class FlashSummary(TypedDict):
    """The chip of a variant."""

    bus_ns_per_B: float
    chip_blocks: int
    map_B: NotRequired[int | None]
    oob_B: int
    page_B: int
    pages_per_block: int
    t_erase_us: float
    t_program_us: float
    t_read_us: float


# One process, or all processes of a group (`group_reporting`).
JobReport = TypedDict(
    "JobReport",
    {
        "elapsed": "int",
        "error": "int",
        "error_name": "NotRequired[str | None]",
        "groupid": "int",
        "job options": "dict[str, str]",
        "job_runtime": "int",
        "jobname": "str",
        "read": "DirectionReport",
        "start_ns": "int",
        "sync": "SyncReport",
        "write": "DirectionReport",
    },
)


class Latency(TypedDict):
    """Nanoseconds."""

    N: int
    max: int
    mean: float
    min: int
    percentile: NotRequired[dict[str, int]]
    stddev: float


class LatencyUs(TypedDict):
    """Latencies in microseconds."""

    max: float | None
    mean: float | None
    min: float | None
    n: int
    p50: float | None
    p90: float | None
    p99: float | None
    p99_9: float | None
    sd: float | None
    sum: float


class Legend(TypedDict):
    """Key `causes` of a result."""

    reasons: list[ReasonWords]
    tasks: list[TaskWords]


class MeanSd(TypedDict):
    """MeanSd."""

    mean: float
    sd: float


class MountSummary(TypedDict):
    """One of several mounts of the machine; the root is the first one."""

    at: str
    blocks: int | None
    erases: int | None
    erases_per_block: MeanSd | None
    first_block: int | None
    free_B: int | None
    fs: str
    page_programs: int | None
    size_B: int
    user_read_B: int
    user_written_B: int
    write_amplification: float | None


class OfSetupSummary(TypedDict):
    """What the setup of a variant left in memory, and what writing it took: a part of the totals, with the reaso..."""

    buffered_B: int
    energy_uJ: EnergySummary | None
    inodes: int
    pages: int
    totals: Counts


class PostmarkReport(TypedDict):
    """What a run did: the numbers of the program's report, and the report itself."""

    creation_us: float
    deletion_us: float
    failed_operations: int
    files_appended: int
    files_created: int
    files_deleted: int
    files_deleted_in_transactions: int
    files_read: int
    first_error: NotRequired[str | None]
    generator: str
    ran_out_of_files: bool
    read_B: float
    read_shares: list[ReadShare]
    report: str
    report_file: NotRequired[str | None]
    transactions_us: float
    written_B: float


class ProgramSummary(TypedDict):
    """One of the programs that ran at the same time."""

    background: bool
    calls: int
    latency_us: LatencyUs
    name: str
    read_B: int
    rounds: int
    steps: NotRequired[list[StepSummary]]
    time_us: float
    waited: WaitedSummary
    written_B: int


class ProgramWait(TypedDict):
    """How long calls waited until those of another program had returned."""

    program: str
    time_us: float


class ReadShare(TypedDict):
    """What the read() calls of all files brought, and took, until each file had been read to a share."""

    read_B: int
    read_us: float
    share_pct: int


class ReasonWords(TypedDict):
    """ReasonWords."""

    purpose: str
    reason: str
    sentence: str


class Repeated(TypedDict):
    """A variant over all its runs."""

    axes: dict[str, Json]
    failed: int
    figures: dict[str, Spread]
    name: str
    runs: int
    typical: str
    worst: str


class SlowCall(TypedDict):
    """A slow call of the measured steps."""

    bytes: int
    file: str
    i: int
    idle_us: float
    latency_us: float
    offset_B: int
    op: str
    program: NotRequired[str | None]
    start_us: float
    step: int
    waited_for: list[Wait]
    waited_for_programs: NotRequired[list[ProgramWait]]


class SpaceSummary(TypedDict):
    """The sums over all erase blocks of a partition, as the file system accounts for them."""

    free_B: int
    invalid_B: int
    valid_B: int


class Spread(TypedDict):
    """How a figure differs between runs."""

    high: float | None
    least: float
    low: float | None
    median: float
    most: float


class StepSummary(TypedDict):
    """One measured step by itself (not cumulative)."""

    bytes_accepted_B: int | None
    counters: NotRequired[dict[str, int]]
    counts: Counts
    elapsed_us: float
    energy_uJ: EnergySummary | None
    energy_with_idle_uJ: EnergySummary | None
    files: int | None
    fio: NotRequired[FioReport | None]
    formatting: NotRequired[Counts | None]
    fs_free_B: int | None
    latency_us: LatencyUs
    postmark: NotRequired[list[PostmarkReport]]
    requests_done: int | None
    rows: NotRequired[int | None]
    stage: NotRequired[str | None]
    statements: NotRequired[int | None]
    step: str
    stopped_by: str | None


class Summary(TypedDict):
    """`summary.json`."""

    failed: NotRequired[list[FailedVariant]]
    generator: str
    repeats: NotRequired[list[Repeated]]
    seed: int
    title: str
    variants: list[VariantSummary]
    version: str


class SyncReport(TypedDict):
    """SyncReport."""

    lat_ns: Latency
    total_ios: int


class TaskWords(TypedDict):
    """TaskWords."""

    task: str
    title: str


class VariantSummary(TypedDict):
    """VariantSummary."""

    axes: dict[str, Json]
    by_cause: list[CauseSummary]
    causes: Legend
    counters: NotRequired[dict[str, int]]
    energy_uJ: EnergySummary | None
    energy_with_idle_uJ: EnergySummary | None
    erases_per_block: MeanSd
    flash: FlashSummary | None
    formatting: NotRequired[Counts | None]
    idle_us: float
    latency_quantiles_us: NotRequired[list[float]]
    latency_us: LatencyUs
    mounts: NotRequired[list[MountSummary]]
    name: str
    no_energy: NotRequired[str | None]
    notes: list[str]
    of_setup: OfSetupSummary | None
    program_us: float
    programs: NotRequired[list[ProgramSummary]]
    read_amplification: float | None
    requests_kept: NotRequired[int | None]
    setup_time_us: float
    slowest: list[SlowCall]
    space_after: SpaceSummary | None
    space_before: SpaceSummary | None
    stack: StackTable
    steps: list[StepSummary]
    time_us: float
    totals: Counts
    user_read_B: int
    user_written_B: int
    write_amplification: float | None


class Wait(TypedDict):
    """One cause of a call's latency."""

    erases: int
    flash_us: float
    oob_reads: int
    page_programs: int
    page_reads: int
    reason: str
    task: str
    time_us: float


class WaitedSummary(TypedDict):
    """How calls waited until calls of other programs had returned."""

    by_program: list[ProgramWait]
    calls: int
    max_us: float
    sum_us: float
