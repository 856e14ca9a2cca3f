"""Why a figure is another one than before: the reasons, steps and files that brought the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ffslab.studies.differences.account import Account, Part
from ffslab.text.figures import Amount, declared
from ffslab.text.tables import number

# How people call them, and by how much they are divided.
_WORDS: dict[Amount, tuple[str, float, int]] = {
    "page_reads": ("page reads", 1, 0),
    "page_programs": ("page programs", 1, 0),
    "erases": ("erases", 1, 0),
    "time_us": ("ms", 1e3, 2),
    "written_B": ("B written", 1, 0),
}
# Of the parts that brought a difference so many are named, and none that brought less than this share of it.
NAMED_MAX = 2
SHARE_LEAST = 0.1
# So many steps are named that are done more or less often.
STEPS_NAMED_MAX = 4


class Contribution(NamedTuple):
    """A part of the whole, and how much it has changed."""

    name: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before


def amount_of(figure: str) -> Amount:
    """Of what a figure consists: operations that are counted, or time of chip, driver and CPU."""
    known = declared(figure)
    return "time_us" if known is None else known.amount


def fraction(before: float | None, after: float | None) -> float | None:
    """By which fraction a figure differs; `None`: it was 0, or one side has none."""
    return (after - before) / abs(before) if before and after is not None else None


def contributions(before: Sequence[Part], after: Sequence[Part], amount: Amount) -> list[Contribution]:
    """How parts of the same names differ, the largest difference first; those that do not differ are left out."""
    sums: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for parts, found in ((before, sums[0]), (after, sums[1])):
        for part in parts:
            found[part["name"]] = found.get(part["name"], 0.0) + part[amount]
    names = dict.fromkeys([*sums[0], *sums[1]])
    all_of_them = [Contribution(name, sums[0].get(name, 0.0), sums[1].get(name, 0.0)) for name in names]
    return sorted((one for one in all_of_them if one.difference), key=lambda one: -abs(one.difference))


def why(before: Account, after: Account, figure: str) -> list[str]:
    """What a changed figure comes from, a line each: the machine, what programs ask for, reasons, steps, files.

    Empty: nothing that is known of has changed."""
    amount = amount_of(figure)
    lines = [*_machine(before, after), *_work(before, after)]
    for name, one, other in (
        ("reasons", before["reasons"], after["reasons"]),
        ("steps", before["steps"], after["steps"]),
        ("files", before["files"], after["files"]),
    ):
        if named := _named(contributions(one, other, amount)):
            lines.append(f"{name}: {', '.join(_said(each, amount) for each in named)}")
    return lines


def consists_of(account: Account, figure: str) -> list[str]:
    """What makes most of a figure, a line each: reasons, steps, files. Empty: nothing is known of it."""
    amount = amount_of(figure)
    lines = []
    for name, parts in (("reasons", account["reasons"]), ("steps", account["steps"]), ("files", account["files"])):
        if named := _named(contributions([], parts, amount)):
            lines.append(f"{name}: {', '.join(_said(each, amount, signed=False) for each in named)}")
    return lines


def _machine(before: Account, after: Account) -> list[str]:
    """The keys of the machine that differ."""
    keys = dict.fromkeys([*before["stack"], *after["stack"]])
    values = [(key, before["stack"].get(key), after["stack"].get(key)) for key in keys]
    found = [f"{key} {_word(new)} instead of {_word(old)}" for key, old, new in values if old != new]
    return [f"machine: {', '.join(found)}"] if found else []


def _work(before: Account, after: Account) -> list[str]:
    """What programs do that they did not do before, or no longer."""
    lines = []
    written = [account["figures"].get("user_written_B", 0.0) for account in (before, after)]
    if written[0] != written[1]:
        lines.append(f"programs write {_bytes(written[1])} instead of {_bytes(written[0])}")
    times = [Counter(part["name"] for part in account["steps"]) for account in (before, after)]
    names = [name for name in dict.fromkeys([*times[0], *times[1]]) if times[0][name] != times[1][name]]
    other = [f"{name} {times[1][name]} times instead of {times[0][name]}" for name in names[:STEPS_NAMED_MAX]]
    if other:
        more = f", {len(names) - len(other)} more" if len(names) > len(other) else ""
        lines.append(f"other steps: {', '.join(other)}{more}")
    if named := _named(contributions(before["files"], after["files"], "written_B")):
        sizes = (f"{one.name} {_bytes(one.after)} instead of {_bytes(one.before)}" for one in named)
        lines.append(f"written to files: {', '.join(sizes)}")
    return lines


def _word(value: object) -> str:
    """A value of the machine; of a table its keys."""
    if isinstance(value, Mapping):
        return " and ".join(f"{key}={_word(inner)}" for key, inner in value.items())
    return "none" if value is None else str(value)


def _bytes(count: float) -> str:
    """A size that differs from another one also where both are as many KiB."""
    return f"{number(count, 0)} B"


def _named(found: Sequence[Contribution]) -> list[Contribution]:
    """The differences that are worth a word. `found` has the largest first."""
    return [one for one in found[:NAMED_MAX] if abs(one.difference) >= SHARE_LEAST * abs(found[0].difference)]


def _said(one: Contribution, amount: Amount, *, signed: bool = True) -> str:
    word, unit, digits = _WORDS[amount]
    sign = "" if not signed else "+" if one.difference > 0 else "-"
    return f"{one.name} {sign}{number(abs(one.difference) / unit, digits)} {word}"
