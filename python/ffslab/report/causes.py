"""Bars of a run: where the time went, why the flash was used, what took energy. A reason has one colour in a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ffslab.answers import Operation
from ffslab.answers.summary import VariantSummary
from ffslab.report.bars import Piece, Row, bars
from ffslab.text.causes import titles
from ffslab.text.durations import duration
from ffslab.text.energy import energy_mj, have_energy
from ffslab.text.quoting import escape
from ffslab.text.tables import number
from ffslab.text.time_table import CPU, IDLE, PROGRAM, asked_for, at_work_us, spent
from ffslab.text.units import said

KINDS: tuple[tuple[Operation, str], ...] = (
    ("page_reads", "Page reads"),
    ("page_programs", "Page programs"),
    ("erases", "Erases"),
)
RAILS: tuple[tuple[Literal["cpu", "memory"], str, str], ...] = (
    ("cpu", "CPU rail", "s0"),
    ("memory", "memory rail", "s1"),
)
# Why the flash was used has colours, what takes time without it greys, background tasks hatches.
REASON_COLOURS = ("s0", "s1", "s2", "s3", "s4", "s5", "s6")
WITHOUT_FLASH = {CPU: "cpu", PROGRAM: "program", IDLE: "idle"}
FURTHER, FURTHER_COLOUR = "further causes", "further"


def reason_colours(variants: Sequence[VariantSummary]) -> dict[str, str]:
    """The reasons that took the most time, what was asked for first: each has one colour in the whole page."""
    largest: dict[str, float] = {}
    for variant in variants:
        for name, us in spent(variant).items():
            largest[name] = max(largest.get(name, 0.0), us)
    asked = frozenset().union(*(asked_for(variant) for variant in variants))
    reasons = sorted((name for name in largest if name not in WITHOUT_FLASH), key=lambda name: -largest[name])
    shown = sorted(reasons[: len(REASON_COLOURS)], key=lambda name: name not in asked)
    return dict(zip(shown, REASON_COLOURS, strict=False))


def time_bars(variants: Sequence[VariantSummary], colours: Mapping[str, str]) -> str:
    """Virtual time of each variant, split by reason; the smallest reasons are put together.

    Where a bar would be mostly idle time, which says nothing of the flash, that is a number beside the bars.
    """
    is_beside = 0 < max(map(at_work_us, variants)) < max(variant["idle_us"] for variant in variants)
    rows = []
    for variant in variants:
        parts = spent(variant)
        further = sum(us for name, us in parts.items() if name not in WITHOUT_FLASH and name not in colours)
        times = [(name, colour, parts.get(name, 0.0)) for name, colour in colours.items()]
        times.append((FURTHER, FURTHER_COLOUR, further))
        times += [(name, colour, parts.get(name, 0.0)) for name, colour in WITHOUT_FLASH.items()]
        shown = [(name, colour, us) for name, colour, us in times if us and not (is_beside and name == IDLE)]
        total = sum(us for _, _, us in shown)
        pieces = [Piece(name, colour, us, f"{duration(us)}, {_share(us, total)}") for name, colour, us in shown]
        idle = f" and {duration(variant['idle_us'])} idle" if is_beside and variant["idle_us"] else ""
        rows.append(Row(variant["name"], pieces, f"{duration(total)}{idle}"))
    return bars(rows)


def operation_bars(variants: Sequence[VariantSummary], colours: Mapping[str, str]) -> str:
    """Reads, programs and erases of each variant, split by reason and task."""
    drawn = []
    for counter, label in KINDS:
        rows = [Row(one["name"], _pieces(one, counter, colours), number(one["totals"][counter])) for one in variants]
        if made := bars(rows):
            drawn.append(f"<h3>{escape(label)}</h3>\n{made}")
    return "\n".join(drawn)


def _pieces(variant: VariantSummary, counter: Operation, colours: Mapping[str, str]) -> list[Piece]:
    title_of = titles(variant)
    counts: dict[tuple[str, str], int] = {}
    for cause in variant["by_cause"]:
        reason = cause["reason"] if cause["reason"] in colours else FURTHER
        key = reason, "" if cause["task"] == "caller" else f"by {title_of[cause['task']]}"
        counts[key] = counts.get(key, 0) + cause[counter]
    order = {reason: at for at, reason in enumerate(colours)}
    total = sum(counts.values())
    return [
        Piece(reason, colours.get(reason, FURTHER_COLOUR), count, f"{number(count)}, {_share(count, total)}", behind)
        for (reason, behind), count in sorted(counts.items(), key=lambda one: (order.get(one[0][0], 99), one[0][1]))
        if count
    ]


def energy_bars(variants: Sequence[VariantSummary]) -> str:
    """Energy above idle of each variant by supply rail."""
    if not have_energy(variants):
        return ""
    rows = []
    for variant in variants:
        rails = [(label, colour, 1e3 * (energy_mj(variant, rail) or 0.0)) for rail, label, colour in RAILS]
        total = sum(uj for _, _, uj in rails)
        pieces = [Piece(label, colour, uj, f"{said('energy', uj)}, {_share(uj, total)}") for label, colour, uj in rails]
        rows.append(Row(variant["name"], pieces, said("energy", total)))
    return bars(rows)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
