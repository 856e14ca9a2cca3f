"""Budgets of flash operations, wear and time, checked with each change of an application: `ffslab ci`."""

from ffslab.studies.budgets.baseline import Baseline
from ffslab.studies.budgets.check import checked
from ffslab.studies.budgets.file import Budget, Budgets, Change
from ffslab.studies.budgets.measured import Measured, measured

__all__ = ["Baseline", "Budget", "Budgets", "Change", "Measured", "checked", "measured"]
