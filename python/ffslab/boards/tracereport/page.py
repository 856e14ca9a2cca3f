"""A report for people: a text for the terminal, and one HTML file with pictures that needs no other."""

from __future__ import annotations

from ffslab import __version__
from ffslab.answers.trace_report import LogFacts, Traced, TraceReport
from ffslab.boards.tracereport import plots
from ffslab.boards.tracereport.columns import Ints
from ffslab.boards.tracereport.operations import mapped_blocks
from ffslab.boards.tracereport.recording import Recording
from ffslab.boards.tracereport.sentences import sentences
from ffslab.boards.tracereport.tables import Table, tables
from ffslab.report import Opening, Section, bullets, figure, page, section, table
from ffslab.text.quoting import escape
from ffslab.text.tables import number, text_table


def text(summary: TraceReport) -> str:
    """What the terminal shows."""
    parts = [*headline(summary), *_incomplete(summary)]
    parts += [f"note: {note}" for note in summary["notes"]]
    if said := sentences(summary):
        parts += ["", "What this means", *(f"  {sentence}" for sentence in said)]
    return "\n".join(parts) + "".join(f"\n\n{plain(table)}" for table in tables(summary))


def plain(shown: Table) -> str:
    """A table as text, its note below it."""
    note = f"\n{shown.note}" if shown.note else ""
    return f"{shown.title}\n{text_table(shown.head, shown.rows, shown.align)}{note}"


def headline(summary: Traced) -> list[str]:
    """What was traced, where and for how long."""
    session, chip = summary["session"], summary["chip"]
    logs = ", ".join(_log(log) for log in summary["logs"])
    machine = ", ".join(f"{key} {session[key]}" for key in ("kernel", "machine", "clock", "scope") if session[key])
    size = chip["blocks"] * chip["pages_per_block"] * chip["page_B"] / 2**20
    blocks = f"{chip['blocks']:,} erase blocks of {chip['pages_per_block']} pages of {chip['page_B']} B"
    cost = ", ".join(
        f"{log['source']} {log['overhead_percent']:.2f} %" for log in summary["logs"] if log.get("overhead_percent")
    )
    return [
        f"{logs}: {session['duration_s']:,.3f} s" + (f"; {machine}" if machine else ""),
        f"chip: {size:,.0f} MiB, {blocks}",
        *([f"the probes took of that time: {cost}"] if cost else []),
    ]


def html(recording: Recording, summary: TraceReport, blocks: Ints | None, title: str) -> str:
    """The whole page."""
    lines = [*headline(summary), f"Made by ffslab {__version__} from logs of a real or simulated system."]
    flaws = "".join(f"<p><strong>{escape(line)}</strong></p>" for line in _incomplete(summary))
    said = sentences(summary)
    mapped = mapped_blocks(recording, blocks) if blocks is not None else range(1)
    drawn = [
        (
            "Operations over time",
            "Operations per second. Dotted: markers.",
            plots.over_time(recording, summary),
        ),
        (
            "Where the operations fell",
            "The erase block of each operation.",
            plots.where_over_time(recording),
        ),
        (
            "Map of erase blocks",
            f"{plots.map_note(mapped)} Grey: none.",
            plots.block_maps(blocks, mapped),
        ),
        ("Distributions of response times", "Share of the calls within that time.", plots.response_times(recording)),
    ]
    parts = [
        flaws,
        bullets(summary["notes"]),
        section("What this means", bullets(said[1:])),
        *(section_of(shown) for shown in tables(summary)),
        *(figure(name, note, svg) for name, note, svg in drawn),
    ]
    return page(title, parts, Opening(title, ". ".join(lines), said[0] if said else ""))


def section_of(shown: Table) -> Section | None:
    """A table with its title and note."""
    note = f"<p>{escape(shown.note)}</p>" if shown.note else ""
    return section(shown.title, note + table(shown.head, shown.rows, align=shown.align))


def _log(log: LogFacts) -> str:
    events = f", {number(log['events'])} events" if log["events"] is not None else ""
    return f"{log['file']} ({log['source']}{events})"


def _incomplete(summary: TraceReport) -> list[str]:
    return [f"INCOMPLETE: {flaw}" for flaw in summary["flaws"]]
