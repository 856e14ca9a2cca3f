"""The pictures of a study: trade-offs, responses along axes, heat maps, parallel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ffslab.report.drawing import VECTOR_MARKS_MAX, colour, new_figure, svg_text, thousands, value_axis
from ffslab.studies.sweep.answers import trade_offs as front_of
from ffslab.studies.sweep.axes import Axis, Listed, Range, plain
from ffslab.studies.sweep.results import StudyResult, ended
from ffslab.studies.sweep.sensitivity import size_of
from ffslab.studies.sweep.text import label, scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS_MAX = 4
PARTS_OF_RANGE = 10
# Of parallel coordinates: more would be a grey wall, and large.
LINES_MAX = 2_000
GREY = "#b0b0b0"


def trade_offs(result: StudyResult) -> str | None:
    """The first objective against each other one, with the points that none beats in both."""
    objectives = result.objectives
    if len(objectives) < 2:
        return None
    points = ended(result.points, [name for name, _ in objectives])
    if points.empty:
        return None
    first, others = objectives[0], objectives[1 : 1 + PANELS_MAX]
    drawn = new_figure(3.8)
    panels = drawn.subplots(1, len(others), squeeze=False)[0]
    groups = _groups(result, points)
    for axes, other in zip(panels, others, strict=True):
        for i, (name, group) in enumerate(groups):
            x, y = (_values(group, figure) for figure in (first[0], other[0]))
            axes.plot(
                x, y, "o", markersize=4, color=colour(i) if len(groups) > 1 else GREY, alpha=0.5, label=name,
                rasterized=len(points) > VECTOR_MARKS_MAX, markeredgewidth=0,
            )  # fmt: skip
        front = front_of(points, [first, other])
        x, y = _values(front, first[0]), _values(front, other[0])
        axes.errorbar(
            x, y, xerr=_bars(front, first[0]), yerr=_bars(front, other[0]), fmt="-", color="#000000", linewidth=1,
            elinewidth=0.8, drawstyle="steps-post" if not (first[1] or other[1]) else "default",
        )  # fmt: skip
        axes.plot(x, y, "o", markersize=5, markerfacecolor="none", color="#000000")
        axes.set(xlabel=label(first[0]), ylabel=label(other[0]))
        value_axis(axes, "x", [_values(points, first[0])])
        value_axis(axes, "y", [_values(points, other[0])])
        axes.grid(alpha=0.3)
    return svg_text(drawn, "trade-offs", panels[0], len(groups))


def responses(result: StudyResult) -> str | None:
    """A row of panels for each objective, a panel for each axis."""
    objectives, axes_of_study = result.objectives, _by_influence(result)[:PANELS_MAX]
    points = ended(result.points, [name for name, _ in objectives])
    if not objectives or points.empty:
        return None
    drawn = new_figure(0.6 + 2.1 * len(objectives))
    panels = drawn.subplots(len(objectives), len(axes_of_study), sharey="row", sharex="col", squeeze=False)
    words = axes_of_study[0] if _is_words(axes_of_study[0]) else None
    by_words = _groups(result, points) if words is not None else [("", points)]
    entries = 1
    for row, (figure, _) in zip(panels, objectives, strict=True):
        for axes, axis in zip(row, axes_of_study, strict=True):
            groups = by_words if axis is not words else [("", points)]
            entries = max(entries, len(groups))
            for i, (name, group) in enumerate(groups):
                _response(axes, axis, group, figure, i, name)
            axes.grid(alpha=0.3)
        row[0].set_ylabel(label(figure))
        value_axis(row[0], "y", [_values(points, figure)])
    for axes, axis in zip(panels[-1], axes_of_study, strict=True):
        axes.set_xlabel(axis.name)
    return svg_text(drawn, "responses", panels[0][-1], entries)


def _response(axes: Axes, axis: Axis, points: pd.DataFrame, figure: str, i: int, name: str) -> None:
    """Median and band of a figure along an axis."""
    at, ticks = _places(axis, points)
    if ticks is None:
        # Where the axis is left out.
        points, at = points[~np.isnan(at)], at[~np.isnan(at)]
    values = _values(points, figure)
    grouped = pd.Series(values).groupby(at)
    x = np.unique(at)
    middle, low, high = (grouped.quantile(share).to_numpy() for share in (0.5, 0.1, 0.9))
    if ticks is None:
        axes.plot(x, middle, "-o", markersize=3, color=colour(i), label=name, linewidth=1.4)
        axes.fill_between(x, low, high, color=colour(i), alpha=0.15, linewidth=0)
        if isinstance(axis, Range) and axis.is_log:
            axes.set_xscale("log")
        thousands(axes.xaxis)
        return
    shifted = x + 0.08 * i
    axes.errorbar(
        shifted, middle, yerr=[middle - low, high - middle], fmt="o", markersize=4, color=colour(i), label=name,
        elinewidth=3, alpha=0.8,
    )  # fmt: skip
    crowded = sum(len(tick) + 2 for tick in ticks) > 24
    axes.set_xticks(
        range(len(ticks)), ticks, fontsize=8, rotation=45 if crowded else 0, ha="right" if crowded else "center"
    )


def heat_maps(result: StudyResult) -> str | None:
    """A map for each objective, of the two axes that matter most for it."""
    objectives = result.objectives[:PANELS_MAX]
    points = ended(result.points, [name for name, _ in objectives])
    if not objectives or points.empty or len(result.design.axes) < 2:
        return None
    drawn = new_figure(3.6)
    panels = drawn.subplots(1, len(objectives), squeeze=False)[0]
    for axes, (figure, _) in zip(panels, objectives, strict=True):
        down, along = _by_influence(result, figure)[:2]
        if len(_parts(along, points)[1]) < len(_parts(down, points)[1]):
            down, along = along, down
        (x, columns), (y, rows) = _parts(along, points), _parts(down, points)
        values = pd.Series(_values(points, figure))
        grid = values.groupby([y, x]).median().unstack().reindex(index=range(len(rows)), columns=range(len(columns)))
        shown = axes.imshow(grid.to_numpy(), aspect="auto", cmap="viridis_r", origin="lower", interpolation="nearest")
        axes.set_xticks(range(len(columns)), columns, fontsize=7, rotation=45, ha="right")
        axes.set_yticks(range(len(rows)), rows, fontsize=7)
        axes.set(xlabel=along.name, ylabel=down.name)
        axes.set_title(label(figure), fontsize=9)
        bar = drawn.colorbar(shown, ax=axes, shrink=0.85)
        thousands(bar.ax.yaxis)
        bar.ax.tick_params(labelsize=7)
    return svg_text(drawn, "heat-maps")


def parallel_coordinates(result: StudyResult) -> str | None:
    """All axes and objectives side by side, a line for each point."""
    objectives = result.objectives
    points = ended(result.points, [name for name, _ in objectives])
    if not objectives or points.empty:
        return None
    chosen = set(front_of(points, objectives).index)
    others = [at for at in points.index if at not in chosen]
    others = others[:: max(1, len(others) // LINES_MAX)]
    scales = [_scale_of_axis(axis, points) for axis in result.design.axes]
    scales += [_scale_of_figure(figure, points) for figure, _ in objectives]
    names = [axis.name for axis in result.design.axes] + [label(figure) for figure, _ in objectives]
    drawn = new_figure(4.2)
    axes = drawn.subplots()
    for at in others:
        axes.plot(
            range(len(scales)), [heights[at] for heights, _ in scales], color=GREY, linewidth=0.5, alpha=0.4,
            rasterized=True,
        )  # fmt: skip
    for i, at in enumerate(sorted(chosen)[:: max(1, len(chosen) // 40)]):
        axes.plot(range(len(scales)), [heights[at] for heights, _ in scales], color=colour(i), linewidth=1.3)
    for x, (_, ticks) in enumerate(scales):
        axes.axvline(x, color="#000000", linewidth=0.8)
        for height, text in ticks:
            axes.text(x + 0.02, height, text, fontsize=7, va="center", backgroundcolor="#ffffffb0")
    axes.set_xticks(range(len(scales)), names, fontsize=8)
    axes.set_yticks([])
    axes.set_xlim(-0.1, len(scales) - 0.6)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    return svg_text(drawn, "parallel-coordinates")


def _by_influence(result: StudyResult, figure: str | None = None) -> list[Axis]:
    """The axes, that which matters most first: for a figure, or for all objectives."""
    told = [one for one in result.answer["sensitivity"] if figure is None or one["figure"] == figure]
    weight = dict.fromkeys((axis.name for axis in result.design.axes), 0.0)
    for one in told:
        top = max((size_of(axis) for axis in one["axes"]), default=1.0) or 1.0
        for axis in one["axes"]:
            weight[axis["axis"]] += size_of(axis) / top
    # File systems first: lines and colours tell them apart.
    return sorted(result.design.axes, key=lambda axis: (axis.name != "fs" and figure is None, -weight[axis.name]))


def _groups(result: StudyResult, points: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The points by the axis of words that matters most; all together when there is none."""
    for axis in _by_influence(result):
        if isinstance(axis, Listed) and _is_words(axis) and len(axis.listed) <= 8:
            return [(f"{axis.name}={value}", points[points[axis.name] == value]) for value in axis.listed]
    return [("", points)]


