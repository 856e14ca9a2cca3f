"""Two sessions side by side: what differs in counts, rates, response times and maps, and what moved most.

Tests say their names and what they take for granted. Operations and calls of one session are not independent of each
other, so a p value is smaller than it should be: it tells noise from a difference worth a look, no more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ffslab import __version__
from ffslab.boards.tracereport.columns import OPERATIONS, Ints
from ffslab.boards.tracereport.header import FUNCMON, VFSMON
from ffslab.boards.tracereport.operations import MAPPED
from ffslab.boards.tracereport.recording import Recording
from ffslab.boards.tracereport.statistics import Z_95, dispersion, kolmogorov_smirnov, rates_differ
from ffslab.text.tables import percent

# Smaller changes of a count are not worth a sentence.
CHANGE_MIN = 0.005
# Blocks of a map whose change is listed.
BLOCKS_MAX = 10
SENTENCES_MAX = 8
TESTS = {
    "rates": "two Poisson rates by the square roots of the counts (Huffman 1984), counts divided by their variance "
    "over mean in intervals of time, as operations come in bursts",
    "means": "difference of the means with its 95 % interval (Welch, normal for large samples)",
    "distributions": "two-sample Kolmogorov-Smirnov",
    "maps": "share of the operations that would have to fall into other blocks for the maps to be alike "
    "(total variation)",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """One of the two sessions."""

    recording: Recording
    summary: Mapping[str, Any]
    blocks: Ints | None
    name: str


def difference(a: Side, b: Side) -> Row:
    """Everything that differs, as plain values."""
    sides = {"a": a, "b": b}
    counts = _counts(a, b)
    result: Row = {
        "version": __version__,
        **{
            key: {"name": side.name, **{part: side.summary[part] for part in ("logs", "session", "chip")}}
            for key, side in sides.items()
        },
        "complete": a.summary["complete"] and b.summary["complete"],
        "flaws": [flaw for side in sides.values() for flaw in side.summary["flaws"]],
        "notes": [note for side in sides.values() for note in side.summary["notes"]],
        "tests": TESTS,
        "counts": counts,
        "tasks": _grouped(_tasks(a), _tasks(b), ("task",)),
        "causes": _grouped(_cause_rows(a), _cause_rows(b), ("class", "task", "outermost", "innermost")),
        "response_times": _response_times(a, b),
        "amplification": _amplification(a, b),
        "maps": _maps(a, b),
        "lifetimes": {key: side.summary.get("wear", []) for key, side in sides.items()},
    }
    if a.summary["chip"] != b.summary["chip"]:
        result["notes"].append("the chips differ: maps are not compared")
    result["moved"] = _sentences(result)
    return result


def relative(before: float, after: float) -> float | None:
    """The change as a fraction of what was before; `None` where there was nothing."""
    return (after - before) / before if before else None


def _counts(a: Side, b: Side) -> list[Row]:
    rows = []
    seconds = (a.recording.duration_s, b.recording.duration_s)
    totals = [_totals(side) for side in (a, b)]
    for kind, (_, key, _) in enumerate(OPERATIONS):
        x, y = (total.get(key, 0) for total in totals)
        if not x and not y:
            continue
        row: Row = {"type": key, "a": x, "b": y, "difference": y - x, "change": relative(x, y)}
        if min(seconds) > 0:
            rates = (x / seconds[0], y / seconds[1])
            bursts = max(_burstiness(side, kind) for side in (a, b))
            row |= {
                "a_per_s": rates[0],
                "b_per_s": rates[1],
                "rate_change": relative(*rates),
                "p": rates_differ(x, seconds[0], y, seconds[1], bursts),
            }
        rows.append(row)
    return rows


def _totals(side: Side) -> dict[str, int]:
    if "operations" in side.summary:
        totals: dict[str, int] = side.summary["operations"]["totals"]
        return totals
    if side.blocks is None:
        return {}
    return {OPERATIONS[kind][1]: int(side.blocks[:, column].sum()) for column, kind in enumerate(MAPPED)}


def _burstiness(side: Side, kind: int) -> float:
    flash = side.recording.flash
    if flash is None:
        return 1.0
    edges = np.linspace(side.recording.start_ns, side.recording.end_ns, 101)
    return dispersion(np.histogram(flash.t_ns[flash.kind == kind], edges)[0])


def _tasks(side: Side) -> list[Row]:
    rows: list[Row] = side.summary.get("operations", {}).get("by_task", [])
    return rows


def _cause_rows(side: Side) -> list[Row]:
    rows: list[Row] = side.summary.get("causes", {}).get("rows", [])
    return rows


def _grouped(a: list[Row], b: list[Row], keys: tuple[str, ...]) -> list[Row]:
    """Counts of the same group side by side, the largest difference first."""
    groups: dict[tuple[Any, ...], tuple[dict[str, int], dict[str, int]]] = {}
    for at, rows in enumerate((a, b)):
        for row in rows:
            sums = groups.setdefault(tuple(row[key] for key in keys), ({}, {}))[at]
            for _, kind, _ in OPERATIONS:
                sums[kind] = sums.get(kind, 0) + row[kind]
    made = []
    for group, (x, y) in groups.items():
        counts: Row = {key: {"a": x.get(key, 0), "b": y.get(key, 0)} for _, key, _ in OPERATIONS}
        made.append({**dict(zip(keys, group, strict=True)), **{k: v for k, v in counts.items() if v["a"] or v["b"]}})
    return sorted(made, key=lambda row: -sum(abs(v["b"] - v["a"]) for v in row.values() if isinstance(v, dict)))


def _response_times(a: Side, b: Side) -> list[Row]:
    """Functions that both sessions called, the largest difference of the sums first."""
    rows = []
    for level in (VFSMON, FUNCMON):
        x, y = (_durations(side.recording, level) for side in (a, b))
        for function in [name for name in x if name in y]:
            rows.append({"level": level, "function": function, **compared(x[function], y[function])})
    return sorted(rows, key=lambda row: -abs(row["sum_difference_us"]))


def compared(a_ns: Ints, b_ns: Ints) -> Row:
    """Two samples of durations."""
    a_us, b_us = np.asarray(a_ns) / 1e3, np.asarray(b_ns) / 1e3
    row: Row = {"n": {"a": len(a_us), "b": len(b_us)}}
    for name, of in (("mean", np.mean), ("p50", np.median), ("p99", lambda us: np.percentile(us, 99))):
        row[f"{name}_us"] = {"a": float(of(a_us)), "b": float(of(b_us))}
    shift = float(b_us.mean() - a_us.mean())
    row["mean_difference_us"] = {"estimate": shift, "low": None, "high": None}
    if min(len(a_us), len(b_us)) > 1:
        spread = Z_95 * math.sqrt(a_us.var(ddof=1) / len(a_us) + b_us.var(ddof=1) / len(b_us))
        row["mean_difference_us"] |= {"low": shift - spread, "high": shift + spread}
    row["sum_difference_us"] = float(b_us.sum() - a_us.sum())
    row["ks_distance"], row["ks_p"] = kolmogorov_smirnov(a_us, b_us)
    return row


def _durations(recording: Recording, level: str) -> dict[str, Ints]:
    calls = recording.calls(level)
    if calls is None:
        return {}
    done = ~calls.under_way
    return {
        recording.functions.texts[number]: calls.duration_ns[done & (calls.function == number)]
        for number in np.unique(calls.function[done])
    }


def _amplification(a: Side, b: Side) -> Row:
    x, y = (side.summary.get("amplification", {}) for side in (a, b))
    return {way: {"a": x[way]["factor"], "b": y[way]["factor"]} for way in x if way in y}


def _maps(a: Side, b: Side) -> Row:
    """How far the operations of each type fell into other blocks, and the blocks with the largest change."""
    if a.blocks is None or b.blocks is None or a.summary["chip"] != b.summary["chip"]:
        return {}
    rows: Row = {}
    for column, kind in enumerate(MAPPED):
        x, y = a.blocks[:, column], b.blocks[:, column]
        if not x.any() or not y.any():
            continue
        change = y - x
        top = [int(i) for i in np.argsort(-np.abs(change), kind="stable")[:BLOCKS_MAX] if change[i]]
        rows[OPERATIONS[kind][1]] = {
            "moved_share": float(np.abs(x / x.sum() - y / y.sum()).sum() / 2),
            "blocks_touched": {
                "a": int((x > 0).sum()),
                "b": int((y > 0).sum()),
                "both": int(((x > 0) & (y > 0)).sum()),
            },
            "largest_changes": [{"block": i, "a": int(x[i]), "b": int(y[i])} for i in top],
        }
    return rows


def _sentences(result: Row) -> list[str]:
    """What changed most, in words; counts first, then who made the difference, then time."""
    said = []
    names = {key: name for _, key, name in OPERATIONS}
    for row in result["counts"]:
        if not row["difference"] or abs(row["change"] or 1.0) < CHANGE_MIN:
            continue
        by = percent(row["change"]) if row["change"] is not None else "none before"
        text = f"{names[row['type']]}: {row['b']:,} instead of {row['a']:,} ({by})"
        text += _because(result["causes"] or result["tasks"], row)
        said.append(text)
    for row in result["response_times"]:
        if row["ks_p"] < 0.01:
            means = row["mean_us"]
            said.append(
                f"{row['function']}: {means['b']:,.1f} us instead of {means['a']:,.1f} us on average "
                f"(Kolmogorov-Smirnov {row['ks_distance']:.2f}, p {row['ks_p']:.2g})"
            )
    for way, pair in result["amplification"].items():
        if pair["a"] and pair["b"] and abs(pair["b"] / pair["a"] - 1) > 0.01:
            said.append(f"{way} amplification: {pair['b']:.2f} instead of {pair['a']:.2f}")
    return said[:SENTENCES_MAX]


def _because(groups: list[Row], row: Row) -> str:
    """The group with the largest part in a difference of the same sign."""
    key, total = row["type"], row["difference"]
    parts = [(group[key]["b"] - group[key]["a"], group) for group in groups if key in group]
    best = max(parts, key=lambda part: part[0] * math.copysign(1, total), default=None)
    if best is None or best[0] * total <= 0:
        return ""
    names = [best[1].get(name) for name in ("task", "outermost", "innermost")]
    who = ", ".join(dict.fromkeys(name for name in names if name))
    return f"; {best[0]:+,} of them: {who}"
