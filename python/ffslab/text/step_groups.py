"""Steps that do the same, such as a thousand INSERTs, as one row of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ffslab.answers.summary import StepSummary, VariantSummary
from ffslab.text.energy import energy_is_priced, energy_mj
from ffslab.text.units import column

# So many steps are shown one by one.
STEPS_MAX = 40
# So much of a title is shown.
TITLE_CHARACTERS_MAX = 60

# SQL literals and whatever else differs from step to step: quoted text, blobs, numbers.
_VALUES = re.compile(r"x?'(?:[^']|'')*'|(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b", re.IGNORECASE)
_LISTS = re.compile(r"\?(?:\s*,\s*\?)+")


@dataclass
class StepGroup:
    """One step, or several that differ only in their values."""

    title: str
    steps: int = 0
    elapsed_us: float = 0.0
    longest_us: float = 0.0
    energy_mj: float = 0.0
    calls: int = 0
    latency_sum_us: float = 0.0
    page_reads: int = 0
    page_programs: int = 0
    erases: int = 0

    def add(self, step: StepSummary) -> None:
        self.steps += 1
        self.elapsed_us += step["elapsed_us"]
        self.longest_us = max(self.longest_us, step["elapsed_us"])
        self.energy_mj += energy_mj(step) or 0.0
        self.calls += step["latency_us"]["n"]
        self.latency_sum_us += step["latency_us"]["sum"]
        self.page_reads += step["counts"]["page_reads"]
        self.page_programs += step["counts"]["page_programs"]
        self.erases += step["counts"]["erases"]


def shape(title: str) -> str:
    """A title with its values replaced by question marks."""
    return _LISTS.sub("?, ...", _VALUES.sub("?", title))


def short(title: str) -> str:
    """A title as it fits into a table."""
    return title if len(title) <= TITLE_CHARACTERS_MAX else title[: TITLE_CHARACTERS_MAX - 3] + "..."


def step_groups(variant: VariantSummary) -> list[StepGroup]:
    """The measured steps of a variant in order; of many, those that do the same together, where the first stood."""
    steps = variant["steps"]
    groups: dict[tuple[int, str], StepGroup] = {}
    for index, step in enumerate(steps):
        key = (index, step["step"]) if len(steps) <= STEPS_MAX else (-1, shape(step["step"]))
        groups.setdefault(key, StepGroup(key[1])).add(step)
    return list(groups.values())


def step_table(variant: VariantSummary, what: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows: time, energy and flash operations of each step; `what` is what a step is."""
    groups = step_groups(variant)
    several = any(group.steps > 1 for group in groups)
    columns = [[what, *(short(group.title) for group in groups)]]
    if several:
        columns.append(column("number", "count", [group.steps for group in groups]))
    columns.append(column("time", "time", [group.elapsed_us for group in groups]))
    if several:
        columns.append(column("each", "time", [group.elapsed_us / group.steps for group in groups]))
        columns.append(column("longest", "time", [group.longest_us for group in groups]))
    if all(step["energy_uJ"] is not None for step in variant["steps"]) and energy_is_priced(variant):
        columns.append(column("energy", "energy", [1e3 * group.energy_mj for group in groups]))
    columns += [
        column("calls", "count", [group.calls for group in groups]),
        column("page reads", "count", [group.page_reads for group in groups]),
        column("page programs", "count", [group.page_programs for group in groups]),
        column("erases", "count", [group.erases for group in groups]),
    ]
    head, *rows = ([*row] for row in zip(*columns, strict=True))
    return head, rows
