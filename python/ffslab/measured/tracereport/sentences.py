"""What the logs say, in sentences: what a reader asks first. A sentence is said only when its numbers are there."""

from __future__ import annotations

from collections.abc import Iterator

from ffslab.answers.trace_report import TraceReport
from ffslab.measured.tracereport.columns import OPERATIONS
from ffslab.measured.tracereport.tables import short
from ffslab.text.durations import duration
from ffslab.text.tables import counted, number

FUNCTIONS_TOLD = 2


def sentences(summary: TraceReport) -> list[str]:
    """Response times, operations and who made them, amplification, lifetime."""
    return [*_times(summary), *_operations(summary), *_amplification(summary), *_lifetime(summary)]


def _times(summary: TraceReport) -> Iterator[str]:
    """The functions in which the most time was spent."""
    timed = sorted((row for row in summary["response_times"] if row["n"]), key=lambda row: -row["sum_us"])
    for row in timed[:FUNCTIONS_TOLD]:
        yield (
            f"{row['function']} takes {duration(row['mean_us'])} on average in {counted(row['n'], 'call')}; one in a "
            f"hundred takes {duration(row['p99_us'])} or more, the slowest {duration(row['max_us'])}."
        )


def _operations(summary: TraceReport) -> Iterator[str]:
    found = summary.get("operations")
    if found is None:
        return
    for _, key, name in OPERATIONS:
        total = found["totals"][key]
        if not total or key not in ("page_reads", "page_programs", "erases"):
            continue
        background = sum(row[key] for row in found["by_task"] if row["background"])
        checks = sum(row["page_reads_of_erased_blocks"] for row in found["reads_of_erased"])
        empty = f", {_share(checks, total)} of blocks that were just erased" if key == "page_reads" and checks else ""
        yield f"{counted(total, name[:-1])}: {_share(background, total)} by background threads{empty}."


def _amplification(summary: TraceReport) -> Iterator[str]:
    found = summary.get("amplification")
    for way, row in (("read", found["read"]), ("write", found["write"])) if found else ():
        if row["factor"]:
            yield f"The chip moved {number(row['factor'], 2)} times the bytes of the programs' calls to {way}."


def _lifetime(summary: TraceReport) -> Iterator[str]:
    for row in summary.get("wear", []):
        years = row.get("lifetime_years")
        if years and row["erases"]:
            low, high = short(years["busiest_block"]["estimate"]), short(years["levelled"]["estimate"])
            yield (
                f"{row['partition']} would last {low} years (its busiest block) to {high} years (all blocks worn "
                "alike), if the time of the log repeated for ever."
            )


def _share(part: float, whole: float) -> str:
    return f"{part / whole * 100:.0f} %"
