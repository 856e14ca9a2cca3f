"""Everything that a report says, as plain values: what `--json` prints and `summary.json` holds."""

from __future__ import annotations

from ffslab._native import __version__
from ffslab.answers.trace_report import LogFacts, Operations, SessionFacts, TraceReport
from ffslab.measured.tracereport import causes, operations
from ffslab.measured.tracereport.attribution import attribute
from ffslab.measured.tracereport.columns import Flash, Ints
from ffslab.measured.tracereport.header import FUNCMON, VFSMON
from ffslab.measured.tracereport.log import Log
from ffslab.measured.tracereport.recording import Recording
from ffslab.measured.tracereport.slowest import slowest
from ffslab.measured.tracereport.wear import Endurance, wear


def summarize(recording: Recording, endurance: Endurance | None = None) -> tuple[TraceReport, Ints | None]:
    """The summary, and the map: reads, programs and erases of each erase block."""
    flash = recording.flash
    table = operations.block_map(recording)
    levels = [calls for level in (VFSMON, FUNCMON) if (calls := recording.calls(level)) is not None]
    found = None
    if flash is not None and levels and len(flash):
        found = attribute(flash, levels, recording.tasks.texts, recording.is_background())
    summary: TraceReport = {
        "version": __version__,
        "complete": not recording.flaws,
        "flaws": recording.flaws,
        "notes": list(recording.notes),
        "logs": [_log(log, recording.duration_s) for log in recording.logs],
        "session": _session(recording),
        "chip": {
            "page_B": recording.chip.page_B,
            "oob_B": recording.chip.oob_B,
            "pages_per_block": recording.chip.pages_per_block,
            "blocks": recording.chip.blocks,
        },
        "response_times": [
            row
            for level in (VFSMON, FUNCMON)
            if (calls := recording.calls(level)) is not None
            for row in causes.response_times(recording, level, calls)
        ],
        "slowest": slowest(recording, levels[0], flash, found) if levels else [],
    }
    if flash is not None:
        summary["operations"] = _operations(recording, flash)
        summary["timeline"] = operations.timeline(recording, flash)
        if found is not None:
            summary["causes"] = causes.causes(recording, flash, levels, found)
            if (vfs := recording.calls(VFSMON)) is not None:
                summary["amplification"] = causes.amplification(recording, flash, vfs, found)
    if table is not None:
        summary["blocks"] = operations.block_summary(table)
        summary["wear"] = wear(recording, table, endurance)
    return summary, table


def _operations(recording: Recording, flash: Flash) -> Operations:
    return {
        "totals": operations.counts(flash),
        "by_task": operations.by_task(recording, flash),
        "by_phase": operations.by_phase(recording, flash),
        "by_partition": operations.by_partition(recording, flash),
        "reads_of_erased": operations.reads_of_erased(recording, flash),
    }


def _session(recording: Recording) -> SessionFacts:
    head = recording.head
    return {
        "kernel": head.kernel,
        "machine": head.machine,
        "clock": head.clock,
        "scope": head.scope,
        "start_s": recording.start_ns / 1e9,
        "duration_s": recording.duration_s,
        "markers": [{"t_s": marker.t_ns / 1e9, "text": marker.text} for marker in recording.markers],
    }


def _log(log: Log, duration_s: float) -> LogFacts:
    """A log; `overhead_percent`: the share of the session that its probes took."""
    columns = log.flash if log.flash is not None else log.calls
    foot = log.foot
    each_ns = foot.overhead_ns_per_event if foot is not None else None
    return {
        "file": log.path.name,
        "source": log.source,
        "events": len(columns) if columns is not None else None,
        "lost": foot.lost if foot is not None else None,
        "overhead_ns_per_event": each_ns,
        "overhead_percent": foot.events * each_ns / duration_s / 1e7 if foot and each_ns and duration_s else None,
        "functions": log.head.functions,
        "buffer_KiB": log.head.buffer_KiB,
    }
