"""Limits of figures, as questions and budgets write them: "years >= 10", "latency_p99_us <= 60 ms"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ffslab._native import InputError
from ffslab.studies.sweep.axes import plain, quantity

_LIMIT = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*(.+?)\s*")
COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Limit:
    """What a figure must be at most, or at least."""

    text: str
    figure: str
    sign: str
    value: float

    def holds(self, found: float | None) -> bool:
        """Whether a figure is within it; one that is not known is not, but of years, which then do not end."""
        if found is None:
            return self.figure == "years"
        return COMPARED[self.sign](found, self.value)

    def excess(self, found: float | None) -> float:
        """How far a figure is beyond the limit, as a share of the limit; 0 if the limit holds."""
        if self.holds(found):
            return 0.0
        if found is None:
            return 1e9
        return abs(found - self.value) / (abs(self.value) or 1.0) + 1e-9


def parts_of(text: str, example: str) -> tuple[str, str, str]:
    """Figure, sign and value of a limit.

    Raises `ffslab.InputError` when it is none; `example` says how one looks.
    """
    found = _LIMIT.fullmatch(text)
    if not found:
        raise InputError(f'limit "{text}": must be a figure, a sign and a value, such as "{example}"')
    return found[1], found[2], found[3]


def limit_of(text: str, known: Sequence[str], meant: Callable[[str, Sequence[str]], str]) -> Limit:
    """The limit that a text says. `meant`: the end of a message about a figure that nobody knows.

    Raises `ffslab.InputError`.
    """
    figure, sign, value = parts_of(text, "years >= 10")
    if figure not in known:
        raise InputError(f'limit "{text}": no figure is called {figure}{meant(figure, known)}')
    value = value.removesuffix("s").removesuffix("year").strip() if figure == "years" else value
    _check_unit(text, figure, value)
    number = plain(value)
    try:
        limit = float(str(number))
    except ValueError:
        limit = math.nan
    # Python also reads words such as nan and inf.
    if not math.isfinite(limit):
        raise InputError(f'limit "{text}": "{value}" must be a number, or one with a unit such as 50 ms')
    return Limit(text, figure, sign, limit)


def _check_unit(text: str, figure: str, value: str) -> None:
    """Refuses the unit of another kind: a latency of 50 MiB would be a large number, and always hold.

    Figures have their unit in their name: `latency_max_us`, `user_written_B`, `written_B_per_day`.
    """
    found = quantity(value)
    if found and found[1] not in figure.split("_"):
        kind = {"us": "time", "B": "size"}[found[1]]
        raise InputError(f'limit "{text}": {figure} is no {kind}, but "{value}" is one')
