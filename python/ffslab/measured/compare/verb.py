"""The verb: folders of traces and recordings in, a table of errors out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ffslab._native import InputError
from ffslab.api.machine import LINUX_BOARD, Machine, Value
from ffslab.api.run import Progress, part_of
from ffslab.files import results
from ffslab.measured.compare import any_recording
from ffslab.measured.compare.comparison import Comparison, compare
from ffslab.measured.compare.sessions import traced_machine
from ffslab.measured.compare.tables import text
from ffslab.measured.compare.trace_folder import recordings
from ffslab.terminal.progress import progress_bar

# The usual partition of folders, which is that of the board whose traces were published.
PUBLISHED_BLOCKS = 800


def run(
    sources: Sequence[Path],
    record_bytes: Sequence[int],
    machine: Machine,
    uptime_us: int = 0,
    *,
    json: bool,
    report: Path | None = None,
) -> str:
    """Does all of it; what is to be printed. `report`: where a page is written, too."""
    if report is not None:
        results.check_report(report)
    with progress_bar("sessions") as progress:
        compared = compared_with(sources, record_bytes, machine, uptime_us, progress)
    if report is not None:
        from ffslab.measured.compare import page

        results.write_report(report, page.html(compared))
    if json:
        return results.dump_json(compared.as_dict()).rstrip()
    return text(compared) + (f"\n\nReport: {report}" if report is not None else "")


def compared_with(
    sources: Sequence[Path],
    record_bytes: Sequence[int],
    machine: Machine,
    uptime_us: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Folders of traces or recordings beside the machine.

    Raises `ffslab.InputError` when there are some of both: what runs in both differs.
    """
    folders = [source for source in sources if source.is_dir()]
    files = [source for source in sources if source not in folders]
    if folders and files:
        raise InputError(f"{files[0]}: is a recording, and {folders[0]} a folder of traces: compare them one by one")
    settings: Mapping[str, Value] = {"uptime_us": uptime_us, **machine.settings}
    if folders:
        blocks = machine.partition_blocks or PUBLISHED_BLOCKS
        board = machine.board or LINUX_BOARD
        its = traced_machine(board, machine.kernel, blocks, settings=settings)
        return compare(recordings(*folders, record_bytes=record_bytes), its, progress)
    if record_bytes:
        raise InputError(f"{files[0]}: is a recording, whose records have no size: leave --record-B out")
    its, traced = any_recording.machine_for(replace(machine, settings=settings))
    compared = Comparison(its.board or LINUX_BOARD, [], [], [], traced)
    for at, source in enumerate(files):
        times, notes = any_recording.times_of(source, its, part_of(progress, at, len(files)))
        compared.times.extend(times)
        compared.notes.extend(notes)
    return compared
