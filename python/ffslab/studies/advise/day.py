"""What a day costs at the points of a space: each workload is run there, its figures count as often as it happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ffslab.api.variants import US_PER_YEAR
from ffslab.store import Store
from ffslab.store.rows import FIGURES
from ffslab.studies.advise.question import Question, Workload
from ffslab.studies.sweep.axes import Axis
from ffslab.studies.sweep.design import Design, Point
from ffslab.studies.sweep.running import Course, Progress
from ffslab.studies.sweep.study import Study
from ffslab.studies.sweep.workers import Workers

DAY_US = 86_400e6
DAYS_PER_YEAR = US_PER_YEAR / DAY_US


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
    runs = repeat or 1
    figures: list[list[dict[str, float]]] = [[{} for _ in range(runs)] for _ in points]
    keys: list[list[dict[str, str]]] = [[{} for _ in range(runs)] for _ in points]
    errors: dict[int, str] = {}
    for workload in question.workloads:
        axes = [_own(axis, workload, question) for axis in question.axes]
        places = [i for i, axis in enumerate(axes) if axis is not None]
        meant = [axis for axis in axes if axis is not None]
        of_points = [tuple(point[i] for i in places) for point in points]
        # Points that differ in the axes of other workloads alone are one here.
        at = {point: i for i, point in enumerate(dict.fromkeys(of_points))}
        design = Design(tuple(meant), list(at), [], len(points))
        study = Study(workload.experiment, tuple(meant), repeat=repeat, file_name=question.file_name)
        course = Course(study, design, store, workers, False, progress)
        run_keys, refused = course.looked(range(len(design.points)))
        possible = [i for i in range(len(design.points)) if i in run_keys]
        result = course.result(possible, run_keys)
        by_point = dict(iter(result.runs.groupby(result.runs["point"] - 1)))
        for number, point in enumerate(of_points):
            place = at[point]
            if place in refused:
                errors.setdefault(number, f"{workload.name}: {refused[place]}")
                continue
            for run, row in enumerate(by_point[place].to_dict("records")):
                if row["error"] is not None:
                    errors.setdefault(number, f"{workload.name}: {row['error']}")
                    continue
                found = {name: float(row[name]) for name in FIGURES if row.get(name) == row.get(name) and name in row}
                figures[number][run] |= {f"{workload.name}.{name}": value for name, value in found.items()}
                keys[number][run][workload.name] = run_keys[place][run]
    return [
        [
            Tried(point, {**own, **day_of(question, own)} if i not in errors else {}, errors.get(i), kept)
            for own, kept in zip(figures[i], keys[i], strict=True)
        ]
        for i, point in enumerate(points)
    ]


def day_of(question: Question, figures: dict[str, float]) -> dict[str, float]:
    """The figures of a day, from those of each workload (`NAME.FIGURE`).

    `years`: absent when nothing is erased. Blocks are taken to wear alike, and each workload by its mean.
    """

    def a_day(figure: str) -> float | None:
        amounts = [(figures.get(f"{one.name}.{figure}"), one.per_day) for one in question.workloads]
        known = [value * per_day for value, per_day in amounts if value is not None]
        return sum(known) if len(known) == len(amounts) else None

    worn = 0.0
    for workload in question.workloads:
        years = figures.get(f"{workload.name}.years_until_worn_out")
        if years is not None:
            runs = years * US_PER_YEAR / figures[f"{workload.name}.time_us"]
            worn += workload.per_day / runs
    busy_us, energy_uj = a_day("program_us"), a_day("energy_total_uJ")
    erases, programs = a_day("erases"), a_day("page_programs")
    found = {
        "years": 1 / (worn * DAYS_PER_YEAR) if worn else None,
        "busy_share": None if busy_us is None else busy_us / DAY_US,
        "energy_J_per_day": None if energy_uj is None else energy_uj / 1e6,
        "erases_per_day": erases,
        "page_programs_per_day": programs,
    }
    return {name: value for name, value in found.items() if value is not None}


def _own(axis: Axis, workload: Workload, question: Question) -> Axis | None:
    """The axis as the experiment of a workload has it; `None`: it is that of another one."""
    from dataclasses import replace

    first, _, rest = axis.name.partition(".")
    if rest and first in {one.name for one in question.workloads}:
        return replace(axis, name=rest) if first == workload.name else None
    return axis
