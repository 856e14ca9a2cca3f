"""What `ffslab calibrate --json` prints and `calibration.json` holds; `ffslab schema calibration` is made from it."""

from __future__ import annotations

from typing import TypedDict


class CalibratedConstant(TypedDict):
    """A constant: its value and interval are in `unit`; without a value the measurements do not determine it."""

    key: str
    value: float | None
    unit: str
    ci95: tuple[float, float] | None
    identified: bool
    note: str
    r2: float | None
    condition: float
    measurements: int
    method: str
    source: str


class BootLine(TypedDict):
    """A duration of a boot beside that of the new profile; `unexplained_s`: measured minus simulated."""

    what: str
    measured_s: float
    simulated_s: float
    unexplained_s: float


class CalibrationFacts(TypedDict):
    """What a calibration found. `clock_step_us`: the steps of the instruments' clocks, by what was measured; `boot`:
    what the log of a boot says, if there was one."""

    title: str
    ffslab: str
    base: str
    constants: list[CalibratedConstant]
    clock_step_us: dict[str, float]
    boot: list[BootLine]
    warnings: list[str]
