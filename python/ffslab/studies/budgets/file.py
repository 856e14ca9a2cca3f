"""What a file of budgets says: experiments, limits of figures, and by how much they may differ from a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.files.inputs import read_text
from ffslab.files.one_file import OFTEN, asked, is_experiment, is_often, per_day_of
from ffslab.files.toml_tables import check_keys, meant, read_toml, texts_at
from ffslab.store.rows import FIGURES
from ffslab.studies.limits import COMPARED, Limit, limit_of, parts_of
from ffslab.studies.sweep.study import experiment_at

_KEYS = ("baseline", "budget")
_BUDGET_KEYS = ("name", "experiment", "per_day", "limits", "changes")
_CHANGE_EXAMPLE = "erases <= +2 %"
YEARS = "years"


@dataclass(frozen=True)
class Change:
    """By which fraction of its value in the baseline a figure may grow (`<=`), or must not shrink more (`>=`)."""

    text: str
    figure: str
    sign: str
    fraction: float

    def holds(self, before: float, found: float) -> bool:
        """Whether a figure may have become another one so much. Rounding of the last digit is no change."""
        rounding = 1e-9 * max(abs(before), abs(found))
        slack = rounding if self.sign.startswith("<") else -rounding
        return COMPARED[self.sign](found, before + self.fraction * abs(before) + slack)


@dataclass(frozen=True)
class Budget:
    """Rules for an experiment. `per_day`: how often its measured steps happen a day, for years."""

    name: str
    experiment: Experiment
    limits: tuple[Limit, ...]
    changes: tuple[Change, ...]
    per_day: float | None = None


@dataclass(frozen=True)
class Budgets:
    """Budgets, and where the file of their baseline is."""

    budgets: tuple[Budget, ...]
    baseline: Path
    file_name: str = "<budgets>"

    @classmethod
    def from_file(cls, path: str | Path) -> Budgets:
        """Budgets from a TOML file. Relative paths in it start at the file's folder.

        Raises `ffslab.InputError` with one line when it is none.
        """
        path = Path(path)
        return read_toml(read_text(path, "experiment"), str(path), lambda data: _budgets(data, path))


def _budgets(data: dict[str, Any], path: Path) -> Budgets:
    file_name, base_dir = str(path), path.parent
    if is_experiment(data):
        own = asked(data, "budgets")
        return Budgets((_own_budget(data, path),), _baseline(own, base_dir), file_name)
    check_keys(data, _KEYS)
    tables = data.get("budget", [])
    if not isinstance(tables, list) or not tables:
        raise InputError("no budget: add tables [[budget]], each with `experiment` and `limits` or `changes`")
    budgets = tuple(_budget(table, i, file_name, base_dir) for i, table in enumerate(tables, 1))
    names = [budget.name for budget in budgets]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"[[budget]]: two are called {name}: give them names")
    return Budgets(budgets, _baseline(data, base_dir), file_name)


def _baseline(table: dict[str, Any], base_dir: Path) -> Path:
    baseline = table.get("baseline", "ffslab-baseline.json")
    if not isinstance(baseline, str) or not baseline.endswith(".json"):
        raise InputError('`baseline` must be the path of a JSON file, such as "ffslab-baseline.json"')
    return base_dir / baseline


def _own_budget(data: dict[str, Any], path: Path) -> Budget:
    """What the file of an experiment says of its own figures."""
    own = asked(data, "budgets")
    rules = {key: value for key, value in own.items() if key in ("per_day", "limits", "changes")}
    usual = {"per_day": often} if (often := per_day_of(data)) is not None else {}
    name = str(own.get("name", path.name.removesuffix(".toml")))
    try:
        return _ruled(usual | rules, name, Experiment.from_file(path))
    except InputError as error:
        raise InputError(f"[budgets]: {error}") from None


def _budget(table: object, number: int, file_name: str, base_dir: Path) -> Budget:
    if not isinstance(table, dict):
        raise InputError("`budget` must be tables: write [[budget]]")
    named = table.get("name", table.get("experiment"))
    name = Path(named).name.removesuffix(".toml") if isinstance(named, str) else f"budget {number}"
    try:
        return _read(table, name, file_name, base_dir)
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith((file_name, str(base_dir))) else f"budget {name}: {said}") from None


def _read(table: dict[str, Any], name: str, file_name: str, base_dir: Path) -> Budget:
    check_keys(table, _BUDGET_KEYS)
    named = table.get("experiment")
    if isinstance(named, str) and not table.keys() & {"limits", "changes", "per_day"}:
        # Its own file says them.
        path = base_dir / named
        return read_toml(
            read_text(path, "experiment"), str(path), lambda data: replace(_own_budget(data, path), name=name)
        )
    return _ruled(table, name, experiment_at(table, name, file_name, base_dir))


def _ruled(table: dict[str, Any], name: str, experiment: Experiment) -> Budget:
    per_day = table.get("per_day")
    if per_day is not None and not is_often(per_day):
        raise InputError(OFTEN)
    known = known_figures(per_day)
    limits = tuple(limit_of(text, known, _which) for text in texts_at(table, "limits"))
    changes = tuple(_change(text, known) for text in texts_at(table, "changes"))
    if not limits and not changes:
        raise InputError(
            f'nothing is asked: add limits = ["write_amplification <= 3"] or changes = ["{_CHANGE_EXAMPLE}"]'
        )
    return Budget(name, experiment, limits, changes, None if per_day is None else float(per_day))


def known_figures(per_day: float | None) -> list[str]:
    """The figures that rules may name. Years need `per_day`."""
    return [*FIGURES, *([YEARS] if per_day is not None else [])]


def rule_of(text: str, known: Sequence[str]) -> Limit | Change:
    """A change, if it is a percentage, or a limit.

    Raises `ffslab.InputError` when it is none.
    """
    return _change(text, known) if text.rstrip().endswith("%") else limit_of(text, known, _which)


def _change(text: str, known: Sequence[str]) -> Change:
    figure, sign, value = parts_of(text, _CHANGE_EXAMPLE)
    if figure not in known:
        raise InputError(f'change "{text}": no figure is called {figure}{_which(figure, known)}')
    digits, percent, rest = value.partition("%")
    try:
        fraction = float(digits) / 100
    except ValueError:
        percent = ""
    if not percent or rest.strip():
        raise InputError(f'change "{text}": "{value}" must be a percentage, as in "{_CHANGE_EXAMPLE}"')
    return Change(text, figure, sign, fraction)


def _which(figure: str, known: Sequence[str]) -> str:
    if figure == YEARS:
        return ": years need `per_day`, how often the measured steps happen a day"
    said = meant(figure, known)
    return said if "did you mean" in said else ": known are the columns of variants.parquet, such as erases"
