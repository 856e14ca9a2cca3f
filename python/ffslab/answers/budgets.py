"""What `ffslab ci --json` prints; `ffslab schema budgets` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class BudgetRow(TypedDict):
    """A rule of a budget, for a variant of its experiment ("": it has only one).

    `before`: the figure in the baseline; null: the rule needs none, or the baseline has none. `change`: by which
    fraction of it the figure differs. `needs_us`: how long the workload must be seen at least for a verdict; null: it
    was seen long enough. `why`: reasons, steps and files from which a change comes, what was not done, a line each.
    """

    budget: str
    variant: str
    figure: str
    rule: str
    before: float | None
    found: float | None
    change: float | None
    holds: bool
    needs_us: float | None
    why: list[str]


class BudgetsAnswer(TypedDict):
    """All rules. `machine`: on what, from what state, how long was seen, in a line. `baseline_from`: the version of
    ffslab that made the baseline; null: there is none."""

    ffslab: str
    machine: str
    baseline_from: str | None
    holds: bool
    rows: list[BudgetRow]
