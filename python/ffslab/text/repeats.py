"""Variants that were run several times: how much their figures differ."""

from __future__ import annotations

from ffslab.answers.summary import Spread, Summary
from ffslab.text.tables import number

# Figures as people read them: how they are called, by how much they are divided, decimals.
SHOWN = {
    "time_us": ("virtual time, ms", 1e3, 1),
    "latency_mean_us": ("latency mean, us", 1, 1),
    "latency_p99_us": ("latency p99, us", 1, 1),
    "latency_p99_9_us": ("latency p99.9, us", 1, 1),
    "latency_max_us": ("latency max, us", 1, 1),
    "page_reads": ("page reads", 1, 0),
    "page_programs": ("page programs", 1, 0),
    "erases": ("block erases", 1, 0),
    "write_amplification": ("write amplification", 1, 2),
    "energy_total_uJ": ("energy total, mJ", 1e3, 2),
}


def repeats_cells(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a row for each figure of each variant; what is 0 in all of its runs is left out."""
    head = ["variant", "", "median", "95 % interval", "least", "most"]
    rows = []
    for one in summary.get("repeats", []):
        name = one["name"]
        for key, (label, unit, digits) in SHOWN.items():
            spread = one["figures"].get(key)
            if spread is None or not spread["most"]:
                continue
            cells = [_number(spread["median"], unit, digits), _interval(spread, unit, digits)]
            rows.append([name, label, *cells, *(_number(spread[end], unit, digits) for end in ("least", "most"))])
            name = ""
    return head, rows


def _number(value: float, unit: float, digits: int) -> str:
    return number(value / unit, digits)


def _interval(spread: Spread, unit: float, digits: int) -> str:
    low, high = spread["low"], spread["high"]
    if low is None or high is None:
        return "-"
    return f"{_number(low, unit, digits)} to {_number(high, unit, digits)}"


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
        worst = one["figures"].get("latency_max_us")
        lost = f", {one['failed']} did not come to their end" if one["failed"] else ""
        slowest = (
            f"; the slowest call of all took {number(worst['most'] / 1e3, 1)} ms ({one['worst']})" if worst else ""
        )
        said.append(f"{one['name']}: {one['runs']} runs{lost}{slowest}.")
    return said
