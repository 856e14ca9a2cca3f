"""The report: one HTML file with inline SVG that needs no other file and no network.

Deterministic: the same results give the same bytes with the same versions of ffslab and matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ffslab import __version__
from ffslab.answers.summary import Summary, VariantSummary
from ffslab.api.variants import machine_of, typical_of
from ffslab.report import plots, sweeps
from ffslab.report.style import STYLE
from ffslab.text.energy import have_energy
from ffslab.text.mounts import alignment as mounts_alignment
from ffslab.text.mounts import mounts_cells
from ffslab.text.programs import alignment as programs_alignment
from ffslab.text.programs import programs_cells
from ffslab.text.quoting import escape, plain_html
from ffslab.text.repeats import repeats_cells, repeats_said
from ffslab.text.slowest import alignment, slowest_cells
from ffslab.text.step_groups import StepGroup, step_groups
from ffslab.text.summary import COLUMNS_MAX, main_cells
from ffslab.text.tables import number
from ffslab.text.time_table import causes_table, explained, variants_table
from ffslab.text.words import sentences
from ffslab.workloads import fio

if TYPE_CHECKING:
    from ffslab.api.experiment import Run


# Keys of the stack that name profiles, in the order of the sentence.
NAMES = ("system", "board", "kernel", "part", "device")


# Of each variant, when there are several.
SLOWEST_OF_SEVERAL = 3


def html(run: Run) -> str:
    """The whole report of `run`."""
    repeated = run.summary
    run = run.typical()
    summary = run.summary
    variants = summary["variants"]
    drawn = variants[: plots.VARIANTS_MAX]
    first = f" The first {len(drawn)} of {len(variants)} variants." if len(drawn) < len(variants) else ""
    colours = plots.reason_colours(drawn)
    sweep = sweeps.sweep_of(variants)
    parts = [
        f"<h1>{escape(summary['title'])}</h1>",
        f"<p>{escape(_setting(variants))}</p>",
        section("Over all runs", _repeats(repeated)),
        section("What this means", bullets(sentences(summary))),
        figure(f"Along {sweep.along}", sweep.said, sweeps.svg(variants, sweep)) if sweep else "",
        section("Where the time went", _time(variants, drawn, colours, first)),
        section("Slowest calls", _slowest(drawn, first)),
        section("Programs at the same time", _at_once(drawn, first)),
        section("Mounts", _mounts(drawn, first)),
        section("What the programs report", _programs(drawn)),
        section("Numbers", table(*main_cells(summary))),
        section("Step by step", _steps(drawn, first)),
        figure(
            "Latency over time",
            f"Each dot is a call: when it began, how long it took.{first}",
            plots.latency_over_time(run),
        ),
        figure(
            "Distribution of latency",
            f"How many of the calls took less; the slowest tenth has as much room as all others, and so on.{first}",
            plots.latency_distribution(run),
        ),
        figure(
            "Flash operations by cause",
            f"Why the chip was used in the measured steps; hatched: by a background task.{first}",
            plots.operations_by_cause(drawn, colours),
        ),
        figure(
            "Erases per block",
            f"Each cell is an erase block, {plots.MAP_COLUMNS} a row; measured steps only.{first}",
            plots.erase_map(run),
        ),
        figure(
            "Space",
            "What each erase block holds before and after the measured steps, as the file system accounts for it: "
            f"valid (still needed), invalid (superseded or deleted), free.{first}",
            plots.space_map(run),
        ),
        figure("Energy", f"Above idle, by supply rail.{first}", plots.energy_by_rail(drawn)),
        "<details><summary>The experiment, with every default</summary>"
        f"<pre>{escape(run.resolved_toml)}</pre></details>",
    ]
    return page(summary["title"], parts)


def in_notebook(summary: Summary) -> str:
    """The main table of a run and what it means, as HTML for a page of others."""
    parts = [f"<h4>{escape(summary['title'])}</h4>", _repeats(summary)]
    summary = typical_of(summary)
    parts += [table(*main_cells(summary)), bullets(sentences(summary))]
    return "\n".join(parts)


def _repeats(summary: Summary) -> str:
    """How the figures of repeated variants differ."""
    head, rows = repeats_cells(summary)
    return table(head, rows, align="llrrrr") + bullets(repeats_said(summary)) if rows else ""


def _setting(variants: list[VariantSummary]) -> str:
    """Who computed this for which machine: what the variants' stacks have in common."""
    machines = [machine_of(variant["stack"]) for variant in variants]
    common = [
        f"{key} {said.rpartition('/')[2]}"
        for key in NAMES
        if (said := machines[0][key]) and all(machine[key] == said for machine in machines)
    ]
    above = " Energy is energy above idle." if have_energy(variants) else ""
    return f"Simulated by ffslab {__version__} in virtual time: {', '.join(common)}.{above}"


