"""What was measured on a board beside its simulation, as tables."""

from __future__ import annotations

from ffslab.measured.compare.comparison import Comparison, FlashRow, TimeRow
from ffslab.text.tables import text_table

Cells = tuple[list[str], list[list[str]]]
TIMES_ALIGN, OVER_RUNS_ALIGN, FLASH_ALIGN = "llrrrrrrrr", "llrrrrrr", "lllrrrrr"
# How many columns at the end are OpenFlash's.
_TIMES_OPENFLASH, _OVER_RUNS_OPENFLASH, _FLASH_OPENFLASH = 2, 1, 2


def text(compared: Comparison) -> str:
    """The tables, for the terminal."""
    parts = [f"Measured and simulated on {compared.board}, {compared.setting}"]
    if compared.times:
        parts.append(_table(times_cells(compared), TIMES_ALIGN))
        if any(row.record_bytes for row in compared.times):
            parts.append(_table(over_runs_cells(compared), OVER_RUNS_ALIGN))
    if compared.flash:
        parts.append(_table(flash_cells(compared), FLASH_ALIGN))
    if compared.notes:
        parts.append("\n".join(["Notes:", *(f"  {note}" for note in compared.notes)]))
    return "\n\n".join(parts)


def _table(cells: Cells, align: str) -> str:
    head, rows = cells
    return text_table(head, rows, align[: len(head)])


def times_cells(compared: Comparison) -> Cells:
    """Head and rows: durations of each kind of call in each session."""
    head = ["session", "call", "n", "measured us", "n", "simulated us", "mean", "total", "OpenFlash mean", "total"]
    return _known(compared, head, [_time_cells(row) for row in compared.times], _TIMES_OPENFLASH)


def flash_cells(compared: Comparison) -> Cells:
    """Head and rows: flash operations of each task in each session."""
    head = ["session", "flash", "task", "measured", "simulated", "error", "OpenFlash", "error"]
    return _known(compared, head, [_flash_cells(row) for row in compared.flash], _FLASH_OPENFLASH)


def _known(compared: Comparison, head: list[str], rows: list[list[str]], openflash: int) -> Cells:
    """A table without the last columns, where nobody has errors of OpenFlash."""
    if compared.has_openflash:
        return head, rows
    return head[:-openflash], [row[:-openflash] for row in rows]


def _time_cells(row: TimeRow) -> list[str]:
    return [
        row.session,
        row.call,
        f"{row.measured_n:,}",
        f"{row.measured_mean_us:,.1f}",
        f"{row.simulated_n:,}",
        f"{row.simulated_mean_us:,.1f}",
        _percent(row.mean_error),
        _percent(row.total_error),
        _percent(row.openflash_mean_error),
        _percent(row.openflash_total_error),
    ]


def over_runs_cells(compared: Comparison) -> Cells:
    """Head and rows: means over the runs of a session."""
    groups: dict[tuple[str, int, str], list[TimeRow]] = {}
    for row in compared.times:
        groups.setdefault((row.workload, row.record_bytes, row.call), []).append(row)
    table = []
    for (workload, record, call), runs in groups.items():
        measured = sum(row.measured_mean_us * row.measured_n for row in runs)
        simulated = sum(row.simulated_mean_us * row.simulated_n for row in runs)
        measured_n, simulated_n = sum(row.measured_n for row in runs), sum(row.simulated_n for row in runs)
        mean = 100 * (simulated * measured_n / (measured * simulated_n) - 1) if simulated_n else None
        known = [row.openflash_mean_error for row in runs if row.openflash_mean_error is not None]
        openflash = sum(known) / len(known) if known else None
        total = 100 * (simulated / measured - 1)
        cells = [f"{measured / measured_n:,.1f}", f"{simulated / simulated_n:,.1f}" if simulated_n else "-"]
        runs_text, session = str(len(runs)), f"{workload} {record}" if record else workload
        errors = map(_percent, (mean, total, openflash))
        table.append([session, call, runs_text, *cells, *errors])
    header = ["over runs", "call", "runs", "measured us", "simulated us", "mean", "total", "OpenFlash mean"]
    return _known(compared, header, table, _OVER_RUNS_OPENFLASH)


def _flash_cells(row: FlashRow) -> list[str]:
    openflash = f"{row.openflash:,}" if row.openflash is not None else "-"
    cells = [f"{row.measured:,}", f"{row.simulated:,}", _percent(row.error), openflash, _percent(row.openflash_error)]
    return [row.session, row.operation, row.task, *cells]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"
