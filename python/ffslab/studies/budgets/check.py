"""Whether what was measured keeps its budgets, and what a change comes from."""

from __future__ import annotations

from ffslab._native import __version__
from ffslab.answers.budgets import BudgetRow, BudgetsAnswer
from ffslab.studies.budgets.baseline import Baseline
from ffslab.studies.budgets.file import Budget, Budgets, Change
from ffslab.studies.budgets.measured import Measured
from ffslab.studies.differences import Account, fraction, why
from ffslab.studies.limits import Limit


def checked(budgets: Budgets, found: Measured, baseline: Baseline | None) -> BudgetsAnswer:
    """Each rule of each budget for each variant, in the order of the file."""
    rows = [
        row
        for budget in budgets.budgets
        for variant, account in found[budget.name].items()
        for row in _rows(budget, variant, account, baseline)
    ]
    return {
        "ffslab": __version__,
        "baseline_from": baseline.made_by if baseline else None,
        "holds": all(row["holds"] for row in rows),
        "rows": rows,
    }


def _rows(budget: Budget, variant: str, account: Account, baseline: Baseline | None) -> list[BudgetRow]:
    before = baseline.accounts.get(budget.name, {}).get(variant) if baseline else None
    rules: list[Limit | Change] = [*budget.limits, *budget.changes]
    return [_row(budget.name, variant, rule, account, before) for rule in rules]


def _row(budget: str, variant: str, rule: Limit | Change, account: Account, before: Account | None) -> BudgetRow:
    found = account["figures"].get(rule.figure)
    was = before["figures"].get(rule.figure) if before else None
    lines: list[str] = []
    if isinstance(rule, Limit):
        holds = rule.holds(found)
        if found is None and not holds:
            lines.append("the run has no such figure")
    elif before is None:
        holds = False
        lines.append("the baseline has nothing of it: `ffslab ci --update` adds it")
    elif found is None or was is None:
        holds = found == was
        lines += [] if holds else [f"{'the baseline' if was is None else 'the run'} has no such figure"]
    else:
        holds = rule.holds(was, found)
    changed = was is not None and found is not None and was != found
    if changed and before is not None:
        lines += why(before, account, rule.figure)
    return {
        "budget": budget,
        "variant": variant,
        "figure": rule.figure,
        "rule": rule.text,
        "before": was,
        "found": found,
        "change": fraction(was, found),
        "holds": holds,
        "why": lines,
    }
