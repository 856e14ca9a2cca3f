"""What a day costs at the points of a space: each workload is run there, its figures count as often as it happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ffslab.api.profiles import endurance_of
from ffslab.api.variants import US_PER_YEAR, figures_of, worn_most
from ffslab.store import KeptRun, Store
from ffslab.studies.advise.question import Question, Workload
from ffslab.studies.sweep.axes import Axis
from ffslab.studies.sweep.design import Design, Point
from ffslab.studies.sweep.results import LOST
from ffslab.studies.sweep.running import Course, Progress
from ffslab.studies.sweep.study import Study
from ffslab.studies.sweep.tasks import REQUESTS_KEPT
from ffslab.studies.sweep.workers import Workers

if TYPE_CHECKING:
    from ffslab.answers.summary import VariantSummary

DAY_US = 86_400e6
DAYS_PER_YEAR = US_PER_YEAR / DAY_US
WORN = "worn"


@dataclass(frozen=True)
class Tried:
    """What a point gives. `figures`: of the day, and of each workload as `NAME.FIGURE`. `error`: why there are none.
    `key`: of the run of each workload in the store."""

    point: Point
    figures: dict[str, float]
    error: str | None = None
    keys: dict[str, str] = field(default_factory=dict)


def tried(
    question: Question,
    points: Sequence[Point],
    store: Store,
    workers: Workers,
    progress: Progress,
    repeat: int | None = None,
) -> list[list[Tried]]:
    """What each of some points gives, run by run."""
    runs = range(repeat or 1)
    figures: list[list[dict[str, float]]] = [[{} for _ in runs] for _ in points]
    keys: list[list[dict[str, str]]] = [[{} for _ in runs] for _ in points]
    errors: dict[int, str] = {}
    for workload in question.workloads:
        own = [_own(axis, workload, question) for axis in question.axes]
        axes = tuple(axis for axis in own if axis is not None)
        of_points = [
            tuple(value for value, axis in zip(point, own, strict=True) if axis is not None) for point in points
        ]
        # Points that differ in the axes of other workloads alone are one here.
        design = Design(axes, list(dict.fromkeys(of_points)), [], len(points))
        study = Study(workload.experiment, axes, repeat=repeat, file_name=question.file_name)
        course = Course(study, design, store, workers, False, progress)
        run_keys, refused = course.looked(range(len(design.points)))
        course.result(list(run_keys), run_keys)
        found = store.find({key for some in run_keys.values() for key in some}, REQUESTS_KEPT, with_tables=False)
        places = {point: at for at, point in enumerate(design.points)}
        for number, point in enumerate(of_points):
            place = places[point]
            if place in refused:
                errors.setdefault(number, f"{workload.name}: {refused[place]}")
                continue
            for run, key in enumerate(run_keys[place]):
                kept = found.get(key)
                if kept is None or kept.ended is None:
                    errors.setdefault(number, f"{workload.name}: {LOST if kept is None else _error_of(kept)}")
                    continue
                figures[number][run] |= {f"{workload.name}.{name}": of for name, of in _figures(kept.ended).items()}
                keys[number][run][workload.name] = key
    return [
        [
            Tried(point, {**own, **day_of(question, own)} if i not in errors else {}, errors.get(i), kept)
            for own, kept in zip(figures[i], keys[i], strict=True)
        ]
        for i, point in enumerate(points)
    ]


def _error_of(kept: KeptRun) -> str:
    return str(kept.said.get("error", ""))


def _figures(said: VariantSummary) -> dict[str, float]:
    """The figures of a run that are numbers, and `worn`: which part of a block's life it takes."""
    found = {name: float(value) for name, value in figures_of(said).items() if isinstance(value, int | float)}
    worn = worn_by(said)
    return found if worn is None else {**found, WORN: worn}


def worn_by(said: VariantSummary) -> float | None:
    """Which part of the life of its blocks a run takes, if all wear alike; `None`: nobody knows how long that is.

    A short run on a partition with room left need not erase what it will have to erase later: each programmed page
    costs its share of an erase at least.
    """
    stack: dict[str, Any] = {**said["stack"]}
    borne = endurance_of(str(stack["part"])) if stack.get("part") else None
    if borne is None:
        return None
    erases = worn_most(said)[1]["mean"]
    flash = said["flash"]
    blocks = stack.get("partition_blocks")
    if flash is not None and blocks:
        erases = max(erases, said["totals"]["page_programs"] / flash["pages_per_block"] / float(blocks))
    return erases / borne[0]


def day_of(question: Question, figures: dict[str, float]) -> dict[str, float]:
    """The figures of a day, from those of each workload (`NAME.FIGURE`); what one of them does not have is absent.

    `years`: until blocks are worn out that wear alike; absent when nothing is written.
    """

    def a_day(figure: str) -> float | None:
        amounts = [(figures.get(f"{one.name}.{figure}"), one.per_day) for one in question.workloads]
        known = [value * per_day for value, per_day in amounts if value is not None]
        return sum(known) if len(known) == len(amounts) else None

    worn, energy_uj = a_day(WORN), a_day("energy_total_uJ")
    time_us, idle_us = a_day("time_us"), a_day("idle_us")
    found = {
        "years": 1 / (worn * DAYS_PER_YEAR) if worn else None,
        "busy_share": None if time_us is None or idle_us is None else (time_us - idle_us) / DAY_US,
        "energy_J_per_day": None if energy_uj is None else energy_uj / 1e6,
        "erases_per_day": a_day("erases"),
        "page_programs_per_day": a_day("page_programs"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _own(axis: Axis, workload: Workload, question: Question) -> Axis | None:
    """The axis as the experiment of a workload has it; `None`: it is that of another one."""
    first, _, rest = axis.name.partition(".")
    if rest and first in {one.name for one in question.workloads}:
        return replace(axis, name=rest) if first == workload.name else None
    return axis