def _is_words(axis: Axis) -> bool:
    return isinstance(axis, Listed) and any(isinstance(value, str) for value in axis.listed)


def _values(points: pd.DataFrame, figure: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return scaled(figure, 1.0) * points[figure].to_numpy(dtype=float)


def _bars(points: pd.DataFrame, figure: str) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]] | None:
    """How far the interval of each median goes down and up; `None`: there are no intervals."""
    if f"{figure}_low" not in points or points[f"{figure}_low"].isna().all():
        return None
    middle = _values(points, figure)
    low, high = (scaled(figure, 1.0) * points[f"{figure}_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    return [np.nan_to_num(middle - low), np.nan_to_num(high - middle)]


def _places(axis: Axis, points: pd.DataFrame) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[str] | None]:
    """Where each point stands on an axis, and the ticks of words; of a range the middle of its tenth."""
    column = points[axis.name]
    if _is_words(axis) and not pd.api.types.is_numeric_dtype(column):
        at, texts = _parts(axis, points)
        return at.astype(float), texts
    if isinstance(axis, Range) and column.nunique() > 2 * PARTS_OF_RANGE:
        tenths = pd.qcut(column, PARTS_OF_RANGE, duplicates="drop")
        return column.groupby(tenths, observed=True).transform("median").to_numpy(dtype=float), None
    return column.to_numpy(dtype=float), None


def _parts(axis: Axis, points: pd.DataFrame) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[str]]:
    """In which part of an axis each point is, from 0, and how the parts are called."""
    column = points[axis.name]
    if isinstance(axis, Range) and column.nunique() > 2 * PARTS_OF_RANGE:
        tenths = pd.qcut(column, PARTS_OF_RANGE, duplicates="drop")
        return np.asarray(tenths.cat.codes, dtype=np.int64), [
            f"to {_short(part.right)}" for part in tenths.cat.categories
        ]
    values = list(axis.listed) if isinstance(axis, Listed) else sorted(column.dropna().unique())
    places = {plain(value): i for i, value in enumerate(values)}
    texts = [str(value) for value in values]
    # Where the axis is left out.
    at = [places.get(None if value != value else value, len(values)) for value in column]
    return np.array(at, dtype=np.int64), [*texts, "-"] if len(values) in at else texts


