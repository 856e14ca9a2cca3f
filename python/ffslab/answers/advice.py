"""What `ffslab advise --json` prints; `ffslab schema advice` is made from these types."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers import Json
from ffslab.answers.study import FigureSpread


class LimitState(TypedDict):
    """A limit of the question, and how far a choice is from it. `found`: null, it is not known, or never ends."""

    limit: str
    found: float | None
    holds: bool
    # How often the figure fits into the limit, or the limit into the figure: more than 1 when it holds.
    margin: float | None


class Choice(TypedDict):
    """A point of the space. `figures`: of the day, and of each workload as NAME.FIGURE; intervals of several runs.

    `needs_us`: how long the workload `needed_by` must be seen before the state is steady; null: it was, and was
    continued for that where it was shorter."""

    axes: dict[str, Json]
    runs: int
    wanted: FigureSpread
    figures: dict[str, FigureSpread]
    limits: list[LimitState]
    error: str | None
    needs_us: float | None
    needed_by: str | None


class Change(TypedDict):
    """What another value of one axis would do to the choice. `wanted_ratio`: the wanted figure there beside it here.

    `looked_into`: both were seen for as long as what is told; false: for as long as in the search."""

    axis: str
    value: Json
    looked_into: bool
    wanted_ratio: float | None
    breaks: list[str]
    error: str | None


class Unverified(TypedDict):
    """Numbers of a profile on which the answer rests and that nobody has checked."""

    profile: str
    keys: list[str]
    of: int


class Advice(TypedDict):
    """What to take, and why. `machine`: that of the choice, from what state, how long was seen, in a line."""

    title: str
    machine: str
    version: str
    wanted: str
    maximise: bool
    # Whether the choice is within all limits.
    holds: bool
    choice: Choice
    second: Choice | None
    # The first value of each axis of the question.
    default: Choice
    changes: list[Change]
    # A point that is better in what is wanted, and the limits that it breaks.
    forbidden: Choice | None
    # Sentences on where the time of each workload goes at the choice.
    why: list[str]
    points_tried: int
    # Those of them whose state never was steady, so that nothing is said of them.
    points_too_short: int
    points: int
    unverified: list[Unverified]
    not_modelled: list[str]
    # Of a boot: how sure its times are, and what its runs say of themselves. Of other questions: none.
    notes: list[str]
