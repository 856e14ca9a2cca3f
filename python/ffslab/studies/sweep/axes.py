"""The axes of a study: lists of values, and ranges of which values are drawn."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ffslab._native import InputError
from ffslab.files.toml_tables import check_keys, meant
from ffslab.registries.profiles import check_known
from ffslab.systems import FILE_SYSTEMS

Value = str | int | float | bool

# Units as in experiments (crates/text/src/quantity.rs).
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_TIMES = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000}
_QUANTITY = re.compile(r"\s*([0-9][0-9_.]*)\s*([A-Za-z]+)\s*")
_RANGE_KEYS = ("from", "to", "scale", "step", "count", "when")
_LIST_KEYS = ("values", "when")
VALUES_MAX = 10_000


@dataclass(frozen=True)
class Axis:
    """A key of the experiment and what it may be. `name`: as in the table `axes` of an experiment. `when`: a condition
    on other axes; where it does not hold the axis is left out.
    """

    name: str
    when: str | None = field(default=None, kw_only=True)

    def at(self, share: float) -> Value:
        """The value at a share from 0 to below 1 of the axis: equal shares are equally likely."""
        raise NotImplementedError

    def values(self) -> Sequence[Value]:
        """All of them, for a grid.

        Raises `ffslab.InputError` when it is not said how many of a range are meant.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Listed(Axis):
    """Values one by one."""

    listed: tuple[Value, ...]

    def at(self, share: float) -> Value:
        return self.listed[min(int(share * len(self.listed)), len(self.listed) - 1)]

    def values(self) -> Sequence[Value]:
        return self.listed


@dataclass(frozen=True)
class Range(Axis):
    """All numbers from `low` to `high`, both included. `unit`: "" where plain numbers were given, else "B" or "us".

    `is_whole`: integers only. `step`: only those that are multiples of it above `low`. `count`: so many of them make a
    grid.
    """

    low: float
    high: float
    unit: str = ""
    is_whole: bool = True
    is_log: bool = False
    step: float | None = None
    count: int | None = None

    def at(self, share: float) -> Value:
        # A whole number has the room of one, half of it below and half above, so that the ends are not rarer.
        half = (self.step or 1.0) / 2 if (self.is_whole or self.step) and not self.is_log else 0.0
        low, high = self.low - half, self.high + half
        found = low * (high / low) ** share if self.is_log else low + (high - low) * share
        return self._value(found)

    def values(self) -> Sequence[Value]:
        if self.count is not None:
            shares = [i / (self.count - 1) for i in range(self.count)]
            ratio = self.high / self.low if self.is_log else 1.0
            spaced = [
                self.low * ratio**share if self.is_log else self.low + (self.high - self.low) * share
                for share in shares
            ]
        elif self.step is not None:
            spaced = [self.low + i * self.step for i in range(int((self.high - self.low) / self.step + 1e-9) + 1)]
        else:
            raise InputError(
                f"axis `{self.name}`: a grid needs to know how many values of the range are meant: add `count = 5` or "
                "`step`, or choose another `sample.method`"
            )
        return list(dict.fromkeys(self._value(value) for value in spaced))

    def _value(self, found: float) -> Value:
        if self.step is not None:
            found = self.low + round((found - self.low) / self.step) * self.step
        found = min(max(found, self.low), self.high)
        number: int | float = round(found) if self.is_whole else float(f"{found:.12g}")
        return f"{number} {self.unit}" if self.unit else number


def plain(value: Value | None) -> Value | None:
    """The number that a size or a time stands for, in bytes or microseconds; other values as they are."""
    if isinstance(value, str) and (found := quantity(value)):
        return found[0]
    return value


def axes_of(table: Mapping[str, object]) -> tuple[Axis, ...]:
    """The axes of the table `axes` of a study: lists, and tables such as `{ from = 96, to = 512 }`.

    Raises `ffslab.InputError` without the name of the file.
    """
    found: list[Axis] = []
    _collect(table, "", found)
    names = [axis.name for axis in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"axis `{name}`: is given twice")
    return tuple(found)