Scale = tuple["pd.Series[float]", Sequence[tuple[float, str]]]


def _scale_of_axis(axis: Axis, points: pd.DataFrame) -> Scale:
    """Heights from 0 to 1 of all points on an axis, and its ticks."""
    column = points[axis.name]
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return _scale(column.astype(float), isinstance(axis, Range) and axis.is_log)
    places, texts = _parts(axis, points)
    top = max(len(texts) - 1, 1)
    return pd.Series(places / top, index=points.index), [(i / top, text) for i, text in enumerate(texts)]


def _scale_of_figure(figure: str, points: pd.DataFrame) -> Scale:
    return _scale(pd.Series(_values(points, figure), index=points.index), False)


def _scale(values: pd.Series[float], is_log: bool) -> Scale:
    low, high = float(values.min()), float(values.max())
    logarithmic = low > 0 and (is_log or high > 50 * low)
    heights = (
        np.log(values / low) / np.log(high / low)
        if logarithmic and high > low
        else (values - low) / ((high - low) or 1)
    )
    middle = (low * high) ** 0.5 if logarithmic else (low + high) / 2
    return heights, [(0.0, _short(low)), (0.5, _short(middle)), (1.0, _short(high))]


def _short(value: float) -> str:
    """A number for a tick: four digits of a small one, all of a large one."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
