"""Units that fit: one for all values that stand in a row or column, so that they compare; one for each value alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ffslab.text.durations import duration
from ffslab.text.tables import number

Kind = Literal["time", "energy", "size", "count", "ratio"]

# Unit, how much of the result's own unit (us, uJ, B) it is, and from which largest value on it is taken.
_UNITS: dict[Kind, tuple[tuple[str, float, float], ...]] = {
    "time": (
        ("us", 1, 0),
        ("ms", 1e3, 1e3),
        ("s", 1e6, 1e6),
        # Nobody pictures 30,000 s.
        ("h", 3.6e9, 3.6e10),
        ("d", 86.4e9, 86.4e10),
    ),
    "energy": (("uJ", 1, 0), ("mJ", 1e3, 1e3), ("J", 1e6, 1e6), ("kJ", 1e9, 1e9)),
    "size": (("B", 1, 0), ("KiB", 2**10, 2**10), ("MiB", 2**20, 2**20), ("GiB", 2**30, 2**30)),
}
_DIGITS_MAX, _DIGITS_LEAST, _SIGNIFICANT = 3, 1, 3
# A unit in which the largest value has more digits than these before its point is no help.
_LARGEST = 1e6


@dataclass(frozen=True)
class Unit:
    """How values of a row are written: divided by `size`, with `digits` behind the point. `word`: "" of counts."""

    word: str
    size: float
    digits: int

    def cell(self, value: float | None) -> str:
        """A value without the unit, which the head of its row says."""
        if value is None or (not self.word and isinstance(value, int)):
            return number(value)
        return number(value / self.size, self.digits)

    def labelled(self, name: str) -> str:
        """The head of a row: "latency mean, ms"."""
        return f"{name}, {self.word}" if self.word else name


def common_unit(kind: Kind, values: Iterable[float | None], digits: int = 0) -> Unit:
    """The unit of values that stand beside each other: that of the largest, as long as the smallest still shows in it.

    `digits`: of counts and ratios, which have no unit.
    """
    if kind not in _UNITS:
        return Unit("", 1, digits)
    known = sorted(abs(value) for value in values if value)
    units = _UNITS[kind]
    if not known:
        return Unit(units[0][0], units[0][1], 0 if kind == "size" else 1)
    least, largest = known[0], known[-1]
    at = max(i for i, (_, _, begins) in enumerate(units) if i == 0 or largest >= 0.99995 * begins)
    while at and least / units[at][1] < 10**-_DIGITS_MAX and largest / units[at - 1][1] < _LARGEST:
        at -= 1
    word, size, _ = units[at]
    if size == 1 and kind == "size":
        return Unit(word, size, 0)
    shown = _SIGNIFICANT - 1 - math.floor(math.log10(least / size))
    return Unit(word, size, min(max(shown, _DIGITS_LEAST), _DIGITS_MAX))


def column(name: str, kind: Kind, values: Sequence[float | None], digits: int = 0) -> list[str]:
    """A column, or row, of a table: its head with the unit, then the cells."""
    unit = common_unit(kind, values, digits)
    return [unit.labelled(name), *map(unit.cell, values)]


def said(kind: Kind, value: float | None, digits: int = 0) -> str:
    """A value by itself, with its unit: "386.4 ms", "1 min 3 s", "12.6 mJ", "4,163"."""
    if value is None:
        return "-"
    if kind == "time":
        return duration(value)
    unit = common_unit(kind, [value], digits)
    return f"{unit.cell(value)} {unit.word}".rstrip()
