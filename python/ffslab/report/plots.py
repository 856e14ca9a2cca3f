"""The plots of a run's report, as SVG text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ffslab.answers import Operation
from ffslab.answers.summary import VariantSummary
from ffslab.report.drawing import VECTOR_MARKS_MAX, colour, new_figure, svg_text, tails, thousands, value_axis
from ffslab.report.drawing import width as line_width
from ffslab.text.causes import titles
from ffslab.text.durations import duration
from ffslab.text.energy import energy_mj, have_energy
from ffslab.text.time_table import CPU, IDLE, PROGRAM, asked_for, at_work_us, spent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffslab.api.experiment import Run


# More variants than this are not drawn one by one: nobody can tell them apart.
VARIANTS_MAX = 8
MAP_COLUMNS = 64
# Something in pages, a value a block.
Pages = NDArray[np.float64]

RAILS: tuple[tuple[Literal["cpu", "memory"], str], ...] = (("cpu", "CPU rail"), ("memory", "memory rail"))
KINDS: tuple[tuple[Operation, str], ...] = (
    ("page_reads", "page reads"),
    ("page_programs", "page programs"),
    ("erases", "erases"),
)
# Why the flash was used has colours (Okabe and Ito's), what takes time without it greys, background tasks hatches.
REASON_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
WITHOUT_FLASH = {CPU: "#999999", PROGRAM: "#444444", IDLE: "#e3e3e3"}
FURTHER, FURTHER_COLOUR = "further causes", "#efe6d5"
# Lines only: a dotted area takes a megabyte.
HATCHES = ("////", "xxxx", "----", "||||", "++++")


def latency_over_time(run: Run) -> str | None:
    """Latency of each call over the virtual time at which it started, a panel a variant."""
    calls = _calls(run)
    if not calls:
        return None
    figure = new_figure(0.5 + max(2.6, 1.25 * len(calls)))
    panels = np.atleast_1d(figure.subplots(len(calls), 1, sharex=True, sharey=True))
    marks = sum(len(latency) for _, _, latency in calls)
    for i, (axes, (name, start, latency)) in enumerate(zip(panels, calls, strict=True)):
        axes.plot(
            (start - start.min()) / 1e6,
            latency,
            linestyle="none",
            marker=".",
            markersize=3,
            color=colour(i),
            rasterized=marks > VECTOR_MARKS_MAX,
        )
        if len(calls) > 1:
            axes.set_title(name, fontsize=8, loc="left")
        value_axis(axes, "y", [latency for _, _, latency in calls])
    panels[-1].set(xlabel="virtual time since the first call, s")
    figure.supylabel("latency, us", fontsize="medium")
    return svg_text(figure, "latency-over-time")


def latency_distribution(run: Run) -> str | None:
    """Share of the calls that took less than so long; the slow ones have most of the room."""
    of_all = {v["name"]: np.array(v["latency_quantiles_us"]) for v in run.summary["variants"] if "requests_kept" in v}
    calls = [(name, start, of_all.get(name, latency)) for name, start, latency in _calls(run)]
    if not calls:
        return None
    drawn = [(name, latency) for name, _, latency in calls]
    if len(run.summary["variants"]) == 1 and not of_all:
        drawn = _by_kind(run)
    figure = new_figure(3.4 + 0.07 * len(drawn))
    axes = figure.add_subplot()
    styles = [
        {"color": colour(i), "label": name, "linewidth": line_width(i, len(drawn))} for i, (name, _) in enumerate(drawn)
    ]
    tails(axes, [latency for _, latency in drawn], styles)
    axes.set(xlabel="latency, us", ylabel="calls that took less, %")
    value_axis(axes, "x", [latency for _, latency in drawn])
    return svg_text(figure, "latency-distribution", axes, len(drawn))


def _by_kind(run: Run) -> list[tuple[str, NDArray[np.generic]]]:
    """The latencies in us of each kind of call, the most frequent first."""
    columns = run.request_columns
    kinds, latency = np.asarray(columns["op"], dtype=object), np.asarray(columns["latency_us"])
    names = sorted(dict.fromkeys(columns["op"]), key=lambda name: -int((kinds == name).sum()))
    return [(f"{name} ({int((kinds == name).sum()):,})", latency[kinds == name]) for name in names]


def reason_colours(variants: list[VariantSummary]) -> dict[str, str]:
    """The reasons that took the most time, what was asked for first: each has one colour in the whole report."""
    largest: dict[str, float] = {}
    for variant in variants:
        for name, us in spent(variant).items():
            largest[name] = max(largest.get(name, 0.0), us)
    asked = frozenset().union(*(asked_for(variant) for variant in variants))
    reasons = sorted((name for name in largest if name not in WITHOUT_FLASH), key=lambda name: -largest[name])
    shown = sorted(reasons[: len(REASON_COLOURS)], key=lambda name: name not in asked)
    return dict(zip(shown, REASON_COLOURS, strict=False))


def time_by_cause(variants: list[VariantSummary], colours: dict[str, str]) -> str | None:
    """Stacked bars: virtual time per variant, split by reason; the smallest reasons are put together.

    Where a bar would be mostly idle time, which says nothing of the flash, that is a number beside the bars.
    """
    parts = [spent(variant) for variant in variants]
    if not any(parts):
        return None
    figure = new_figure(1.1 + _rows_inches(variants))
    axes = figure.add_subplot()
    y, left = np.arange(len(variants)), np.zeros(len(variants))
    further = [
        sum(us for name, us in part.items() if name not in WITHOUT_FLASH and name not in colours) for part in parts
    ]
    columns = [(name, tint, [part.get(name, 0.0) for part in parts]) for name, tint in colours.items()]
    columns.append((FURTHER, FURTHER_COLOUR, further))
    idle_us = [variant["idle_us"] for variant in variants]
    is_beside = 0 < max(map(at_work_us, variants)) < max(idle_us)
    without_flash = {name: tint for name, tint in WITHOUT_FLASH.items() if name != IDLE or not is_beside}
    columns += [(name, tint, [part.get(name, 0.0) for part in parts]) for name, tint in without_flash.items()]
    for name, tint, times_us in columns:
        if any(times_us):
            widths = np.array(times_us) / 1e3
            axes.barh(y, widths, left=left, color=tint, label=name, height=0.6, edgecolor="#555555", linewidth=0.4)
            left += widths
    _variant_rows(axes, variants)
    for at, us in enumerate(idle_us if is_beside else []):
        if us:
            axes.text(left[at] + 0.01 * left.max(), at, f"and {duration(us)} idle", va="center", fontsize=8)
    axes.set(xlabel="virtual time, ms", xlim=(0, (1.25 if is_beside else 1.02) * left.max()))
    thousands(axes.xaxis)
    figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return svg_text(figure, "time-by-cause")


def operations_by_cause(variants: list[VariantSummary], colours: dict[str, str]) -> str | None:
    """Stacked bars: reads, programs and erases per variant, split by reason and task."""
    kinds = [(counter, label) for counter, label in KINDS if any(v["totals"][counter] for v in variants)]
    if not kinds:
        return None
    counters = [counter for counter, _ in kinds]
    causes = [cause for variant in variants for cause in variant["by_cause"] if any(cause[c] for c in counters)]
    title_of = {task: title for variant in variants for task, title in titles(variant).items()}
    tasks = [task for task in title_of if any(cause["task"] == task for cause in causes)]
    hatches = dict(zip((task for task in tasks if task != "caller"), HATCHES, strict=False))
    tints = {reason: tint for reason, tint in colours.items() if any(c["reason"] == reason for c in causes)}
    if any(cause["reason"] not in tints for cause in causes):
        tints[FURTHER] = FURTHER_COLOUR
    figure = new_figure(1.0 + _rows_inches(variants) + 0.07 * (len(tints) + len(tasks)))
    panels = np.atleast_1d(figure.subplots(1, len(kinds), sharey=True))
    y = np.arange(len(variants))
    for axes, (counter, label) in zip(panels, kinds, strict=True):
        left = np.zeros(len(variants))
        for reason, tint in tints.items():
            for task in tasks:
                counts = np.array([_count(variant, counter, task, reason, colours) for variant in variants], float)
                if counts.any():
                    axes.barh(
                        y, counts, left=left, color=tint, hatch=hatches.get(task), height=0.6, edgecolor="#555555",
                        linewidth=0.4,
                    )  # fmt: skip
                    left += counts
        axes.set(title=label, xlim=(0, 1.02 * left.max()))
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        thousands(axes.xaxis)
    _variant_rows(panels[0], variants)
    handles = [Patch(facecolor=tint, edgecolor="#555555", linewidth=0.4, label=name) for name, tint in tints.items()]
    handles += [
        Patch(facecolor="#ffffff", edgecolor="#555555", linewidth=0.4, hatch=hatch, label=f"by {title_of[task]}")
        for task, hatch in hatches.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return svg_text(figure, "operations-by-cause")


def erase_map(run: Run) -> str | None:
    """The erase blocks of each variant as a map, row by row, coloured by their erases in the measured steps."""
    names = np.asarray(run.block_columns["variant"])
    erases = np.asarray(run.block_columns["erases_main"])
    variants = [variant["name"] for variant in run.summary["variants"]][:VARIANTS_MAX]
    rows_of = [erases[names == name] for name in variants]
    most = max((int(row.max(initial=0)) for row in rows_of), default=0)
    if not most:
        return None
    figure = new_figure(max(1.7, 0.5 + sum(0.55 + 0.13 * (len(row) / MAP_COLUMNS) for row in rows_of)))
    panels = np.atleast_1d(figure.subplots(len(rows_of), 1))
    image = None
    for axes, name, row in zip(panels, variants, rows_of, strict=True):
        lines = -(-len(row) // MAP_COLUMNS)
        cells = np.full(lines * MAP_COLUMNS, np.nan)
        cells[: len(row)] = row
        image = axes.imshow(
            cells.reshape(-1, MAP_COLUMNS), cmap="viridis", vmin=0, vmax=most, interpolation="nearest", aspect="equal"
        )
        said = f"{int(row.sum()):,} erases, at most {int(row.max(initial=0)):,} of one block"
        axes.set_title(said if len(rows_of) == 1 else f"{name}: {said}", fontsize=9)
        axes.set(xticks=[])
        axes.set_yticks([0, lines - 1], ["0", f"{(lines - 1) * MAP_COLUMNS:,}"], fontsize=8)
    assert image is not None
    figure.supylabel("first block of the row", fontsize=8)
    bar = figure.colorbar(image, ax=list(panels), label="erases of a block", shrink=0.8)
    bar.locator = MaxNLocator(5, integer=True)
    return svg_text(figure, "erase-map")


SPACE_KINDS = (("valid", "valid", "#0072b2"), ("invalid", "invalid", "#d55e00"), ("free", "free", "#d9d9d9"))


def space_map(run: Run) -> str | None:
    """What each erase block holds before and after the measured steps, in pages: a bar a block, alike ones once."""
    names = np.asarray(run.block_columns["variant"])
    variants = run.summary["variants"][:VARIANTS_MAX]
    drawn: list[tuple[str, list[Pages], VariantSummary]] = []
    most = 1
    for variant in variants:
        if variant["flash"] is None:
            continue
        chosen = names == variant["name"]
        page_bytes = variant["flash"]["page_B"]
        most = max(most, variant["flash"]["pages_per_block"])
        before, after = (
            [np.asarray(run.block_columns[f"{kind}_{when}_B"])[chosen] / page_bytes for kind, _, _ in SPACE_KINDS]
            for when in ("before", "after")
        )
        alike = all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
        for when, held in (("before and after", before),) if alike else (("before", before), ("after", after)):
            if len(held[0]) and not np.isnan(held[0]).any():
                sums = ", ".join(
                    f"{label} {pages.sum() * page_bytes / 2**20:,.1f} MiB"
                    for pages, (_, label, _) in zip(held, SPACE_KINDS, strict=True)
                )
                whose = "" if len(variants) == 1 else f"{variant['name']}, "
                drawn.append((f"{whose}{when}: {sums}", held, variant))
    if not drawn:
        return None
    figure = new_figure(0.8 + 0.75 * len(drawn))
    panels = np.atleast_1d(figure.subplots(len(drawn), 1, sharex=True))
    for axes, (title, held, variant) in zip(panels, drawn, strict=True):
        space_bars(axes, held)
        _partition_borders(axes, variant, most)
        axes.set_title(title, fontsize=9)
        axes.set(xlim=(0, max(len(row[0]) for _, row, _ in drawn)), ylim=(0, most), yticks=[0, most], ylabel="pages")
    panels[-1].set_xlabel("erase block")
    thousands(panels[-1].xaxis)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return svg_text(figure, "space-map")


def _partition_borders(axes: Axes, variant: VariantSummary, most: int) -> None:
    """Where several mounts share the chip: a line where the partition of each begins, and its directory."""
    begins = {mount["at"]: mount["first_block"] for mount in variant.get("mounts", [])}
    of_partitions = [(at, first) for at, first in begins.items() if first is not None]
    origin = min((first for _, first in of_partitions), default=0)
    for at, first in of_partitions:
        axes.axvline(first - origin, color="black", linewidth=1.2)
        plain = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
        axes.annotate(at, (first - origin + 0.8, most * 0.95), fontsize=8, va="top", bbox=plain)


def space_bars(axes: Axes, held: list[Pages]) -> None:
    """A bar a block: what is valid, invalid and free in it, one on top of the other; blocks alike in one piece."""
    stacked = np.cumsum(np.vstack([np.zeros(len(held[0])), *held]), axis=0)
    starts = np.concatenate([[0], np.flatnonzero(np.any(np.diff(stacked), axis=0)) + 1])
    edges = np.append(starts, len(held[0]))
    for below, above, (_, label, tint) in zip(stacked, stacked[1:], SPACE_KINDS, strict=False):
        axes.stairs(above[starts], edges, baseline=below[starts], fill=True, color=tint, label=label)


def energy_by_rail(variants: list[VariantSummary]) -> str | None:
    """Stacked bars: energy above idle per variant and supply rail."""
    if not have_energy(variants):
        return None
    figure = new_figure(0.9 + _rows_inches(variants))
    axes = figure.add_subplot()
    y = np.arange(len(variants))
    left = np.zeros(len(variants))
    for i, (rail, label) in enumerate(RAILS):
        energy = np.array([energy_mj(variant, rail) or 0.0 for variant in variants])
        axes.barh(y, energy, left=left, color=colour(i), label=label, height=0.6)
        left += energy
    _variant_rows(axes, variants)
    axes.set(xlabel="energy above idle, mJ", xlim=(0, 1.02 * left.max()))
    thousands(axes.xaxis)
    return svg_text(figure, "energy", axes, 2)


# ---- helpers ------------------------------------------------------------------------------------------------


def _calls(run: Run) -> list[tuple[str, NDArray[np.generic], NDArray[np.generic]]]:
    """(variant, start in us, latency in us) of each of the first variants that made calls."""
    columns = run.request_columns
    # As objects the names stand there once; as text of numpy's each row would hold a copy.
    names = np.asarray(columns["variant"], dtype=object)
    start, latency = np.asarray(columns["start_us"]), np.asarray(columns["latency_us"])
    drawn = [variant["name"] for variant in run.summary["variants"]][:VARIANTS_MAX]
    chosen = [(name, names == name) for name in drawn]
    return [(name, start[mask], latency[mask]) for name, mask in chosen if mask.any()]


def _rows_inches(variants: list[VariantSummary]) -> float:
    """Height of the bars of all variants, so that their names, an axis a line, have room."""
    return len(variants) * max(0.3, 0.1 + 0.13 * max(_name(variant).count("\n") + 1 for variant in variants))


def _variant_rows(axes: Axes, variants: list[VariantSummary]) -> None:
    """Rows of bars with the names of the variants, the first one on top."""
    axes.set_yticks(range(len(variants)), [_name(variant) for variant in variants], fontsize=8)
    axes.set_ylim(len(variants) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _name(variant: VariantSummary) -> str:
    """The name of a variant, an axis a line; a run without axes needs none."""
    return "" if variant["name"] == "base" else str(variant["name"]).replace(", ", "\n")


def _count(variant: VariantSummary, counter: Operation, task: str, reason: str, colours: dict[str, str]) -> int:
    return sum(
        cause[counter]
        for cause in variant["by_cause"]
        if cause["task"] == task and (cause["reason"] if cause["reason"] in colours else FURTHER) == reason
    )
