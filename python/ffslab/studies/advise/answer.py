"""What to take: the best point within all limits, what it gives, what comes second, what would change the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ffslab import _native
from ffslab._native import __version__
from ffslab.answers.advice import Advice, Change, Choice, LimitState, Unverified
from ffslab.registries import profiles
from ffslab.steady import filled_share
from ffslab.store import Store
from ffslab.studies.advise.asked import Asked
from ffslab.studies.advise.boot import NOT_MODELLED as BOOT_NOT_MODELLED
from ffslab.studies.advise.day import Tried, tried
from ffslab.studies.advise.search import Search
from ffslab.studies.sweep.design import left_out
from ffslab.studies.sweep.running import Progress, at_work, kept_in
from ffslab.studies.sweep.tasks import REQUESTS_KEPT
from ffslab.text.boot import boot_stages
from ffslab.text.durations import duration
from ffslab.text.figures import TOO_SHORT
from ffslab.text.machine_line import Seen, initial_as_written, line, of_variant
from ffslab.text.time_table import sentence as largest_cost
from ffslab.text.times import times_said

if TYPE_CHECKING:
    from ffslab.answers import Json
    from ffslab.answers.study import FigureSpread
    from ffslab.answers.summary import VariantSummary
    from ffslab.studies.sweep.design import Point
    from ffslab.studies.sweep.workers import Workers

# So many points are looked into for longer than in the search.
LOOKS_MAX = 5

NOT_MODELLED = [
    "Years count the erases of blocks that come in turn, in a short life, and room; blocks bear alike, nothing fails "
    "early (`ffslab ageing` tells of data that age, `ffslab lifetime` of blocks that fail).",
    "Each workload runs by itself on a partition that its setup prepares; what they do to each other when they run at "
    "the same time is not in the figures.",
    "RAM and the size of the program's code are not known to ffslab.",
]


def answer_of(question: Asked, *, store: Store | None, workers: Workers | None, progress: Progress | None) -> Advice:
    """`Asked.answer`."""
    tell = progress or (lambda *_: None)
    with at_work(workers) as crew, kept_in(store) as kept:
        search = Search(
            question,
            lambda points: [runs[0] for runs in tried(question, points, kept, crew, _told(tell, search))],
            lambda one: rank_of(question, one),
        )
        search.run()
        looked = Looked(question, search, lambda points: tried(question, points, kept, crew, tell, question.repeat))
        first = left_out(search.axes, [tuple(axis.listed[0] for axis in search.axes)])[0]
        default = looked.at(first) if first in search.tried else [Tried(first, {}, "the conditions rule it out")]
        choice, *others = looked.best_two()
        holds = violation(question, choice[0]) == 0 and is_known(question.wanted[0], choice[0])
        forbidden = _forbidden(question, looked.known(), choice[0]) if holds else None
        forbidden_runs = None if forbidden is None else looked.at(forbidden.point)
        summaries = _summaries(question, choice[0], kept)
        second = _summaries(question, others[0][0], kept) if others else {}
    wanted, most = question.wanted
    boots = [workload for workload in question.workloads if workload.boot is not None]
    return {
        "title": question.title,
        "machine": line(_seen(question, summaries)),
        "version": __version__,
        "wanted": wanted,
        "maximise": most,
        "holds": holds,
        "choice": choice_of(question, choice),
        "second": choice_of(question, others[0]) if others else None,
        "default": choice_of(question, default),
        "changes": changes_of(question, looked, choice[0].point),
        "forbidden": None if forbidden_runs is None else choice_of(question, forbidden_runs),
        "why": [f"{name}: {text}" for name, said in summaries.items() for text in _why(said)],
        "points_tried": len(search.tried),
        "points_too_short": sum(one.needs_us is not None for one in search.tried.values()),
        "points": search.points_count,
        "unverified": _unverified(summaries),
        "not_modelled": BOOT_NOT_MODELLED if boots else NOT_MODELLED,
        # Of the second one, too, since what has no price may put one before the other.
        "notes": list(notes_of([*summaries.values(), *second.values()])) if boots else [],
    }


@dataclass
class Looked:
    """Points that were looked into for longer than in the search, run by run. `look` does it."""

    question: Asked
    search: Search
    look: Callable[[Sequence[Point]], list[list[Tried]]]
    runs: dict[Point, list[Tried]] = field(default_factory=dict)

    def at(self, point: Point) -> list[Tried]:
        """The runs at a point."""
        if point not in self.runs:
            self.runs[point] = self.look([point])[0]
        return self.runs[point]

    def known(self) -> list[Tried]:
        """What is known of each point that was tried, by its longer look where there was one."""
        return [self.runs[point][0] if point in self.runs else one for point, one in self.search.tried.items()]

    def best_two(self) -> list[list[Tried]]:
        """The runs of the choice and of the second one.

        A look may turn points round. So it goes on until those that are best are two that were looked into, or
        `LOOKS_MAX` were.
        """
        while True:
            ranked = sorted(self.known(), key=lambda one: rank_of(self.question, one))
            fresh = [one.point for one in _first_two(ranked) if one.point not in self.runs]
            if not fresh or len(self.runs) >= LOOKS_MAX:
                return [self.runs[one.point] for one in _first_two([one for one in ranked if one.point in self.runs])]
            self.runs |= zip(fresh, self.look(fresh), strict=True)


def _first_two(ranked: Sequence[Tried]) -> list[Tried]:
    """The best one, and the best of another value of the first axis, or else the next."""
    best, *others = ranked
    return [best, *[*(one for one in others if one.point[0] != best.point[0]), *others][:1]]


def _told(tell: Progress, search: Search) -> Progress:
    def told(share: float, text: str) -> None:
        tell(min(1.0, (len(search.tried) + share) / max(search.budget, 1)), f"{len(search.tried)} points tried, {text}")

    return told


def violation(question: Asked, one: Tried) -> float:
    """By how much a point misses the limits; infinite when it has no figures, or none that can be told yet."""
    if one.error is not None or one.needs_us is not None:
        return float("inf")
    return sum(limit.excess(one.figures.get(limit.figure)) for limit in question.limits)


def is_known(figure: str, one: Tried) -> bool:
    """Whether a figure of a point is known; years that are absent do not end."""
    return figure == "years" or figure in one.figures


def rank_of(question: Asked, one: Tried) -> tuple[float, ...]:
    """Limits first, then what is wanted; less is better. Years that do not end are the most."""
    figure, most = question.wanted
    value = one.figures.get(figure)
    if value is None:
        value = float("inf") if figure == "years" else float("-inf") if most else float("inf")
    return one.error is not None, violation(question, one), -value if most else value


def choice_of(question: Asked, runs: Sequence[Tried]) -> Choice:
    """What a point gives over its runs."""
    pairs = zip(question.axes, runs[0].point, strict=True)
    axes: dict[str, Json] = {axis.name: value for axis, value in pairs if value is not None}
    error = next((run.error for run in runs if run.error is not None), None)
    ended = [run for run in runs if run.error is None]
    names = list(dict.fromkeys(name for run in ended for name in run.figures))
    figures = {name: _spread([run.figures[name] for run in ended if name in run.figures]) for name in names}
    limits: list[LimitState] = []
    for limit in question.limits:
        found = figures[limit.figure]["median"] if limit.figure in figures else None
        holds = error is None and limit.holds(found)
        holds = holds and runs[0].needs_us is None
        limits.append(
            {"limit": limit.text, "found": found, "holds": holds, "margin": _margin(limit.sign, found, limit.value)}
        )
    needs = max((run.needs_us for run in runs if run.needs_us is not None), key=lambda need: need[1], default=None)
    none: FigureSpread = {"median": None, "low": None, "high": None}
    return {
        "axes": axes,
        "runs": len(runs),
        "wanted": figures.get(question.wanted[0], none),
        "figures": figures,
        "limits": limits,
        "error": error,
        "needs_us": None if needs is None else needs[1],
        "needed_by": None if needs is None else needs[0],
    }


def _spread(values: list[float]) -> FigureSpread:
    median, low, high, _, _ = _native.spread(values)
    return {"median": median, "low": low, "high": high}


def _margin(sign: str, found: float | None, limit: float) -> float | None:
    if not found or not limit:
        return None
    return limit / found if sign.startswith("<") else found / limit


def changes_of(question: Asked, looked: Looked, best: Point) -> list[Change]:
    """What was found one change away from the choice, axis by axis: like beside like, as points that are looked into
    live for longer than those that are only compared."""
    found: list[Change] = []
    tried = looked.search.tried
    told, compared = (choice_of(question, runs) for runs in (looked.runs[best], [tried[best]]))
    for point in looked.search.neighbours(best):
        is_looked_into = point in looked.runs
        one = choice_of(question, looked.runs[point] if is_looked_into else [tried[point]])
        here, there = (told if is_looked_into else compared)["wanted"]["median"], one["wanted"]["median"]
        place = next(i for i, value in enumerate(point) if value != best[i])
        value = point[place]
        assert value is not None
        is_short = one["needs_us"] is not None
        found.append(
            {
                "axis": question.axes[place].name,
                "value": value,
                "looked_into": is_looked_into,
                "wanted_ratio": there / here if here and there is not None and not is_short else None,
                "breaks": [
                    limit["limit"] for limit in one["limits"] if not (one["error"] or is_short or limit["holds"])
                ],
                "error": one["error"] or (TOO_SHORT if is_short else None),
            }
        )
    return found


def _forbidden(question: Asked, known: Sequence[Tried], best: Tried) -> Tried | None:
    """The point that would be taken without limits, if it is another one."""
    ended = [one for one in known if one.error is None and one.needs_us is None]
    without = min(ended, key=lambda one: rank_of(question, one)[2:], default=best)
    better = rank_of(question, without)[2:] < rank_of(question, best)[2:]
    return without if better and violation(question, without) > 0 else None


def notes_of(every: Sequence[VariantSummary]) -> Iterator[str]:
    """How sure the times of some runs are, and what they say of themselves."""
    yield from times_said(every)
    for note in dict.fromkeys(note for said in every for note in said["notes"]):
        # No rows of requests are kept here.
        if not note.startswith("requests.parquet"):
            yield f"Note. {note}"


def _why(said: VariantSummary) -> Iterator[str]:
    """Where the time goes, and where the room does."""
    if stages := boot_stages(said):
        yield ", ".join(f"{stage.name} {duration(stage.took_us)}" for stage in stages)
    if text := largest_cost(said):
        yield text
    if share := filled_share(said):
        left = duration(said["time_us"] / share)
        yield f"What it writes stays: no room is left after {left} of it, and the years end there."


def _summaries(question: Asked, best: Tried, store: Store) -> dict[str, VariantSummary]:
    """What the run of each workload at a point said."""
    found = store.find(set(best.keys.values()), REQUESTS_KEPT, with_tables=False)
    ended = {name: run.ended for name, key in best.keys.items() if (run := found.get(key)) is not None}
    return {name: said for name, said in ended.items() if said is not None}


def _seen(question: Asked, summaries: dict[str, VariantSummary]) -> list[Seen]:
    """What each workload of the choice ran on."""
    initial = {one.name: initial_as_written(one.experiment.table()) for one in question.workloads}
    return [of_variant(said, initial.get(name)) for name, said in summaries.items()]


def _unverified(summaries: dict[str, VariantSummary]) -> list[Unverified]:
    """Numbers of the profiles of the choice that nobody has checked."""
    names: dict[str, None] = {}
    for said in summaries.values():
        stack = cast("dict[str, object]", said["stack"])
        names |= {str(stack[key]): None for key in ("board", "part", "kernel") if stack.get(key)}
    rows: list[Unverified] = []
    for name in names:
        values = profiles.shown(name)["values"]
        keys = [one["key"] for one in values if one["status"] == "unverified"]
        if keys:
            rows.append({"profile": name, "keys": keys, "of": len(values)})
    return rows
