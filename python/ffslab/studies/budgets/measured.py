"""Runs the experiments of budgets and keeps an account of each variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ffslab._native import InputError
from ffslab.api.run import part_of
from ffslab.steady import filled_share
from ffslab.studies.budgets.file import YEARS, Budget, Budgets
from ffslab.studies.differences.account import Account, account_of, files_of
from ffslab.text.durations import DAYS_PER_YEAR
from ffslab.text.worn import runs_until_worn_out

if TYPE_CHECKING:
    from ffslab.answers.summary import VariantSummary
    from ffslab.api.run import Progress
    from ffslab.store import Store

# Errors with which a device answers a workload; others are of the experiment.
OF_DEVICE = ("ENOSPC", "EROFS", "EIO", "SQLITE_FULL", "SQLITE_IOERR")
# Of each budget the accounts of its variants by their names; "" where there is only one.
Measured: TypeAlias = dict[str, dict[str, Account]]


def measured(
    budgets: Budgets, *, jobs: int | None = None, store: Store | None = None, progress: Progress | None = None
) -> Measured:
    """What all budgets' experiments do now. What `store` (without one `Store.usual()`) holds is not run again.

    A variant that the device ends, as one whose partition is full, has an account that says so and no figures.

    Raises `ffslab.InputError` when a variant cannot be run for another reason.
    """
    for budget in budgets.budgets:
        budget.experiment.check()
    found: Measured = {}
    for at, budget in enumerate(budgets.budgets):
        share = part_of(progress, at, len(budgets.budgets))
        found[budget.name] = _of_budget(budget, jobs, store, share)
    return found


def _of_budget(budget: Budget, jobs: int | None, store: Store | None, progress: Progress | None) -> dict[str, Account]:
    try:
        run = budget.experiment.run(progress, jobs=jobs, store=store)
    except InputError as error:
        # None came to its end.
        return {"": _ended_early(str(error), str(error))}
    variants, files, failed = run.summary["variants"], files_of(run.request_columns), run.summary.get("failed", [])
    accounts: dict[str, Account] = {}
    for one in failed:
        said = f"{budget.experiment.file_name}: variant {one['name']}: {one['error']}"
        accounts[one["name"]] = _ended_early(one["error"], said)
    for variant in variants:
        account = account_of(variant, files)
        account["figures"] |= years_of(runs_borne(variant), budget.per_day)
        accounts[variant["name"] if len(variants) + len(failed) > 1 else ""] = account
    return accounts


def _ended_early(why: str, error: str) -> Account:
    """The account of a run that the device ended.

    Raises `ffslab.InputError` with `error` when it was something else.
    """
    if not any(code in why for code in OF_DEVICE):
        raise InputError(error)
    return {"figures": {}, "reasons": [], "steps": [], "files": [], "stack": {}, "not_done": why}


def runs_borne(variant: VariantSummary) -> float | None:
    """How often a part bears a run until blocks are worn out or no room is left; `None`: that is not known."""
    borne, filled = runs_until_worn_out(variant), filled_share(variant)
    known = [*([] if borne is None else [borne.runs]), *([1 / filled] if filled else [])]
    return min(known, default=None)


def years_of(runs: float | None, per_day: float | None) -> Mapping[str, float]:
    """The figure of how many years a part bears, that bears so many `runs`; nothing where one of both is not known."""
    return {} if per_day is None or runs is None else {YEARS: runs / per_day / DAYS_PER_YEAR}
