"""Lifetimes for a terminal: a table, what dominates, what the years mean."""

from __future__ import annotations

from ffslab.answers.lifetime import Lifetime, WorkloadLife, Years
from ffslab.text.durations import duration
from ffslab.text.tables import counted, number, text_table

CAUSES_SHOWN = 4
NO_ERASE = "no erase"
TOO_SHORT = "too short"


HEAD = [
    "workload",
    "erases a day",
    "per block: mean",
    "median",
    "95 %",
    "most",
    "levelled, years",
    "busiest block, years",
]
ALIGN = "l" + "r" * 7


def text(facts: Lifetime) -> str:
    """A table of the workloads, and what dominates in each."""
    below = []
    for row in facts["workloads"]:
        first, *others = said(row)
        below += ["", f"{named(row)}: {first}", *(f"  {line}" for line in others)]
    return "\n".join([facts["start"], facts["machine"], "", text_table(HEAD, cells(facts), ALIGN), *below])


def cells(facts: Lifetime) -> list[list[str]]:
    """A row for each workload, under `HEAD`."""
    rows = []
    for row in facts["workloads"]:
        if row["needs_us"] is not None:
            rows.append([named(row), *["-"] * 5, TOO_SHORT, TOO_SHORT])
            continue
        spread, lives = row["erases_per_block_per_day"], row["lifetime_years"]
        blocks = [number(erases, 2) for erases in (spread["mean"], spread["p50"], spread["p95"], spread["max"])]
        without = "not known" if row["kind"] == "past" else NO_ERASE
        years = [_years(lives["levelled"]), _years(lives["busiest_block"], without)]
        rows.append([named(row), number(row["erases_per_day"]["all_blocks"]), *blocks, *years])
    return rows


def named(row: WorkloadLife) -> str:
    """What a workload is called, with its variant if it has several."""
    return row["workload"] if row["variant"] == "base" else f"{row['workload']} ({row['variant']})"


def said(row: WorkloadLife) -> list[str]:
    """What there is to know of a workload, a line each: how often it happens first."""
    top = [cause for cause in row["causes"] if cause["share_of_programs"] > 0][:CAUSES_SHOWN]
    causes = ", ".join(f"{cause['cause']} {cause['share_of_programs'] * 100:.0f} %" for cause in top)
    dominated = f"dominated by (share of page programs): {causes or 'nothing is programmed'}"
    lines = [
        _often(row),
        *([] if row["kind"] == "past" else [dominated]),
        f"endurance {number(row['endurance_erases'])} erases ({row['endurance_source']}); worn so far: "
        f"mean {number(row['worn']['mean'])}, most {number(row['worn']['max'], 0)} ({row['wear_said_by']})",
        f"intervals of 95 %: {row['uncertainty']}",
    ]
    if row["of_setup"]:
        totals = row["of_setup"]["totals"]
        lines.append(
            f"of the setup, taken off: {counted(totals['page_programs'], 'page program')} and "
            f"{counted(totals['erases'], 'erase')} for what it had left in memory"
        )
    if row["formatting_erases"]:
        erases = counted(round(row["formatting_erases"]), "erase")
        lines.append(f"not in it: {erases} that made the new partition usable, once in its life")
    return [*lines, *row["said"], *([row["verdict"]["said"]] if row["verdict"] else [])]


def _often(row: WorkloadLife) -> str:
    """How often it happens, and how long it takes."""
    if row["kind"] == "past":
        return f"{counted(round(row['erases']), 'erase')} in {duration(row['time_us'])} of use"
    return f"{number(row['times_per_day'], 2)} times a day, {duration(row['time_us'])} each"


def _years(life: Years | None, without: str = NO_ERASE) -> str:
    if life is None or life["estimate"] is None:
        return without
    high = "-" if life["high"] is None else f"{life['high']:,.3g}"
    return f"{life['estimate']:,.3g} ({life['low'] or 0:,.3g} to {high})"
