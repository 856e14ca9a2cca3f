"""Where the time went: virtual time by reason and task. Its parts are counted one by one and add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence

from ffslab.answers import Operation
from ffslab.answers.summary import CauseSummary, VariantSummary
from ffslab.text.causes import ASKED_FOR, meanings, reasons_that, titles
from ffslab.text.durations import duration
from ffslab.text.tables import number
from ffslab.text.units import Unit, common_unit

CPU, PROGRAM, IDLE = "CPU", "program", "idle"
MEANING_WITHOUT_FLASH = {
    CPU: "system calls and file system compute",
    PROGRAM: "the program computes between its calls",
    IDLE: "nobody can run: the program sleeps",
}
ALL = "100.0 %"
AT_WORK = "at work"
OPERATIONS: dict[Operation, str] = {
    "page_reads": "page reads",
    "page_programs": "programs",
    "erases": "erases",
    "oob_reads": "OOB reads",
    "oob_programs": "OOB programs",
}


def explained(variant: VariantSummary) -> dict[str, str]:
    """What each row of the tables means."""
    return meanings(variant) | MEANING_WITHOUT_FLASH


def asked_for(variant: VariantSummary) -> frozenset[str]:
    """What the program asked for; everything else is the price of having it."""
    return reasons_that(variant, ASKED_FOR) | {PROGRAM, IDLE}


def flash_us(cause: CauseSummary) -> float:
    """Chip and driver time of a cause."""
    return float(cause["busy_us"] + cause["driver_us"])


def spent(variant: VariantSummary) -> dict[str, float]:
    """Virtual time in us by reason, largest first; then CPU, program and idle. The sum is the variant's time."""
    by_reason: dict[str, float] = {}
    for cause in variant["by_cause"]:
        by_reason[cause["reason"]] = by_reason.get(cause["reason"], 0.0) + flash_us(cause)
    ordered = sorted((reason for reason in by_reason if by_reason[reason]), key=lambda reason: -by_reason[reason])
    cpu_us = sum(cause["cpu_us"] for cause in variant["by_cause"])
    without_flash = {CPU: cpu_us, PROGRAM: variant["program_us"], IDLE: variant["idle_us"]}
    return {reason: by_reason[reason] for reason in ordered} | {k: us for k, us in without_flash.items() if us}


def at_work_us(variant: VariantSummary) -> float:
    """Virtual time in which somebody ran: the shares of causes are of it, however long the programs sleep beside."""
    return variant["time_us"] - variant["idle_us"]


def causes_table(variant: VariantSummary) -> tuple[list[str], list[list[str]]]:
    """One variant: a reason a row, with its operations and its time by task in ms; shares are of the time at work."""
    causes, title_of = variant["by_cause"], titles(variant)
    operations = [key for key in OPERATIONS if variant["totals"][key]]
    tasks = [task for task in title_of if any(c["task"] == task and (flash_us(c) or c["cpu_us"]) for c in causes)]
    unit = _unit([variant])
    head = ["where the time went", "share", unit.word, *(OPERATIONS[key] for key in operations)]
    head += [f"{title_of[task]}, {unit.word}" for task in tasks] if len(tasks) > 1 else []
    rows: list[list[str]] = []
    idle: list[list[str]] = []
    for name, us in spent(variant).items():
        own = [cause for cause in causes if cause["reason"] == name]
        if name not in MEANING_WITHOUT_FLASH:
            counts = [_count(sum(cause[key] for cause in own)) for key in operations]
            times = [sum(flash_us(cause) for cause in own if cause["task"] == task) for task in tasks]
        else:
            counts = ["-"] * len(operations)
            cpu = [sum(cause["cpu_us"] for cause in causes if cause["task"] == task) for task in tasks]
            alone = [us if name == PROGRAM and task == "caller" else 0.0 for task in tasks]
            times = cpu if name == CPU else alone
        share = "-" if name == IDLE else _share(us, variant)
        (idle if name == IDLE else rows).append([name, share, _cell(us, unit), *counts, *_by_task(times, unit)])
    counts = [_count(variant["totals"][key]) for key in operations]
    by_task = [sum(flash_us(c) + c["cpu_us"] for c in causes if c["task"] == task) for task in tasks]
    if "caller" in tasks:
        by_task[tasks.index("caller")] += variant["program_us"]
    rows.append([AT_WORK if idle else "all", ALL, _cell(at_work_us(variant), unit), *counts, *_by_task(by_task, unit)])
    if idle:
        blank = ["-"] * len(operations)
        rows += [*idle, ["all", "-", _cell(variant["time_us"], unit), *blank, *_by_task([0.0] * len(by_task), unit)]]
    return head, rows


