"""The pictures of a study: any two figures of its points, responses along axes, medians over two axes at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ffslab.report.charts import Axis as ChartAxis
from ffslab.report.charts import Line, chart, multiples, wants_log
from ffslab.report.page import Drawn, paragraph, table
from ffslab.studies.sweep.answers import Answered
from ffslab.studies.sweep.axes import Axis, Listed, Range, plain
from ffslab.studies.sweep.comparable import comparable
from ffslab.studies.sweep.runs import ended
from ffslab.studies.sweep.sensitivity import size_of
from ffslab.studies.sweep.text import figure_of, label
from ffslab.text.quoting import escape
from ffslab.text.tables import number
from ffslab.text.units import Unit

if TYPE_CHECKING:
    Values = np.ndarray[tuple[int], np.dtype[np.float64]]

DATA = "points"
PANELS_MAX = 4
PARTS_OF_RANGE = 10
# Rows of the table of points, and dots of the chart: more would make a page of many megabytes.
POINTS_MAX = 2_000


def listed(result: Answered) -> Drawn | None:
    """All points that came to their end: axes and objectives; sorted, filtered, pinned and compared."""
    points = _ended(result)
    if points.empty or not result.objectives:
        return None
    shown = points.iloc[:: -(-len(points) // POINTS_MAX)]
    axes = [axis.name for axis in result.design.axes]
    figures = [figure for figure, _ in result.objectives]
    values = {figure: _values(shown, figure) for figure in figures}
    units = {figure: figure_of(figure).unit(values[figure].tolist()) for figure in figures}
    rows = [
        [str(shown["point"][at]), *("-" if (one := shown[axis][at]) != one else str(one) for axis in axes),
         *(units[figure].cell(float(values[figure][i])) for figure in figures)]
        for i, at in enumerate(shown.index)
    ]  # fmt: skip
    some = f"Every {len(points) // len(shown)}th of {len(points):,} points; all are in points.parquet."
    said = paragraph(some if len(shown) < len(points) else "Pin two to compare them.")
    head = ["point", *axes, *(units[figure].labelled(label(figure)) for figure in figures)]
    align = "r" + "l" * len(axes) + "r" * len(figures)
    return Drawn(said + table(head, rows, align=align, variants=DATA), {DATA: _data(result, shown)})


def _data(result: Answered, shown: pd.DataFrame) -> dict[str, object]:
    """What scripts know of the points."""
    first, maximise = result.objectives[0]
    ordered = _values(shown, first)
    names = [f"point {shown['point'][at]}: {_axes_said(result, shown, at)}" for at in shown.index]
    ends = [int(np.argmin(ordered)), int(np.argmax(ordered))][:: -1 if maximise else 1]
    figures = [
        {
            "label": _labelled(shown, figure),
            "digits": _unit(shown, figure).digits,
            "values": [float(value) for value in _scaled(shown, figure)],
            "less": not is_most,
        }
        for figure, is_most in result.objectives
    ]
    axes = [{"label": axis.name, "values": [_json(one) for one in shown[axis.name]]} for axis in result.design.axes]
    words = [axis.name for axis in _by_influence(result) if _is_words(axis)]
    across = _labelled(shown, result.objectives[1][0]) if len(result.objectives) > 1 else _by_influence(result)[0].name
    return {
        "names": names,
        "axes": axes,
        "figures": figures,
        "extremes": [names[at] for at in ends] if ends[0] != ends[1] else [],
        "across": across,
        "upwards": _labelled(shown, first),
        "colour": words[0] if words else None,
    }


def _unit(points: pd.DataFrame, figure: str) -> Unit:
    """The unit of a figure at all of these points."""
    return figure_of(figure).unit(_values(points, figure).tolist())


def _labelled(points: pd.DataFrame, figure: str) -> str:
    return _unit(points, figure).labelled(label(figure))


def _scaled(points: pd.DataFrame, figure: str) -> Values:
    return _values(points, figure) / _unit(points, figure).size


def _axes_said(result: Answered, shown: pd.DataFrame, at: int) -> str:
    return ", ".join(f"{axis.name}={shown[axis.name][at]}" for axis in result.design.axes)


def _json(value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value == value else str(value)


def responses(result: Answered) -> list[str | Drawn]:
    """A chart for each objective and axis: the median of all points with a value, and where 80 % of them are."""
    axes, points = _by_influence(result)[:PANELS_MAX], _ended(result)
    if not result.objectives or points.empty:
        return []
    charts = []
    for row, (figure, _) in enumerate(result.objectives):
        values = _scaled(points, figure)
        y = ChartAxis(
            _labelled(points, figure), log=wants_log([values]), span=(float(values.min()), float(values.max()))
        )
        of_point = pd.Series(values, points.index)
        charts += [
            _response(axis, _comparable(result, points, axis.name), of_point, y, f"along-{row}-{column}")
            for column, axis in enumerate(axes)
        ]  # fmt: skip
    said = (
        "Lines are medians over all points with a value, or in a tenth of a range; 80 % of these points are between "
        "the dashed lines: what is left between them is what the other axes do. Of a grid only designs are compared "
        "that came to their end for all values of the axis."
    )
    return [paragraph(said), multiples(charts)]


def _comparable(result: Answered, points: pd.DataFrame, *along: str) -> pd.DataFrame:
    """The points that may be compared along these axes; all that have them where there are none."""
    names = [axis.name for axis in result.design.axes]
    found = comparable(points, names, along, result.study.sample.method)
    return found if len(found) else points[points[list(along)].notna().all(axis=1)]


def _response(axis: Axis, points: pd.DataFrame, values: pd.Series, y: ChartAxis, name: str) -> Drawn:
    """`values`: of the figure at all points, by their index."""
    at, ticks = _places(axis, points)
    grouped = values[points.index].groupby(at)
    x = np.unique(at)
    middle, low, high = (grouped.quantile(share).to_numpy() for share in (0.5, 0.1, 0.9))
    is_log = isinstance(axis, Range) and axis.is_log
    across = ChartAxis(axis.name, ticks=ticks or (), log=is_log, free=True, linear=ticks is None and not is_log)
    # Between words there is nothing.
    kinds = ("line", "marks") if ticks is None else ("dots", "dots")
    thin: dict[str, object] = {"colour": "s5", "wide": 1, "dash": [4, 4], "size": 6}
    lines = [
        Line("90 % of the points are below", x, high, kinds[0], thin),
        Line("median", x, middle, kinds[1], {"colour": "s0", "size": 8}),
        Line("10 % of the points are below", x, low, kinds[0], thin),
    ]
    return chart(name, f"{y.label} along {axis.name}", across, y, lines, 14)


def heat_tables(result: Answered) -> Iterator[tuple[str, str]]:
    """For each objective a table of medians over the two axes that matter most for it, coloured by value."""
    ended_points = _ended(result)
    if ended_points.empty or len(result.design.axes) < 2:
        return
    for figure, _ in result.objectives[:PANELS_MAX]:
        down, along = _by_influence(result, figure)[:2]
        points = _comparable(result, ended_points, down.name, along.name)
        if len(_parts(along, points)[1]) > len(_parts(down, points)[1]):
            down, along = along, down
        (x, columns), (y, rows) = _parts(along, points), _parts(down, points)
        values = pd.Series(_scaled(points, figure))
        grid = values.groupby([y, x]).median().unstack().reindex(index=range(len(rows)), columns=range(len(columns)))
        said = f"Medians over the other axes: {down.name} downwards, {along.name} to the right."
        yield (
            _labelled(points, figure),
            paragraph(said) + _heat_table(grid.to_numpy(), rows, columns, (down.name, along.name)),
        )


def _heat_table(
    grid: np.ndarray[tuple[int, int], np.dtype[np.float64]], rows: list[str], columns: list[str], axes: tuple[str, str]
) -> str:
    low, high, digits = float(np.nanmin(grid)), float(np.nanmax(grid)), _digits(grid)
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    corner = f'<th scope="col">{escape(axes[0])} \\ {escape(axes[1])}</th>'
    lines = []
    for name, values in zip(rows, grid, strict=True):
        cells = "".join(
            "<td>-</td>"
            if np.isnan(value)
            # At most so much of the colour that the number stays readable on it.
            else f'<td class="heat" style="--h:{55 * (value - low) / ((high - low) or 1):.0f}%">'
            f"{number(float(value), digits)}</td>"
            for value in values
        )
        lines.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    body = "\n".join(lines)
    frame = '<div class="table" tabindex="0" role="group" aria-label="Medians">'
    return f"{frame}\n<table>\n<thead>\n<tr>{corner}{heads}</tr>\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"


def _ended(result: Answered) -> pd.DataFrame:
    return ended(result.points, [name for name, _ in result.objectives])


def _by_influence(result: Answered, figure: str | None = None) -> list[Axis]:
    """The axes, that which matters most first: for a figure, or for all objectives."""
    told = [one for one in result.answer["sensitivity"] if figure is None or one["figure"] == figure]
    weight = dict.fromkeys((axis.name for axis in result.design.axes), 0.0)
    for one in told:
        top = max((size_of(axis) for axis in one["axes"]), default=1.0) or 1.0
        for axis in one["axes"]:
            weight[axis["axis"]] += size_of(axis) / top
    # File systems first: lines and colours tell them apart.
    return sorted(result.design.axes, key=lambda axis: (axis.name != "fs" and figure is None, -weight[axis.name]))


def _is_words(axis: Axis) -> bool:
    return isinstance(axis, Listed) and any(isinstance(value, str) for value in axis.listed)


def _values(points: pd.DataFrame, figure: str) -> Values:
    return points[figure].to_numpy(dtype=float)


def _places(axis: Axis, points: pd.DataFrame) -> tuple[Values, list[str] | None]:
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


def _digits(values: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """Behind the point of numbers that stand in one column: none of counts, and of large ones."""
    known = values[~np.isnan(values)]
    return 0 if (known == np.rint(known)).all() or known.max() >= 10_000 else 1 if known.max() >= 100 else 2


def _short(value: float) -> str:
    """A number for a tick: four digits of a small one, all of a large one."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
