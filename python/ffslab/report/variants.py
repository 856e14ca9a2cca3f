"""All variants of a run as data of a page: their axes and figures, for the table, comparisons and charts of any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ffslab.answers.summary import VariantSummary
from ffslab.report.page import Drawn, table
from ffslab.text.energy import energy_is_priced, energy_mj
from ffslab.text.figures import Figure, Place, Told, table_of
from ffslab.text.time_table import axis_texts

DATA = "variants"
# Pictures of a variant are made of so many at most; the table and the chart of any two figures hold all.
DRAWN_MAX = 8


def varying(variants: Sequence[VariantSummary]) -> list[str]:
    """The axes, those alone that have several values."""
    axes = list(variants[0]["axes"])
    return [axis for axis in axes if len(set(axis_texts(variants, axis))) > 1] or axes


def figures(variants: Sequence[VariantSummary]) -> list[Told]:
    """Each figure that somebody has, with the value of each variant."""
    return [told for told in table_of(variants, Place.PAGE) if any(told.values)]


def data(variants: Sequence[VariantSummary]) -> dict[str, object]:
    """What scripts know of the variants; their figures are in the units that the page shows."""
    rows = figures(variants)
    differing = [row for row in rows if len(set(row[1])) > 1] or rows
    by_key = {figure.key: (figure, values) for figure, values, _ in differing}
    first = next((key for key in ("latency_mean_us", "time_us") if key in by_key), differing[0][0].key)
    others = [key for key in by_key if key != first] or [first]
    # One of which dots stand side by side: of three different values there would be three columns of them.
    spread = {key: len(set(values)) for key, (_, values) in by_key.items()}
    wanted = [key for key in ("energy_total_uJ", "erases", "page_programs") if key in others]
    across = next((key for key in wanted if spread[key] >= min(12, len(variants) / 3)), (*wanted, *others)[0])
    axes = [{"label": axis, "values": _plain(variants, axis)} for axis in varying(variants)]
    return {
        "names": [one["name"] for one in variants],
        "axes": axes,
        "figures": [_data_of(figure, values) for figure, values, _ in rows],
        "extremes": [one["name"] for one in extremes(variants)],
        "across": _label(*by_key[across]),
        "upwards": _label(*by_key[first]),
        "colour": "fs" if any(one["label"] == "fs" for one in axes) else axes[0]["label"] if axes else None,
    }


def _label(figure: Figure, values: Sequence[float | None]) -> str:
    return figure.unit(values).labelled(figure.name)


def _data_of(figure: Figure, values: Sequence[float | None]) -> dict[str, object]:
    unit = figure.unit(values)
    scaled = [value if value is None or unit.size == 1 else value / unit.size for value in values]
    return {"label": unit.labelled(figure.name), "digits": unit.digits, "values": scaled, "better": figure.better}


def listed(variants: Sequence[VariantSummary]) -> Drawn:
    """A row for each variant: its axes, then every figure that differs; sorted, filtered, pinned and compared."""
    axes = varying(variants)
    rows = [told.row() for told in figures(variants) if len(set(told.values)) > 1]
    head = [*axes, *(label for label, *_ in rows)]
    columns = [*(axis_texts(variants, axis) for axis in axes), *(cells for _, *cells in rows)]
    cells = [[column[at] for column in columns] for at in range(len(variants))]
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
    return (energy_mj(variant) or 0.0) if energy_is_priced(variant) else 0.0


def _wear(variant: VariantSummary) -> float:
    return variant["erases_per_block"]["mean"]


def _time(variant: VariantSummary) -> float:
    return variant["time_us"]
