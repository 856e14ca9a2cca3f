"""What `ffslab diff --json` prints; `ffslab schema run_diff` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class FigureChange(TypedDict):
    """A figure that differs. `change`: by which fraction; null: it was 0, or one side has no such figure."""

    figure: str
    before: float | None
    after: float | None
    change: float | None


class PairDiff(TypedDict):
    """A variant of the first result beside one of the second.

    `why`: of what the difference of time, page reads, page programs and erases consists: a line each for the machine,
    the work, reasons, steps and files; figures that do not differ are left out.
    """

    before: str
    after: str
    figures: list[FigureChange]
    # How long the workload must be seen before its state is steady on both sides; null: it was.
    needs_us: float | None
    why: dict[str, list[str]]


class RunDiff(TypedDict):
    """Two results. `machine_before`, `machine_after`: on what, from what state, how long was seen, in a line each.

    `only_before`, `only_after`: variants that the other one does not have. `failed_before`, `failed_after`: those that
    did not come to their end, or not with everything done, in a sentence each.
    """

    before: str
    after: str
    machine_before: str
    machine_after: str
    failed_before: list[str]
    failed_after: list[str]
    # Why energy is not told to people: whose prices have no source.
    without_energy: list[str]
    pairs: list[PairDiff]
    only_before: list[str]
    only_after: list[str]
