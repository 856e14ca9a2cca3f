"""The page of reckoned lifetimes: between what the years lie, whom the blocks are erased for, which blocks wear."""

from __future__ import annotations

import numpy as np

from ffslab._native import __version__
from ffslab.answers.lifetime import Lifetime, WorkloadLife
from ffslab.report.bars import Piece, Row, bars
from ffslab.report.blocks import maps
from ffslab.report.charts import Axis, Line, chart, wants_log
from ffslab.report.page import Drawn, KeyFigure, Opening, bullets, page, paragraph, section, table
from ffslab.studies.lifetime.text import ALIGN, HEAD, cells, named, said
from ffslab.text.tables import few, number

# Workloads of which each has a line or a map.
DRAWN_MAX = 8
# Of more workloads than this the table tells, and those that last shortest are told in full.
TOLD_MAX = 12
CAUSES_MAX = 7


def html(facts: Lifetime) -> str:
    """The whole page."""
    rows = facts["workloads"]
    drawn = rows[:DRAWN_MAX]
    some = f" The first {len(drawn)} of {number(len(rows))} workloads." if len(drawn) < len(rows) else ""
    told = sorted(rows, key=_least_years)[:TOLD_MAX] if len(rows) > TOLD_MAX else rows
    shortest = f"The {len(told)} that last shortest are told below." if len(told) < len(rows) else ""
    head = ["Erases of a day, the most worn block to the left: level is what levels wear.", some]
    parts = [
        section("Workloads", paragraph(shortest) + table(HEAD, cells(facts), align=ALIGN)),
        section("How even the wear is", [paragraph("".join(head)), spread]) if (spread := _spread(drawn)) else None,
        section("Erases of each block", [paragraph(f"Erases a day.{some}"), _map(drawn)]),
        section("Why pages are programmed", _causes(drawn)),
        *(section(named(row), bullets([_sentence(line) for line in said(row)])) for row in told),
        section("The data", paragraph("`ffslab lifetime --json` prints all of this, erases_per_day of each block.")),
    ]
    setting = f"Begins with {facts['start']}. Reckoned by ffslab {__version__} from erases of one repetition."
    opening = Opening(
        "How long does it last?", setting, _answer(rows), _key_figures(rows), _years(rows), facts["machine"]
    )
    return page("How long it lasts", parts, opening)


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}" if line else ""


def _estimates(row: WorkloadLife) -> tuple[float | None, float | None]:
    """Years of the busiest block, and of all blocks worn alike; `None`: without end, or not known."""
    busiest = row["lifetime_years"]["busiest_block"]
    return None if busiest is None else busiest["estimate"], row["lifetime_years"]["levelled"]["estimate"]


def _least_years(row: WorkloadLife) -> float:
    return min((one for one in _estimates(row) if one is not None), default=float("inf"))


def _shortest(rows: list[WorkloadLife]) -> WorkloadLife:
    """The one that lasts shortest; one that was seen too shortly may be that."""
    return next((row for row in rows if row["needs_us"] is not None), min(rows, key=_least_years))


def _answer(rows: list[WorkloadLife]) -> str:
    """Between what the shortest lifetime lies, in a sentence."""
    if not rows:
        return "No workload was given."
    row = _shortest(rows)
    if short := [row for row in rows if row["needs_us"] is not None]:
        return f"{named(short[0])} is {short[0]['said'][-1]}"
    if row["verdict"]:
        return f"{named(row)}: {row['verdict']['said']}"
    low, high = _estimates(row)
    if high is None:
        return f"{named(row)} erases nothing in the time that was looked at: nothing wears out."
    if low is None or low == high:
        return f"{named(row)}: {high:,.3g} years, if all blocks share the erases."
    which = "" if len(rows) == 1 else f" The shortest of {number(len(rows))}."
    return (
        f"{named(row)}: between {low:,.3g} years, if the busiest block goes on like that, and {high:,.3g} years, if "
        f"all blocks share the erases.{which}"
    )


