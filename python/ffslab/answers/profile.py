"""Made by tools/native_types.py from `ffslab schema profiles and profile`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

ConstantValue: TypeAlias = "bool | int | float | str | list[int] | list[float] | list[str]"


class DerivedCost(TypedDict):
    """What the driver adds to an operation of the chip, and the power that it draws meanwhile."""

    cpu_power_mW: float
    driver_overhead_ns: int
    memory_power_mW: float
    operation: str


class KernelFault(TypedDict):
    """What a program loses that meets a fault of a kernel."""

    fault: str
    key: str
    mended_in: str | None
    present: bool
    source: str


class PartSummary(TypedDict):
    """What people choose a part by."""

    cell: NotRequired[str | None]
    ecc_bits: NotRequired[int | None]
    ecc_on_die: bool
    ecc_step_B: NotRequired[int | None]
    erase_block_KiB: int
    kind: str
    oob_B: int
    page_B: int
    size_KiB: int


class ProfileName(TypedDict):
    """A built-in profile."""

    kind: str
    name: str
    part: NotRequired[PartSummary | None]
    statuses: StatusCounts
    title: str | None


class ShownConstant(TypedDict):
    """A constant of a profile."""

    ci95: NotRequired[list[float] | None]
    key: str
    since: NotRequired[str | None]
    source: str
    status: Status
    unit: str
    until: NotRequired[str | None]
    value: ConstantValue
    when: NotRequired[str | None]


class ShownProfile(TypedDict):
    """Every number of a profile."""

    base: NotRequired[str | None]
    cpu_time_scale: NotRequired[float | None]
    derived: NotRequired[list[DerivedCost] | None]
    faults: NotRequired[list[KernelFault] | None]
    kernel: NotRequired[str | None]
    kind: str
    name: str
    note: NotRequired[str | None]
    part: NotRequired[str | None]
    part_kind: NotRequired[str | None]
    title: str | None
    values: list[ShownConstant]


Status: TypeAlias = Literal["datasheet", "measured", "fitted", "published", "unverified"]


class StatusCounts(TypedDict):
    """How many numbers of a profile have each status."""

    datasheet: int
    fitted: int
    measured: int
    published: int
    unverified: int
