"""Runs a study: what the store holds is not run, what a lost worker had is tried again, one point at a time if need be.

Every finished piece is a file of the store before the next one is handed out, so that a study that was interrupted goes
on where it was, whatever ended it.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ffslab._native import InputError
from ffslab.registries.profiles import look_also_in
from ffslab.store import Store
from ffslab.studies.sweep.design import Design, design_of
from ffslab.studies.sweep.results import StudyResult
from ffslab.studies.sweep.runs import LOST
from ffslab.studies.sweep.tasks import REQUESTS_KEPT, Looked, Ran, experiment_of, look
from ffslab.studies.sweep.tasks import run as run_points
from ffslab.studies.sweep.workers import LocalWorkers, Loss, Workers
from ffslab.text.machine_line import Seen, initial_as_written, of_variant
from ffslab.text.tables import counted, number

if TYPE_CHECKING:
    from ffslab.studies.sweep.plan import Plan

# Takes the finished share (0 to 1) and what is done now.
Progress = Callable[[float, str], object]
# A piece of work takes about so long, which is long beside handing it out and short beside a person's patience.
PIECE_S = 1.0
PIECE_POINTS_MAX = 256
# Points of a piece, if it can be.
LEAST = 2
# A piece of points that have a setup in common takes so many times as long as that, which it runs once.
PIECE_SETUPS = 10
# A point that ends its worker so often is not tried again.
LOSSES_MAX = 2
# So many values of an axis are looked at for what the points ran on.
VALUES_MAX = 50
# Impossible points of which no more is looked for.
REFUSALS_MAX = 3


class How(NamedTuple):
    """How points are run; see `Study.run`."""

    any_size: bool = False
    again: bool = False
    share_setups: bool = True


def run(
    study: Plan,
    *,
    store: Store | None,
    workers: Workers | None,
    progress: Progress | None,
    shard: tuple[int, int] | None,
    how: How,
) -> StudyResult:
    """`Study.run`."""
    design = design_of(study)
    places = list(range(len(design.points)))
    own = places if shard is None else places[shard[0] - 1 :: shard[1]]
    with at_work(workers) as crew, kept_in(store) as kept:
        course = Course(study, design, kept, crew, progress or (lambda *_: None), how)
        keys, refused = course.looked(own, REFUSALS_MAX)
        if refused:
            raise course.impossible(refused, is_all=not keys)
        return course.result(own, keys)


@contextmanager
def at_work(workers: Workers | None) -> Iterator[Workers]:
    """Gives workers, and ends them at the end, also after an error."""
    crew = workers or LocalWorkers()
    try:
        yield crew
    finally:
        crew.close()


@contextmanager
def kept_in(store: Store | None) -> Iterator[Store]:
    """The store; when nothing is to be kept one that is gone at the end."""
    found = store or Store.usual()
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="ffslab-store.") as folder:
        yield Store(Path(folder))


# What a worker gave of a piece, to what is still to be done of it.
Got = Callable[[list[int], Any], list[list[int]]]
# A function and what it is given.
Task = tuple[Callable[..., Any], tuple[object, ...]]


@dataclass
class Course:
    """A study under way."""

    study: Plan
    design: Design
    store: Store
    workers: Workers
    progress: Progress
    how: How = field(default_factory=How)
    failed: int = field(default=0)

    def result(self, own: Sequence[int], keys: dict[int, list[str]]) -> StudyResult:
        """Runs the points `own` as far as the store does not hold them, or all of them again."""
        all_keys = [key for at in own for key in keys[at]]
        known = set() if self.how.again else self.store.has(all_keys, REQUESTS_KEPT)
        self.ran(own, keys, known)
        self.store.make_room()
        figures = self.store.figures(all_keys, REQUESTS_KEPT)
        taken = sum(1 for key in all_keys if key in known)
        return StudyResult(self.study, self.design, list(own), keys, figures, taken, self._seen(own, keys))

    def _seen(self, own: Sequence[int], keys: dict[int, list[str]]) -> tuple[Seen, ...]:
        """What some points ran on: the first and the last, and the first with each value of each axis."""
        chosen = dict.fromkeys((own[0], own[-1])) if own else {}
        for i in range(len(self.design.axes)):
            values = {repr(self.design.points[at][i]): at for at in reversed(own)}
            chosen |= dict.fromkeys([*values.values()][:VALUES_MAX])
        found = self.store.find({keys[at][0] for at in chosen}, REQUESTS_KEPT, with_tables=False)
        look_also_in(Path(self.study.experiment.base_dir))
        initial = initial_as_written(self.study.experiment.table())
        ended = (found[keys[at][0]].ended for at in sorted(chosen) if keys[at][0] in found)
        return tuple(of_variant(said, initial) for said in ended if said is not None)

    def looked(
        self, points: Sequence[int], refusals_max: int | None = None
    ) -> tuple[dict[int, list[str]], dict[int, str]]:
        """The keys of the runs of each point, and why others cannot run. It ends early with `refusals_max` of these."""
        keys: dict[int, list[str]] = {}
        refused: dict[int, str] = {}

        def got(piece: list[int], looked: Looked) -> list[list[int]]:
            if len(refused) == refusals_max:
                return []
            if looked.refusal is None:
                keys.update(zip(piece, looked.keys, strict=True))
                self.progress(len(keys) / len(points), f"checked {number(len(keys))} of {number(len(points))}")
            elif len(piece) > 1:
                return _halves(piece)
            else:
                refused[piece[0]] = looked.refusal.removeprefix(f"{self.study.experiment.file_name}: ")
            return []

        def task(piece: list[int]) -> Task:
            return look, (self._experiment(piece), self.how.any_size)

        lost = self._each(points, task, got, lambda: len(refused) == refusals_max)
        return keys, refused | dict.fromkeys(lost, LOST)

    def impossible(self, refused: dict[int, str], *, is_all: bool) -> InputError:
        """What is said of points that cannot run; `is_all`: none was found that can."""
        first = min(refused)
        # What is wrong with the experiment itself is no matter of its points.
        itself = look(self.study.experiment, self.how.any_size).refusal if is_all else None
        if itself is not None and itself.endswith(refused[first]):
            return InputError(itself)
        many = f"{len(refused)} or more of" if len(refused) >= REFUSALS_MAX else f"{len(refused)} of"
        points = counted(len(self.design.points), "point")
        return InputError(
            f"{self.study.file_name}: {many} {points} cannot run; first {self.design.name(first)}: {refused[first]} "
            "(leave such points out with `conditions`, or change the axes)"
        )

    def ran(self, points: Sequence[int], keys: dict[int, list[str]], known: set[str]) -> None:
        """Runs what is not known. Nothing is there afterwards of points that ended their workers."""
        left = [at for at in points if any(key not in known for key in keys[at])]
        # Points that have their setup in common come one after the other.
        left.sort(key=self._before_measured())
        total = sum(1 for at in points for key in keys[at])
        done = sum(1 for at in points for key in keys[at] if key in known)
        taken, began = done, time.monotonic()

        def told() -> None:
            rate = (done - taken) / max(time.monotonic() - began, 1e-3)
            failed = f", {number(self.failed)} failed" if self.failed else ""
            self.progress(done / total, f"{number(done)} of {number(total)} runs, {rate:.3g} a second{failed}")

        def got(piece: list[int], ran: Ran) -> list[list[int]]:
            nonlocal done
            self.store.add(ran.part)
            self.failed += ran.failed
            done += sum(1 for at in piece for key in keys[at] if key not in known)
            told()
            return []

        def task(piece: list[int]) -> Task:
            of_piece = [key for at in piece for key in keys[at]]
            positions = [i for i, key in enumerate(of_piece) if key in known]
            return run_points, (self._experiment(piece), positions, self.how.any_size, self.how.share_setups)

        if left:
            told()
        self._each(left, task, got)

    def _before_measured(self) -> Callable[[int], list[str]]:
        """Gives the values of a point on all axes but those of measured steps."""
        steps = {str(step.get("step")) for step in self.study.experiment.table().get("measure", [])}
        axes = [i for i, axis in enumerate(self.design.axes) if axis.name.partition(".")[0] not in steps]
        return lambda at: [repr(self.design.points[at][i]) for i in axes]

    def _experiment(self, piece: list[int]) -> Any:
        points = [self.design.points[at] for at in piece]
        return experiment_of(self.study.experiment, self.design.axes, points, self.study.repeat)

    def _each(
        self,
        points: Sequence[int],
        task: Callable[[list[int]], Task],
        got: Got,
        enough: Callable[[], bool] = lambda: False,
    ) -> set[int]:
        """Hands out points in pieces until all are done, or it is enough; those that ended their workers."""
        waiting, again = deque(points), deque[list[int]]()
        running: dict[Future[Any], list[int]] = {}
        losses: Counter[int] = Counter()
        # Of a single point nobody learns whether it has its setup in common with others.
        size, pieces_each = LEAST, 2
        while waiting or again or running:
            if enough():
                waiting.clear()
                again.clear()
            while len(running) < self.workers.places and (waiting or again):
                fair = -(-len(waiting) // (pieces_each * self.workers.places))
                piece = again.popleft() if again else [waiting.popleft() for _ in range(max(1, min(size, fair)))]
                work, given = task(piece)
                running[self.workers.submit(work, *given)] = piece
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                piece = running.pop(future)
                match self.workers.loss(future):
                    case None:
                        result = future.result()
                        again.extend(got(piece, result))
                        size = _size(len(piece), result)
                        pieces_each = 1 if _has_large_setup(result) else 2
                    case Loss.WORKER:
                        losses.update(piece if len(piece) == 1 else [])
                        again.extend(_halves(piece) if losses[piece[0]] < LOSSES_MAX else [])
                    case Loss.SCHEDULER:
                        again.append(piece)
        return {at for at, count in losses.items() if count >= LOSSES_MAX}


def _halves(piece: list[int]) -> list[list[int]]:
    """Two pieces of one, or the one that cannot be halved."""
    middle = len(piece) // 2
    return [piece[:middle], piece[middle:]] if middle else [piece]


def _has_large_setup(done: Looked | Ran) -> bool:
    """Whether the points of a piece had a setup in common that took most of its time."""
    return done.setup_seconds > max(PIECE_S, done.seconds / 2)


def _size(points: int, done: Looked | Ran) -> int:
    """How many points the next piece has, after one of so many."""
    seconds = max(PIECE_S, PIECE_SETUPS * done.setup_seconds)
    most = PIECE_POINTS_MAX if _has_large_setup(done) else min(PIECE_POINTS_MAX, 4 * points)
    return max(LEAST, min(most, round(seconds * points / max(done.seconds - done.setup_seconds, 1e-6))))
