"""Line charts like those of the papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from ffslab.report.drawing import MARKS, colour, new_figure, svg_text, thousands, value_axis, width

DASHES = ("-", "--", ":")

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    def svg(self) -> str:
        """The chart as an SVG element."""
        figure = new_figure(3.4 + 0.08 * len(self.lines))
        axes = figure.add_subplot()
        count = len(self.lines)
        for i, line in enumerate(self.lines):
            # Hollow marks, and lines that get thinner: one that lies on another hides nothing.
            # Matplotlib types each of its many keywords by itself.
            style: dict[str, Any] = {
                "marker": MARKS[i % len(MARKS)],
                "markersize": 5,
                "markerfacecolor": "none",
                "color": colour(i if line.hue is None else line.hue),
            }
            if self.kinds:
                beside = np.asarray(line.x) + (i - (count - 1) / 2) * 0.5 / count
                axes.plot(beside, line.y, linestyle="none", markeredgewidth=1.5, label=line.label, **style)
            else:
                axes.plot(
                    line.x, line.y, linestyle=DASHES[line.dash], linewidth=width(i, count), label=line.label, **style
                )
        axes.set(title=self.title, xlabel=self.x_label, ylabel=self.y_label)
        self._scale_x(axes)
        if self.y_log:
            value_axis(axes, "y", [line.y for line in self.lines])
        else:
            thousands(axes.yaxis)
            ys = [y for line in self.lines for y in line.y]
            axes.set_ylim(min(0, 1.08 * min(ys)), 1.08 * max(ys) or 1)
        axes.grid(alpha=0.3)
        return svg_text(figure, self.title.lower().replace(" ", "-"), axes, count)

    def _scale_x(self, axes: Axes) -> None:
        if self.kinds:
            axes.set_xticks(range(len(self.kinds)), self.kinds)
            axes.set_xlim(-0.5, len(self.kinds) - 0.5)
            return
        xs = sorted({x for line in self.lines for x in line.x})
        if self.x_scale == "log2":
            axes.set_xscale("log", base=2)
        else:
            axes.set_xscale("symlog", linthresh=min(x for x in xs if x), linscale=0.6)
        axes.set_xticks(xs)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
        axes.tick_params(axis="x", labelsize=9)
        axes.xaxis.set_minor_locator(NullLocator())
