"""What a study varies and wants, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

from ffslab.api.experiment import Experiment
from ffslab.studies.sweep.axes import Axis

METHODS = {
    "grid": "all combinations",
    "random": "points by chance",
    "latin": "a Latin hypercube: each axis is covered evenly",
    "sobol": "a Sobol sequence: the whole space is covered evenly",
    "saltelli": "the plan that Sobol's sensitivity indices need",
    "morris": "the plan of Morris's elementary effects: the cheapest that tells which axes matter",
}


# What is minimised unless the study says something else, if anybody has it: time, wear, energy.
USUAL = ("time_us", "erases", "energy_total_uJ")


POINTS_MAX = 1_000_000


@dataclass(frozen=True)
class Sample:
    """How points are chosen. `points`: how many are drawn; of "saltelli" and "morris" how many base points or
    trajectories their plan has, so that it is (axes + 2) or (axes + 1) times as large."""

    method: str = "grid"
    points: int = 64
    seed: int = 1


@dataclass(frozen=True)
class Plan:
    """Many runs of one experiment, and one question: what is best, what is the price, what matters.

    `conditions`: expressions of axes of which each must hold, as pandas evaluates them ("partition_blocks >= 160").
    `repeat`: runs of each point, from the second on with another seed and uptime. `minimise` and `maximise`: figures,
    as the columns of variants.parquet are called; none: `USUAL`. `compare`: the axis whose values are put beside its
    first one.
    """

    experiment: Experiment
    axes: tuple[Axis, ...]
    title: str = ""
    sample: Sample = field(default_factory=Sample)
    conditions: tuple[str, ...] = ()
    repeat: int | None = None
    minimise: tuple[str, ...] = ()
    maximise: tuple[str, ...] = ()
    compare: str | None = None
    file_name: str = "<study>"
