"""From what a guest left to a measured case: flashmon's flash operations, counted by phase, task and block."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ffslab import _native
from ffslab.answers.machine import PlannedFlash
from ffslab.measured.reference import chip, medium
from ffslab.measured.reference.plan import Variant
from ffslab.measured.threads import task_of

COUNTER_OF = {"R": "page_reads", "r": "oob_reads", "W": "page_programs", "w": "oob_programs", "E": "erases"}
PERCENTILES = (50, 90, 99)
TIMED = ("requests", "append", "mmap", "create_many")


@dataclass
class StepDone:
    """What `steps/` says of a step; values by name."""

    phase: str
    index: int
    values: dict[str, str]
    latencies_us: list[float] = field(default_factory=list)

    def number(self, name: str) -> int | None:
        return int(self.values[name]) if name in self.values else None


def read_steps(path: Path) -> list[StepDone]:
    """What `steps/` wrote. Raises `InputError` with its reason when a step failed."""
    lines = path.read_text(encoding="utf-8").splitlines()
    steps = []
    for line in lines:
        if line.startswith("step "):
            _, phase, index, *words = line.split()
            steps.append(StepDone(phase, int(index), dict(word.split("=", 1) for word in words if "=" in word)))
        elif line.startswith("failed "):
            raise _native.InputError(f"on the real kernel: {line.removeprefix('failed ')}")
    if not lines or lines[-1] != "done":
        raise _native.InputError(f"the steps were cut off after {len(steps)}")
    latencies = [int(line) for line in lines if line.isdigit()]
    for step in steps:
        first, n = int(step.values["first_latency"]), int(step.values["latencies"])
        step.latencies_us = [took_ns / 1000 for took_ns in latencies[first : first + n]]
    return steps


def uptime_us(steps: list[StepDone]) -> float:
    """How long the machine had been up when the first step began, as its tick counter tells it."""
    lag_ns = next(step.values["tick_lag_ns"] for step in steps if "tick_lag_ns" in step.values)
    first = next(step for step in steps if step.phase != "begin")
    return (int(first.values["from_ns"]) - int(lag_ns)) / 1000


def wall_clock_us(steps: list[StepDone]) -> float:
    """How far into its second the wall clock was when the first step began."""
    ahead_ns = next(step.values["wall_ahead_ns"] for step in steps if "wall_ahead_ns" in step.values)
    first = next(step for step in steps if step.phase != "begin")
    return (int(first.values["from_ns"]) + int(ahead_ns)) % 1_000_000_000 / 1000


def without_pauses(log: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a log without what `steps/` does to the chip itself: see `crash` there."""
    paused = False
    for line in log:
        fields = line.rstrip(b"\n").split(b";")
        if fields[1:2] == [b"M"] and fields[3] in (b"pause", b"resume"):
            paused = fields[3] == b"pause"
        elif not paused or line.startswith(b"#"):
            yield line


@dataclass
class Counts:
    """Counters of the measured steps from a log of flashmon."""

    after_step: list[Counter[str]]  # cumulative, from the start of the measurement
    by_task: dict[str, Counter[str]]
    erases_per_block: list[int]


def count(log: Iterable[str], flash: PlannedFlash, partitions: Sequence[tuple[int, int]] = ()) -> Counts:
    """Counts the operations of a log with a marker "PHASE INDEX NAME" at the start of each step and "end" after all.

    Raises `InputError` when the log has lost events or has no end.
    """
    total: Counter[str] = Counter()
    by_task: dict[str, Counter[str]] = {}
    of_chip = partitions or [(flash["first_block"], flash["partition_blocks"])]
    # From the first block of all partitions to the last.
    first_block, end_block = of_chip[0][0], max(first + blocks for first, blocks in of_chip)
    per_block = flash["pages_per_block"]
    erases = [0] * (end_block - first_block)
    found = Counts([], {}, [])
    programmed: set[int] = set()
    measuring, complete = False, False
    for line in log:
        if line.startswith("# end:"):
            complete = True
            if " lost=0 " not in line:
                raise _native.InputError(f"events were lost, so nothing can be counted: {line.strip()}")
        if line.startswith("#"):
            continue
        _, kind, address_text, task, *rest = line.rstrip("\n").split(";")
        if kind == "M":
            if task.startswith("measure 0 "):
                total, by_task, erases, measuring = Counter(), {}, [0] * (end_block - first_block), True
            elif measuring:
                # What happens after the last step, until the trace is stopped, belongs to nobody.
                found.after_step.append(total.copy())
                found.by_task = {who: counter.copy() for who, counter in by_task.items()}
                found.erases_per_block = erases.copy()
            continue
        address = int(address_text)
        counters = [COUNTER_OF[kind]]
        if kind == "R" and int(rest[1]) < flash["page_B"]:
            counters.append("partial_page_reads")
        if kind == "W":
            if address in programmed:
                counters.append("reprograms")
            programmed.add(address)
        if kind == "E":
            pages = range(address * per_block, (address + 1) * per_block)
            programmed.difference_update(pages)
            if first_block <= address < end_block:
                erases[address - first_block] += 1
        if measuring:
            total.update(counters)
            by_task.setdefault(task_of(task), Counter()).update(counters)
    if not complete:
        raise _native.InputError("flashmon's log has no end: it was cut off")
    return found


