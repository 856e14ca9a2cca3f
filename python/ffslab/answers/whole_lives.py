"""What `ffslab lifetime --json` prints of lives; `ffslab schema whole_lives` is made from these types."""

from __future__ import annotations

from typing import TypedDict

from ffslab.answers.lives import Lives


class WorkloadLives(Lives):
    """The lives of the variants of an experiment. `initial`: what it says of the state at the begin."""

    workload: str
    initial: str | None


class WholeLivesAnswer(TypedDict):
    """Lives of devices. `fast`: times of stationary wear may be leapt over."""

    start: str
    fast: bool
    wanted_years: float | None
    workloads: list[WorkloadLives]
