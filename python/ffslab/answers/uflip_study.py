"""What `ffslab uflip --json` prints; `ffslab schema uflip_study` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class PatternPhases(TypedDict):
    """Start-up and running phase under a base pattern, and what follows for its experiments."""

    pattern: str
    calls: int
    startup_n: int
    startup_us: float | None
    running_us: float
    # The levels between which the running phase oscillates, and the share of the expensive calls.
    cheap_us: float
    expensive_us: float
    expensive_share: float
    # Distance of the expensive calls: if it is regular, and on the average.
    period_n: int | None
    spacing_n: float | None
    io_ignore: int
    io_count: int
    # Whether the series is long enough to know how many calls a mean needs.
    converged: bool


class UflipPoint(TypedDict):
    """An experiment: response times of the running phase."""

    benchmark: str
    pattern: str
    # Of what the benchmark varies.
    value: int
    calls: int
    mean_us: float
    min_us: float
    max_us: float
    sd_us: float


class GoodRange(TypedDict):
    """Up to which value of a parameter calls are nearer to a sequential write, and how many sequential writes one costs
    there. `value`: null: not even the smallest one. `whole`: the largest value that was tried is still good."""

    value: int | None
    factor: float | None
    whole: bool


class DeviceRow(TypedDict):
    """A device as table 3 of the paper has it. Costs in milliseconds, factors in sequential writes of the same size."""

    SR_ms: float
    RR_ms: float
    SW_ms: float
    RW_ms: float
    # The shortest pause between random writes after which one costs no more than a sequential one; null: none of those
    # tried does, or there is nothing to gain.
    pause_ms: float | None
    locality_B: GoodRange
    partitions: GoodRange
    reverse: float
    in_place: float
    large_incr: float


class UflipDevice(TypedDict):
    """A device under all experiments."""

    name: str
    device_B: int
    phases: list[PatternPhases]
    # How long reads are slowed down after a batch of random writes, and what is waited between experiments for it.
    lingering_us: float
    pause_us: int
    # How often experiments begin with the state of the device, because sequential writes had changed a part of it.
    sessions: int
    row: DeviceRow
    points: list[UflipPoint]


class UflipStudy(TypedDict):
    """uFLIP on one or several devices."""

    title: str
    # On what, from what state, how long was seen, in a line.
    machine: str
    state: str
    io_size_B: int
    devices: list[UflipDevice]
