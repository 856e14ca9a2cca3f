"""What a test measured: numbers that know what they consist of, so that a failed assertion can say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ffslab.answers import Columns
from ffslab.answers.summary import VariantSummary
from ffslab.files.toml_tables import meant
from ffslab.studies.budgets.measured import runs_borne
from ffslab.studies.budgets.text import value
from ffslab.studies.differences import Account, account_of, consists_of, files_of


class Figure(float):
    """A number of a run. What is computed with it is a plain number again."""

    name: str
    account: Account

    def __new__(cls, number: float, name: str, account: Account) -> Figure:
        figure = super().__new__(cls, number)
        figure.name, figure.account = name, account
        return figure

    def __repr__(self) -> str:
        return value(self)


@dataclass(frozen=True)
class Figures:
    """The columns of variants.parquet as attributes: `erases`, `write_amplification`, `latency_p99_us` ..."""

    account: Account
    # How often the part bears it, if all blocks wear alike; `None`: nothing was erased, or that is not known.
    runs: float | None = None

    @classmethod
    def of(cls, variant: VariantSummary, requests: Columns | None) -> Figures:
        """The figures of a variant of `summary.json`; `requests`: its rows of requests.parquet."""
        account = account_of(variant, {} if requests is None else files_of(requests))
        return cls(account, runs_borne(variant))

    def __getattr__(self, name: str) -> Figure:
        figures = self.account["figures"]
        if name.startswith("_") or name not in figures:
            raise AttributeError(f"the run has no figure {name}{meant(name, list(figures))}")
        return Figure(figures[name], name, self.account)

    def __repr__(self) -> str:
        return "figures"


def compared(op: str, left: object, right: object) -> Sequence[str] | None:
    """What a failed assertion says of a figure: both sides, and what the figure consists of; `None`: there is none."""
    figure = next((side for side in (left, right) if isinstance(side, Figure)), None)
    if figure is None:
        return None
    sides = [f"{side.name} {side!r}" if isinstance(side, Figure) else repr(side) for side in (left, right)]
    return [f"{sides[0]} {op} {sides[1]}", *consists_of(figure.account, figure.name)]
