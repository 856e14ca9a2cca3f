"""The stages of a boot: when each began, how long it took, and what it did to the flash."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from ffslab.answers.summary import StepSummary, VariantSummary
from ffslab.text.tables import number
from ffslab.text.units import column

# Columns of text; the others are numbers.
TEXTS = frozenset({"variant", "stage"})
ALL = "all"


@dataclass(frozen=True)
class BootStage:
    """A stage, or all of them together. `share`: of the time of all."""

    name: str
    from_us: float
    took_us: float
    share: float
    page_reads: int
    page_programs: int
    erases: int


def boot_stages(variant: VariantSummary) -> list[BootStage]:
    """The stages in order; none where the measured steps have none. Steps before the first stage belong to no boot."""
    staged = [(step["stage"], step) for step in variant.get("steps", []) if "stage" in step]
    whole = sum(step["elapsed_us"] for _, step in staged)
    stages, at_us = [], 0.0
    for name, steps in groupby(staged, key=lambda pair: pair[0]):
        stages.append(_stage(name, at_us, [step for _, step in steps], whole))
        at_us += stages[-1].took_us
    return stages


def _stage(name: str, from_us: float, steps: list[StepSummary], whole: float) -> BootStage:
    took = sum(step["elapsed_us"] for step in steps)
    return BootStage(
        name,
        from_us,
        took,
        took / whole if whole else 0.0,
        sum(step["counts"]["page_reads"] + step["counts"]["oob_reads"] for step in steps),
        sum(step["counts"]["page_programs"] for step in steps),
        sum(step["counts"]["erases"] for step in steps),
    )


def boot_cells(variants: list[VariantSummary]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a stage a row, and one for the whole boot of each variant. Without stages, no rows."""
    of = []
    for variant in variants:
        if stages := boot_stages(variant):
            steps = [step for step in variant.get("steps", []) if "stage" in step]
            of += [(variant["name"], stage) for stage in [*stages, _stage(ALL, 0.0, steps, stages_us(stages))]]
    if not of:
        return [], []
    stages = [stage for _, stage in of]
    figures = [
        column("from", "time", [stage.from_us for stage in stages]),
        column("took", "time", [stage.took_us for stage in stages]),
        ["share, %", *(number(stage.share * 100) for stage in stages)],
        column("page reads", "count", [stage.page_reads for stage in stages]),
        column("page programs", "count", [stage.page_programs for stage in stages]),
        column("erases", "count", [stage.erases for stage in stages]),
    ]
    columns = [
        *([["variant", *(name for name, _ in of)]] if len(variants) > 1 else []),
        ["stage", *(stage.name for stage in stages)],
        *(figure for figure in figures if any(cell not in ("0", "-") for cell in figure[1:])),
    ]
    head, *rows = ([*row] for row in zip(*columns, strict=True))
    return head, rows


def stages_us(stages: list[BootStage]) -> float:
    """How long they take together."""
    return sum(stage.took_us for stage in stages)


def alignment(head: list[str]) -> str:
    """One letter per column, as `text_table` takes them: l for left, r for right."""
    return "".join("l" if name in TEXTS else "r" for name in head)
