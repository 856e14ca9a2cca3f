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
    why: dict[str, list[str]]


class RunDiff(TypedDict):
    """Two results. `only_before`, `only_after`: variants that the other one does not have."""

    before: str
    after: str
    pairs: list[PairDiff]
    only_before: list[str]
    only_after: list[str]
