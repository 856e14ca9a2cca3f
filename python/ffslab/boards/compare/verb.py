"""The verb: a folder of traces in, a table of errors out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ffslab.api.machine import Machine
from ffslab.boards.compare.comparison import Comparison, FlashRow, TimeRow, compare
from ffslab.boards.compare.trace_folder import recordings
from ffslab.cli.progress import progress_bar
from ffslab.files import results
from ffslab.text.tables import text_table


def run(folders: Sequence[Path], record_bytes: Sequence[int], machine: Machine, *, json: bool) -> str:
    """Does all of it; what is to be printed."""
    sessions = recordings(*folders, record_bytes=record_bytes)
    with progress_bar("sessions") as progress:
        compared = compare(sessions, machine, progress)
    return results.dump_json(compared.as_dict()).rstrip() if json else text(compared)


def text(compared: Comparison) -> str:
    """The tables, for the terminal."""
    parts = [f"Measured and simulated on {compared.board}, tracers running in both"]
    if compared.times:
        header = [
            "session",
            "call",
            "n",
            "measured us",
            "n",
            "simulated us",
            "mean",
            "total",
            "OpenFlash mean",
            "total",
        ]
        parts.append(text_table(header, [_time_cells(row) for row in compared.times], "llrrrrrrrr"))
        parts.append(_over_runs(compared.times))
    if compared.flash:
        header = ["session", "flash", "task", "measured", "simulated", "error", "OpenFlash", "error"]
        parts.append(text_table(header, [_flash_cells(row) for row in compared.flash], "lllrrrrr"))
    if compared.notes:
        parts.append("\n".join(["Notes:", *(f"  {note}" for note in compared.notes)]))
    return "\n\n".join(parts)


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


def _over_runs(rows: Sequence[TimeRow]) -> str:
    """Means over the runs of a session."""
    groups: dict[tuple[str, int, str], list[TimeRow]] = {}
    for row in rows:
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
    return text_table(header, table, "llrrrrrr")


def _flash_cells(row: FlashRow) -> list[str]:
    openflash = f"{row.openflash:,}" if row.openflash is not None else "-"
    cells = [f"{row.measured:,}", f"{row.simulated:,}", _percent(row.error), openflash, _percent(row.openflash_error)]
    return [_session(row), row.operation, row.task, *cells]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"
