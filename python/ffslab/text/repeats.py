"""Variants that were run several times: how much their figures differ."""

from __future__ import annotations

from ffslab.answers.summary import Repeated, Spread, Summary
from ffslab.steady import variant_needs_us
from ffslab.text.durations import duration
from ffslab.text.energy import have_energy
from ffslab.text.figures import TOO_SHORT, Place, at
from ffslab.text.units import Unit


def repeats_cells(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a row for each figure of each variant; what is 0 in all of its runs is left out."""
    head = ["variant", "", "median", "95 % interval", "least", "most"]
    rows = []
    priced = have_energy(summary["variants"])
    for one in summary.get("repeats", []):
        name, is_short = one["name"], _is_short(one, summary)
        for figure in at(Place.REPEATS):
            spread = one["figures"].get(figure.key)
            if spread is None or not spread["most"] or (figure.key.startswith("energy_") and not priced):
                continue
            unit = figure.unit([spread["median"], spread["low"], spread["high"], spread["least"], spread["most"]])
            cells = [unit.cell(spread["median"]), _interval(spread, unit)]
            cells += map(unit.cell, (spread["least"], spread["most"]))
            if is_short and figure.steady:
                cells = [TOO_SHORT, *["-"] * (len(cells) - 1)]
            rows.append([name, unit.labelled(figure.name), *cells])
            name = ""
    return head, rows


def _is_short(one: Repeated, summary: Summary) -> bool:
    """Whether too little was seen in one of the runs of a variant."""
    runs = (variant for variant in summary["variants"] if one["axes"].items() <= variant["axes"].items())
    return any(variant_needs_us(run) is not None for run in runs)


def _interval(spread: Spread, unit: Unit) -> str:
    low, high = spread["low"], spread["high"]
    return "-" if low is None or high is None else f"{unit.cell(low)} to {unit.cell(high)}"


def repeats_said(summary: Summary) -> list[str]:
    """What the table means, and the worst of all runs."""
    repeats = summary.get("repeats")
    if not repeats:
        return []
    said = [
        "Each variant was run several times, from the second run on with other contents, places and uptimes. The 95 % "
        "interval is that of the median, from six runs on. All that follows is of the run whose time is the median."
    ]
    for one in repeats:
        worst = None if _is_short(one, summary) else one["figures"].get("latency_max_us")
        lost = f", {one['failed']} did not come to their end" if one["failed"] else ""
        slowest = f"; the slowest call of all took {duration(worst['most'])} ({one['worst']})" if worst else ""
        said.append(f"{one['name']}: {one['runs']} runs{lost}{slowest}.")
    return said
