"""Runs the experiments of budgets and keeps an account of each variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ffslab.api.run import part_of
from ffslab.steady import filled_share
from ffslab.studies.budgets.file import YEARS, Budget, Budgets
from ffslab.studies.differences.account import Account, account_of, files_of
from ffslab.text.durations import DAYS_PER_YEAR
from ffslab.text.variants import runs_until_worn_out

if TYPE_CHECKING:
    from ffslab.answers.summary import VariantSummary
    from ffslab.api.run import Progress
    from ffslab.store import Store

# Of each budget the accounts of its variants by their names; "" where there is only one.
Measured: TypeAlias = dict[str, dict[str, Account]]


def measured(
    budgets: Budgets, *, jobs: int | None = None, store: Store | None = None, progress: Progress | None = None
) -> Measured:
    """What all budgets' experiments do now. What `store` (without one `Store.usual()`) holds is not run again.

    Raises `ffslab.InputError` when a variant does not come to its end.
    """
    for budget in budgets.budgets:
        budget.experiment.check()
    found: Measured = {}
    for at, budget in enumerate(budgets.budgets):
        share = part_of(progress, at, len(budgets.budgets))
        found[budget.name] = _of_budget(budget, jobs, store, share)
    return found


def _of_budget(budget: Budget, jobs: int | None, store: Store | None, progress: Progress | None) -> dict[str, Account]:
    from ffslab._native import InputError

    run = budget.experiment.run(progress, jobs=jobs, store=store)
    if failed := run.summary.get("failed"):
        which = f"variant {failed[0]['name']}: " if len(failed) + len(run.summary["variants"]) > 1 else ""
        raise InputError(f"{budget.experiment.file_name}: {which}{failed[0]['error']}")
    variants, files = run.summary["variants"], files_of(run.request_columns)
    accounts: dict[str, Account] = {}
    for variant in variants:
        account = account_of(variant, files)
        account["figures"] |= years_of(runs_borne(variant), budget.per_day)
        accounts[variant["name"] if len(variants) > 1 else ""] = account
    return accounts


def runs_borne(variant: VariantSummary) -> float | None:
    """How often a part bears a run until blocks are worn out or no room is left; `None`: that is not known."""
    borne, filled = runs_until_worn_out(variant), filled_share(variant)
    known = [*([] if borne is None else [borne.runs]), *([1 / filled] if filled else [])]
    return min(known, default=None)


def years_of(runs: float | None, per_day: float | None) -> Mapping[str, float]:
    """The figure of how many years a part bears, that bears so many `runs`; nothing where one of both is not known."""
    return {} if per_day is None or runs is None else {YEARS: runs / per_day / DAYS_PER_YEAR}
