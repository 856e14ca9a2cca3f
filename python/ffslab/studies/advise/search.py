"""Which points are tried: the default, in a large space a spread of others, then one change at a time.

A space of settings is small in each direction, and most settings matter by themselves: a search that changes one thing
at a time from the best point, axis after axis, finds what a search of everything finds with a small part of its runs,
and what it has tried says what each setting is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from math import prod

from ffslab._native import InputError
from ffslab.studies.advise.asked import Asked
from ffslab.studies.advise.day import Tried
from ffslab.studies.sweep.axes import Listed, plain
from ffslab.studies.sweep.design import Point, held_of

# The share of all points that is tried, where the question says nothing, and the least number.
SHARE, RUNS_LEAST = 0.1, 8
# From so many runs on a part of them is a spread over the whole space: one change at a time may end on a hill that is
# not the highest.
SPREAD_FROM, SPREAD_SHARE = 20, 0.2
# Of an axis with no more values all are tried; of longer ones the ends, then the middle between what was tried.
ALL_VALUES_MAX = 3
# Larger spaces are not listed point by point.
LISTED_MAX = 20_000
# So often as many points are looked at for one that the conditions allow.
LOOKS_MAX = 50


@dataclass
class Search:
    """A search under way. `try_points` runs points; `rank` orders what they gave, the best first."""

    question: Asked
    try_points: Callable[[Sequence[Point]], list[Tried]]
    rank: Callable[[Tried], tuple[float, ...]]
    tried: dict[Point, Tried] = field(default_factory=dict)

    @property
    def axes(self) -> tuple[Listed, ...]:
        """Those of the question."""
        return self.question.axes

    @cached_property
    def points_count(self) -> int:
        """How many points the space has; of a large one without its conditions."""
        combinations = prod(len(axis.listed) for axis in self.axes)
        if combinations > LISTED_MAX:
            return combinations
        return len(every_point(self.question))

    @property
    def budget(self) -> int:
        """How many points may be tried."""
        usual = max(RUNS_LEAST, int(self.points_count * SHARE))
        return min(self.question.runs_max or usual, self.points_count)

    def run(self) -> Tried:
        """The best point that was found."""
        self._try(self._spread() or self._first())
        # Words decide more than numbers, and what is best among numbers depends on them.
        order = sorted(range(len(self.axes)), key=lambda i: _has_order(self.axes[i]))
        turn, idle = 0, 0
        while len(self.tried) < self.budget and idle < 2 * len(order):
            # When nothing can be changed any more at the best point, the best of another kind has its turn.
            start = self._starts()[0 if idle < len(order) else -1]
            moves = self._allowed(self._moves(start, order[turn % len(order)]))
            self._try(moves[: self.budget - len(self.tried)])
            turn, idle = turn + 1, 0 if moves else idle + 1
        return self.ranked()[0]

    def ranked(self) -> list[Tried]:
        """All that was tried, the best first."""
        return sorted(self.tried.values(), key=self.rank)

    def neighbours(self, point: Point) -> Iterator[Point]:
        """The points that were tried and differ in one axis."""
        for other in self.tried:
            if sum(here != there for here, there in zip(point, other, strict=True)) == 1:
                yield other

    def _moves(self, point: Point, i: int) -> list[Point]:
        """What to try next along an axis: all of its words, or the ends of its numbers, then the middle between the
        best of them and those beside it that were tried."""
        axis = self.axes[i]
        along = {value: (*point[:i], value, *point[i + 1 :]) for value in axis.listed}
        if point[i] is None:
            return []
        if len(along) <= ALL_VALUES_MAX or not _has_order(axis):
            return list(along.values())
        ladder = sorted(axis.listed, key=lambda value: float(str(plain(value))))
        known = [at for at, value in enumerate(ladder) if along[value] in self.tried]
        ends = [at for at in (0, len(ladder) - 1) if at not in known]
        if ends:
            return [along[ladder[at]] for at in ends]
        best = min(known, key=lambda at: self.rank(self.tried[along[ladder[at]]]))
        beside = [
            max((at for at in known if at < best), default=best),
            min((at for at in known if at > best), default=best),
        ]
        middles = [(best + at) // 2 for at in beside if abs(best - at) > 1]
        return [along[ladder[at]] for at in middles]

    def _starts(self) -> list[Point]:
        """The best point, and the best one of another value of the first axis: it may have its best elsewhere."""
        ranked = self.ranked()
        other = next((one for one in ranked if one.point[0] != ranked[0].point[0]), ranked[0])
        return [ranked[0].point, other.point]

    def _spread(self) -> list[Point]:
        """The default, which is the first value of each axis, and in a large space a Latin hypercube."""
        import numpy as np
        from scipy.stats import qmc

        axes = self.axes
        default: Point = tuple(axis.listed[0] for axis in axes)
        if self.budget < SPREAD_FROM:
            return self._allowed([default])
        rng = np.random.Generator(np.random.PCG64(self.question.seed))
        shares = qmc.LatinHypercube(len(axes), rng=rng).random(int(self.budget * SPREAD_SHARE))
        drawn = [tuple(axis.at(float(share)) for axis, share in zip(axes, row, strict=True)) for row in shares]
        return self._allowed([default, *drawn])

    def _first(self) -> list[Point]:
        """The first point that the conditions allow: they may rule out the default, and all that was drawn.

        Raises `ffslab.InputError` when there is none.
        """
        every = product(*(axis.listed for axis in self.axes))
        for _ in range(LOOKS_MAX):
            some: list[Point] = list(islice(every, LISTED_MAX))
            if not some:
                break
            if allowed := self._allowed(some):
                return allowed[:1]
        raise InputError(f"{self.question.file_name}: no point satisfies all `conditions`")

    def _allowed(self, points: list[Point]) -> list[Point]:
        # Who comes from a point without an axis takes its default, where it has one.
        whole: list[Point] = [
            tuple(axis.listed[0] if value is None else value for axis, value in zip(self.axes, point, strict=True))
            for point in points
        ]
        held = held_of(self.question, list(dict.fromkeys(whole)))
        return [point for point in dict.fromkeys(held) if point not in self.tried]

    def _try(self, points: list[Point]) -> None:
        for one in self.try_points(points):
            self.tried[one.point] = one


def every_point(question: Asked) -> list[Point]:
    """All points of the space of a question, the default first."""
    return list(dict.fromkeys(held_of(question, list(product(*(axis.values() for axis in question.axes))))))


def _has_order(axis: Listed) -> bool:
    """Whether the values are numbers, sizes or times, so that there is something between two of them."""
    return all(isinstance(plain(value), int | float) and not isinstance(value, bool) for value in axis.listed)
