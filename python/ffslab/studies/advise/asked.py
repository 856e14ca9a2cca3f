"""What is asked, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ffslab.api.experiment import Experiment
from ffslab.studies.advise.boot import AXES, Boot
from ffslab.studies.limits import Limit
from ffslab.studies.sweep.axes import Axis, Listed


@dataclass(frozen=True)
class Workload:
    """An experiment whose measured steps happen so often a day. `boot`: how its images are made, if it is a boot whose
    root is asked for."""

    name: str
    experiment: Experiment
    per_day: float
    boot: Boot | None = None


@dataclass(frozen=True)
class Asked:
    """A question. `wanted`: a figure, and whether more of it is better. `runs_max`: how many points may be tried;
    `None`: a tenth of all. `repeat`: runs of the finalists, for intervals."""

    title: str
    workloads: tuple[Workload, ...]
    axes: tuple[Listed, ...]
    conditions: tuple[str, ...]
    limits: tuple[Limit, ...]
    wanted: tuple[str, bool]
    runs_max: int | None = None
    repeat: int = 6
    seed: int = 1
    file_name: str = "<question>"


def own_axis(axis: Axis, workload: Workload, question: Asked) -> Axis | None:
    """The axis as the experiment of a workload has it; `None`: it is that of another one."""
    first, _, rest = axis.name.partition(".")
    if workload.boot is not None and axis.name in AXES:
        return None
    if rest and first in {one.name for one in question.workloads}:
        return replace(axis, name=rest) if first == workload.name else None
    return axis