def variants_table(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """Several variants side by side: a reason a row, what was asked for first; time, and its share of that at work."""
    unit = _unit(variants)
    parts = [spent(variant) for variant in variants]
    largest: dict[str, float] = {}
    for part in parts:
        for name, us in part.items():
            largest[name] = max(largest.get(name, 0.0), us)
    asked = frozenset().union(*(asked_for(variant) for variant in variants))
    flash = [name for name in largest if name not in MEANING_WITHOUT_FLASH]
    flash.sort(key=lambda name: (name not in asked, -largest[name]))
    names = flash + [name for name in MEANING_WITHOUT_FLASH if name in largest and name != IDLE]
    first, *columns = variant_heads(variants)
    head = ["\n".join(filter(None, [first, f"where the time went, {unit.word}"]))]
    for name in columns:
        head += [f"{name}\n{unit.word}" if first else name, "share"]
    rows = []
    for name in names:
        row = [name]
        for variant, part in zip(variants, parts, strict=True):
            us = part.get(name, 0.0)
            row += [_cell(us, unit), _share(us, variant) if us else "-"]
        rows.append(row)
    if IDLE not in largest:
        return head, [*rows, ["all", *_beside([variant["time_us"] for variant in variants], ALL, unit)]]
    rows.append([AT_WORK, *_beside([at_work_us(variant) for variant in variants], ALL, unit)])
    rows.append([IDLE, *_beside([variant["idle_us"] for variant in variants], "-", unit)])
    return head, [*rows, ["all", *_beside([variant["time_us"] for variant in variants], "-", unit)]]


def _unit(variants: list[VariantSummary]) -> Unit:
    """The unit of all times of a table, which people add up: that of the largest time at work, four digits of it."""
    largest = max(map(at_work_us, variants))
    return common_unit("time", [largest, largest / 10])


def _beside(times_us: list[float], share: str, unit: Unit) -> list[str]:
    """The cells of all variants in a row of sums."""
    return [cell for us in times_us for cell in (_cell(us, unit), share)]


def variant_heads(variants: list[VariantSummary]) -> list[str]:
    """Heads of a table with a variant a column: the names of one or two, a line for each axis when there are more."""
    axes = list(variants[0]["axes"])
    if len(variants) <= 2 or not axes:
        return ["", *(variant["name"] for variant in variants)]
    texts = [axis_texts(variants, axis) for axis in axes]
    return ["\n".join(axes), *("\n".join(column) for column in zip(*texts, strict=True))]


def axis_text(value: object, others: Sequence[object] = ()) -> str:
    """The value of an axis for people: of a path the file's name, of a table the keys in which it differs from one of
    `others`."""
    if isinstance(value, dict):
        tables = [other if isinstance(other, dict) else {} for other in others]
        same = {key for key in value if tables and all(other.get(key) == value[key] for other in tables)}
        kept = value if same == set(value) else {key: each for key, each in value.items() if key not in same}
        return ", ".join(f"{key}={each}" for key, each in kept.items()) or "-"
    return str(value).rsplit("/", 1)[-1]


def axis_texts(variants: Sequence[VariantSummary], axis: str) -> list[str]:
    """The value of an axis of each variant, for people."""
    values = [variant["axes"][axis] for variant in variants]
    distinct = list({str(value): value for value in values}.values())
    return [axis_text(value, distinct) for value in values]


def sentence(variant: VariantSummary) -> str | None:
    """The largest cost beside what the program asked for, in one sentence; `None` when there is none."""
    if not at_work_us(variant):
        return None
    parts = spent(variant)
    wished, meaning = asked_for(variant), explained(variant)
    costs = {name: us for name, us in parts.items() if name not in wished}
    if not costs:
        return None
    name = max(costs, key=lambda key: costs[key])
    # Half of the last digit that is written: less is nothing to speak of.
    worth_telling = 0.0005 * at_work_us(variant)
    asked = [key for key in parts if key in wished and key not in MEANING_WITHOUT_FLASH and parts[key] >= worth_telling]
    beside = " and ".join(f'{_share(parts[key], variant)} went into "{key}" ({meaning[key]})' for key in asked)
    at_work = " at work" if variant["idle_us"] else ""
    start = (
        f"Of {duration(at_work_us(variant))}{at_work}, {beside}; the largest cost beside it"
        if beside
        else "The largest cost"
    )
    return f'{start} is "{name}" with {_share(costs[name], variant)}: {meaning[name]}.'


def _by_task(times_us: list[float], unit: Unit) -> list[str]:
    return [_cell(us, unit) for us in times_us] if len(times_us) > 1 else []


def _count(count: int) -> str:
    return number(count) if count else "-"


def _cell(us: float, unit: Unit) -> str:
    return unit.cell(us) if us else "-"


def _share(us: float, variant: VariantSummary) -> str:
    return f"{us / at_work_us(variant) * 100:.1f} %"
