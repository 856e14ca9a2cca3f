"""The verb: a folder of traces in, a table of errors out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ffslab.api.machine import Machine
from ffslab.files import results
from ffslab.measured.compare.comparison import compare
from ffslab.measured.compare.tables import text
from ffslab.measured.compare.trace_folder import recordings
from ffslab.terminal.progress import progress_bar


def run(
    folders: Sequence[Path], record_bytes: Sequence[int], machine: Machine, *, json: bool, report: Path | None = None
) -> str:
    """Does all of it; what is to be printed. `report`: where a page is written, too."""
    if report is not None:
        results.check_report(report)
    sessions = recordings(*folders, record_bytes=record_bytes)
    with progress_bar("sessions") as progress:
        compared = compare(sessions, machine, progress)
    if report is not None:
        from ffslab.measured.compare import page

        results.write_report(report, page.html(compared))
    if json:
        return results.dump_json(compared.as_dict()).rstrip()
    return text(compared) + (f"\n\nReport: {report}" if report is not None else "")
