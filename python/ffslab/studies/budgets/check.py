"""Whether what was measured keeps its budgets, and what a change comes from."""

from __future__ import annotations

from collections.abc import Sequence

from ffslab._native import __version__
from ffslab.answers.budgets import BudgetRow, BudgetsAnswer
from ffslab.studies.budgets.baseline import Baseline
from ffslab.studies.budgets.file import Budgets, Change
from ffslab.studies.budgets.measured import Measured
from ffslab.studies.differences import Account, consists_of, fraction, why
from ffslab.studies.limits import Limit
from ffslab.text.durations import duration
from ffslab.text.energy import missing_price
from ffslab.text.figures import TOO_SHORT, needs_steady
from ffslab.text.machine_line import Seen, begun_with, initial_as_written, line
from ffslab.text.tables import at_least


def checked(budgets: Budgets, found: Measured, baseline: Baseline | None) -> BudgetsAnswer:
    """Each rule of each budget for each variant, in the order of the file."""
    known = baseline.accounts if baseline else {}
    rows = [
        row
        for budget in budgets.budgets
        for variant, account in found[budget.name].items()
        for row in rows_of(
            (budget.name, variant),
            [*budget.limits, *budget.changes],
            account,
            known.get(budget.name, {}).get(variant),
        )
    ]
    return {
        "ffslab": __version__,
        "machine": line(_seen(budgets, found)),
        "baseline_from": baseline.made_by if baseline else None,
        "holds": all(row["holds"] for row in rows),
        "rows": rows,
    }


def _seen(budgets: Budgets, found: Measured) -> list[Seen]:
    """What the experiments ran on."""
    return [
        Seen(
            account["stack"],
            begun_with(account["stack"], {}, initial_as_written(budget.experiment.table())),
            seen_us=account["figures"]["time_us"],
        )
        for budget in budgets.budgets
        for account in found[budget.name].values()
        if account["stack"]
    ]


def rows_of(
    which: tuple[str, str], rules: Sequence[Limit | Change], account: Account, before: Account | None
) -> list[BudgetRow]:
    """The rules of a budget and a variant, `which`, held against what was done, and what was done `before`."""
    return [_row(*which, rule, account, before) for rule in rules]


def _row(budget: str, variant: str, rule: Limit | Change, account: Account, before: Account | None) -> BudgetRow:
    found = account["figures"].get(rule.figure)
    needs_us = _needs_us(rule, account)
    was = before["figures"].get(rule.figure) if before else None
    lines: list[str] = []
    if (not_done := account.get("not_done")) is not None:
        holds = False
        lines.append(f"not all was done: {not_done}")
    elif needs_us is not None:
        holds, found, was = False, None, None
        lines.append(_too_short(needs_us, account["figures"]["time_us"]))
    elif isinstance(rule, Limit):
        holds = rule.holds(found)
        if found is None and not holds:
            lines.append(_unknown(rule.figure, account))
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
    elif found is not None and not holds:
        lines += consists_of(account, rule.figure)
    return {
        "budget": budget,
        "variant": variant,
        "figure": rule.figure,
        "rule": rule.text,
        "before": was,
        "found": found,
        "change": fraction(was, found),
        "holds": holds,
        "needs_us": needs_us,
        "why": lines,
    }


def _unknown(figure: str, account: Account) -> str:
    why = missing_price(account["stack"]) if figure.startswith("energy_") else None
    return "the run has no such figure" if why is None else f"not known: {why}"


def _needs_us(rule: Limit | Change, account: Account) -> float | None:
    """How long the workload must be seen for a verdict; `None`: it was. A change compares the same with the same."""
    is_asked = isinstance(rule, Limit) and needs_steady(rule.figure)
    return account["figures"].get("needs_us") if is_asked else None


def _too_short(needs_us: float, seen_us: float) -> str:
    return (
        f"{TOO_SHORT}: this needs about {duration(needs_us)} of the workload, {at_least(needs_us / seen_us)} times "
        f"the {duration(seen_us)} that were seen, because the state is not steady before"
    )
