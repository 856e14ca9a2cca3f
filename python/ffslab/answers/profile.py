"""Made by tests/native_types.py from `ffslab schema profiles and profile`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

ConstantValue: TypeAlias = "bool | int | float | str"


class DerivedCost(TypedDict):
    """What the driver adds to an operation of the chip, and the power that it draws meanwhile."""

    cpu_power_mW: float
    driver_overhead_ns: int
    memory_power_mW: float
    operation: str


class ProfileName(TypedDict):
    """A built-in profile."""

    kind: str
    name: str
    title: str | None


class ShownConstant(TypedDict):
    """A constant of a profile."""

    ci95: NotRequired[list[float] | None]
    key: str
    source: str
    status: Status
    unit: str
    value: ConstantValue


class ShownProfile(TypedDict):
    """Every number of a profile."""

    base: NotRequired[str | None]
    cpu_time_scale: NotRequired[float | None]
    derived: NotRequired[list[DerivedCost] | None]
    kernel: NotRequired[str | None]
    kind: str
    name: str
    part: NotRequired[str | None]
    title: str | None
    values: list[ShownConstant]


Status: TypeAlias = Literal["datasheet", "measured", "published", "unverified"]
