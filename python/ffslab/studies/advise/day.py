"""What a day costs at the points of a space: each workload is run there, its figures count as often as it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ffslab._native import InputError
from ffslab.registries.profiles import borne_by
from ffslab.steady import TOLERANCE, due_per_block, filled_share, variant_needs_us
from ffslab.store import KeptRun, Store
from ffslab.studies.advise.asked import Asked, Workload, own_axis
from ffslab.studies.advise.boot import image_axes
from ffslab.studies.advise.continued import ONCE, ROUNDS_MIN, Rounds, can_go_on, continued, rounds_for
from ffslab.studies.advise.living import WORK_COMPARED, WORK_TOLD, live_together, lived_at
from ffslab.studies.sweep.axes import Value
from ffslab.studies.sweep.design import Design, Point
from ffslab.studies.sweep.running import Course, Progress
from ffslab.studies.sweep.runs import LOST
from ffslab.studies.sweep.study import Study
from ffslab.studies.sweep.tasks import REQUESTS_KEPT
from ffslab.studies.sweep.workers import Workers
from ffslab.text.failures import fell_short_or_lost
from ffslab.text.figures import declared, known_figures
from ffslab.text.worn import US_PER_YEAR, worn_most

if TYPE_CHECKING:
    from ffslab.answers.summary import VariantSummary
    from ffslab.api.experiment import Experiment

DAY_US = 86_400e6
DAYS_PER_YEAR = US_PER_YEAR / DAY_US
WORN, FILLED = "worn", "filled"
SLOWEST = "latency_max_us"
# How often more rounds are run, when those that were thought enough were not.
ATTEMPTS = 3


@dataclass(frozen=True)
class Tried:
    """What a point gives. `figures`: of the day, and of each workload as `NAME.FIGURE`. `error`: why there are none.
    `key`: of the run of each workload in the store. `needs_us`: how long a workload must be seen, which one, before the
    state is steady; `None`: it is."""

    point: Point
    figures: dict[str, float]
    error: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    needs_us: tuple[str, float] | None = None


@dataclass
class _Ran:
    """What a workload did at a point, run by run. `rounds`: how often its measured steps were done in each."""

    rounds: Rounds
    runs: list[tuple[str, VariantSummary]]
    error: str | None = None
    # What the image of a boot tells.
    of_image: Mapping[str, float] = field(default_factory=dict)

    @property
    def needs_us(self) -> float:
        """How long it must be seen; 0: it was."""
        return max((variant_needs_us(said) or 0.0 for _, said in self.runs), default=0.0)


@dataclass(frozen=True)
class _Work:
    """A workload at the points of a space."""

    question: Asked
    workload: Workload
    store: Store
    workers: Workers
    progress: Progress
    repeat: int | None

    def own(self, point: Point) -> dict[str, Value]:
        """The values of the axes that it has at a point, by their names in its experiment."""
        pairs = zip(self.question.axes, point, strict=True)
        named = [(own_axis(axis, self.workload, self.question), value) for axis, value in pairs]
        return {axis.name: value for axis, value in named if axis is not None and value is not None}

    def ran(self, points: Sequence[Point], rounds: Rounds = ONCE) -> list[_Ran]:
        """What it does at points, which have the same values of axes of its steps if there are several rounds."""
        boot = self.workload.boot
        if boot is None:
            return self._ran_on(self.workload.experiment, points, rounds)
        # Each image is a machine of its own.
        found: dict[int, _Ran] = {}
        of_images: dict[tuple[tuple[str, Value], ...], list[int]] = {}
        for at, point in enumerate(points):
            of_images.setdefault(tuple(image_axes(self.question.axes, point).items()), []).append(at)
        for values, places in of_images.items():
            try:
                made = boot.made(self.workload.experiment, dict(values))
            except InputError as error:
                found |= {at: _Ran(rounds, [], f"{self.workload.name}: {error}") for at in places}
                continue
            for at, ran in zip(
                places, self._ran_on(made.experiment, [points[at] for at in places], rounds), strict=True
            ):
                ran.of_image = made.figures
                found[at] = ran
        return [found[at] for at in range(len(points))]

    def _ran_on(self, experiment: Experiment, points: Sequence[Point], rounds: Rounds) -> list[_Ran]:
        own = [own_axis(axis, self.workload, self.question) for axis in self.question.axes]
        axes = tuple(axis for axis in own if axis is not None)
        of_points = [
            tuple(value for value, axis in zip(point, own, strict=True) if axis is not None) for point in points
        ]
        if rounds != ONCE:
            experiment = continued(experiment, rounds, self.own(points[0]))
        # Points that differ in the axes of other workloads alone are one here.
        design = Design(axes, list(dict.fromkeys(of_points)), [], len(points))
        study = Study(experiment, axes, repeat=self.repeat, file_name=self.question.file_name)
        course = Course(study, design, self.store, self.workers, self.progress)
        run_keys, refused = course.looked(range(len(design.points)))
        course.result(list(run_keys), run_keys)
        keys = {key for some in run_keys.values() for key in some}
        found = self.store.find(keys, REQUESTS_KEPT, with_tables=False)
        places = {point: at for at, point in enumerate(design.points)}
        every = [
            _Ran(rounds, [], f"{self.workload.name}: {refused[at]}")
            if at in refused
            else self._of_runs(run_keys[at], found, rounds)
            for at in range(len(design.points))
        ]
        return [every[places[point]] for point in of_points]

    def _of_runs(self, keys: Sequence[str], found: Mapping[str, KeptRun], rounds: Rounds) -> _Ran:
        ran = _Ran(rounds, [])
        many = "" if rounds == ONCE else f"done {rounds.all:,} times one after the other: "
        for key in keys:
            kept = found.get(key)
            said = None if kept is None else kept.ended
            why = (LOST if kept is None else _error_of(kept)) if said is None else fell_short_or_lost(said)
            if said is None or why is not None:
                ran.error = ran.error or f"{self.workload.name}: {many}{why}"
            else:
                ran.runs.append((key, said))
        return ran

    def go_on(self, points: Sequence[Point], ran: list[_Ran]) -> None:
        """Goes on until the state is steady, where that takes no more than a few seconds each."""
        for _ in range(ATTEMPTS):
            waiting: dict[tuple[Rounds, str], list[int]] = {}
            for at, one in enumerate(ran):
                rounds = self._rounds(one)
                if rounds is not None:
                    steps = {name: value for name, value in self.own(points[at]).items() if "." in name}
                    waiting.setdefault((rounds, repr(steps)), []).append(at)
            for (rounds, _), places in waiting.items():
                for at, one in zip(places, self.ran([points[at] for at in places], rounds), strict=True):
                    ran[at] = one

    def _rounds(self, ran: _Ran) -> Rounds | None:
        if ran.error is not None or not can_go_on(self.workload.experiment):
            return None
        said = ran.runs[0][1]
        is_enough = ran.rounds.measured >= ROUNDS_MIN or not said["totals"]["page_programs"]
        return None if is_enough and not ran.needs_us else rounds_for(said, ran.rounds, ran.needs_us)


def tried(
    question: Asked,
    points: Sequence[Point],
    store: Store,
    workers: Workers,
    progress: Progress,
    repeat: int | None = None,
) -> list[list[Tried]]:
    """What each of some points gives, run by run, in a steady state as far as that can be had. `repeat`: how many runs
    of points that are told; `None`: they are only compared, by one each."""
    works = [_Work(question, workload, store, workers, progress, repeat) for workload in question.workloads]
    ran = [work.ran(points) for work in works]
    counting = [_counting(question, [of[at] for of in ran]) for at in range(len(points))]
    for i, work in enumerate(works):
        places = [at for at in range(len(points)) if i in counting[at]]
        of_places = [ran[i][at] for at in places]
        work.go_on([points[at] for at in places], of_places)
        for at, one in zip(places, of_places, strict=True):
            ran[i][at] = one
    told = repeat is not None
    found = [
        _tried(question, point, [of[at] for of in ran], counting[at], repeat or 1) for at, point in enumerate(points)
    ]
    living = [_living(question, [works[i] for i in counting[at]], found[at][0], told=told) for at in range(len(points))]
    work_max = WORK_TOLD if told else WORK_COMPARED
    for work in works:
        lives = [work.own(point) for point, of_point in zip(points, living, strict=True) if work in of_point]
        if len(lives) > 1:
            live_together(work.workload, lives, store, work_max)
    return [_with_lives(question, *each, work_max) for each in zip(living, points, found, strict=True)]


def _living(question: Asked, works: Sequence[_Work], run: Tried, *, told: bool) -> list[_Work]:
    """The workloads of a point whose lives give its years and slowest calls: if the point is `told`, as these stand on
    the page in any case, and if somebody asks for them."""
    if run.error is not None or run.needs_us is not None:
        return []
    asked = {question.wanted[0], *(limit.figure for limit in question.limits)}

    def is_asked(name: str) -> bool:
        return told or not asked.isdisjoint({"years", f"{name}.{SLOWEST}"})

    named = [(work, work.workload.name) for work in works]
    return [work for work, name in named if is_asked(name) and run.figures.get(f"{name}.{WORN}")]


def _with_lives(question: Asked, works: Sequence[_Work], point: Point, runs: list[Tried], work_max: int) -> list[Tried]:
    """The runs of a point with what lives of these workloads say."""
    for work in works:
        life = lived_at(work.workload, work.own(point), work.store, work_max)
        if life is None:
            continue
        if life.error is not None:
            return [replace(run, figures={}, error=f"{work.workload.name}: {life.error}") for run in runs]
        reckoned = 1 / (runs[0].figures[f"{work.workload.name}.{WORN}"] * work.workload.per_day * DAYS_PER_YEAR)
        shorter = 1.0 if life.years is None else life.years / reckoned
        runs = [_lived(question, run, work.workload.name, life.slowest_us, shorter) for run in runs]
    return runs


def _lived(question: Asked, run: Tried, name: str, slowest_us: float | None, shorter: float) -> Tried:
    """A run with what a life of a workload said. `shorter`: how many times as long as reckoned it lasts."""
    figures = {key: value for key, value in run.figures.items() if key != "years"}
    figures[f"{name}.{WORN}"] /= shorter
    if slowest_us is not None:
        # Rounds follow one another without the rest in which a device works in the background.
        figures[f"{name}.{SLOWEST}"] = slowest_us
    return replace(run, figures={**figures, **day_of(question, figures)})


def _counting(question: Asked, ran: Sequence[_Ran]) -> set[int]:
    """The workloads that fill a share of the partition worth speaking of, or are the only one: the others need not turn
    it over by themselves. Each boot is as the one before."""
    amounts = [
        workload.per_day * sum(said["totals"]["page_programs"] for _, said in one.runs)
        for workload, one in zip(question.workloads, ran, strict=True)
    ]
    counting = {at for at, amount in enumerate(amounts) if amount >= TOLERANCE * sum(amounts)}
    return {at for at in counting if question.workloads[at].boot is None}


def _tried(question: Asked, point: Point, ran: Sequence[_Ran], counting: set[int], repeat: int) -> list[Tried]:
    """The runs of a point."""
    error = next((one.error for one in ran if one.error is not None), None)
    if error is not None:
        return [Tried(point, {}, error)] * repeat
    names = [workload.name for workload in question.workloads]
    needs = max(
        ((names[at], one.needs_us) for at, one in enumerate(ran) if at in counting and one.needs_us),
        key=lambda need: need[1],
        default=None,
    )
    made = []
    for run in range(repeat):
        figures = {
            f"{name}.{figure}": value
            for name, one in zip(names, ran, strict=True)
            for figure, value in {**_figures(one.runs[run][1], one.rounds.measured), **one.of_image}.items()
            # A boot says nothing of years.
            if not one.of_image or figure not in (WORN, FILLED)
        }
        keys = {name: one.runs[run][0] for name, one in zip(names, ran, strict=True)}
        made.append(Tried(point, {**figures, **day_of(question, figures)}, None, keys, needs))
    return made


def _error_of(kept: KeptRun) -> str:
    return str(kept.said.get("error", ""))


def _figures(said: VariantSummary, rounds: int) -> dict[str, float]:
    """The figures of a round that are numbers, `worn`: which part of a block's life it takes, and `filled`: which part
    of the room that is left."""
    found = {name: float(value) for name, value in known_figures(said).items() if isinstance(value, int | float)}
    worn = worn_by(said)
    every = {**(found if worn is None else {**found, WORN: worn}), FILLED: filled_share(said) or 0.0}
    return {name: value / rounds if _adds_up(name) else value for name, value in every.items()}


def _adds_up(name: str) -> bool:
    """Whether rounds one after the other add it up, as they do what is only counted."""
    figure = declared(name)
    return figure is None or figure.adds_up


def worn_by(said: VariantSummary) -> float | None:
    """Which part of the life of its blocks a run takes, if all wear alike; `None`: nobody knows how long that is.

    A short run on a partition with room left need not erase what it will have to erase later: each block that is filled
    costs an erase.
    """
    borne = borne_by(said["stack"])
    if borne is None:
        return None
    erases = max(worn_most(said)[1]["mean"], due_per_block(said))
    return erases / borne[0]


def day_of(question: Asked, figures: dict[str, float]) -> dict[str, float]:
    """The figures of a day, from those of each workload (`NAME.FIGURE`); what one of them does not have is absent.

    `years`: until blocks are worn out that wear alike, or no room is left; absent when nothing is written.
    """

    def a_day(figure: str) -> float | None:
        amounts = [(figures.get(f"{one.name}.{figure}"), one.per_day) for one in question.workloads]
        known = [value * per_day for value, per_day in amounts if value is not None]
        return sum(known) if len(known) == len(amounts) else None

    worn, energy_uj = max(a_day(WORN) or 0.0, a_day(FILLED) or 0.0), a_day("energy_total_uJ")
    time_us, idle_us = a_day("time_us"), a_day("idle_us")
    found = {
        "years": 1 / (worn * DAYS_PER_YEAR) if worn else None,
        "busy_share": None if time_us is None or idle_us is None else (time_us - idle_us) / DAY_US,
        "energy_J_per_day": None if energy_uj is None else energy_uj / 1e6,
        "erases_per_day": a_day("erases"),
        "page_programs_per_day": a_day("page_programs"),
    }
    return {name: value for name, value in found.items() if value is not None}
