"""The pictures of a report: operations over time, where they fell, the map of blocks, response times."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import FuncFormatter

from ffslab.answers.trace_report import Timeline, TraceReport
from ffslab.boards.tracereport.columns import ERASE, OPERATIONS, PROGRAM, READ, Ints
from ffslab.boards.tracereport.header import FUNCMON, VFSMON
from ffslab.boards.tracereport.operations import MAPPED
from ffslab.boards.tracereport.recording import Recording
from ffslab.boards.tracereport.statistics import Floats
from ffslab.report.drawing import VECTOR_MARKS_MAX, colour, new_figure, svg_text, tails, thousands, value_axis, width

# More operations than this are drawn as a density.
DOTS_MAX = 50_000
DENSITY_COLUMNS, DENSITY_ROWS_MAX = 400, 200
FUNCTIONS_MAX = 6
# Blocks of a map's row, few for a small partition.
MAP_COLUMNS = (32, 64, 128)
MAP_ROWS = 8
MARKERS_MAX = 12
# Markers nearer to each other than this share of the width have one label: two would lie on each other.
LABEL_SHARE = 0.03
KIND_COLOURS = {READ: "#0072b2", PROGRAM: "#d55e00", ERASE: "#000000"}


def over_time(recording: Recording, summary: TraceReport) -> str | None:
    """Operations per second in intervals of the log, a panel a type, with the markers."""
    line = summary.get("timeline")
    kinds = [kind for kind in MAPPED if sum(_both(line, kind))] if line is not None else []
    if line is None or not kinds:
        return None
    figure = new_figure(1.3 + 1.4 * len(kinds))
    panels = np.atleast_1d(figure.subplots(len(kinds), 1, sharex=True))
    step = line["interval_s"]
    edges = np.arange(len(_both(line, READ)) + 1) * step
    for axes, kind in zip(panels, kinds, strict=True):
        below = np.zeros(len(edges) - 1)
        for i, who in enumerate(("foreground", "background")):
            rate = np.array(_rates(line, kind)[i]) / step
            axes.stairs(below + rate, edges, baseline=below, fill=True, color=colour(i), label=who)
            below = below + rate
        axes.set(ylabel=f"{OPERATIONS[kind][2]}/s", xlim=(0, edges[-1]))
        thousands(axes.yaxis)
        _mark(axes, recording, named=axes is panels[0])
    panels[-1].set_xlabel(_since(recording))
    return svg_text(figure, "over-time", panels[0], 2)


def where_over_time(recording: Recording) -> str | None:
    """The erase block of each operation over time: dots, or a density of reads and programs when there are many."""
    flash = recording.flash
    if flash is None or not len(flash):
        return None
    block = flash.block(recording.chip.pages_per_block)
    seconds = (flash.t_ns - recording.start_ns) / 1e9
    figure = new_figure(4.0)
    axes = figure.add_subplot()
    if len(flash) > DOTS_MAX:
        # Cells of whole blocks: else some would hold one block more than others, or none.
        step = -(-int(np.ptp(block) + 1) // DENSITY_ROWS_MAX)
        edges = np.arange(int(block.min()), int(block.max()) + step + 1, step) - 0.5
        counted, x, y = np.histogram2d(
            seconds, block, bins=(np.linspace(0, seconds.max() or 1, DENSITY_COLUMNS + 1), edges)
        )
        counted[counted == 0] = np.nan
        mesh = axes.pcolormesh(x, y, counted.T, norm=LogNorm(), cmap="viridis", rasterized=True)
        bar = figure.colorbar(mesh, ax=axes, label="operations in a cell")
        thousands(bar.ax.yaxis)
    else:
        for kind, tint in KIND_COLOURS.items():
            own = flash.kind == kind
            if own.any():
                axes.plot(
                    seconds[own], block[own], linestyle="none", marker="x" if kind == ERASE else ".",
                    markersize=4 if kind == ERASE else 2, color=tint, label=OPERATIONS[kind][2],
                    rasterized=len(flash) > VECTOR_MARKS_MAX,
                )  # fmt: skip
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False, markerscale=2)
    axes.set(xlabel=_since(recording), ylabel="erase block")
    thousands(axes.yaxis)
    _mark(axes, recording, named=True)
    return svg_text(figure, "where-over-time")


def map_columns(shown: range) -> int:
    """How many blocks a row of the map of these blocks has."""
    return next((columns for columns in MAP_COLUMNS if len(shown) <= columns * MAP_ROWS), MAP_COLUMNS[-1])


def map_note(shown: range) -> str:
    """What a map of these blocks shows."""
    return f"Erase blocks {shown.start} to {shown.stop - 1} of the chip, {map_columns(shown)} a row."


def map_cells(values: Ints, shown: range) -> Floats:
    """The blocks row by row; behind the last one there is no number."""
    columns = map_columns(shown)
    cells = np.full(-(-len(shown) // columns) * columns, np.nan)
    cells[: len(shown)] = values[shown.start : shown.stop]
    return cells.reshape(-1, columns)


def block_maps(table: Ints | None, shown: range) -> str | None:
    """The erase blocks, row by row, coloured by their reads, programs, erases."""
    if table is None or not table.any():
        return None
    columns = [column for column in range(len(MAPPED)) if table[:, column].any()]
    lines = -(-len(shown) // map_columns(shown))
    figure = new_figure(0.4 + len(columns) * (0.5 + max(0.3, 0.075 * lines)))
    panels = np.atleast_1d(figure.subplots(len(columns), 1))
    for axes, column in zip(panels, columns, strict=True):
        cells = map_cells(table[:, column], shown)
        cells[cells == 0] = np.nan
        axes.set_facecolor("#eeeeee")
        most = np.nanmax(cells)
        image = axes.imshow(
            cells, cmap="viridis", interpolation="nearest", aspect="auto",
            norm=LogNorm(1, max(most, 2)) if most > 20 else None, vmin=None if most > 20 else 0,
        )  # fmt: skip
        name = OPERATIONS[MAPPED[column]][2]
        axes.set_title(f"{name}: {int(table[:, column].sum()):,}, {int(most):,} of one block at most", fontsize=9)
        ends = sorted({0, lines - 1})
        axes.set(xticks=[], yticks=ends)
        axes.set_yticklabels([str(shown.start + line * map_columns(shown)) for line in ends], fontsize=8)
        bar = figure.colorbar(image, ax=axes)
        bar.formatter = FuncFormatter(lambda value, _: f"{value:,g}")
    return svg_text(figure, "block-maps")


def response_times(recording: Recording) -> str | None:
    """Share of the calls of each function that took less than so long, a panel a level."""
    levels = [
        (name, calls) for name in (VFSMON, FUNCMON) if (calls := recording.calls(name)) is not None and len(calls)
    ]
    if not levels:
        return None
    figure = new_figure(0.6 + 2.5 * len(levels))
    panels = np.atleast_1d(figure.subplots(len(levels), 1))
    for axes, (name, calls) in zip(panels, levels, strict=True):
        sums = np.bincount(calls.function, weights=calls.duration_ns)
        order = [int(i) for i in np.argsort(-sums, kind="stable")[:FUNCTIONS_MAX] if (calls.function == i).any()]
        durations_us = [calls.duration_ns[calls.function == function] / 1e3 for function in order]
        styles = [
            {"color": colour(i), "label": recording.functions.texts[function], "linewidth": width(i, len(order))}
            for i, function in enumerate(order)
        ]
        tails(axes, durations_us, styles)
        value_axis(axes, "x", durations_us)
        axes.set(title=name, xlabel="duration, us", ylabel="calls that took less, %")
        # A distribution leaves this corner free.
        axes.legend(loc="lower right", fontsize=8, frameon=False)
    return svg_text(figure, "response-times")


def _since(recording: Recording) -> str:
    """The label of an axis that begins where the log does."""
    return f"time since the start of the log (its second {recording.start_ns / 1e9:,.3f}), s"


def _rates(line: Timeline, kind: int) -> tuple[list[int], list[int]]:
    """Operations of programs and of background threads."""
    return {
        READ: (line["page_reads_foreground"], line["page_reads_background"]),
        PROGRAM: (line["page_programs_foreground"], line["page_programs_background"]),
        ERASE: (line["erases_foreground"], line["erases_background"]),
    }[kind]


def _both(line: Timeline, kind: int) -> list[int]:
    return [a + b for a, b in zip(*_rates(line, kind), strict=True)]


def _mark(axes: Axes, recording: Recording, *, named: bool) -> None:
    left, right = axes.get_xlim()
    names: list[tuple[float, list[str]]] = []
    for marker in recording.markers[:MARKERS_MAX]:
        at = (marker.t_ns - recording.start_ns) / 1e9
        axes.axvline(at, color="#666666", linewidth=0.7, linestyle=":")
        if not marker.text:
            continue
        if names and at - names[-1][0] < LABEL_SHARE * (right - left):
            names[-1][1].append(marker.text[:20])
        else:
            names.append((at, [marker.text[:20]]))
    for at, texts in names if named else []:
        # Near the end a label leans to the left, where there is room.
        side, rotation = ("right", -30) if at > left + 0.8 * (right - left) else ("left", 30)
        axes.annotate(
            ", ".join(texts),
            (at, 1.0),
            fontsize=7,
            rotation=rotation,
            xycoords=("data", "axes fraction"),
            ha=side,
            va="bottom",
        )