def _key_figures(rows: list[WorkloadLife]) -> list[KeyFigure]:
    if not rows:
        return []
    row = _shortest(rows)
    low, high = _estimates(row)
    spread, bears = row["erases_per_block_per_day"], number(row["endurance_erases"])
    known = row["lifetime_years"]["levelled"]
    most = " or more" if known["high"] is None else f" to {few(known['high'])}"
    interval = f"95 %: {few(known['low'] or 0)}{most}"
    return [
        KeyFigure(
            "Years, busiest block", "-" if low is None else f"{low:,.3g}", f"nothing dies sooner; {bears} erases"
        ),
        KeyFigure(
            "Years, all blocks alike", "-" if high is None else f"{high:,.3g}", f"nothing lives longer; {interval}"
        ),
        KeyFigure(
            "Erases a day",
            few(row["erases_per_day"]["all_blocks"]),
            f"mean block {few(spread['mean'])}, busiest {few(spread['max'])}",
        ),
    ]


def _years(rows: list[WorkloadLife]) -> Drawn | None:
    """Both ends of the lifetime of each workload, with their intervals."""
    lines = []
    for key, label, ink in (("levelled", "all blocks alike", "s2"), ("busiest_block", "busiest block", "s1")):
        found = [(at, row["lifetime_years"][key]) for at, row in enumerate(rows)]  # type: ignore[literal-required]
        known = [(at, years) for at, years in found if years is not None and years["estimate"] is not None]
        for end, name, size in (
            ("estimate", label, 11),
            ("low", f"{label}: 95 %, low", 5),
            ("high", f"{label}: 95 %, high", 5),
        ):
            ends = [(at, years[end]) for at, years in known if years[end] is not None]
            if ends:
                at, values = zip(*ends, strict=True)
                lines.append(Line(name, at, values, "dots", {"colour": ink, "size": size}))
    if not lines:
        return None
    y = Axis("years", log=wants_log([line.y for line in lines]))
    return chart("years", "", Axis("workload", ticks=[named(row) for row in rows]), y, lines, 17)


def _spread(drawn: list[WorkloadLife]) -> Drawn | None:
    """The erases a day of the blocks, in order."""
    lines = []
    for row in drawn:
        ordered = -np.sort(-np.asarray(row["erases_per_day"]["by_block"], dtype=float))
        if ordered.any():
            lines.append(Line(named(row), np.arange(1, len(ordered) + 1), ordered, "line"))
    if not lines:
        return None
    return chart(
        "spread", "", Axis("blocks, most worn first", "block", linear=True), Axis("erases a day", "erases"), lines, 16
    )


def _map(drawn: list[WorkloadLife]) -> Drawn:
    shown = [
        {
            "name": named(row),
            "metrics": [
                {"label": "erases a day", "values": [float(f"{one:.4g}") for one in row["erases_per_day"]["by_block"]]}
            ],
        }
        for row in drawn
    ]
    return maps("blocks", shown, "Workload")


def _causes(drawn: list[WorkloadLife]) -> str:
    """Of each workload the shares of causes."""
    sums: dict[str, float] = {}
    for row in drawn:
        for cause in row["causes"]:
            sums[cause["cause"]] = sums.get(cause["cause"], 0.0) + cause["share_of_programs"]
    order = sorted(sums, key=lambda cause: -sums[cause])[:CAUSES_MAX]
    made = []
    for row in drawn:
        shares = {cause["cause"]: cause["share_of_programs"] for cause in row["causes"]}
        pieces = [
            Piece(cause, f"s{at}", shares[cause], f"{shares[cause] * 100:.1f} %")
            for at, cause in enumerate(order)
            if shares.get(cause)
        ]
        rest = sum(share for cause, share in shares.items() if cause not in order)
        pieces += [Piece("all others", "further", rest, f"{rest * 100:.1f} %")] if rest else []
        made.append(Row(named(row), pieces))
    return bars(made)
