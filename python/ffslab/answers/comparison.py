"""What `ffslab trace compare --json` prints; `ffslab schema comparison` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class TimeError(TypedDict):
    """Durations of a call or of a function of the file system in a session, measured and simulated.

    A recording is a session whose `record_bytes` are 0."""

    workload: str
    record_bytes: int
    run: int
    call: str
    measured_n: int
    measured_mean_us: float
    simulated_n: int
    simulated_mean_us: float
    openflash_mean_error: float | None
    openflash_total_error: float | None
    mean_error_pct: float
    total_error_pct: float


class FlashError(TypedDict):
    """Flash operations of a task ("all": of all of them) in a session, measured and simulated."""

    workload: str
    record_bytes: int
    run: int
    operation: str
    task: str
    measured: int
    simulated: int
    openflash: int | None
    error_pct: float | None
    openflash_error_pct: float | None


class BoardComparison(TypedDict):
    """A board's traces beside a replay of them."""

    board: str
    times: list[TimeError]
    flash: list[FlashError]
    notes: list[str]
