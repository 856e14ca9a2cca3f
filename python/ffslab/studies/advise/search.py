"""Which points are tried: a spread of them over the space, then from the best ones one change at a time.

A space of settings is small in each direction, and most settings matter by themselves: a search that changes one thing
at a time from the best points finds what a search of everything finds with a small part of its runs, and what it has
tried says what each setting is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from ffslab.studies.advise.day import Tried
from ffslab.studies.advise.question import Question
from ffslab.studies.sweep.axes import Listed
from ffslab.studies.sweep.design import Point, left_out, satisfying

# The share of all points that is tried, where the question says nothing, and the least number.
SHARE, RUNS_LEAST = 0.1, 12
# Of these runs so many are the spread.
SPREAD_SHARE = 0.4
# From so many of the best points, each on another value of the first axis of words, changes are tried.
STARTS = 2
# Large spaces are not listed point by point.
LISTED_MAX = 200_000


@dataclass
class Search:
    """A search under way. `try_points` runs points; `rank` orders what they gave, the best first."""

    question: Question
    try_points: Callable[[Sequence[Point]], list[Tried]]
    rank: Callable[[Tried], tuple[float, ...]]
    tried: dict[Point, Tried] = field(default_factory=dict)

    @property
    def axes(self) -> list[Listed]:
        """The axes of the question, all of them lists."""
        return [axis for axis in self.question.axes if isinstance(axis, Listed)]

    @property
    def points_count(self) -> int:
        """How many points the space has, without its conditions."""
        return prod(len(axis.listed) for axis in self.axes)

    @property
    def budget(self) -> int:
        """How many points may be tried."""
        usual = max(RUNS_LEAST, int(self.points_count * SHARE))
        return min(self.question.runs_max or usual, self.points_count)

    def run(self) -> Tried:
        """The best point that was found."""
        self._try(self._spread())
        while len(self.tried) < self.budget:
            changes = self._changes()
            if not changes:
                break
            self._try(changes)
        return self.ranked()[0]

    def ranked(self) -> list[Tried]:
        """All that was tried, the best first."""
        return sorted(self.tried.values(), key=self.rank)

    def neighbours(self, point: Point) -> Iterator[Point]:
        """The points that differ in one axis: in all other words, or in the numbers beside."""
        for i, axis in enumerate(self.axes):
            value = point[i]
            at = -1 if value is None else axis.listed.index(value)
            words = isinstance(axis.listed[0], str | bool) and not str(axis.listed[0])[:1].isdigit()
            steps = range(-at, len(axis.listed) - at) if words or len(axis.listed) <= 3 else (-3, -1, 1, 3)
            for step in steps:
                if at >= 0 and step and 0 <= at + step < len(axis.listed):
                    yield (*point[:i], axis.listed[at + step], *point[i + 1 :])

    def _spread(self) -> list[Point]:
        """The default, which is the first value of each axis, and a Latin hypercube of the others."""
        import numpy as np
        from scipy.stats import qmc

        axes = self.axes
        default: Point = tuple(axis.listed[0] for axis in axes)
        count = max(1, int(self.budget * SPREAD_SHARE))
        rng = np.random.Generator(np.random.PCG64(self.question.seed))
        shares = qmc.LatinHypercube(len(axes), rng=rng).random(count)
        drawn = [tuple(axis.at(float(share)) for axis, share in zip(axes, row, strict=True)) for row in shares]
        return self._allowed([default, *drawn])[: self.budget]

    def _changes(self) -> list[Point]:
        """Changes of the best points that were not tried, as many as may be."""
        starts: list[Tried] = []
        for one in self.ranked():
            # A second start is of another kind: it may have its best elsewhere.
            if all(one.point[0] != other.point[0] for other in starts):
                starts.append(one)
            if len(starts) == STARTS:
                break
        for start in starts:
            changes = self._allowed(list(self.neighbours(start.point)))
            if changes:
                return changes[: self.budget - len(self.tried)]
        return []

    def _allowed(self, points: list[Point]) -> list[Point]:
        fresh = [point for point in dict.fromkeys(left_out(self.axes, points)) if point not in self.tried]
        return satisfying(self.axes, fresh, self.question.conditions)

    def _try(self, points: list[Point]) -> None:
        for one in self.try_points(points):
            self.tried[one.point] = one
