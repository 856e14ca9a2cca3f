"""All variants of a run as data of a page: their axes and figures, for the table, comparisons and charts of any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ffslab.answers.summary import VariantSummary
from ffslab.report.page import Drawn, KeyFigure, table
from ffslab.text.durations import duration
from ffslab.text.energy import energy_mj
from ffslab.text.summary import ROWS
from ffslab.text.tables import number, percent
from ffslab.text.time_table import axis_texts

DATA = "variants"
# Pictures of a variant are made of so many at most; the table and the chart of any two figures hold all.
DRAWN_MAX = 8
# Figures of which less is better. Of the others nobody can say.
COSTS = ("virtual time", "latency", "page", "block erases", "OOB", "chip busy", "amplification", "erases per", "energy")


def varying(variants: Sequence[VariantSummary]) -> list[str]:
    """The axes, those alone that have several values."""
    axes = list(variants[0]["axes"])
    return [axis for axis in axes if len(set(axis_texts(variants, axis))) > 1] or axes


def figures(variants: Sequence[VariantSummary]) -> list[tuple[str, list[float | None], int]]:
    """Name, value of each variant and digits of each figure that somebody has."""
    rows = [(label, [value_of(one) for one in variants], digits) for label, value_of, digits in ROWS]
    return [row for row in rows if any(row[1])]


def data(variants: Sequence[VariantSummary]) -> dict[str, object]:
    """What scripts know of the variants."""
    rows = figures(variants)
    differing = [label for label, values, _ in rows if len(set(values)) > 1] or [label for label, _, _ in rows]
    upwards = next((one for one in ("latency mean, us", "virtual time, ms") if one in differing), differing[0])
    others = [one for one in differing if one != upwards] or differing
    # One of which dots stand side by side: of three different values there would be three columns of them.
    spread = {label: len(set(values)) for label, values, _ in rows}
    wanted = [one for one in ("energy total, mJ", "block erases", "page programs") if one in others]
    across = next((one for one in wanted if spread[one] >= min(12, len(variants) / 3)), (*wanted, *others)[0])
    axes = [
        {"label": axis, "values": _plain(variants, axis)} for axis in varying(variants)
    ]  # fmt: skip
    return {
        "names": [one["name"] for one in variants],
        "axes": axes,
        "figures": [
            {"label": label, "digits": digits, "values": values, "less": label.startswith(COSTS)}
            for label, values, digits in rows
        ],
        "extremes": [one["name"] for one in extremes(variants)],
        "across": across,
        "upwards": upwards,
        "colour": axes[0]["label"] if axes else None,
    }


def listed(variants: Sequence[VariantSummary]) -> Drawn:
    """A row for each variant: its axes, then every figure that differs; sorted, filtered, pinned and compared."""
    axes = varying(variants)
    rows = [row for row in figures(variants) if len(set(row[1])) > 1]
    head = [*axes, *(label for label, _, _ in rows)]
    texts = [axis_texts(variants, axis) for axis in axes]
    cells = [
        [*(column[at] for column in texts), *(number(values[at], digits) for _, values, digits in rows)]
        for at in range(len(variants))
    ]
    align = "l" * len(axes) + "r" * len(rows)
    return Drawn(table(head, cells, align=align, variants=DATA), {DATA: data(variants)})


def extremes(variants: Sequence[VariantSummary]) -> list[VariantSummary]:
    """The variant that takes least and the one that takes most: of mean latency, or of time where calls have none."""
    cost = _latency if all(_latency(one) for one in variants) else _time
    pair = [min(variants, key=cost), max(variants, key=cost)]
    return pair if pair[0] is not pair[1] else []


def chosen(variants: Sequence[VariantSummary]) -> list[VariantSummary]:
    """Of many variants those that stand for all: the first, and the extremes of latency, energy, wear and time."""
    if len(variants) <= DRAWN_MAX:
        return list(variants)
    costs: list[Callable[[VariantSummary], float]] = [_latency, _energy, _wear, _time]
    found = [variants[0]]
    for cost in costs:
        found += [min(variants, key=cost), max(variants, key=cost)]
    names = list(dict.fromkeys(one["name"] for one in found))[:DRAWN_MAX]
    return [one for one in variants if one["name"] in names]


def chosen_said(drawn: int, of: int) -> str:
    """What `chosen` did, as a sentence; nothing when all are there."""
    if drawn == of:
        return ""
    return (
        f" Of {of:,} variants these {drawn}: the first, and those with least and most latency, energy, wear and time."
    )


def key_figures(variants: Sequence[VariantSummary]) -> list[KeyFigure]:
    """The three numbers of the first screen: how slow, how much energy, how much wear, as far as they are known."""
    wanted: list[tuple[str, Callable[[VariantSummary], float | None], Callable[[float], str]]] = [
        ("Mean latency of a call", lambda v: v["latency_us"]["mean"], duration),
        ("Energy above idle", energy_mj, lambda mj: f"{number(mj, 2)} mJ"),
        ("Block erases", lambda v: v["totals"]["erases"], lambda n: number(n, 0)),
        ("Page programs", lambda v: v["totals"]["page_programs"], lambda n: number(n, 0)),
        ("Page reads", lambda v: v["totals"]["page_reads"], lambda n: number(n, 0)),
        ("Virtual time", _time, duration),
    ]
    made = []
    for label, value_of, said in wanted:
        values = [value_of(one) for one in variants]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and any(known):
            made.append(_key_figure(label, variants, known, said))
    return made[:3]


def _key_figure(
    label: str, variants: Sequence[VariantSummary], values: list[float], said: Callable[[float], str]
) -> KeyFigure:
    if len(values) == 1:
        return KeyFigure(label, said(values[0]), _beside(label, variants[0]))
    names = [one["name"] for one in variants]
    if len(values) == 2:
        change = percent(values[1] / values[0] - 1) if values[0] else ""
        beside = f"{said(values[1])} with {names[1]}, {said(values[0])} with {names[0]}"
        return KeyFigure(label, change or said(values[1]), beside)
    least, most = min(values), max(values)
    if least == most:
        return KeyFigure(label, said(least), f"the same in all {len(values):,} variants")
    where = [names[values.index(one)] for one in (least, most)]
    return KeyFigure(label, f"{said(least)} to {said(most)}", f"least with {where[0]}, most with {where[1]}")


def _beside(label: str, variant: VariantSummary) -> str:
    """What a number of the only variant may be compared with."""
    latency, totals = variant["latency_us"], variant["totals"]
    p99, longest = latency["p99"], latency["max"]
    if label.startswith("Mean") and p99 is not None and longest is not None:
        return f"one in a hundred takes {duration(p99)} or more, the slowest {duration(longest)}"
    if label.startswith("Energy") and variant["energy_uJ"]:
        return f"{100 * variant['energy_uJ']['cpu'] / variant['energy_uJ']['total']:.0f} % of it the CPU's"
    if label.startswith("Block") and variant["erases_per_block"]["mean"]:
        return f"{variant['erases_per_block']['mean']:.3g} times each block on average"
    if label == "Page programs" and variant["write_amplification"]:
        return f"{number(variant['write_amplification'], 2)} times the bytes that the program wrote"
    if label == "Page reads" and variant["read_amplification"]:
        return f"{number(variant['read_amplification'], 2)} times the bytes that the program asked for"
    if label == "Virtual time" and totals["busy_us"]:
        return f"the chip is busy {100 * totals['busy_us'] / variant['time_us']:.0f} % of it"
    return f"in {duration(variant['time_us'])} of virtual time"


def _plain(variants: Sequence[VariantSummary], axis: str) -> list[object]:
    """The values of an axis: numbers as they are, others as texts."""
    values = [one["axes"][axis] for one in variants]
    return [
        value if isinstance(value, int | float) and not isinstance(value, bool) else text
        for value, text in zip(values, axis_texts(variants, axis), strict=True)
    ]


def _latency(variant: VariantSummary) -> float:
    return variant["latency_us"]["mean"] or 0.0


def _energy(variant: VariantSummary) -> float:
    return energy_mj(variant) or 0.0


def _wear(variant: VariantSummary) -> float:
    return variant["erases_per_block"]["mean"]


def _time(variant: VariantSummary) -> float:
    return variant["time_us"]
