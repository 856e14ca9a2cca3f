"""Charts like those of the papers: what was published, and beside it our runs and those of the real kernel.

A paper's curves are pictures; what is known of them are the numbers and shapes that its text and tables state. These
are drawn as what they are: a number as a square, a constant or a straight line as a line, an order or a bound as an
area. Nothing else of a published curve is drawn, and each figure says what of it is known, and where that stands.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ffslab.report import charts
from ffslab.report.page import Drawn
from ffslab.studies.reproduce.claims import Judged
from ffslab.text.tables import number

# Of our curves, of what was published, of the real kernel, and of a second family of our curves.
OURS, PUBLISHED, REAL, SECOND = range(4)
DASHES: tuple[list[int], ...] = ([], [9, 5], [2, 3], [10, 3, 2, 3])
COLOURS = 8
# What says nothing of a single curve.
GREY = 7
ANY_CURVE = "published"
# In a line below an axis.
KIND_CHARACTERS = 7


@dataclass(frozen=True)
class Line:
    """One curve. Those that belong together have a `hue`, and are told apart by their `dash`."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    hue: int | None = None
    dash: int = OURS


@dataclass(frozen=True)
class Published:
    """What a paper states of the curve with this `hue`: numbers, which are squares.

    `same`: from where to where a value counts as the same. `to`: the numbers bound an area whose other end this is,
    infinite where there is no other bound. `joined`: what is between the numbers is known, too.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    hue: int = GREY
    same: Sequence[tuple[float, float]] = ()
    to: float | None = None
    joined: bool = False


def stated(
    claim: Judged, label: str, values: Mapping[int, float] | Mapping[float, float], hue: int, unit: float = 1.0
) -> Published:
    """Numbers of a claim, by their place on the axis, with the claim's tolerance; `unit` is that of the axis."""
    same = [claim.same(value) for value in values.values()]
    heights = [value * unit for value in values.values()]
    return Published(label, list(values), heights, hue, [(low * unit, high * unit) for low, high in same])


@dataclass(frozen=True)
class Figure:
    """A chart: `x_scale` is base 2 for sizes and counts, symlog for times from 0 on.

    `claims`: whose verdicts stand on it. `says`: what is published of it, and where; `published` may be empty.
    `kinds` names what stands side by side instead, at x = 0, 1 ...: there is nothing between them, and so no line.
    The axis of values begins at 0, unless it is logarithmic or `free`.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    published: Sequence[Published] = ()
    claims: Sequence[str] = ()
    says: str = ""
    x_scale: Literal["log2", "symlog", "linear"] = "log2"
    kinds: Sequence[str] = ()
    y_log: bool = False
    free: bool = False

    def drawn(self, name: str, told: str = "") -> Drawn:
        """The chart; `name` is its id in the page, `told` HTML below its title."""
        xs = sorted({x for line in self.lines for x in line.x})
        # On a logarithmic axis 0 has no place: then times stand side by side, as kinds do, and lines join them.
        ticks = [_wrapped(kind) for kind in self.kinds] or ([number(x) for x in xs] if self.x_scale == "symlog" else [])
        lines = list(self._drawn_lines(xs if ticks and not self.kinds else []))
        heights = [*(line.y for line in self.lines), *(one.y for one in self.published)]
        is_log = self.y_log and charts.wants_log(heights)
        x = (
            charts.Axis(self.x_label, ticks=ticks)
            if ticks
            else charts.Axis(self.x_label, log=self.x_scale == "log2", at=xs)
        )
        y = charts.Axis(self.y_label, log=is_log, free=self.free, span=self._span(is_log))
        return charts.chart(name, self.title, x, y, lines, 18, told=told)

    def _span(self, is_log: bool) -> tuple[float, float] | None:
        """From the least to the highest of all that is drawn, bars and areas included."""
        values = [value for line in self.lines for value in line.y]
        for one in self.published:
            values += [*one.y, *(end for both in one.same for end in both), *([] if one.to is None else [one.to])]
        shown = [value for value in values if math.isfinite(value) and (value > 0 or not is_log)]
        return (min(shown), max(shown)) if shown else None

    def _drawn_lines(self, places: Sequence[float]) -> Iterator[charts.Line]:
        """What was published last, so that no curve hides it; a legend begins with it.

        `places`: of x, where these stand side by side.
        """
        columns = self._columns()
        for i, line in enumerate(self.lines):
            colour, dash = self._colour(i, line)
            more: dict[str, object] = {"colour": f"s{colour}", **({"dash": DASHES[dash]} if dash else {})}
            at = _at(line.x, places, columns.get(id(line), 0.0))
            if self.kinds:
                yield charts.Line(line.label, at, line.y, "rings" if dash == REAL else "dots", {**more, "size": 9})
            else:
                yield charts.Line(line.label, at, line.y, "marks", {**more, **({"size": 4} if dash == REAL else {})})
        for one in self.published:
            more = {"colour": f"s{one.hue % COLOURS}", "dash": DASHES[PUBLISHED], "stated": True}
            if one.to is not None:
                more["to"] = charts.packed([one.to] * len(one.y))
                yield charts.Line(one.label, _at(one.x, places), one.y, "area", more)
                continue
            if one.same:
                more |= {end: charts.packed([both[i] for both in one.same]) for i, end in enumerate(("low", "high"))}
            yield charts.Line(
                one.label,
                _at(one.x, places, columns.get(id(one), 0.0)),
                one.y,
                "line" if one.joined else "squares",
                more,
            )

    def _colour(self, i: int, line: Line) -> tuple[int, int]:
        """Of more curves than colours, those of one colour are told apart by their dash."""
        hue = i if line.hue is None else line.hue
        return hue % COLOURS, (line.dash + hue // COLOURS) % len(DASHES)

    def _columns(self) -> dict[int, float]:
        """Where each stands beside the middle of a kind, by its identity: of each colour the published one first."""
        if not self.kinds:
            return {}
        hues: list[tuple[int, int, int]] = [
            (one.hue, -1, id(one)) for one in self.published if one.to is None and not one.joined
        ]
        hues += [(i if line.hue is None else line.hue, line.dash, id(line)) for i, line in enumerate(self.lines)]
        count = len(hues)
        return {which: (i - (count - 1) / 2) * 0.7 / count for i, (*_, which) in enumerate(sorted(hues))}


def _wrapped(kind: str) -> str:
    """The name of a kind in lines that have room below it."""
    return "\n".join(textwrap.wrap(kind, KIND_CHARACTERS, break_long_words=False))


def _at(x: Sequence[float], places: Sequence[float], column: float = 0.0) -> Sequence[float]:
    return [float(places.index(value)) for value in x] if places else [value + column for value in x]