def page(title: str, parts: list[str]) -> str:
    """An HTML file of these parts; empty ones are left out. `title` is plain text."""
    head = f'<meta charset="utf-8">\n<title>{plain_html(title)}</title>\n<style>{STYLE}</style>'
    body = "\n".join(part for part in parts if part)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def section(title: str, body: str) -> str:
    """A part of a page; nothing when `body`, HTML, is empty."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>" if body else ""


def figure(title: str, note: str, svg: str | None) -> str:
    """A picture with its title and what it shows; nothing when there is none."""
    return section(title, f"<p>{escape(note)}</p>\n<figure>{svg}</figure>") if svg else ""


def bullets(items: Sequence[str]) -> str:
    """A list of plain texts; nothing when there is none."""
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def table(head: list[str], rows: list[list[str]], explained: dict[str, str] | None = None, align: str = "") -> str:
    """A table of plain texts. `explained` holds HTML for below the first cell of a row.

    `align` as for `text_table`, and w for a column of long texts, which wrap; without it numbers stand to the right.
    The first column stands to the left in any case.
    """
    others = range(1, len(head))
    kinds = align[1:] or [_side([row[i] for row in rows if i < len(row)]) for i in others]
    sides = ["", *(_CLASS[kind] for kind in kinds)]
    heads = (escape(cell).replace("\n", "<br>") for cell in head)
    lines = ["<tr>" + "".join(f"<th{side}>{cell}</th>" for side, cell in zip(sides, heads, strict=True)) + "</tr>"]
    for first, *cells in rows:
        below = (explained or {}).get(first)
        note = f"<br><small>{below}</small>" if below else ""
        body = "".join(f"<td{side}>{escape(cell)}</td>" for side, cell in zip(sides[1:], cells, strict=False))
        lines.append(f"<tr><td>{escape(first)}{note}</td>{body}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


# Of cells in a column of texts, of long texts, of numbers.
_CLASS = {"l": ' class="text"', "w": ' class="text wraps"', "r": ""}


def _side(cells: list[str]) -> str:
    """l for a column of texts, r for one of numbers and what there is none of."""
    return "l" if any(cell[:1].isalpha() or cell[:1] in '"/' for cell in cells if cell) else "r"


def _time(variants: list[VariantSummary], drawn: list[VariantSummary], colours: dict[str, str], first: str) -> str:
    """What each cause cost: a plot, a table of all variants when there are several, a table per variant."""
    plot = plots.time_by_cause(drawn, colours)
    if plot is None:
        return ""
    said = f"Virtual time of the measured steps by what it was spent on; grey: without the flash.{first}"
    parts = [f"<p>{escape(said)}</p>", f"<figure>{plot}</figure>"]
    if 1 < len(variants) <= COLUMNS_MAX:
        parts.append(table(*variants_table(variants)))
    for variant in drawn:
        head, rows = causes_table(variant)
        body = table(head, rows, {name: escape(text) for name, text in explained(variant).items()})
        named = f"<summary>{escape(variant['name'])}: operations and tasks</summary>"
        parts.append(f"<details>{named}\n{body}</details>" if len(drawn) > 1 else body)
    return "\n".join(parts)


def _slowest(variants: list[VariantSummary], first: str) -> str:
    """The calls that took longest, and what each waited for."""
    head, rows = slowest_cells(variants, None if len(variants) == 1 else SLOWEST_OF_SEVERAL)
    if not rows:
        return ""
    said = f"What went on until each of them returned, what took longest first.{first}"
    return f"<p>{escape(said)}</p>" + table(head, rows, align=alignment(head)[:-1] + "w")


def _at_once(variants: list[VariantSummary], first: str) -> str:
    """What each program did, and how long its calls waited for those of others."""
    head, rows = programs_cells(variants)
    if not rows:
        return ""
    said = f"A latency begins when the program was ready to make the call; it may wait for calls of others then.{first}"
    return f"<p>{escape(said)}</p>" + table(head, rows, align=programs_alignment(head))


def _mounts(variants: list[VariantSummary], first: str) -> str:
    """What each of several mounts of a machine took and bore."""
    head, rows = mounts_cells(variants)
    if not rows:
        return ""
    said = f"They share the chip and the CPU. Programs and erases are those on the partition, by whomever.{first}"
    return f"<p>{escape(said)}</p>" + table(head, rows, align=mounts_alignment(head))


def _programs(variants: list[VariantSummary]) -> str:
    """The jobs of fio, and what Postmark prints."""
    parts = []
    for variant in variants:
        named = f"<p>{escape(variant['name'])}</p>" if len(variants) > 1 else ""
        of_programs = (step for program in variant.get("programs", []) for step in program.get("steps", []))
        for step in [*variant["steps"], *of_programs]:
            if (jobs := step.get("fio")) is not None:
                parts.append(named + table(fio.HEAD, fio.job_rows(jobs), align=fio.ALIGN))
            # Postmark prints nothing when it runs out of files.
            printed = [done["report"] for done in step.get("postmark", []) if done["report"]]
            parts += [f"{named}<pre>{escape(text)}</pre>" for text in printed]
    return "\n".join(parts)


def _steps(variants: list[VariantSummary], first: str) -> str:
    """The measured steps of each variant that show in a table; latency only where calls are recorded."""
    head = ["step", "variant", "elapsed, ms", "calls", "mean latency, us", "page reads", "page programs", "erases"]
    rows = []
    columns = [step_groups(variant) for variant in variants]
    for i, one in enumerate(columns[0]):
        title = f"{one.steps} x {one.title}" if one.steps > 1 else f"{i + 1} {one.title}"
        same = [(variant, groups[i]) for variant, groups in zip(variants, columns, strict=True) if i < len(groups)]
        cells = [_step_cells(group) for _, group in same]
        if any(cell not in NOTHING for row in cells for cell in (row[0], *row[3:])):
            rows += [[title, variant["name"], *row] for (variant, _), row in zip(same, cells, strict=True)]
    # A column in which nothing stands is left out, and so is the name of the only variant.
    shown = [0, *([1] if len(variants) > 1 else [])]
    shown += [i for i in range(2, len(head)) if any(row[i] not in NOTHING for row in rows)]
    note = f"<p>{escape(first.strip())}</p>" if first and rows else ""
    return note + table([head[i] for i in shown], [[row[i] for i in shown] for row in rows]) if rows else ""


NOTHING = frozenset({"-", "0", "0.0"})


def _step_cells(group: StepGroup) -> list[str]:
    calls = number(group.calls) if group.calls else "-"
    mean = number(group.latency_sum_us / group.calls) if group.calls else "-"
    counted = (number(count) for count in (group.page_reads, group.page_programs, group.erases))
    return [number(group.elapsed_us / 1e3), calls, mean, *counted]
