"""What `ffslab sweep --json` prints; `ffslab schema study` is made from these types."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers import Json


class FigureSpread(TypedDict):
    """A figure of a point over its runs. The interval of the median, 95 %: null of fewer than six runs."""

    median: float | None
    low: float | None
    high: float | None


class StudyPoint(TypedDict):
    """A point: its number from 1 in points.parquet, the values of its axes, and of each objective what it gives."""

    point: int
    axes: dict[str, Json]
    figures: dict[str, FigureSpread]


class Objective(TypedDict):
    """What is wanted of a figure, and the points that are best in it, the best one first."""

    figure: str
    maximise: bool
    best: list[StudyPoint]


class Influence(TypedDict):
    """How much of a figure's variance an axis explains.

    `alone`: by itself, from 0 to 1. `total`: with all its interactions. `effect` and `spread`: the mean size of an
    elementary effect in units of the figure, and its standard deviation. Null: the design does not tell. Intervals are
    of 95 %. `nothing`: why it is not known whether the axis matters; null: it is.
    """

    axis: str
    alone: float | None
    alone_interval: float | None
    total: float | None
    total_interval: float | None
    effect: float | None
    effect_interval: float | None
    spread: float | None
    nothing: str | None


class Sensitivity(TypedDict):
    """Which axes matter for a figure, that which matters most first. `method` says how it was found."""

    figure: str
    method: str
    axes: list[Influence]
    # Why there is no answer; null: there is one.
    nothing: str | None


class Change(TypedDict):
    """By how much a figure is more than that of the base, as a share of it: -0.1 is a tenth less.

    The median over pairs of runs and its interval, 95 %: null of fewer than six pairs. All null: no pair of runs, or a
    base of 0.
    """

    median: float | None
    low: float | None
    high: float | None


class GainsRow(TypedDict):
    """A place of the other axes, and what each value of the compared axis changes there, in the order of `values`."""

    axes: dict[str, Json]
    changes: list[Change]


class Gains(TypedDict):
    """What the values of an axis change in a figure, beside its first value."""

    figure: str
    axis: str
    base: Json
    values: list[Json]
    rows: list[GainsRow]


class FailedPoint(TypedDict):
    """A point of which a run did not come to its end."""

    point: int
    axes: dict[str, Json]
    runs: int
    error: str


class StudyAnswer(TypedDict):
    """What a study found.

    `machine`: on what, from what state, how long was seen, in a line. `without_energy`: why energy is not asked for
    unless the study names it: prices of it have no source. `needs_us`: how long the workload of some point must be seen
    before its state is steady, so that nobody wins; null: all were seen long enough. `untold`: figures that are wanted
    and that only a steady state tells: they are no objectives then.
    """

    title: str
    machine: str
    without_energy: list[str]
    version: str
    method: str
    # The algorithms of the generators that drew points and contents.
    generators: str
    seed: int
    axes: dict[str, Json]
    conditions: list[str]
    # Points that were drawn, those of them that satisfy the conditions, and these without those that are there twice.
    draws: int
    held: int
    points: int
    runs_per_point: int
    failed: list[FailedPoint]
    needs_us: float | None
    untold: list[str]
    objectives: list[Objective]
    # No other point is better in one objective and not worse in all others.
    trade_offs: list[StudyPoint]
    sensitivity: list[Sensitivity]
    # Of each objective, if the study compares the values of an axis.
    gains: list[Gains]
