"""The pictures of a report: operations over time, where they fell, the map of blocks, response times."""

from __future__ import annotations

import numpy as np

from ffslab.answers.trace_report import Timeline, TraceReport
from ffslab.measured.tracereport.columns import ERASE, OPERATIONS, PROGRAM, READ, Ints
from ffslab.measured.tracereport.header import FUNCMON, VFSMON
from ffslab.measured.tracereport.operations import MAPPED
from ffslab.measured.tracereport.recording import Recording
from ffslab.measured.tracereport.statistics import Floats
from ffslab.report import blocks
from ffslab.report.charts import Axis, Ground, Line, chart, distributions
from ffslab.report.page import Drawn

# More operations than this are drawn as a density.
DOTS_MAX = 20_000
DENSITY_COLUMNS, DENSITY_ROWS_MAX = 300, 200
FUNCTIONS_MAX = 6
# From so many on the colours of a map are logarithmic: else one busy block makes all others pale.
LOG_FROM = 20
MARKERS_MAX = 12
KIND_COLOURS = {READ: "s5", PROGRAM: "s0", ERASE: "s1"}


def over_time(recording: Recording, summary: TraceReport) -> list[Drawn]:
    """Operations per second in intervals of the log, a chart a type, with the markers."""
    line = summary.get("timeline")
    kinds = [kind for kind in MAPPED if sum(_both(line, kind))] if line is not None else []
    if line is None:
        return []
    step = line["interval_s"]
    made = []
    for kind in kinds:
        rates = [np.array(values) / step for values in _rates(line, kind)]
        edges = np.arange(len(rates[0]) + 1) * step
        # What programs do is at the bottom.
        lines = [
            Line(who, edges, np.append(rate, rate[-1]), "step", {"colour": ink, "wide": 0})
            for who, ink, rate in (("background", "s1", rates[1]), ("foreground", "s0", rates[0]))
        ]
        name = OPERATIONS[kind][2]
        y = Axis(f"{name}/s", linear=True)
        ground = Ground(stacked=True, marks=_marks(recording))
        made.append(chart(f"over-time-{kind}", name.capitalize(), _since(recording), y, lines, 12, ground))
    return made


def where_over_time(recording: Recording) -> Drawn | None:
    """The erase block of each operation over time: dots, or a density of reads and programs when there are many."""
    flash = recording.flash
    if flash is None or not len(flash):
        return None
    block = flash.block(recording.chip.pages_per_block)
    seconds = (flash.t_ns - recording.start_ns) / 1e9
    since = _since(recording)
    if len(flash) <= DOTS_MAX:
        lines = [
            Line(
                OPERATIONS[kind][2],
                seconds[own],
                block[own],
                "dots",
                {"colour": ink, "size": 7 if kind == ERASE else 4},
            )
            for kind, ink in KIND_COLOURS.items()
            for own in [flash.kind == kind]
            if own.any()
        ]
        y = Axis("erase block", "block", linear=True, free=True)
        return chart("where", "", since, y, lines, 22, Ground(marks=_marks(recording)))
    # Cells of whole blocks: else some would hold one block more than others, or none.
    step = -(-int(np.ptp(block) + 1) // DENSITY_ROWS_MAX)
    edges = np.arange(int(block.min()), int(block.max()) + step + 1, step) - 0.5
    counted, x, _ = np.histogram2d(
        seconds, block, bins=(np.linspace(0, seconds.max() or 1, DENSITY_COLUMNS + 1), edges)
    )
    counted[counted == 0] = np.nan
    of = blocks.Plane(
        since.label,
        "erase block",
        "operations",
        x,
        counted.T,
        int(block.min()),
        step,
        log=True,
        marks=_marks(recording),
    )
    return blocks.plane("where", "", of)


def map_note(shown: range) -> str:
    """What a map of these blocks shows."""
    return f"Erase blocks {shown.start} to {shown.stop - 1} of the chip."


def block_maps(table: Ints | None, shown: range) -> Drawn | None:
    """The erase blocks, row by row, coloured by their reads, programs, erases."""
    return None if table is None else maps_of("blocks", table, shown)


def maps_of(name: str, table: Ints, shown: range, *, signed: bool = False) -> Drawn | None:
    """A map of these blocks with a choice of what was counted; `signed`: of differences. `None`: there is nothing."""
    metrics = []
    for column, kind in enumerate(MAPPED):
        values = table[shown.start : shown.stop, column]
        if values.any():
            is_log = bool(np.abs(values).max() > LOG_FROM)
            # The log says nothing of a block that nobody touched.
            kept = [int(value) if value else None for value in values]
            metrics.append({"label": OPERATIONS[kind][2], "values": kept, "log": is_log, "signed": signed})
    return blocks.maps(name, [{"name": "", "metrics": metrics, "first": shown.start}]) if metrics else None


def response_times(recording: Recording) -> list[Drawn]:
    """Share of the calls of each function that took less than so long, a chart a level."""
    levels = [
        (name, calls) for name in (VFSMON, FUNCMON) if (calls := recording.calls(name)) is not None and len(calls)
    ]
    made = []
    for name, calls in levels:
        sums = np.bincount(calls.function, weights=calls.duration_ns)
        order = [int(i) for i in np.argsort(-sums, kind="stable")[:FUNCTIONS_MAX] if (calls.function == i).any()]
        values: list[tuple[str, Floats, dict[str, object]]] = [
            (recording.functions.texts[function], calls.duration_ns[calls.function == function] / 1e3, {})
            for function in order
        ]
        made.append(distributions(f"times-{name}", name, Axis("duration, us", "duration"), values))
    return made


def _since(recording: Recording) -> Axis:
    """An axis that begins where the log does."""
    label = f"time since the start of the log (its second {recording.start_ns / 1e9:,.3f}), s"
    return Axis(label, "s", linear=True)


def _rates(line: Timeline, kind: int) -> tuple[list[int], list[int]]:
    """Operations of programs and of background threads."""
    return {
        READ: (line["page_reads_foreground"], line["page_reads_background"]),
        PROGRAM: (line["page_programs_foreground"], line["page_programs_background"]),
        ERASE: (line["erases_foreground"], line["erases_background"]),
    }[kind]


def _both(line: Timeline, kind: int) -> list[int]:
    return [a + b for a, b in zip(*_rates(line, kind), strict=True)]


def _marks(recording: Recording) -> list[tuple[float, str]]:
    """The first markers: seconds since the start, and their words."""
    return [((one.t_ns - recording.start_ns) / 1e9, one.text[:20]) for one in recording.markers[:MARKERS_MAX]]
