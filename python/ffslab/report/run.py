"""The page of a run: the answer first, then why, then every call and block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffslab._native import __version__
from ffslab.answers.summary import Summary, VariantSummary
from ffslab.report import blocks, causes, charts, film, flame, sweeps, variants
from ffslab.report.boot import boot_bars
from ffslab.report.charts import Axis, Line, chart, multiples
from ffslab.report.page import (
    Drawn,
    KeyFigure,
    Opening,
    Part,
    Section,
    bullets,
    folded,
    page,
    paragraph,
    section,
    table,
    verbatim,
)
from ffslab.text import fio, machine_line
from ffslab.text.boot import alignment as boot_alignment
from ffslab.text.boot import boot_cells
from ffslab.text.energy import have_energy
from ffslab.text.headline import headline_of
from ffslab.text.mounts import alignment as mounts_alignment
from ffslab.text.mounts import mounts_cells
from ffslab.text.programs import alignment as programs_alignment
from ffslab.text.programs import programs_cells
from ffslab.text.quoting import escape
from ffslab.text.repeats import repeats_cells, repeats_said
from ffslab.text.slowest import alignment, slowest_cells
from ffslab.text.step_groups import StepGroup, step_groups
from ffslab.text.summary import COLUMNS_MAX, main_cells, pairs_cells
from ffslab.text.time_table import causes_table, explained, variants_table
from ffslab.text.units import column, common_unit
from ffslab.text.variants import typical_of
from ffslab.text.words import sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ffslab.files.results import Results

# Of each variant, when there are several.
SLOWEST_OF_SEVERAL = 3
# Bars of more variants than this would be a wall: those of the chosen ones are drawn.
BARS_MAX = 48
# More pairs than this are folded.
PAIRS_MAX = 40
# Of all charts of single calls together, and of each at least.
POINTS_MAX, POINTS_MIN = 24_000, 1_500
STEPS_OF_DISTRIBUTION = 300

DATA_CODE = """import pandas as pd

