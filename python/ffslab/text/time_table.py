"""Where the time went: virtual time by reason and task. Its parts are counted one by one and add up to the whole."""

from __future__ import annotations

from typing import Any

from ffslab.text.tables import number

Variant = dict[str, Any]

# Every reason of crates/sim/src/cause.rs, in words.
MEANING = {
    "read": "data that the program asked for",
    "read-ahead": "pages that the kernel reads before the program asks for them",
    "read-modify-write": "a page is read so that a part of it can be overwritten",
    "inode read": "a file is opened: the headers of its nodes are read",
    "mount scan": "the file system looks for its contents",
    "user data": "data that the program wrote",
    "metadata": "inodes, names, deletions",
    "padding": "partly filled pages are written out",
    "sync": "the program asked for its data to be safe",
    "gc copy": "garbage collection moves live data",
    "name look-up": "a name is looked for in a directory, or its names are listed",
    "gc look-up": "garbage collection looks for what it need not move",
    "erase": "blocks are erased",
    "erase read-back": "each erased block is read to see that it is empty",
    "clean marker": "erased blocks are marked as usable",
    "checking": "nodes are checked after mount",
    "summary": "summaries of full blocks are written",
    "recovery": "failed programs and erases are dealt with",
    "UBI attach": "UBI looks at all erase blocks",
    "UBI header": "UBI writes erase counters, block identifiers and its volume table",
    "wear levelling": "UBI moves data because of wear or bit flips",
    "left by the setup": "what the setup had left in memory is written: not the measured steps' doing",
    "formatting": "a new partition is made usable, once: no cost of what programs do",
    "other": "flash operations without a stated reason",
}
CPU, PROGRAM, IDLE = "CPU", "program", "idle"
MEANING_WITHOUT_FLASH = {
    CPU: "system calls and file system compute",
    PROGRAM: "the program computes between its calls",
    IDLE: "nobody can run: the program sleeps",
}
EXPLAINED = MEANING | MEANING_WITHOUT_FLASH
# What a program asked for; everything else is the price of having it.
ASKED_FOR = frozenset({"read", "user data", PROGRAM, IDLE})

TASKS = {
    "caller": "program",
    "jffs2_gc_thread": "GC thread",
    "ubi_thread": "UBI thread",
    "ubifs_thread": "UBIFS thread",
    "yaffs_thread": "YAFFS thread",
    "kworker": "kworker",
    "flusher": "flusher",
    "bdbuf_swapout": "bdbuf swap-out",
    "bdbuf_read_ahead": "bdbuf read-ahead",
}
ALL = "100.0 %"
OPERATIONS = {
    "page_reads": "page reads",
    "page_programs": "programs",
    "erases": "erases",
    "oob_reads": "OOB reads",
    "oob_programs": "OOB programs",
}


def flash_us(cause: dict[str, Any]) -> float:
    """Chip and driver time of a cause."""
    return float(cause["busy_us"] + cause["driver_us"])


def spent(variant: Variant) -> dict[str, float]:
    """Virtual time in us by reason, largest first; then CPU, program and idle. The sum is the variant's time."""
    by_reason: dict[str, float] = {}
    for cause in variant["by_cause"]:
        by_reason[cause["reason"]] = by_reason.get(cause["reason"], 0.0) + flash_us(cause)
    ordered = sorted((reason for reason in by_reason if by_reason[reason]), key=lambda reason: -by_reason[reason])
    cpu_us = sum(cause["cpu_us"] for cause in variant["by_cause"])
    without_flash = {CPU: cpu_us, PROGRAM: variant["program_us"], IDLE: variant["idle_us"]}
    return {reason: by_reason[reason] for reason in ordered} | {k: us for k, us in without_flash.items() if us}


