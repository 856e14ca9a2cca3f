"""The baseline of budgets: what their experiments did when somebody last said that it is right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import msgspec

from ffslab._native import InputError, __version__
from ffslab.files.inputs import read_text
from ffslab.files.results import dump_json, write_text
from ffslab.studies.budgets.measured import Measured
from ffslab.studies.differences.account import Account

FORMAT = 1


class _File(TypedDict):
    format: int
    ffslab: str
    budgets: dict[str, dict[str, Account]]


@dataclass(frozen=True)
class Baseline:
    """What was measured, by which version of ffslab."""

    made_by: str
    accounts: Measured

    @classmethod
    def of(cls, accounts: Measured) -> Baseline:
        """What was measured now."""
        return cls(__version__, accounts)

    @classmethod
    def from_file(cls, path: Path) -> Baseline:
        """Reads a baseline.

        Raises `ffslab.InputError` when it is none, or there is none.
        """
        if not path.exists():
            raise InputError(f"{path}: there is no baseline yet: write it with `ffslab ci --update`")
        try:
            held = msgspec.json.decode(read_text(path, "experiment").encode(), type=_File)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise InputError(f"{path}: not a baseline ({error}): write it anew with `ffslab ci --update`") from None
        if held["format"] != FORMAT:
            raise InputError(f"{path}: its format is {held['format']}, this version of ffslab reads {FORMAT}")
        return cls(held["ffslab"], held["budgets"])

    def save(self, path: Path) -> None:
        """Writes it, complete or not at all.

        Raises `ffslab.InputError` when that cannot be done.
        """
        held: _File = {"format": FORMAT, "ffslab": self.made_by, "budgets": self.accounts}
        write_text(path, dump_json(held))
