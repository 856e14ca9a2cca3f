"""The tables of a report, as cells: the text and the HTML page show the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ffslab.answers.trace_report import CallOperations, ClassOperations, OperationCounts, TraceReport, Until
from ffslab.measured.tracereport.columns import OPERATIONS
from ffslab.text.durations import duration
from ffslab.text.tables import counted, number

# Rows of a table that people read; JSON has all.
ROWS_MAX = 20


# Columns of durations.
TIMES: tuple[Literal["mean_us", "sd_us", "min_us", "p50_us", "p90_us", "p99_us", "max_us"], ...] = (
    "mean_us",
    "sd_us",
    "min_us",
    "p50_us",
    "p90_us",
    "p99_us",
    "max_us",
)

Counted = OperationCounts | ClassOperations | CallOperations


@dataclass(frozen=True)
class Table:
    """`align`: a letter a column, as for `text_table`. `note`: what the table means, when the head does not say."""

    title: str
    head: list[str]
    rows: list[list[str]]
    align: str
    note: str = ""


def tables(summary: TraceReport) -> list[Table]:
    """All tables that have rows."""
    made = [
        *_operations(summary),
        _response_times(summary),
        _slowest(summary),
        *_causes(summary),
        _amplification(summary),
        _blocks(summary),
        *_wear(summary),
    ]
    return [_cut(table) for table in made if table is not None and table.rows]


def operations_table(
    title: str, what: list[str], rows: Sequence[tuple[list[str], Counted]], note: str = "", align: str = ""
) -> Table:
    """Counts of operations; types that do not occur are left out. `align`: of the columns `what`, texts else."""
    kinds = [(key, name) for _, key, name in OPERATIONS if any(counts[key] for _, counts in rows)]
    cells = [[*first, *(number(counts[key]) for key, _ in kinds)] for first, counts in rows]
    sides = (align or "l" * len(what)) + "r" * len(kinds)
    return Table(title, [*what, *(name for _, name in kinds)], cells, sides, note)


def _operations(summary: TraceReport) -> Iterable[Table | None]:
    found = summary.get("operations")
    if found is None:
        return
    tasks = [
        ([row["task"] or "-", "yes" if row["background"] else "", f"{row['first_s']:.3f} to {row['last_s']:.3f}"], row)
        for row in found["by_task"]
    ]
    total = [(["all", "", ""], found["totals"])] if len(tasks) > 1 else []
    yield operations_table("Flash operations by task", ["task", "background", "first to last, s"], tasks + total)
    phases = [([row["phase"], f"{row['start_s']:,.3f}", f"{row['duration_s']:,.3f}"], row) for row in found["by_phase"]]
    if len(phases) > 1:
        yield operations_table("By phase", ["phase", "start, s", "duration, s"], phases, align="lrr")
    yield operations_table("By partition", ["partition"], [([row["partition"]], row) for row in found["by_partition"]])
    checks = [
        [row["task"], number(row["page_reads_of_erased_blocks"]), number(row["erases"])]
        for row in found["reads_of_erased"]
    ]
    yield Table(
        "Page reads of erased blocks",
        ["task", "page reads", "erases by the same task"],
        checks,
        "lrr",
        "Between the erase of a block and its next program: whether the erase left it empty, as JFFS2 checks.",
    )


def _response_times(summary: TraceReport) -> Table:
    keys = [name.removesuffix("_us") for name in TIMES]
    rows = [
        [row["level"], row["function"], number(row["n"]), number(row["sum_us"] / 1e3)]
        + [number(row.get(key)) for key in TIMES]
        for row in summary["response_times"]
    ]
    head = ["level", "function", "calls", "sum, ms", *(f"{key}, us" for key in keys)]
    return Table("Response times", head, rows, "ll" + "r" * (len(head) - 2))


def _slowest(summary: TraceReport) -> Table:
    rows = []
    for call in summary["slowest"]:
        told = [_said(call.get("inside")), _said(call.get("of_others"))]
        rows.append(
            [
                call["function"],
                call["task"] or "-",
                duration(call["duration_us"]),
                duration(call["start_s"] * 1e6),
                *told,
            ]
        )
    known = any("inside" in call for call in summary["slowest"])
    width = 6 if known else 4
    head = ["call", "task", "took", "began after", "its own operations", "of others meanwhile"][:width]
    return Table("Slowest calls", head, [row[:width] for row in rows], "llrrll"[:width])


def _said(counts: OperationCounts | None) -> str:
    """Operations in words: "189 page reads, 3 erases"."""
    if counts is None:
        return ""
    return ", ".join(counted(counts[key], name.removesuffix("s")) for _, key, name in OPERATIONS if counts[key]) or "-"


def _causes(summary: TraceReport) -> Iterable[Table]:
    found = summary.get("causes")
    if found is None:
        return
    classes: list[tuple[list[str], Counted]] = [([row["class"]], row) for row in found["classes"]]
    classes.append((["background, while a call was under way"], found["background_beside_calls"]))
    how = found["joined_by"]
    note = f"Operations belong to the call during which the same thread made them; threads are told by {how}."
    yield operations_table("Which operations belong to calls", ["class"], classes, note)
    rows = [([row["task"] or "-", row["outermost"] or "-", row["innermost"] or "-"], row) for row in found["rows"]]
    yield operations_table("Operations by call", ["task", "outermost call", "innermost call"], rows)
    kinds = [(key, name) for _, key, name in OPERATIONS if any(key in row for row in found["per_call"])]
    cells = [
        [row["function"], number(row["calls"]), number(row["calls_with_operations"])]
        + [f"{row[key]['mean']:,.2f} ({row[key]['max']:,})" if key in row else "-" for key, _ in kinds]
        for row in found["per_call"]
        if row["calls_with_operations"]
    ]
    head = ["function", "calls", "calls with operations", *(f"{name}: mean (most)" for _, name in kinds)]
    yield Table("What a call costs", head, cells, "lrr" + "r" * len(kinds), "Calls inside a call count for both.")
    yield operations_table(
        "Inodes with the most operations", ["inode"], [([str(row["inode"])], row) for row in found["inodes"]]
    )


def _amplification(summary: TraceReport) -> Table | None:
    found = summary.get("amplification")
    if found is None:
        return None
    rows = [
        [
            way,
            number(row["calls_B"]),
            number(row["flash_B"]),
            number(row["factor"], 3),
            number(row["factor_in_calls"], 3),
        ]
        for way, row in (("read", found["read"]), ("write", found["write"]))
    ]
    head = ["way", "bytes by calls", "bytes by the chip", "factor", "factor, operations in calls only"]
    note = "Whole pages that the chip moved, over the bytes that programs' calls moved."
    return Table("Amplification", head, rows, "lrrrr", note)


def _blocks(summary: TraceReport) -> Table | None:
    found = summary.get("blocks")
    if found is None:
        return None
    names = {key: name for _, key, name in OPERATIONS}
    mapped: tuple[Literal["page_reads", "page_programs", "erases"], ...] = ("page_reads", "page_programs", "erases")
    rows = [
        [
            names[key],
            number(row["blocks_touched"]),
            number(row["max"]),
            ", ".join(f"{top['block']} ({top.get(key, 0):,})" for top in row["busiest_blocks"][:5]),
        ]
        for key, row in ((key, found[key]) for key in mapped)
        if row["max"]
    ]
    return Table("Erase blocks", ["", "blocks touched", "most of one block", "busiest blocks"], rows, "lrrl")


def _wear(summary: TraceReport) -> Iterable[Table]:
    found = summary.get("wear", [])
    rows = []
    for row in found:
        per_block, rate = row["erases_per_block"], row.get("erases_per_block_per_day")
        rows.append(
            [
                row["partition"],
                number(row["blocks"]),
                number(row["erases"]),
                number(row["blocks_erased"]),
                number(per_block["mean"], 3),
                number(per_block["sd"], 3),
                number(per_block["max"]),
                interval(rate["mean"], rate["low"], rate["high"]) if rate and row["erases"] else "-",
            ]
        )
    head = ["partition", "blocks", "erases", "blocks erased", "mean", "sd", "most", "erases per block and day"]
    if any(row["erases"] for row in found):
        yield Table(
            "Wear", head, rows, "lrrrrrrr", "In brackets: the interval of 95 % that the number of erases leaves."
        )
    lives = [
        [row["partition"], number(row["endurance_erases"]), *(_years(row["lifetime_years"][key]) for key in LIMITS)]
        for row in found
        if "lifetime_years" in row
    ]
    head = ["partition", "endurance, erases", "levelled, years", "busiest block, years"]
    note = (
        "If the time of the log repeated for ever, on a new part. Levelled: all blocks wear alike, the upper bound. "
        "Busiest block: the block with the most erases goes on like that, the lower bound; of few erases it is chance "
        "that names it. In brackets: 95 %."
    )
    yield Table("Estimated lifetime", head, lives, "lrrr", note)


LIMITS: tuple[Literal["levelled", "busiest_block"], ...] = ("levelled", "busiest_block")


def interval(estimate: float, low: float | None, high: float | None) -> str:
    """`12.3 (10.1 to 15.0)` with three digits each."""
    return f"{short(estimate)} ({short(low)} to {short(high)})"


def short(value: float | None) -> str:
    """Three digits, thousands separated, no exponent; without a value: no limit."""
    if value is None:
        return "no limit"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _years(life: Until) -> str:
    if life["estimate"] is None:
        return f"no erase ({short(life['low'])} to no limit)"
    return interval(life["estimate"], life["low"], life["high"])


def _cut(table: Table) -> Table:
    """The first rows, and how many there are more."""
    more = len(table.rows) - ROWS_MAX
    if more <= 0:
        return table
    note = f"{table.note} {more} further rows are in the JSON.".strip()
    return Table(table.title, table.head, table.rows[:ROWS_MAX], table.align, note)
