"""What `ffslab lifetime --simulate --json` prints; `ffslab schema whole_lives` is made from these types."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers.lives import Lives


class WorkloadLives(Lives):
    """The lives of the variants of an experiment."""

    workload: str


class WholeLivesAnswer(TypedDict):
    """Lives of devices. `exact`: no time was leapt over."""

    start: str
    exact: bool
    wanted_years: float | None
    workloads: list[WorkloadLives]
