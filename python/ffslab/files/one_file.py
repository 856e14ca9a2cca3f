"""The file of a device: its machine, its workload, and tables in which verbs are asked about them.

`[question]` is of `advise`, `[study]` of `sweep`, `[crashtest]` of `crashtest`, `[budgets]` of `ci`; a run leaves them
alone, and each of these verbs reads its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from ffslab._native import InputError
from ffslab.files.asked_tables import check_data
from ffslab.files.inputs import read_text
from ffslab.files.toml_tables import table_at

# What each table must at least say, for a file that lacks it.
SMALLEST = {
    "question": '[question] with per_day = 24, maximise = "years" and axes.partition_blocks = [128, 256] '
    "(docs/advise.md)",
    "budgets": '[budgets] with limits = ["write_amplification <= 3"] (docs/budgets.md)',
}


def is_experiment(data: Mapping[str, object]) -> bool:
    """Whether a file describes a machine and its workload, and so is none of the forms that files of each verb had."""
    return "stack" in data and "measure" in data


def asked(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The table of a verb.

    Raises `ffslab.InputError` for a key that nobody reads, and with what to write where there is no table and no usual
    answer.
    """
    if name not in data and name in SMALLEST:
        raise InputError(f"there is no [{name}]: add {SMALLEST[name]}")
    check_data(data)
    return table_at(data, name)


OFTEN = "`per_day` must say how often the measured steps happen a day: a number such as 24, below 1e9"


def is_often(value: object) -> TypeGuard[float]:
    """Whether a value of `per_day` can be: how often a day, no more than 11,574 times a second."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


def per_day_of(data: Mapping[str, Any]) -> float | None:
    """How often a day the measured steps happen, as `[question]` says it."""
    said = table_at(data, "question").get("per_day")
    if said is not None and not is_often(said):
        raise InputError(f"[question]: {OFTEN}")
    return None if said is None else float(said)


def per_day_in(path: Path) -> float | None:
    """The same of a file; what else is wrong with it is told by the run."""
    try:
        data = tomllib.loads(read_text(path, "experiment"))
    except tomllib.TOMLDecodeError:
        return None
    try:
        return per_day_of(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
