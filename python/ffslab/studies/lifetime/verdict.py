"""What years follow from erases, whether they are enough, and how far the reckoning reaches, in words."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ffslab.answers.lifetime import ErasesPerBlockPerDay, Lifetime, Verdict, WorkloadLife, Years
from ffslab.text.durations import DAYS_PER_YEAR, duration
from ffslab.text.tables import at_most, counted, few, number

# A number for each erase block.
Blocks: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

DAY_US = 86_400e6
# Fewer erases than this say little of how many there will be.
FEW_ERASES = 10


def years(budget: float, counts: tuple[float, float, float], often: float) -> Years:
    """How long erases last that are left, when so many happen at each time, `often` times a day.

    `counts`: the low end of their interval, the estimate, the high end.
    """
    low, estimate, high = (budget / (count * often) / DAYS_PER_YEAR if count > 0 else None for count in counts)
    return {"estimate": estimate, "low": high, "high": low}


def spread(per_block: Blocks) -> ErasesPerBlockPerDay:
    """How the erases of a day are spread over the blocks."""
    p5, p50, p95 = (float(np.percentile(per_block, q)) for q in (5, 50, 95))
    return {"mean": float(per_block.mean()), "p5": p5, "p50": p50, "p95": p95, "max": float(per_block.max(initial=0))}


def judged(facts: Lifetime, wanted_years: float | None) -> Lifetime:
    """The facts with what they mean: the reach of the reckoning in sentences, and a verdict where one was asked for."""
    rows: list[WorkloadLife] = []
    for row in facts["workloads"]:
        if row["needs_us"] is not None:
            rows.append(_too_short(row, row["needs_us"], wanted_years))
            continue
        verdict = None if wanted_years is None else _verdict(row, wanted_years)
        rows.append({**row, "said": _reach(row), "verdict": verdict})
    return {**facts, "workloads": rows}


def _too_short(row: WorkloadLife, needs_us: float, wanted_years: float | None) -> WorkloadLife:
    """A row without years: a longer look would turn them round."""
    blocks = counted(len(row["erases_per_day"]["by_block"]), "block")
    said = (
        f"too short: {counted(round(row['erases']), 'erase')} of {blocks} in {duration(row['time_us'])} tell no years, "
        f"because garbage collection has not gone round: this needs about {duration(needs_us)} of the workload. "
        "Without `--reckon` it is lived."
    )
    verdict: Verdict | None = None
    if wanted_years is not None:
        wanted = f"{number(wanted_years, 0 if wanted_years.is_integer() else 1)} years"
        verdict = {"wanted_years": wanted_years, "answer": "too short", "said": f"{wanted}: not known."}
    unknown: Years = {"estimate": None, "low": None, "high": None}
    return {
        **row,
        "lifetime_years": {"levelled": unknown, "busiest_block": None},
        "said": [*_too_often(row), said],
        "verdict": verdict,
    }


def _busiest(row: WorkloadLife) -> Years | None:
    return row["lifetime_years"]["busiest_block"]


def _verdict(row: WorkloadLife, wanted: float) -> Verdict:
    levelled, busiest = row["lifetime_years"]["levelled"], _busiest(row)
    text = f"{number(wanted, 0 if wanted.is_integer() else 1)} years"
    most, least = levelled["low"], busiest["low"] if busiest is not None else None
    if levelled["estimate"] is None:
        if row["kind"] == "workload" and not row["causes"]:
            return {"wanted_years": wanted, "answer": "yes", "said": f"{text}: yes, nothing is programmed."}
        if most is not None and most < wanted:
            why = f"nothing was erased, but with what so short a time could miss it lasts {number(most)} years"
            return {"wanted_years": wanted, "answer": "open", "said": f"{text}: open, {why}."}
        return {"wanted_years": wanted, "answer": "yes", "said": f"{text}: yes, nothing is erased."}
    if levelled["high"] is not None and levelled["high"] < wanted:
        why = "not even if all blocks shared the erases evenly"
        return {"wanted_years": wanted, "answer": "no", "said": f"{text}: no, {why}."}
    if least is not None and least >= wanted:
        why = "even the block that is erased most lasts longer if it goes on like that"
        return {"wanted_years": wanted, "answer": "yes", "said": f"{text}: yes, {why}."}
    if most is not None and most >= wanted:
        why = f"it holds if no block is erased more than {number(most / wanted, 1)} times as often as the mean"
        return {"wanted_years": wanted, "answer": "open", "said": f"{text}: open, {why}."}
    why = "it lies within the interval of what evenly shared erases would last"
    return {"wanted_years": wanted, "answer": "open", "said": f"{text}: open, {why}."}


def _too_often(row: WorkloadLife) -> list[str]:
    """What is wrong if a day is too short for what is to happen in it."""
    often, fits = row["times_per_day"], DAY_US / row["time_us"]
    # Who asks for 86.4 times a day of 1,000 s means all of the day, and a run takes a little longer than its pauses.
    if often <= 1.01 * fits:
        return []
    return [
        f"{few(often)} times a day are more than fit: it takes {duration(row['time_us'])}, so {at_most(fits)} "
        "times fill a day. The years are for what was asked: give --per-day what the device does, or leave it out."
    ]


def _reach(row: WorkloadLife) -> list[str]:
    """How far the years are from what was seen, and what may lie in between."""
    levelled, erases = row["lifetime_years"]["levelled"]["estimate"], row["erases"]
    seen = duration(row["time_us"])
    too_often = _too_often(row)
    if levelled is None:
        return [
            *too_often,
            f"In the {seen} that were seen nothing was erased, which says only that the erases of so short a time are "
            "still to come: let the workload go on until blocks are erased.",
        ]
    share = levelled * DAYS_PER_YEAR * row["times_per_day"]
    said = [
        *too_often,
        f"The {number(levelled, 1)} years are {number(share, 0)} times what was seen "
        f"({counted(round(erases), 'erase')} in {seen}): they hold as long as the workload and how full "
        "the partition is stay as they are.",
    ]
    if erases < FEW_ERASES:
        said.append(f"So few erases ({number(erases, 0)}) tell little: a longer workload makes the interval narrower.")
    busiest = _busiest(row)
    if busiest is None:
        said.append("Which block is erased most is not known, so this is the longest that the part can last.")
    elif busiest["estimate"] is not None and erases < len(row["erases_per_day"]["by_block"]):
        said.append(
            "Not every block had its turn: the busiest block's years are too dark where it only was first, the "
            "levelled ones too bright where data that never changes keep blocks out of the turn."
        )
    return said
