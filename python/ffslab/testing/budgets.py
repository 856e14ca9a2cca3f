"""Budgets of a test: limits, and changes against what it did when its baseline was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ffslab._native import InputError
from ffslab.answers.budgets import BudgetRow
from ffslab.files.toml_tables import check_keys
from ffslab.studies.budgets import Baseline, Change
from ffslab.studies.budgets.check import rows_of
from ffslab.studies.budgets.file import known_figures, rule_of
from ffslab.studies.budgets.measured import years_of
from ffslab.studies.budgets.text import said_of
from ffslab.studies.differences import Account
from ffslab.studies.limits import Limit
from ffslab.testing.figures import Figures


@dataclass(frozen=True)
class TestBudget:
    """What a marker `flash_budget` says. `per_day`: how often what is measured happens a day, for years."""

    rules: tuple[Limit | Change, ...]
    per_day: float | None

    # pytest collects classes of such names.
    __test__ = False

    @classmethod
    def of(cls, rules: tuple[Any, ...], more: Mapping[str, Any]) -> TestBudget:
        """The budget of a marker with these arguments.

        Raises `ffslab.InputError` when a rule is none.
        """
        check_keys(more, ("per_day",), "the marker flash_budget: ")
        if not rules or not all(isinstance(rule, str) for rule in rules):
            raise InputError('the marker flash_budget takes rules: flash_budget("erases <= 40", "erases <= +2 %")')
        per_day = more.get("per_day")
        known = known_figures(per_day)
        return cls(tuple(rule_of(text, known) for text in rules), per_day)

    @property
    def has_changes(self) -> bool:
        """Whether it needs a baseline."""
        return any(isinstance(rule, Change) for rule in self.rules)

    def account(self, figures: Figures) -> Account:
        """What the test did, with years if it has them."""
        account = figures.account
        return {**account, "figures": {**account["figures"], **years_of(figures.runs, self.per_day)}}

    def checked(self, test: str, account: Account, baseline: Path | None) -> list[BudgetRow]:
        """Each rule. Without a baseline it becomes one itself: changes are none then.

        Raises `ffslab.InputError` when the baseline cannot be read.
        """
        before = account
        if baseline is not None and self.has_changes:
            accounts = _read(baseline).accounts
            if test not in accounts:
                raise InputError(f"{baseline}: has nothing of {test}: add it with pytest --flash-update")
            before = accounts[test][""]
        return rows_of((test, ""), self.rules, account, before)


def failures_of(rows: list[BudgetRow]) -> str | None:
    """What fails and why, as a failure of pytest says it; `None`: nothing does."""
    failed = [line for row in rows if not row["holds"] for line in (said_of(row), *(f"  {why}" for why in row["why"]))]
    return "\n".join(failed) or None


def update(path: Path, accounts: Mapping[str, Account]) -> None:
    """Writes what tests did into the baseline; those that did not run keep what it has of them.

    Raises `ffslab.InputError` when it cannot be written.
    """
    kept = Baseline.from_file(path).accounts if path.exists() else {}
    Baseline.of(kept | {test: {"": account} for test, account in accounts.items()}).save(path)


def _read(path: Path) -> Baseline:
    if not path.exists():
        raise InputError(f"{path}: there is no baseline yet: write it with pytest --flash-update")
    return Baseline.from_file(path)
