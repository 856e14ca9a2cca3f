"""The slowest calls, each with what it waited for."""

from __future__ import annotations

import re
from typing import cast

from ffslab.answers.mount import MountStat
from ffslab.answers.summary import SlowCall, VariantSummary, Wait
from ffslab.steady import variant_needs_us
from ffslab.text.causes import titles
from ffslab.text.durations import duration
from ffslab.text.tables import counted, size
from ffslab.text.time_table import CPU

HEAD = ["slowest calls", "took", "began after", "waited for"]
# Calls of a single variant that a terminal shows; of several it shows the slowest of each.
SHOWN_MAX = 5
# Causes of a call that are named: those that took this share of it, and no more than so many.
_SHARE_MIN, _CAUSES_MAX = 0.01, 4
_FILE_CHARACTERS_MAX = 32
# Steps about keys and values, on stores and as files; and where the number stands in the name of all keys.
OF_KEYS = ("set", "get", "delete", "iterate")
_NUMBER = re.compile("#+")


def slowest_cells(variants: list[VariantSummary], each_max: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Head and rows: of each variant the slowest calls, `each_max` at most. Without calls no rows."""
    several = len(variants) > 1
    # What follows has slower ones before the state is steady.
    seen = " so far" if any(variant_needs_us(variant) is not None for variant in variants) else ""
    head = [*(["variant"] if several else []), HEAD[0] + seen, *HEAD[1:]]
    rows = []
    for variant in variants:
        own = cells_of(variant, each_max)
        rows += [[variant["name"], *cells] for cells in own] if several else own
    return head, rows


def cells_of(result: VariantSummary | MountStat, each_max: int | None = None) -> list[list[str]]:
    """Rows below `HEAD`: the slowest calls of a variant, or of a mount so far."""
    return [_cells(call, result) for call in result["slowest"][:each_max]]


def _cells(call: SlowCall, result: VariantSummary | MountStat) -> list[str]:
    times = (duration(call["latency_us"]), duration(call["start_us"]))
    return [_whose(call) + call_text(call, _step_of(call, result)), *times, waits_text(call, result)]


def alignment(head: list[str]) -> str:
    """One letter per column, as `text_table` takes them: l for left, r for right."""
    return "".join("r" if name in ("took", "began after") else "l" for name in head)


def _whose(call: SlowCall) -> str:
    """The program that made the call, where several ran; empty where there was one."""
    return f"{call['program']}: " if "program" in call else ""


def _step_of(call: SlowCall, result: VariantSummary | MountStat) -> str:
    """What the step of a call is called, as in `set "key####"`; empty: it is of a mount, which has none."""
    if "name" not in result:
        return ""
    variant = cast("VariantSummary", result)
    steps = variant["steps"]
    if "program" in call:
        steps = next(
            (one.get("steps", []) for one in variant.get("programs", []) if one["name"] == call["program"]), []
        )
    return steps[call["step"]]["step"] if call["step"] < len(steps) else ""


def call_text(call: SlowCall, step: str = "") -> str:
    """What the call did: "write 4 KiB of log at 1.5 MiB", of a `step` about keys "set 64 B of key0030"."""
    op, file, place = call["op"], call["file"], ""
    if (word := step.partition(" ")[0]) in OF_KEYS:
        # Such a call has the number of its key where others have a place.
        op, file = word, _NUMBER.sub(lambda run: str(call["offset_B"]).zfill(len(run[0])), file)
    elif call["bytes"] and call["offset_B"]:
        place = f" at {_size(call['offset_B'])}"
    if len(file) > _FILE_CHARACTERS_MAX:
        file = "..." + file[3 - _FILE_CHARACTERS_MAX :]
    moved = f" {_size(call['bytes'])}" if call["bytes"] else ""
    # Calls on a bare chip are of no file.
    of = f" of {file}" if moved and file else f" {file}" if file else ""
    return f"{op}{moved}{of}{place}"


def _size(count_bytes: int) -> str:
    """Most sizes of requests are whole."""
    return size(count_bytes).replace(".0 ", " ")


def waits_text(call: SlowCall, variant: VariantSummary | MountStat) -> str:
    """What the call waited for: "gc copy 81 %: 189 reads, 83 programs; erase 6 %: 3 erases"."""
    title_of, latency_us = titles(variant), call["latency_us"]
    told = [wait for wait in call["waited_for"] if wait["time_us"] >= _SHARE_MIN * latency_us][:_CAUSES_MAX]
    parts = [_wait_text(wait, title_of, latency_us) for wait in told]
    others = [wait for wait in call.get("waited_for_programs", []) if wait["time_us"] >= _SHARE_MIN * latency_us]
    parts += [f"calls of {wait['program']} {wait['time_us'] / latency_us * 100:.0f} %" for wait in others]
    if call["idle_us"] >= _SHARE_MIN * latency_us:
        parts.append(f"asleep {call['idle_us'] / latency_us * 100:.0f} %")
    return "; ".join(parts)


def _wait_text(wait: Wait, title_of: dict[str, str], latency_us: float) -> str:
    done = {"read": wait["page_reads"], "OOB read": wait["oob_reads"], "program": wait["page_programs"]}
    done["erase"] = wait["erases"]
    operations = [counted(n, what) for what, n in done.items() if n]
    # Without a reason and without the medium it is computing.
    name = CPU if wait["reason"] == "other" and not wait["flash_us"] else wait["reason"]
    who = "" if wait["task"] == "caller" else f" by {title_of.get(wait['task'], wait['task'])}"
    share = f"{name}{who} {wait['time_us'] / latency_us * 100:.0f} %"
    return f"{share}: {', '.join(operations)}" if operations else share