def latency(us: list[float], elapsed_us: float) -> dict[str, float]:
    """Statistics as in measured cases: percentile p is element floor(n p / 100) of the sorted list."""
    ordered = sorted(us)
    found = {"n": len(us), "mean": statistics.fmean(us), "sd": statistics.pstdev(us), "min": ordered[0]}
    found |= {f"p{p}": ordered[len(us) * p // 100] for p in PERCENTILES}
    return {**found, "max": ordered[-1], "sum": sum(us), "elapsed": elapsed_us}


def names_of(step: StepDone) -> list[str]:
    """What `readdir` found, without the two names that every directory has."""
    names = bytes.fromhex(step.values["names"]).decode(errors="replace").split("/")
    return [name for name in names if name not in (".", "..")]


def plain(counter: Counter[str], counters: Iterable[str]) -> dict[str, int]:
    return {name: counter[name] for name in counters}


def boot(of: dict[str, Any]) -> dict[str, object]:
    """What a case says of a further boot of the machine on which another one was measured: its clocks and counters."""
    clocks = {name: of["system"][name] for name in ("uptime_us", "wall_clock_us")}
    return clocks | {name: of["expect"][name] for name in chip.COUNTERS if name in of["expect"]}


def mounts_described(variant: Variant, system: dict[str, Any]) -> list[dict[str, object]]:
    """The mounts beside the root with what a kernel has for all of them."""
    of_kernel = {"page_cache_KiB": system["ram_MiB"] << 10, "vm": system["vm"]}
    summary = {"summary": system.pop("summaries_of_others", None)}
    return [{**mount.described, **of_kernel, **(summary if mount.fs == "jffs2" else {})} for mount in variant.mounts]


def case(variant: Variant, system: dict[str, object], log: Iterable[str], steps: list[StepDone]) -> dict[str, object]:
    """The case in the format of measured cases.

    Its latencies stand in `measured` and not in `expect`: they hold the CPU time of the emulated machine, by which no
    model of a chip is to be judged.
    """
    counts, counters = count(log, variant.flash, variant.partitions), medium.of(variant.flash).COUNTERS
    at_end = counts.after_step[-1]
    if variant.programs:
        # The measured steps end before the programs beside them do, and the measurement with the last of these.
        counts.after_step.pop()
    measured = [step for step in steps if step.phase == "measure"]
    assert len(counts.after_step) == len(variant.measure) == len(measured)
    start_ns = int(measured[0].values["from_ns"])
    after_step = []
    for counter, step in zip(counts.after_step, measured, strict=True):
        row: dict[str, object] = {**plain(counter, counters), "time_us": (int(step.values["to_ns"]) - start_ns) / 1000}
        for fact in ("fs_free_B", "bytes_accepted", "requests_done"):
            if (value := step.number(fact)) is not None:
                row[fact] = value
        after_step.append(row)
    expect: dict[str, object] = {
        "from_step": None,
        "at_step": len(measured) - 1,
        **plain(at_end, counters),
    }
    expect["by_task"] = {who: plain(counter, counters) for who, counter in sorted(counts.by_task.items())}
    expect |= {"after_step": after_step, "erases_per_block": counts.erases_per_block}
    for step in steps:
        for fact in ("fill_bytes", "files", "fragment_pieces"):
            if step.phase == "setup" and (value := step.number(fact)) is not None:
                expect[fact] = value
    latencies = {}
    for planned, step in zip(variant.measure, measured, strict=True):
        name = planned["step"]
        if name == "requests" and "requests_done" not in expect:
            # Of the first one, as measured cases have it; of each in `after_step`.
            expect |= {"bytes_accepted": step.number("bytes_accepted"), "requests_done": step.number("requests_done")}
            expect |= {"stopped_by": step.values["stopped_by"]} if "stopped_by" in step.values else {}
        if name in TIMED and step.latencies_us:
            of_step = name if name not in latencies else f"{name} {step.index}"
            latencies[of_step] = latency(step.latencies_us, int(step.values["elapsed_ns"]) / 1000)
    # In the order in which the kernel gives them, by the step's index.
    names = {step.index: names_of(step) for step in measured if "names" in step.values}
    return {
        "id": variant.identity,
        "family": "reference",
        "variant": variant.name,
        "seed": variant.seed,
        "system": system,
        "flash": variant.flash,
        "setup": variant.setup,
        "measure": variant.measure,
        **({"programs": [program.described for program in variant.programs]} if variant.programs else {}),
        **({"mounts": mounts_described(variant, system)} if variant.mounts else {}),
        "expect": expect,
        "measured": {"latency_us": latencies, **({"readdir": names} if names else {})},
    }
