"""Made by tools/native_types.py from `ffslab schema plan and totals and activity and keys`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ffslab.answers import Json
from ffslab.answers.stacks import FaultKeys, StackKeys
from ffslab.answers.summary import Counts, EnergySummary


class Activity(TypedDict):
    """Everything since the machine was made."""

    functions: dict[str, FunctionRow]
    tasks: dict[str, TaskRow]
    work: dict[str, WorkRow]


class FunctionRow(TypedDict):
    """FunctionRow."""

    calls: int
    total_ns: int


class KeyOf(TypedDict):
    """The key of a variant."""

    axes: dict[str, Json]
    key: str | None
    name: str


class Keys(TypedDict):
    """The variants of an experiment with their keys."""

    is_repeated: bool
    requests_kept: int
    variants: list[KeyOf]


class PlannedFlash(TypedDict):
    """The chip and the partition in the words of a measured case."""

    bus_ns_per_B: float
    chip_blocks: int
    faults: NotRequired[FaultKeys | None]
    first_block: int
    map_B: NotRequired[int | None]
    medium: NotRequired[str | None]
    oob_B: int
    page_B: int
    pages_per_block: int
    partition_blocks: int
    t_erase_us: float
    t_program_us: float
    t_read_us: float


class PlannedProgram(TypedDict):
    """A program beside the measured steps, for the schema: its steps are as those of the variant."""

    background: bool
    name: str
    steps: list[dict[str, Json]]


class PlannedVariant(TypedDict):
    """A variant with every default; units are in the keys, as in an experiment."""

    flash: PlannedFlash
    measure: list[dict[str, Json]]
    name: str
    programs: list[PlannedProgram]
    seed: int
    setup: list[dict[str, Json]]
    stack: StackKeys
    state: list[dict[str, Json]]


class SessionTotals(TypedDict):
    """What a stack has done since it was made."""

    bus_in_B: int
    bus_out_B: int
    busy_us: float
    cpu_us: float
    driver_us: float
    energy_uJ: EnergySummary | None
    erases: int
    formatting: Counts
    oob_programs: int
    oob_reads: int
    page_programs: int
    page_reads: int
    partial_page_reads: int
    reprograms: int
    time_us: float


class TaskRow(TypedDict):
    """TaskRow."""

    cpu_ns: int
    erases: int
    flash_ns: int
    page_programs: int
    page_reads: int


class WorkRow(TypedDict):
    """WorkRow."""

    bytes: int
    count: int
