"""Whole lives in words: what ended them, how far blocks were worn then, what a leap assumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffslab.text import units
from ffslab.text.durations import DAYS_PER_YEAR
from ffslab.text.machine_line import Seen, begun_with, line
from ffslab.text.tables import counted, number, text_table

if TYPE_CHECKING:
    from ffslab.answers.lives import VariantLife
    from ffslab.studies.lifetime.lived import Lived

# The reason of flash operations that move data for the sake of wear (`ffslab_ubi::causes`).
LEVELLING = "wear levelling"
ENDS = {
    "limit": "it still works",
    "no-spare-blocks": "no room is left, because blocks have failed",
    "full": "the partition is full",
    "read-only": "it has become read-only",
    "endurance": "a block has had its erases",
    "failed": "a call failed",
    "unworn": "it writes nothing",
    "unknown": "it was not followed to its end",
}
# What a step says that has deleted all that it may (crates/lab/src/run/looping.rs).
NOTHING_LEFT = " are left in "
HEAD = [
    "life",
    "years",
    "ends because",
    "first bad block, years",
    "bad blocks",
    "erases per block: mean",
    "5 %",
    "95 %",
    "most",
]
ALIGN = "lrlrrrrrr"


def cells(lives: Lived) -> tuple[list[str], list[list[str]]]:
    """A row for each life."""
    return HEAD, [_row(name, life) for name, life in lives.lives]


def text_of(lives: Lived) -> str:
    """The lives for a terminal."""
    head, rows = cells(lives)
    parts = [f"{lives.answer['start']}\n{machine(lives)}", text_table(head, rows, ALIGN)]
    for name, life in lives.lives:
        parts.append("\n".join([f"{name}:", *(f"  {line}" for line in said(life, lives.answer["wanted_years"]))]))
    parts += [f"Not lived, {line}" for line in failures(lives)]
    return "\n\n".join(parts)


def machine(lives: Lived) -> str:
    """On what the devices lived, and for how long."""
    seen = [
        Seen(
            life["stack"],
            begun_with(life["stack"], life["axes"], one["initial"]),
            seen_us=life["years"] * DAYS_PER_YEAR * 86_400e6,
        )
        for one in lives.answer["workloads"]
        for life in one["lives"]
    ]
    return line(seen)


def failures(lives: Lived) -> list[str]:
    """The variants whose first repetition could not be done."""
    return [
        f"{one['workload']} ({failed['name']}): {failed['error']}"
        for one in lives.answer["workloads"]
        for failed in one["failed"]
    ]


def lasts(life: VariantLife) -> bool:
    """Whether it has lived as long as was asked, or for ever."""
    return life["ended"]["by"] in ("limit", "unworn")


def is_answered(life: VariantLife, wanted_years: float | None) -> bool:
    """Whether it is known how it ends and, if that was asked, that it lasts."""
    return lasts(life) if wanted_years is not None else life["ended"]["by"] != "unknown"


def said(life: VariantLife, wanted_years: float | None) -> list[str]:
    """What a life was, in sentences."""
    return [
        *([_verdict(life, wanted_years)] if wanted_years is not None else []),
        _end(life),
        _steady(life),
        _calls(life),
        _pace(life),
        _levelled(life),
        _failing(life),
        _leaps(life),
    ]


def _row(name: str, life: VariantLife) -> list[str]:
    erases, first = life["erases"], life["first_bad_block_years"]
    worn = (erases["mean"], erases["p5"], erases["p95"], erases["max"])
    return [
        name,
        _years(life),
        ended_because(life),
        "-" if first is None else f"{first:,.3g}",
        number(life["bad_blocks"]),
        *(number(count, 0) for count in worn),
    ]


def _years(life: VariantLife) -> str:
    return f"{'over ' if lasts(life) else ''}{life['years']:,.3g}"


def _verdict(life: VariantLife, wanted_years: float) -> str:
    wanted = f"{wanted_years:,.6g} years"
    if life["ended"]["by"] == "unknown":
        known = f"{wanted}: not known, it works after {_years(life)} years"
        # Why nothing could be leapt over, which --fast would be refused for.
        error = life["ended"]["error"]
        return f"{known}. --fast follows it to its end." if error is None else f"{known}: {error}. --simulate goes on."
    return f"{wanted}: yes, it still works then." if lasts(life) else f"{wanted}: no, it lasts {_years(life)} years."


def _end(life: VariantLife) -> str:
    by, error = life["ended"]["by"], life["ended"]["error"]
    after = f"after {number(life['repetitions'], 0)} repetitions"
    if by == "limit":
        return f"It was looked at for {life['years']:,.3g} years ({after[6:]}), and works."
    if by == "unworn":
        return f"It programs and erases nothing, as {counted(life['repetitions'], 'repetition')} showed: nothing wears."
    if by == "unknown":
        return f"It still works {after}, after {life['years']:,.3g} years; how it ends was not looked for."
    if by == "full":
        return (
            f"The partition is full {after}, and no block has failed ({error}): the workload needs more room each "
            "time. A life needs one that makes room, such as files that are replaced or deleted."
        )
    if by == "endurance":
        return (
            f"The first block has had its {number(life['endurance_erases'])} erases {after}. How blocks of this medium "
            "fail is not known, so that the life ends here."
        )
    return f"It ends {after}: {ended_because(life)} ({error})."


def ended_because(life: VariantLife) -> str:
    """Why a life ended. A step that deletes until there is room finds nothing more to delete, which is no fault of it
    where blocks have failed."""
    ended, failed = life["ended"], life["bad_blocks"]
    if ended["by"] == "failed" and failed and NOTHING_LEFT in (ended["error"] or ""):
        have = "block has" if failed == 1 else "blocks have"
        return f"no room is left, because {number(failed)} {have} failed"
    return ENDS[ended["by"]]


def _steady(life: VariantLife) -> str:
    steady = life["steady_from_days"]
    if steady is None:
        return "Wear never became steady: no two stretches of it in a row erased alike."
    return f"Wear is steady after {number(steady, 1)} days; what came before is transient."


def _calls(life: VariantLife) -> str:
    latency = life["latency"]
    if not latency["calls"]:
        return "No call was measured."
    calls = counted(latency["calls"], "call")
    most, usual = (units.said("time", latency[key]) for key in ("max_us", "p99_us"))
    return f"The slowest of {calls} that were run took {most}; 99 % of them took at most {usual}."


def _pace(life: VariantLife) -> str:
    late = life["repetitions_late"]
    period = number(life["period_us"] / 1e6, 3)
    flat_out = life["per_day"] is None
    pace = f"one after the other, {period} s each" if flat_out else f"{number(life['per_day'], 2)} a day"
    slow = f"; {number(late, 0)} took longer than until the next one was due, which waited" if late else ""
    return f"Repetitions: {pace}{slow}. Each draws other places in its files."


def _levelled(life: VariantLife) -> str:
    least = life["levels_from_erases"]
    moved = sum(cause["page_programs"] for cause in life["by_cause"] if cause["reason"] == LEVELLING)
    if least is None and not moved:
        return "No layer levels wear by moving data: blocks with data that never change are not erased."
    programs = sum(cause["page_programs"] for cause in life["by_cause"])
    if not moved:
        return f"UBI levels wear from a difference of {number(least)} erases on; it moved nothing for that."
    share = f"{moved / programs * 100:.2f} % of the page programs that were run"
    # What the system does not say the experiment may.
    least = life["stack"].get("wl_threshold") if least is None else least
    by = "by the rule of the stack" if least is None else f"from a difference of {number(least)} erases on"
    return f"UBI levelled wear ({by}): {share}."


def _failing(life: VariantLife) -> str:
    bears = f"{number(life['endurance_erases'])} erases"
    ageing = life["stack"].get("ageing")
    if not life["blocks_fail"] or ageing is None:
        return f"A block bears {bears}."
    share, shape = ageing.get("failed_share") or 0.0, ageing.get("life_shape") or 0.0
    return (
        f"Blocks fail one by one: {share * 100:.1f} % of them within {bears}, the others later (Weibull of shape "
        f"{shape:g}, unverified: docs/ageing.md)."
    )


def _leaps(life: VariantLife) -> str:
    if not life["leaps"]:
        return "Every operation of it was run."
    run = f"{number(life['repetitions_run'], 0)} of {number(life['repetitions'], 0)} repetitions were run"
    return (
        f"{run}, the others passed over in {counted(life['leaps'], 'leap')}: where stretches in a row had erased as "
        "much, it is assumed that this goes on, with blocks that come in turn and to rest as often as was seen, until "
        "a block fails or levelling begins. During a leap no bit flips, no data age, and nothing but erases is counted."
    )
