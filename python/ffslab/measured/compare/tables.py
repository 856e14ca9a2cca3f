"""What was measured on a board beside its simulation, as tables."""

from __future__ import annotations

from ffslab.measured.compare.comparison import Comparison, FlashRow, TimeRow
from ffslab.text.tables import text_table

TIMES_ALIGN, OVER_RUNS_ALIGN, FLASH_ALIGN = "llrrrrrrrr", "llrrrrrr", "lllrrrrr"


def text(compared: Comparison) -> str:
    """The tables, for the terminal."""
    parts = [f"Measured and simulated on {compared.board}, tracers running in both"]
    if compared.times:
        parts.append(text_table(*times_cells(compared), TIMES_ALIGN))
        parts.append(text_table(*over_runs_cells(compared), OVER_RUNS_ALIGN))
    if compared.flash:
        parts.append(text_table(*flash_cells(compared), FLASH_ALIGN))
    if compared.notes:
        parts.append("\n".join(["Notes:", *(f"  {note}" for note in compared.notes)]))
    return "\n\n".join(parts)


def times_cells(compared: Comparison) -> tuple[list[str], list[list[str]]]:
    """Head and rows: durations of each kind of call in each session."""
    head = ["session", "call", "n", "measured us", "n", "simulated us", "mean", "total", "OpenFlash mean", "total"]
    return head, [_time_cells(row) for row in compared.times]


def flash_cells(compared: Comparison) -> tuple[list[str], list[list[str]]]:
    """Head and rows: flash operations of each task in each session."""
    head = ["session", "flash", "task", "measured", "simulated", "error", "OpenFlash", "error"]
    return head, [_flash_cells(row) for row in compared.flash]


def _session(row: TimeRow | FlashRow) -> str:
    return f"{row.workload} {row.record_bytes} run {row.run}"


def _time_cells(row: TimeRow) -> list[str]:
    return [
        _session(row),
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


def over_runs_cells(compared: Comparison) -> tuple[list[str], list[list[str]]]:
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
        runs_text = str(len(runs))
        table.append(
            [f"{workload} {record}", call, runs_text, *cells, _percent(mean), _percent(total), _percent(openflash)]
        )
    header = ["over runs", "call", "runs", "measured us", "simulated us", "mean", "total", "OpenFlash mean"]
    return header, table


def _flash_cells(row: FlashRow) -> list[str]:
    openflash = f"{row.openflash:,}" if row.openflash is not None else "-"
    cells = [f"{row.measured:,}", f"{row.simulated:,}", _percent(row.error), openflash, _percent(row.openflash_error)]
    return [_session(row), row.operation, row.task, *cells]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"