def _collect(table: Mapping[str, object], before: str, found: list[Axis]) -> None:
    for key, value in table.items():
        name = before + key
        if isinstance(value, Mapping):
            if "from" in value or "to" in value:
                found.append(_range(name, value))
            elif isinstance(value.get("values"), list):
                check_keys(value, _LIST_KEYS, f"axis `{name}`: ")
                found.append(_listed(name, value["values"], _when(name, value)))
            else:
                _collect(value, f"{name}.", found)
        else:
            found.append(_listed(name, value))


def _when(name: str, table: Mapping[str, object]) -> str | None:
    when = table.get("when")
    if when is not None and not isinstance(when, str):
        raise InputError(f"axis `{name}`: `when` must be a condition, such as \"fs != 'yaffs2'\"")
    return when


def _listed(name: str, value: object, when: str | None = None) -> Listed:
    is_list = isinstance(value, list | tuple) and len(value) > 0
    if not is_list or not all(isinstance(one, str | int | float) for one in cast("list[object]", value)):
        raise InputError(
            f"axis `{name}`: must be a list of values, such as [128, 0], or a range, such as {{ from = 96, to = 512 }}"
        )
    values = cast("list[Value]", value)
    twice = [one for i, one in enumerate(values) if one in values[:i]]
    if twice:
        raise InputError(f"axis `{name}`: has {twice[0]} twice")
    _check_names(name, values)
    return Listed(name, tuple(values), when=when)


def _check_names(axis: str, values: Sequence[Value]) -> None:
    """Refuses a name that nothing has: an answer without its points would not be the one that was asked for."""
    for value in values:
        if axis == "fs":
            if value not in FILE_SYSTEMS:
                raise InputError(f"axis `fs`: unknown file system {value}{meant(str(value), FILE_SYSTEMS)}")
        elif axis in ("board", "part", "kernel"):
            check_known(str(value), axis, f"axis `{axis}`:")


def _range(name: str, table: Mapping[str, object]) -> Range:
    def wrong(text: str) -> InputError:
        return InputError(f"axis `{name}`: {text}")

    check_keys(table, _RANGE_KEYS, f"axis `{name}`: ")
    if "from" not in table or "to" not in table:
        raise wrong("a range needs both `from` and `to`")
    ends = [_number(name, table, key) for key in ("from", "to", "step") if key in table]
    (low, unit, low_whole), (high, high_unit, high_whole) = ends[0], ends[1]
    if unit != high_unit:
        raise wrong("`from` and `to` must have units of one kind, or none")
    if not low < high:
        raise wrong(f"`from` ({table['from']}) must be less than `to` ({table['to']})")
    step = ends[2] if len(ends) > 2 else None
    if step is not None and (step[1] != unit or step[0] <= 0 or step[0] > high - low):
        raise wrong("`step` must have the unit of `from` and be less than the range is wide")
    scale, count = table.get("scale", "linear"), table.get("count")
    if scale not in ("linear", "log"):
        raise wrong(f'scale "{scale}": must be linear or log')
    if scale == "log" and low <= 0:
        raise wrong("a logarithmic range begins above 0")
    if count is not None and (not isinstance(count, int) or not 2 <= count <= VALUES_MAX):
        raise wrong(f"`count` must be a number from 2 to {VALUES_MAX}")
    if count is not None and step is not None:
        raise wrong("give either `step` or `count`")
    is_whole = low_whole and high_whole and (step is None or step[2])
    width = None if step is None else step[0]
    return Range(name, low, high, unit, is_whole, scale == "log", width, count, when=_when(name, table))


def _number(name: str, table: Mapping[str, object], key: str) -> tuple[float, str, bool]:
    """A number of a range in its base unit, that unit, and whether the number is whole."""
    value = table[key]
    if isinstance(value, str) and (found := quantity(value)):
        return float(found[0]), found[1], True
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value), "", isinstance(value, int)
    raise InputError(f'axis `{name}`: `{key}` must be a number, a size such as "4 KiB" or a time such as "5 ms"')


def quantity(text: str) -> tuple[int, str] | None:
    """A size in bytes or a time in microseconds, and the unit "B" or "us"; `None`: it is neither."""
    found = _QUANTITY.fullmatch(text)
    for base, units in (("B", _SIZES), ("us", _TIMES)):
        if found and found[2] in units:
            try:
                return round(float(found[1].replace("_", "")) * units[found[2]]), base
            except ValueError:
                return None
    return None
