"""Line charts like those of the papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ffslab.report import charts
from ffslab.report.page import Drawn
from ffslab.text.tables import number

DASHES: tuple[list[int], ...] = ([], [8, 4], [2, 3])
COLOURS = 8


@dataclass(frozen=True)
class Line:
    """One curve. Of very many, those that belong together have a `hue`, and are told apart by their `dash`."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    hue: int | None = None
    dash: int = 0


@dataclass(frozen=True)
class Figure:
    """A chart: `x_scale` is base 2 for sizes and counts, symlog for times from 0 on.

    `kinds` names what stands side by side instead, at x = 0, 1 ...: there is nothing between them, and so no line.
    The axis of values begins at 0, unless it is logarithmic.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_scale: Literal["log2", "symlog"] = "log2"
    kinds: Sequence[str] = ()
    y_log: bool = False

    def drawn(self, name: str) -> Drawn:
        """The chart, `name` is its id in the page."""
        count = len(self.lines)
        xs = sorted({x for line in self.lines for x in line.x})
        # On a logarithmic axis 0 has no place: then times stand side by side, as kinds do, and lines join them.
        ticks = list(self.kinds) or ([number(x) for x in xs] if self.x_scale == "symlog" else [])
        lines = []
        for i, line in enumerate(self.lines):
            hue = i if line.hue is None else line.hue
            # Of more curves than colours, those of one colour are told apart by their dash.
            dash = DASHES[(line.dash + hue // COLOURS) % len(DASHES)]
            more: dict[str, object] = {"colour": f"s{hue % COLOURS}", **({"dash": dash} if dash else {})}
            if self.kinds:
                at = np.asarray(line.x, dtype=float) + (i - (count - 1) / 2) * 0.5 / count
                lines.append(charts.Line(line.label, at, line.y, "dots", {**more, "size": 9}))
            else:
                places = [xs.index(x) for x in line.x] if ticks else list(line.x)
                lines.append(charts.Line(line.label, places, line.y, "marks", more))
        is_log = self.y_log and charts.wants_log([line.y for line in self.lines])
        x = charts.Axis(self.x_label, ticks=ticks) if ticks else charts.Axis(self.x_label, log=True, at=xs)
        return charts.chart(name, self.title, x, charts.Axis(self.y_label, log=is_log), lines, 22)
