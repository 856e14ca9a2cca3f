"""A report for people: a text for the terminal, and one HTML file with charts that needs no other."""

from __future__ import annotations

from collections.abc import Sequence

from ffslab._native import __version__
from ffslab.answers.trace_report import LogFacts, OperationCounts, Traced, TraceReport
from ffslab.measured.tracereport import plots
from ffslab.measured.tracereport.columns import Ints
from ffslab.measured.tracereport.operations import mapped_blocks
from ffslab.measured.tracereport.recording import Recording
from ffslab.measured.tracereport.sentences import sentences
from ffslab.measured.tracereport.tables import Table, short, tables
from ffslab.report import Opening, Section, bullets, page, section, table
from ffslab.report.page import Drawn, KeyFigure, paragraph
from ffslab.text.durations import duration
from ffslab.text.quoting import escape
from ffslab.text.tables import counted, number, text_table


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
    over_time = plots.over_time(recording, summary)
    where, maps = plots.where_over_time(recording), plots.block_maps(blocks, mapped)
    times = plots.response_times(recording)
    # The first screen has what the log is about: operations, or times when only calls were traced.
    picture = over_time[0] if over_time else times[0] if times else None
    drawn: list[tuple[str, str, Sequence[Drawn | None]]] = [
        ("Operations over time", "Operations per second. Dashed: markers.", over_time[1:]),
        ("Where the operations fell", "The erase block of each operation.", [where]),
        ("Map of erase blocks", f"{plots.map_note(mapped)} Empty: nothing was counted.", [maps]),
        (
            "Distributions of response times",
            "Share of the calls within that time.",
            times if picture in over_time else times[1:],
        ),
    ]
    parts = [
        flaws,
        bullets(summary["notes"]),
        section("What this means", bullets(said[1:])),
        *(section_of(shown) for shown in tables(summary)),
        *(
            section(name, [paragraph(note), *there])
            for name, note, pictures in drawn
            if (there := [one for one in pictures if one is not None])
        ),
    ]
    opening = Opening(title, ". ".join(lines), said[0] if said else "", _key_figures(summary), picture)
    return page(title, parts, opening)


def _key_figures(summary: TraceReport) -> list[KeyFigure]:
    """The slowest function, flash operations, lifetime: what of them the logs know."""
    made = []
    timed = [row for row in summary["response_times"] if "mean_us" in row]
    if timed:
        row = max(timed, key=lambda one: one["sum_us"])
        beside = f"on average in {counted(row['n'], 'call')}; one in a hundred takes {duration(row['p99_us'])} or more"
        made.append(KeyFigure(f"{row['function']} takes", duration(row["mean_us"]), beside))
    if (found := summary.get("operations")) is not None:
        totals = found["totals"]
        every = _moved(totals)
        if every:
            behind = sum(_moved(row) for row in found["by_task"] if row["background"])
            said = f"{100 * behind / every:.0f} % by background threads; {counted(totals['erases'], 'erase')}"
            made.append(KeyFigure("Flash operations", number(every), said))
    lives = [
        (years["levelled"]["estimate"] or 0.0, years["busiest_block"]["estimate"], row["partition"])
        for row in summary.get("wear", [])
        if row["erases"] and (years := row.get("lifetime_years"))
    ]
    if lives:
        levelled, busiest, partition = min(lives, key=lambda one: one[0])
        beside = f"its busiest block {short(busiest)}, if the time of the log repeated for ever"
        made.append(KeyFigure(f"Years of {partition}, levelled", short(levelled), beside))
    return made


def _moved(counts: OperationCounts) -> int:
    """What reads, writes or erases cells."""
    return counts["page_reads"] + counts["page_programs"] + counts["erases"]


def section_of(shown: Table) -> Section | None:
    """A table with its title and note."""
    note = f"<p>{escape(shown.note)}</p>" if shown.note else ""
    return section(shown.title, note + table(shown.head, shown.rows, align=shown.align))


def _log(log: LogFacts) -> str:
    events = f", {number(log['events'])} events" if log["events"] is not None else ""
    return f"{log['file']} ({log['source']}{events})"


def _incomplete(summary: TraceReport) -> list[str]:
    return [f"INCOMPLETE: {flaw}" for flaw in summary["flaws"]]
