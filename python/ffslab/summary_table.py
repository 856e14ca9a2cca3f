"""The table that `ffslab run` prints, and the rows that the report shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ffslab.text_table import number, percent, text_table
from ffslab.words import sentences

Variant = dict[str, Any]

# With more variants than this a variant is a row instead of a column.
COLUMNS_MAX = 6

ROWS: list[tuple[str, Callable[[Variant], float | None], int]] = [
    ("virtual time, ms", lambda v: v["time_us"] / 1e3, 1),
    ("requests", lambda v: v["latency_us"]["n"], 0),
    ("latency mean, us", lambda v: v["latency_us"].get("mean"), 1),
    ("latency p50, us", lambda v: v["latency_us"].get("p50"), 1),
    ("latency p99, us", lambda v: v["latency_us"].get("p99"), 1),
    ("latency max, us", lambda v: v["latency_us"].get("max"), 1),
    ("latency sum, ms", lambda v: v["latency_us"]["sum"] / 1e3 if v["latency_us"]["n"] else None, 1),
    ("page reads", lambda v: v["totals"]["page_reads"], 0),
    ("page programs", lambda v: v["totals"]["page_programs"], 0),
    ("block erases", lambda v: v["totals"]["erases"], 0),
    ("OOB reads", lambda v: v["totals"]["oob_reads"], 0),
    ("OOB programs", lambda v: v["totals"]["oob_programs"], 0),
    ("chip busy, ms", lambda v: v["totals"]["busy_us"] / 1e3, 1),
    ("read amplification", lambda v: v["read_amplification"], 2),
    ("write amplification", lambda v: v["write_amplification"], 2),
    ("erases per block, mean", lambda v: v["erases_per_block"]["mean"], 2),
    ("erases per block, sd", lambda v: v["erases_per_block"]["sd"], 2),
    ("energy CPU, mJ", lambda v: v["energy_uJ"]["cpu"] / 1e3, 2),
    ("energy memory, mJ", lambda v: v["energy_uJ"]["memory"] / 1e3, 2),
    ("energy total, mJ", lambda v: v["energy_uJ"]["total"] / 1e3, 2),
]
ALWAYS = frozenset({"virtual time, ms", "page reads", "page programs", "block erases"})


def summary_cells(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a quantity a row, a variant a column; two variants are compared in a last column.

    Rows that are zero or missing in every variant are left out.
    """
    variants = summary["variants"]
    head = ["", *(variant["name"] for variant in variants)]
    if len(variants) == 2:
        head.append("change")
    rows = []
    for label, value_of, digits in ROWS:
        values = [value_of(variant) for variant in variants]
        if label not in ALWAYS and not any(values):
            continue
        cells = [label, *(number(value, digits) for value in values)]
        if len(values) == 2:
            cells.append(_change(values[0], values[1]))
        rows.append(cells)
    return head, rows


def summary_text(summary: dict[str, Any]) -> str:
    """Title, table and what it means, for a terminal."""
    head, rows = summary_cells(summary)
    if len(summary["variants"]) > COLUMNS_MAX:
        turned = [list(column) for column in zip(head, *rows, strict=True)]
        head, rows = ["variant", *turned[0][1:]], turned[1:]
    table = text_table(head, rows, "l" + "r" * (len(head) - 1))
    return "\n\n".join([summary["title"], table, "\n".join(sentences(summary))])


def _change(first: float | None, second: float | None) -> str:
    if first is None or second is None or first == 0:
        return ""
    return percent(second / first - 1)