calls = pd.read_parquet("requests.parquet")
axes = calls.plot.scatter("start_us", "latency_us", logy=True, s=2)
axes.figure.savefig("latency.png")"""


def html(run: Results) -> str:
    """The whole page of `run`."""
    repeated = run.summary
    run = run.typical()
    summary = run.summary
    every = summary["variants"]
    if not every:
        return _none_ended(summary)
    headline = headline_of(summary)
    drawn = variants.chosen(every)
    which = variants.chosen_said(len(drawn), len(every))
    barred = every if len(every) <= BARS_MAX else drawn
    barred_said = variants.chosen_said(len(barred), len(every))
    colours = causes.reason_colours(barred)
    sweep = sweeps.sweep_of(every)
    said = sentences(summary)
    picture = charts.explorer(variants.DATA) if len(every) > COLUMNS_MAX else _lone(causes.time_bars(barred, colours))
    parts: list[Part] = [
        section("Over all runs", _repeats(repeated)),
        section("What this means", bullets(said[1:])),
        section(f"Along {sweep.along}", [paragraph(sweep.said), sweeps.drawn(every, sweep)]) if sweep else None,
        _listed(every),
        section("The boot", _boot(drawn, which)),
        section("Where the time went", _time(every, drawn, barred, colours, barred_said)),
        _flame(run, drawn, which),
        section("Slowest calls", _slowest(drawn, which)),
        section("Programs at the same time", _at_once(drawn, which)),
        section("Mounts", _mounts(drawn, which)),
        section("What the programs report", _programs(drawn)),
        section("Numbers", table(*(main_cells(summary)))) if len(every) <= COLUMNS_MAX else _pairs(every),
        section("Step by step", _steps(drawn, which)),
        _over_time(run, drawn, which),
        _distribution(run, drawn, which),
        section("Flash operations by cause", _operations(barred, colours, barred_said)),
        _film(run, drawn),
        _blocks(run, drawn, which),
        section("Energy", _energy(barred, barred_said)),
        section("The data", _data(run)),
    ]  # fmt: skip
    opening = Opening(
        summary["title"],
        _setting(every),
        said[0] if said else "",
        [KeyFigure(*card) for card in headline.cards],
        picture,
        machine_line.of_summary(repeated, machine_line.initial_of(run.resolved_toml)),
        headline.failures,
    )
    return page(summary["title"], parts, opening)


def _none_ended(summary: Summary) -> str:
    """The page of a run of which nothing came to its end."""
    opening = Opening(
        summary["title"], _setting([]), machine=machine_line.of_summary(summary), failures=headline_of(summary).failures
    )
    return page(summary["title"], [], opening)


def in_notebook(summary: Summary) -> str:
    """The main table of a run and what it means, as HTML for a page of others."""
    parts = [f"<h4>{escape(summary['title'])}</h4>", paragraph(machine_line.of_summary(summary)), _repeats(summary)]
    summary = typical_of(summary)
    parts += [bullets(headline_of(summary).failures), table(*main_cells(summary)), bullets(sentences(summary))]
    return "\n".join(parts)


def _lone(html: str) -> Drawn | None:
    return Drawn(f'<div class="lone">{html}</div>', {}) if html else None


def _listed(every: list[VariantSummary]) -> Section | None:
    if len(every) == 1:
        return None
    said = "All of them, with every figure that differs. Pin two to compare them."
    return section("Variants", [paragraph(said), variants.listed(every)])


def _pairs(every: list[VariantSummary]) -> Section | None:
    cells = pairs_cells(every)
    if not cells:
        return None
    made = table(*cells)
    return section("Pairs", made if len(cells[1]) <= PAIRS_MAX else folded(f"{len(cells[1]):,} pairs", made))


def _repeats(summary: Summary) -> str:
    """How the figures of repeated variants differ."""
    head, rows = repeats_cells(summary)
    return table(head, rows, align="llrrrr") + bullets(repeats_said(summary)) if rows else ""


def _setting(every: list[VariantSummary]) -> str:
    """The line that names the version which computed this."""
    above = " Energy is energy above idle." if have_energy(every) else ""
    many = f" {len(every):,} variants." if len(every) > 1 else ""
    return f"Simulated by ffslab {__version__} in virtual time.{many}{above}"


def _time(
    every: list[VariantSummary],
    drawn: list[VariantSummary],
    barred: list[VariantSummary],
    colours: dict[str, str],
    which: str,
) -> str:
    """What each cause cost: bars, a table of all variants when there are several, a table per variant."""
    bars = causes.time_bars(barred, colours)
    if not bars:
        return ""
    said = f"Virtual time of the measured steps by what it was spent on; grey: without the flash.{which}"
    # Of few variants the bars stand on the first screen.
    parts = [paragraph(said), bars] if len(every) > COLUMNS_MAX else [paragraph(said)]
    if 1 < len(every) <= COLUMNS_MAX:
        parts.append(table(*variants_table(every)))
    for variant in drawn:
        head, rows = causes_table(variant)
        body = table(head, rows, {name: escape(text) for name, text in explained(variant).items()})
        parts.append(folded(f"{variant['name']}: operations and tasks", body) if len(drawn) > 1 else body)
    return "\n".join(parts)


def _flame(run: Results, drawn: list[VariantSummary], which: str) -> Section | None:
    """Who did what in which call for which reason; only a run that was observed knows."""
    if run.stack_columns is None:
        return None
    made = flame.drawn(run.stack_columns, [variant["name"] for variant in drawn])
    said = (
        "Who, in which call, for what reason, and what it was, from top to bottom: a frame is as wide as what "
        f"happened in it. Two variants are drawn as their difference.{which}"
    )
    return section("Flame graph", [paragraph(said), made]) if made else None


def _slowest(drawn: list[VariantSummary], which: str) -> str:
    """The calls that took longest, and what each waited for."""
    head, rows = slowest_cells(drawn, None if len(drawn) == 1 else SLOWEST_OF_SEVERAL)
    if not rows:
        return ""
    said = f"What went on until each of them returned, what took longest first.{which}"
    return paragraph(said) + table(head, rows, align=alignment(head)[:-1] + "w")


def _boot(drawn: list[VariantSummary], which: str) -> str:
    """The stages of a boot, as bars and in numbers."""
    head, rows = boot_cells(drawn)
    if not rows:
        return ""
    said = f"From power on to the end of the last stage. Page reads count those of out-of-band areas, too.{which}"
    return paragraph(said) + boot_bars(drawn) + table(head, rows, align=boot_alignment(head))


def _at_once(drawn: list[VariantSummary], which: str) -> str:
    """What each program did, and how long its calls waited for those of others."""
    head, rows = programs_cells(drawn)
    if not rows:
        return ""
    said = f"A latency begins when the program was ready to make the call; it may wait for calls of others then.{which}"
    return paragraph(said) + table(head, rows, align=programs_alignment(head))


def _mounts(drawn: list[VariantSummary], which: str) -> str:
    """What each of several mounts of a machine took and bore."""
    head, rows = mounts_cells(drawn)
    if not rows:
        return ""
    said = f"They share the chip and the CPU. Programs and erases are those on the partition, by whomever.{which}"
    return paragraph(said) + table(head, rows, align=mounts_alignment(head))


def _programs(drawn: list[VariantSummary]) -> str:
    """The jobs of fio, and what Postmark prints."""
    parts = []
    for variant in drawn:
        named = paragraph(variant["name"]) if len(drawn) > 1 else ""
        of_programs = (step for program in variant.get("programs", []) for step in program.get("steps", []))
        for step in [*variant["steps"], *of_programs]:
            if (jobs := step.get("fio")) is not None:
                parts.append(named + table(*fio.job_cells(jobs), align=fio.ALIGN))
            # Postmark prints nothing when it runs out of files.
            printed = [done["report"] for done in step.get("postmark", []) if done["report"]]
            parts += [named + verbatim(text) for text in printed]
    return "\n".join(parts)


def _steps(drawn: list[VariantSummary], which: str) -> str:
    """The measured steps of each variant that show in a table; latency only where calls are recorded."""
    columns = [step_groups(variant) for variant in drawn]
    titles: list[list[str]] = []
    groups: list[StepGroup] = []
    for i, one in enumerate(columns[0]):
        title = f"{one.steps} x {one.title}" if one.steps > 1 else f"{i + 1} {one.title}"
        same = [(variant["name"], own[i]) for variant, own in zip(drawn, columns, strict=True) if i < len(own)]
        if any(_has_work(group) for _, group in same):
            titles += [[title, name] for name, _ in same]
            groups += [group for _, group in same]
    if not groups:
        return ""
    figures = [
        column("elapsed", "time", [group.elapsed_us for group in groups]),
        column("calls", "count", [group.calls or None for group in groups]),
        column(
            "mean latency", "time", [group.latency_sum_us / group.calls if group.calls else None for group in groups]
        ),
        column("page reads", "count", [group.page_reads for group in groups]),
        column("page programs", "count", [group.page_programs for group in groups]),
        column("erases", "count", [group.erases for group in groups]),
    ]
    # A column in which nothing stands is left out, and so is the name of the only variant.
    shown = [cells for cells in figures if any(cell not in NOTHING for cell in cells[1:])]
    names = titles if len(drawn) > 1 else [row[:1] for row in titles]
    head = [*(["step", "variant"] if len(drawn) > 1 else ["step"]), *(cells[0] for cells in shown)]
    rows = [[*name, *(cells[at + 1] for cells in shown)] for at, name in enumerate(names)]
    return (paragraph(which.strip()) if which else "") + table(head, rows)


NOTHING = frozenset({"-", "0", "0.0"})


def _has_work(group: StepGroup) -> bool:
    """Whether a step took time or used the flash. One that did neither is left out."""
    return bool(group.elapsed_us >= 50 or group.page_reads or group.page_programs or group.erases)


def _operations(barred: list[VariantSummary], colours: dict[str, str], which: str) -> str:
    made = causes.operation_bars(barred, colours)
    said = f"Why the chip was used in the measured steps; hatched: by a background task.{which}"
    return paragraph(said) + made if made else ""


def _energy(barred: list[VariantSummary], which: str) -> str:
    made = causes.energy_bars(barred)
    return paragraph(f"Above idle, by supply rail.{which}") + made if made else ""


def _blocks(run: Results, drawn: list[VariantSummary], which: str) -> Section | None:
    made = blocks.block_map(run, drawn)
    said = (
        "Each cell is an erase block: how often it was erased, and what it holds before and after the measured steps "
        f"as the file system accounts for it: valid (still needed), invalid (superseded or deleted), free.{which}"
    )
    return section("Erase blocks", [paragraph(said), made]) if made else None


def _film(run: Results, drawn: list[VariantSummary]) -> Section | None:
    made = film.drawn(run, drawn)
    said = (
        "What happened to each erase block, event by event, below the latency of the calls at that time. "
        "A click in the chart brings the film there."
    )
    parts: list[str | Drawn] = [paragraph(said)]
    for about, one in made:
        parts += [paragraph(about), one]
    return section("Film of the erase blocks", parts) if made else None


def _over_time(run: Results, drawn: list[VariantSummary], which: str) -> Section | None:
    """Latency of each call over the virtual time at which it started, a chart a variant on common axes."""
    of = _calls(run, drawn)
    if not of:
        return None
    points_max = max(POINTS_MIN, POINTS_MAX // len(of))
    is_thinned = any(len(latency) > points_max for _, _, latency in of)
    some = " Of so many calls a part is drawn, the slowest of each stretch among them." if is_thinned else ""
    span = (min(float(one.min()) for _, _, one in of), max(float(one.max()) for _, _, one in of))
    log = charts.wants_log([latency for _, _, latency in of]) and span[0] > 0
    unit = common_unit("time", span)
    label = unit.labelled("latency")
    y = Axis(label, f"{label},", log=log, span=(span[0] / unit.size, span[1] / unit.size))
    made = []
    for at, (name, start, latency) in enumerate(of):
        x, height = charts.thinned((start - start.min()) / 1e6, latency / unit.size, points_max)
        line = Line("", x, height, "dots", {"colour": f"s{at % 8}", "size": 4, "faint": True})
        title = name if len(of) > 1 else ""
        made.append(chart(f"over-time-{at}", title, Axis("s since the first call", "s", linear=True), y, [line]))
    said = paragraph(f"Each dot is a call: when it began, how long it took.{some}{which}")
    return section("Latency over time", [said, multiples(made) if len(made) > 1 else made[0]])


def _distribution(run: Results, drawn: list[VariantSummary], which: str) -> Section | None:
    """Share of the calls that took less than so long; the slow ones have most of the room."""
    of_all = {v["name"]: np.array(v["latency_quantiles_us"]) for v in drawn if "latency_quantiles_us" in v}
    calls = [(name, of_all.get(name, latency)) for name, _, latency in _calls(run, drawn)]
    if not calls:
        return None
    if len(run.summary["variants"]) == 1 and not of_all:
        calls = _by_kind(run)
    ends = [float(end) for _, latency in calls for end in (np.min(latency), np.max(latency))]
    unit = common_unit("time", ends)
    label = unit.labelled("latency")
    lines = [
        Line(name, *charts.distribution(latency / unit.size, STEPS_OF_DISTRIBUTION), "step") for name, latency in calls
    ]
    log = charts.wants_log([line.x for line in lines])
    x, y = Axis(label, f"{label},", log=log), Axis("calls that took less, %", "share", nines=True)
    said = f"How many of the calls took less; the slowest tenth has as much room as all others, and so on.{which}"
    return section("Distribution of latency", [paragraph(said), chart("distribution", "", x, y, lines)])


def _by_kind(run: Results) -> list[tuple[str, NDArray[np.float64]]]:
    """The latencies in us of each kind of call, the most frequent first."""
    columns = run.request_columns
    kinds, latency = np.asarray(columns["op"], dtype=object), np.asarray(columns["latency_us"], dtype=float)
    names = sorted(dict.fromkeys(columns["op"]), key=lambda name: -int((kinds == name).sum()))
    return [(f"{name} ({int((kinds == name).sum()):,})", latency[kinds == name]) for name in names]


def _calls(run: Results, drawn: list[VariantSummary]) -> list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """(variant, start in us, latency in us) of each of these variants that made calls."""
    columns = run.request_columns
    # As objects the names stand there once; as text of numpy's each row would hold a copy.
    names = np.asarray(columns["variant"], dtype=object)
    start, latency = (np.asarray(columns[key], dtype=float) for key in ("start_us", "latency_us"))
    chosen = [(variant["name"], names == variant["name"]) for variant in drawn]
    return [(name, start[mask], latency[mask]) for name, mask in chosen if mask.any()]


def _data(run: Results) -> str:
    said = (
        "Everything that is drawn here stands beside this file in the results folder: summary.json and "
        "variants.parquet (each variant), requests.parquet (each call), blocks.parquet (each erase block)."
    )
    resolved = folded("The experiment, with every default", verbatim(run.resolved_toml))
    return paragraph(said) + verbatim(DATA_CODE) + resolved
