"""The figure of an experiment with many variants: what the main quantities are along its longest axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ffslab.answers.summary import VariantSummary
from ffslab.report.drawing import COLOURS, MARKS, colour, new_figure, svg_text, value_axis, width
from ffslab.text.summary import COLUMNS_MAX, ROWS
from ffslab.text.time_table import axis_text

# How fast, how slow at worst, how much energy, how long the flash lives.
QUANTITIES = ("latency mean, us", "latency max, us", "energy total, mJ", "block erases")
POINTS_MIN = 3
PANELS_MAX = 4


@dataclass(frozen=True)
class Sweep:
    """Which axes are drawn how: `along` from left to right, `panels` side by side, `lines` as lines of a panel."""

    along: str
    panels: str | None
    lines: tuple[str, ...]
    values: dict[str, list[str]]

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
    values = {
        axis: list(dict.fromkeys(axis_text(variant["axes"][axis]) for variant in variants))
        for axis in variants[0]["axes"]
    }
    # File systems have no order.
    along = max(values, key=lambda axis: (len(values[axis]), axis != "fs"))
    others = sorted((axis for axis in values if axis != along), key=lambda axis: (axis != "fs", len(values[axis])))
    split = len(others) > 1 and len(values[others[0]]) <= PANELS_MAX
    made = Sweep(along, others[0] if split else None, tuple(others[1:] if split else others), values)
    if len(values[along]) < POINTS_MIN or sum(1 for _ in made.line_keys) > len(COLOURS):
        return None
    return made


def svg(variants: list[VariantSummary], sweep: Sweep) -> str:
    """A row of panels for each quantity."""
    named_rows = {row[0]: row for row in ROWS}
    rows = [row for name in QUANTITIES if any((row := named_rows[name])[1](variant) for variant in variants)]
    keys = sweep.values[sweep.panels] if sweep.panels else [""]
    figure = new_figure(0.9 + 1.9 * len(rows))
    panels = figure.subplots(len(rows), len(keys), sharex=True, sharey="row", squeeze=False)
    lines = list(sweep.line_keys)
    along = sweep.values[sweep.along]
    for axes_row, (label, value_of, _) in zip(panels, rows, strict=True):
        for axes, key in zip(axes_row, keys, strict=True):
            for i, chosen in enumerate(lines):
                found = {
                    axis_text(variant["axes"][sweep.along]): value_of(variant)
                    for variant in variants
                    if tuple(axis_text(variant["axes"][axis]) for axis in sweep.lines) == chosen
                    and (not sweep.panels or axis_text(variant["axes"][sweep.panels]) == key)
                }
                heights = [float("nan") if found.get(x) is None else found[x] for x in along]
                named = ", ".join(f"{axis}={value}" for axis, value in zip(sweep.lines, chosen, strict=True))
                axes.plot(
                    range(len(along)), heights, marker=MARKS[i], markersize=5, markerfacecolor="none", color=colour(i),
                    linestyle="-" if sweep.has_order else "none", linewidth=width(i, len(lines)), label=named,
                )  # fmt: skip
            axes.grid(alpha=0.3)
        axes_row[0].set_ylabel(label)
        value_axis(axes_row[0], "y", [[value for v in variants if (value := value_of(v)) is not None]])
    for axes, key in zip(panels[0], keys, strict=True):
        axes.set_title(f"{sweep.panels}={key}" if sweep.panels else "", fontsize=9)
    crowded = sum(len(text) + 2 for text in along) > 96 // len(keys)
    for axes in panels[-1]:
        axes.set_xlabel(sweep.along)
        axes.set_xticks(
            range(len(along)), along, fontsize=8, rotation=45 if crowded else 0, ha="right" if crowded else "center"
        )
    return svg_text(figure, "sweep", panels[0][0], len(lines))
