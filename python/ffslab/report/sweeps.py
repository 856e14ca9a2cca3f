"""The figure of an experiment with many variants: what the main quantities are along its longest axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from ffslab.answers.summary import VariantSummary
from ffslab.report.charts import Axis, Line, chart, multiples, wants_log
from ffslab.report.page import Drawn
from ffslab.text.figures import Place, table_of
from ffslab.text.summary import COLUMNS_MAX
from ffslab.text.time_table import axis_texts

# How fast, how slow at worst, how much energy, how long the flash lives.
QUANTITIES = ("latency_mean_us", "latency_max_us", "energy_total_uJ", "erases")
POINTS_MIN = 3
PANELS_MAX = 4
# More lines than there are colours cannot be told apart.
LINES_MAX = 8


@dataclass(frozen=True)
class Sweep:
    """Which axes are drawn how: `along` from left to right, `panels` side by side, `lines` as lines of a panel."""

    along: str
    panels: str | None
    lines: tuple[str, ...]
    values: dict[str, list[str]]
    # Of each variant what its axes are.
    texts: list[dict[str, str]] = field(default_factory=list, compare=False)

    @property
    def line_keys(self) -> Iterator[tuple[str, ...]]:
        """The values of each line."""
        return product(*(self.values[axis] for axis in self.lines))

    @property
    def said(self) -> str:
        """What the figure shows, in a sentence."""
        spaced = ", its values evenly spaced" if self.has_order else ""
        beside = f"; {self.panels} side by side" if self.panels else ""
        return f"What each variant took, along {self.along}{spaced}{beside}."

    @property
    def has_order(self) -> bool:
        """Whether there is something between two values, as with sizes, and not with names."""
        return all(value[:1].isdigit() for value in self.values[self.along])


def sweep_of(variants: list[VariantSummary]) -> Sweep | None:
    """How to draw the variants; `None` when they are few, have no long axis or too many lines for a picture."""
    if len(variants) <= COLUMNS_MAX:
        return None
    columns = {axis: axis_texts(variants, axis) for axis in variants[0]["axes"]}
    values = {axis: list(dict.fromkeys(column)) for axis, column in columns.items()}
    texts = [{axis: column[at] for axis, column in columns.items()} for at in range(len(variants))]
    # File systems have no order.
    along = max(values, key=lambda axis: (len(values[axis]), axis != "fs"))
    others = sorted((axis for axis in values if axis != along), key=lambda axis: (axis != "fs", len(values[axis])))
    split = len(others) > 1 and len(values[others[0]]) <= PANELS_MAX
    made = Sweep(along, others[0] if split else None, tuple(others[1:] if split else others), values, texts)
    if len(values[along]) < POINTS_MIN or sum(1 for _ in made.line_keys) > LINES_MAX:
        return None
    return made


def drawn(variants: list[VariantSummary], sweep: Sweep) -> Drawn:
    """A chart for each quantity and panel."""
    of = {figure.key: (figure, values) for figure, values, _ in table_of(variants, Place.PAGE)}
    keys = sweep.values[sweep.panels] if sweep.panels else [""]
    along = sweep.values[sweep.along]
    charts = []
    for number, (figure, values) in enumerate(of[key] for key in QUANTITIES if any(of[key][1])):
        unit = figure.unit(values)
        label = unit.labelled(figure.name)
        scaled = [None if value is None else value / unit.size for value in values]
        heights = [value for value in scaled if value is not None]
        y = Axis(label, figure.name, log=wants_log([heights]), span=(min(heights), max(heights)))
        for panel, key in enumerate(keys):
            lines = [
                Line(*_line(scaled, sweep, key, line), kind="marks" if sweep.has_order else "dots")
                for line in sweep.line_keys
            ]
            where = f"{label}: {sweep.panels} {key}" if sweep.panels else label
            charts.append(chart(f"sweep-{number}-{panel}", where, Axis(sweep.along, ticks=along), y, lines, 15))
    return multiples(charts)


def _line(
    values: Sequence[float | None], sweep: Sweep, panel: str, line: tuple[str, ...]
) -> tuple[str, list[int], list[float]]:
    """Name, places along the axis and values of a line."""
    found = {
        texts[sweep.along]: value
        for value, texts in zip(values, sweep.texts, strict=True)
        if tuple(texts[axis] for axis in sweep.lines) == line and (not sweep.panels or texts[sweep.panels] == panel)
    }
    known = [(at, value) for at, x in enumerate(sweep.values[sweep.along]) if (value := found.get(x)) is not None]
    name = ", ".join(f"{axis}={value}" for axis, value in zip(sweep.lines, line, strict=True))
    return name, [at for at, _ in known], [value for _, value in known]