def causes_table(variant: Variant) -> tuple[list[str], list[list[str]]]:
    """One variant: a reason a row, with its operations and its time by task in ms."""
    causes = variant["by_cause"]
    operations = [key for key in OPERATIONS if variant["totals"][key]]
    tasks = [task for task in TASKS if any(c["task"] == task and (flash_us(c) or c["cpu_us"]) for c in causes)]
    head = ["where the time went", "share", "ms", *(OPERATIONS[key] for key in operations)]
    head += [f"{TASKS[task]}, ms" for task in tasks] if len(tasks) > 1 else []
    rows = []
    for name, us in spent(variant).items():
        own = [cause for cause in causes if cause["reason"] == name]
        if name in MEANING:
            counts = [_count(sum(cause[key] for cause in own)) for key in operations]
            times = [sum(flash_us(cause) for cause in own if cause["task"] == task) for task in tasks]
        else:
            counts = ["-"] * len(operations)
            cpu = [sum(cause["cpu_us"] for cause in causes if cause["task"] == task) for task in tasks]
            alone = [us if name == PROGRAM and task == "caller" else 0.0 for task in tasks]
            times = cpu if name == CPU else alone
        rows.append([name, _share(us, variant), _ms(us), *counts, *_by_task(times)])
    counts = [_count(variant["totals"][key]) for key in operations]
    by_task = [sum(flash_us(c) + c["cpu_us"] for c in causes if c["task"] == task) for task in tasks]
    if "caller" in tasks:
        by_task[tasks.index("caller")] += variant["program_us"]
    rows.append(["all", ALL, _ms(variant["time_us"]), *counts, *_by_task(by_task)])
    return head, rows


def variants_table(variants: list[Variant]) -> tuple[list[str], list[list[str]]]:
    """Several variants side by side: a reason a row, what was asked for first; ms and share of each."""
    parts = [spent(variant) for variant in variants]
    largest: dict[str, float] = {}
    for part in parts:
        for name, us in part.items():
            largest[name] = max(largest.get(name, 0.0), us)
    flash = sorted(
        (name for name in largest if name in MEANING), key=lambda name: (name not in ASKED_FOR, -largest[name])
    )
    names = flash + [name for name in MEANING_WITHOUT_FLASH if name in largest]
    first, *columns = variant_heads(variants)
    head = ["\n".join(filter(None, [first, "where the time went, ms"]))]
    for name in columns:
        head += [f"{name}\nms" if first else name, "share"]
    rows = []
    for name in names:
        row = [name]
        for variant, part in zip(variants, parts, strict=True):
            us = part.get(name, 0.0)
            row += [_ms(us), _share(us, variant) if us else "-"]
        rows.append(row)
    total = ["all"]
    for variant in variants:
        total += [_ms(variant["time_us"]), ALL]
    return head, [*rows, total]


def variant_heads(variants: list[Variant]) -> list[str]:
    """Heads of a table with a variant a column: the names of one or two, a line for each axis when there are more."""
    axes = list(variants[0]["axes"])
    if len(variants) <= 2 or not axes:
        return ["", *(variant["name"] for variant in variants)]
    return ["\n".join(axes), *("\n".join(axis_text(variant["axes"][axis]) for axis in axes) for variant in variants)]


def axis_text(value: object) -> str:
    """The value of an axis for people: of a path the file's name."""
    return str(value).rsplit("/", 1)[-1]


def sentence(variant: Variant) -> str | None:
    """The largest cost beside what the program asked for, in one sentence; `None` when there is none."""
    if not variant["time_us"]:
        return None
    parts = spent(variant)
    costs = {name: us for name, us in parts.items() if name not in ASKED_FOR}
    if not costs:
        return None
    name = max(costs, key=lambda key: costs[key])
    # Half of the last digit that is written: less is nothing to speak of.
    asked = {key: us for key, us in parts.items() if key in {"read", "user data"} and us >= 0.0005 * variant["time_us"]}
    beside = " and ".join(f"{_share(us, variant)} went into {MEANING[key]}" for key, us in asked.items())
    start = f"Of {_ms(variant['time_us'])} ms, {beside}; the largest cost beside it" if beside else "The largest cost"
    return f'{start} is "{name}" with {_share(costs[name], variant)}: {EXPLAINED[name]}.'


def _by_task(times_us: list[float]) -> list[str]:
    return [_ms(us) for us in times_us] if len(times_us) > 1 else []


def _count(count: int) -> str:
    return number(count) if count else "-"


def _ms(us: float) -> str:
    return number(us / 1e3) if us else "-"


def _share(us: float, variant: Variant) -> str:
    return f"{us / variant['time_us'] * 100:.1f} %"
