"""The page of `ffslab trace compare`: a board's measured sessions and their simulation, point by point."""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING

from ffslab._native import __version__
from ffslab.measured.compare.tables import (
    FLASH_ALIGN,
    OVER_RUNS_ALIGN,
    TIMES_ALIGN,
    flash_cells,
    over_runs_cells,
    times_cells,
)
from ffslab.report.charts import Axis, Line, chart, wants_log
from ffslab.report.page import Drawn, KeyFigure, Opening, bullets, folded, page, paragraph, section, table, verbatim
from ffslab.text.tables import number

if TYPE_CHECKING:
    from ffslab.measured.compare.comparison import Comparison, FlashRow

# The task of rows that count those of all tasks.
ALL = "all"
# So few operations of a board are told as they are.
FEW = 20


def html(compared: Comparison) -> str:
    """The whole page."""
    errors = "Errors are those of the simulation against the board: + is too slow, or too many."
    parts = [
        section("Over all runs of a session", _table(over_runs_cells(compared), OVER_RUNS_ALIGN, errors)),
        section("Flash operations", _flash(compared)),
        section("Each session", _table(times_cells(compared), TIMES_ALIGN, errors)),
        section("Each task", _table(flash_cells(compared), FLASH_ALIGN, errors)),
        section("Notes", bullets(compared.notes)),
        section("The data", folded("As JSON", verbatim(json.dumps(compared.as_dict(), indent=1)))),
    ]
    sessions = len(
        {(row.workload, row.record_bytes, row.run) for row in compared.times}
        | {(row.workload, row.record_bytes, row.run) for row in compared.flash}
    )
    setting = f"{number(sessions)} sessions replayed by ffslab {__version__}, {compared.setting}."
    question = f"How far is the simulation from what was measured on {compared.board}?"
    return page(
        f"{compared.board}: measured and simulated",
        parts,
        Opening(question, setting, _answer(compared), _figures(compared), _times(compared)),
    )


def _table(cells: tuple[list[str], list[list[str]]], align: str, said: str) -> str:
    head, rows = cells
    return paragraph(said) + table(head, rows, align=align[: len(head)]) if rows else ""


def _answer(compared: Comparison) -> str:
    errors = [row.mean_error for row in compared.times if row.simulated_n]
    if not errors:
        return "No call was both measured and simulated."
    worst = max((row for row in compared.times if row.simulated_n), key=lambda row: abs(row.mean_error))
    return (
        f"Mean durations are within {median(map(abs, errors)):.1f} % for half of the calls; furthest off is "
        f"{worst.call} of {worst.session}: {worst.mean_error:+.1f} %."
    )


def _figures(compared: Comparison) -> list[KeyFigure]:
    made = []
    errors = [row.mean_error for row in compared.times if row.simulated_n]
    if errors:
        over = sum(error > 0 for error in errors)
        beside = f"median without sign; {over} of {len(errors)} too slow"
        made.append(KeyFigure("Error of mean durations", f"{median(map(abs, errors)):.1f} %", beside))
    for operation in ("reads", "programs", "erases"):
        rows = _all_tasks(compared, operation)
        measured, simulated = sum(row.measured for row in rows), sum(row.simulated for row in rows)
        if measured:
            beside = f"{number(simulated)} simulated, {number(measured)} measured"
            # Of a handful a share says nothing.
            few = measured < FEW
            value = f"{simulated} for {measured}" if few else f"{100 * (simulated / measured - 1):+.1f} %"
            made.append(KeyFigure(f"Flash {operation}", value, beside))
    return made[:3]


def _all_tasks(compared: Comparison, operation: str) -> list[FlashRow]:
    return [row for row in compared.flash if row.operation == operation and row.task == ALL]


def _times(compared: Comparison) -> Drawn | None:
    """A dot for each kind of call in each session, and the line on which all would be."""
    rows = [row for row in compared.times if row.simulated_n and row.measured_mean_us > 0 and row.simulated_mean_us > 0]
    points = {
        call: [(row.measured_mean_us, row.simulated_mean_us) for row in rows if row.call == call]
        for call in dict.fromkeys(row.call for row in rows)
    }
    unit = "mean duration, us"
    return _scatter("times", points, f"measured {unit}", f"simulated {unit}")


def _flash(compared: Comparison) -> list[str | Drawn]:
    points = {
        operation: [(float(row.measured), float(row.simulated)) for row in rows if row.measured and row.simulated]
        for operation in ("reads", "programs", "erases")
        if (rows := _all_tasks(compared, operation))
    }
    drawn = _scatter("flash", points, "measured operations of a session", "simulated operations of a session")
    return (
        [paragraph("A dot is a session. On the line both are the same; above it the simulation does more."), drawn]
        if drawn
        else []
    )


def _scatter(name: str, points: dict[str, list[tuple[float, float]]], across: str, upwards: str) -> Drawn | None:
    every = [value for pairs in points.values() for pair in pairs for value in pair]
    if not every:
        return None
    ends = [min(every), max(every)]
    log = wants_log([every])
    lines = [Line("the same", ends, ends, "line", {"colour": "s7", "wide": 1, "dash": [4, 4]})]
    lines += [
        Line(key, [x for x, _ in pairs], [y for _, y in pairs], "dots", {"colour": f"s{at % 7}", "size": 8})
        for at, (key, pairs) in enumerate(points.items())
        if pairs
    ]
    x, y = Axis(across, "measured", log=log, free=True), Axis(upwards, "simulated", log=log, free=True)
    return chart(name, "", x, y, lines, 22)
