"""Line charts like those of the papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from ffslab.report.drawing import colour, new_figure, svg_text

MARKS = "os^Dv<>P"


@dataclass(frozen=True)
class Line:
    """One curve."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Figure:
    """A chart: `x_scale` is base 2 for sizes and counts, symlog for times from 0 on, linear for kinds by number."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_scale: Literal["log2", "symlog", "linear"] = "log2"
    y_log: bool = False
    from_zero: bool = False

    def svg(self) -> str:
        """The chart as an SVG element."""
        figure = new_figure(3.4 + 0.08 * len(self.lines))
        axes = figure.add_subplot()
        for i, line in enumerate(self.lines):
            axes.plot(line.x, line.y, marker=MARKS[i % len(MARKS)], markersize=4, color=colour(i), label=line.label)
        axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label)
        xs = sorted({x for line in self.lines for x in line.x})
        if self.x_scale == "log2":
            axes.set_xscale("log", base=2)
        elif self.x_scale == "symlog":
            axes.set_xscale("symlog", linthresh=min(x for x in xs if x), linscale=0.6)
        axes.set_xticks(xs)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        if self.y_log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        elif self.from_zero:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        return svg_text(figure, self.title.lower().replace(" ", "-"), axes, len(self.lines))
