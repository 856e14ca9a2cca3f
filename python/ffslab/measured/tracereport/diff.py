"""Two sessions side by side: what differs in counts, rates, response times and maps, and what moved most.

Tests say their names and what they take for granted. Operations and calls of one session are not independent of each
other, so a p value is smaller than it should be: it tells noise from a difference worth a look, no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from ffslab._native import __version__
from ffslab.answers.trace_diff import (
    CallChange,
    CountChange,
    Counted,
    DiffSide,
    Durations,
    FunctionChange,
    MapChange,
    OperationsCounted,
    Quantity,
    Shift,
    TaskChange,
    TraceDiff,
)
from ffslab.answers.trace_report import CallOperations, OperationCounts, OperationKey, TraceReport
from ffslab.measured.tracereport.columns import OPERATIONS, Ints
from ffslab.measured.tracereport.header import FUNCMON, VFSMON
from ffslab.measured.tracereport.operations import MAPPED
from ffslab.measured.tracereport.recording import Recording
from ffslab.measured.tracereport.statistics import Z_95, dispersion, kolmogorov_smirnov, rates_differ
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


@dataclass(frozen=True)
class Side:
    """One of the two sessions."""

    recording: Recording
    summary: TraceReport
    blocks: Ints | None
    name: str


def difference(a: Side, b: Side) -> TraceDiff:
    """Everything that differs, as plain values."""
    notes = [*a.summary["notes"], *b.summary["notes"]]
    if a.summary["chip"] != b.summary["chip"]:
        notes.append("the chips differ: maps are not compared")
    result: TraceDiff = {
        "version": __version__,
        "a": _side(a),
        "b": _side(b),
        "complete": a.summary["complete"] and b.summary["complete"],
        "flaws": [*a.summary["flaws"], *b.summary["flaws"]],
        "notes": notes,
        "tests": TESTS,
        "counts": _counts(a, b),
        "tasks": _tasks(a, b),
        "causes": _causes(a, b),
        "response_times": _response_times(a, b),
        "amplification": _amplification(a, b),
        "maps": _maps(a, b),
        "lifetimes": {"a": a.summary.get("wear", []), "b": b.summary.get("wear", [])},
        "moved": [],
    }
    result["moved"] = _sentences(result)
    return result


def _side(side: Side) -> DiffSide:
    said = side.summary
    return {"name": side.name, "logs": said["logs"], "session": said["session"], "chip": said["chip"]}


def relative(before: float, after: float) -> float | None:
    """The change as a fraction of what was before; `None` where there was nothing."""
    return (after - before) / before if before else None


def _counts(a: Side, b: Side) -> list[CountChange]:
    rows: list[CountChange] = []
    seconds = (a.recording.duration_s, b.recording.duration_s)
    totals = [_totals(side) for side in (a, b)]
    for kind, (_, key, _) in enumerate(OPERATIONS):
        x, y = (total.get(key, 0) for total in totals)
        if not x and not y:
            continue
        row: CountChange = {"type": key, "a": x, "b": y, "difference": y - x, "change": relative(x, y)}
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


def _totals(side: Side) -> dict[OperationKey, int]:
    if "operations" in side.summary:
        return _counted(side.summary["operations"]["totals"])
    if side.blocks is None:
        return {}
    return {OPERATIONS[kind][1]: int(side.blocks[:, column].sum()) for column, kind in enumerate(MAPPED)}


def _burstiness(side: Side, kind: int) -> float:
    flash = side.recording.flash
    if flash is None:
        return 1.0
    edges = np.linspace(side.recording.start_ns, side.recording.end_ns, 101)
    return dispersion(np.histogram(flash.t_ns[flash.kind == kind], edges)[0])


def _tasks(a: Side, b: Side) -> list[TaskChange]:
    of_a, of_b = (
        [((row["task"],), _counted(row)) for row in side.summary["operations"]["by_task"]]
        if "operations" in side.summary
        else []
        for side in (a, b)
    )
    return [{"task": task, **counted} for (task,), counted in _side_by_side(of_a, of_b)]


def _causes(a: Side, b: Side) -> list[CallChange]:
    of_a, of_b = (
        [
            ((row["class"], row["task"], row["outermost"], row["innermost"]), _counted(row))
            for row in side.summary["causes"]["rows"]
        ]
        if "causes" in side.summary
        else []
        for side in (a, b)
    )
    return [
        {"class": kind, "task": task, "outermost": outermost, "innermost": innermost, **counted}
        for (kind, task, outermost, innermost), counted in _side_by_side(of_a, of_b)
    ]


def _counted(row: OperationCounts | CallOperations) -> dict[OperationKey, int]:
    return {key: row[key] for _, key, _ in OPERATIONS}


Group = TypeVar("Group", bound=tuple[str | None, ...])


def _side_by_side(
    a: Iterable[tuple[Group, dict[OperationKey, int]]], b: Iterable[tuple[Group, dict[OperationKey, int]]]
) -> list[tuple[Group, OperationsCounted]]:
    """Counts of the same group side by side, the largest difference first."""
    sums: dict[Group, dict[OperationKey, Counted]] = {}
    side: Literal["a", "b"]
    for side, rows in (("a", a), ("b", b)):
        for group, counted in rows:
            known = sums.setdefault(group, {key: {"a": 0, "b": 0} for _, key, _ in OPERATIONS})
            for key, count in counted.items():
                known[key][side] += count
    made: list[tuple[int, Group, OperationsCounted]] = []
    for group, known in sums.items():
        changes: OperationsCounted = {}
        for key, pair in known.items():
            if pair["a"] or pair["b"]:
                changes[key] = pair
        made.append((sum(abs(pair["b"] - pair["a"]) for pair in known.values()), group, changes))
    return [(group, changes) for _, group, changes in sorted(made, key=lambda found: -found[0])]


def _response_times(a: Side, b: Side) -> list[FunctionChange]:
    """Functions that both sessions called, the largest difference of the sums first."""
    rows: list[FunctionChange] = []
    for level in (VFSMON, FUNCMON):
        x, y = (_durations(side.recording, level) for side in (a, b))
        for function in [name for name in x if name in y]:
            rows.append({"level": level, "function": function, **compared(x[function], y[function])})
    return sorted(rows, key=lambda row: -abs(row["sum_difference_us"]))


def compared(a_ns: Ints, b_ns: Ints) -> Durations:
    """Two samples of durations."""
    a_us, b_us = np.asarray(a_ns) / 1e3, np.asarray(b_ns) / 1e3
    estimate = float(b_us.mean() - a_us.mean())
    shift: Shift = {"estimate": estimate, "low": None, "high": None}
    if min(len(a_us), len(b_us)) > 1:
        spread = Z_95 * math.sqrt(a_us.var(ddof=1) / len(a_us) + b_us.var(ddof=1) / len(b_us))
        shift = {"estimate": estimate, "low": estimate - spread, "high": estimate + spread}
    distance, p = kolmogorov_smirnov(a_us, b_us)
    return {
        "n": {"a": len(a_us), "b": len(b_us)},
        "mean_us": {"a": float(a_us.mean()), "b": float(b_us.mean())},
        "p50_us": {"a": float(np.median(a_us)), "b": float(np.median(b_us))},
        "p99_us": {"a": float(np.percentile(a_us, 99)), "b": float(np.percentile(b_us, 99))},
        "mean_difference_us": shift,
        "sum_difference_us": float(b_us.sum() - a_us.sum()),
        "ks_distance": distance,
        "ks_p": p,
    }


def _durations(recording: Recording, level: str) -> dict[str, Ints]:
    calls = recording.calls(level)
    if calls is None:
        return {}
    done = ~calls.under_way
    return {
        recording.functions.texts[number]: calls.duration_ns[done & (calls.function == number)]
        for number in np.unique(calls.function[done])
    }


def _amplification(a: Side, b: Side) -> dict[str, Quantity]:
    if "amplification" not in a.summary or "amplification" not in b.summary:
        return {}
    x, y = a.summary["amplification"], b.summary["amplification"]
    return {
        "read": {"a": x["read"]["factor"], "b": y["read"]["factor"]},
        "write": {"a": x["write"]["factor"], "b": y["write"]["factor"]},
    }


def _maps(a: Side, b: Side) -> dict[OperationKey, MapChange]:
    """How far the operations of each type fell into other blocks, and the blocks with the largest change."""
    if a.blocks is None or b.blocks is None or a.summary["chip"] != b.summary["chip"]:
        return {}
    rows: dict[OperationKey, MapChange] = {}
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


def _sentences(result: TraceDiff) -> list[str]:
    """What changed most, in words; counts first, then who made the difference, then time."""
    said = []
    names = {key: name for _, key, name in OPERATIONS}
    makers: list[tuple[list[str | None], OperationsCounted]] = [
        ([row["task"], row["outermost"], row["innermost"]], row) for row in result["causes"]
    ] or [([row["task"]], row) for row in result["tasks"]]
    for row in result["counts"]:
        if not row["difference"] or abs(row["change"] or 1.0) < CHANGE_MIN:
            continue
        by = percent(row["change"]) if row["change"] is not None else "none before"
        text = f"{names[row['type']]}: {row['b']:,} instead of {row['a']:,} ({by})"
        said.append(text + _because(makers, row["type"], row["difference"]))
    for function in result["response_times"]:
        if function["ks_p"] < 0.01:
            means = function["mean_us"]
            said.append(
                f"{function['function']}: {means['b']:,.1f} us instead of {means['a']:,.1f} us on average "
                f"(Kolmogorov-Smirnov {function['ks_distance']:.2f}, p {function['ks_p']:.2g})"
            )
    for way, pair in result["amplification"].items():
        if pair["a"] and pair["b"] and abs(pair["b"] / pair["a"] - 1) > 0.01:
            said.append(f"{way} amplification: {pair['b']:.2f} instead of {pair['a']:.2f}")
    return said[:SENTENCES_MAX]


def _because(makers: list[tuple[list[str | None], OperationsCounted]], key: OperationKey, difference: int) -> str:
    """The causes that made the largest part of a difference, with the same sign."""
    parts = [(counted[key]["b"] - counted[key]["a"], names) for names, counted in makers if key in counted]
    best = max(parts, key=lambda part: part[0] * math.copysign(1, difference), default=None)
    if best is None or best[0] * difference <= 0:
        return ""
    who = ", ".join(dict.fromkeys(name for name in best[1] if name))
    return f"; {best[0]:+,} of them: {who}"
