"""Two results of `ffslab run` beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab._native import InputError
from ffslab.answers.run_diff import FigureChange, PairDiff, RunDiff
from ffslab.files.results import Results
from ffslab.studies.differences.account import Account, account_of, files_of
from ffslab.studies.differences.explain import fraction, why
from ffslab.text import machine_line
from ffslab.text.energy import missing_price
from ffslab.text.headline import headline_of
from ffslab.text.variants import typical_of

if TYPE_CHECKING:
    from ffslab.answers.summary import Summary

# Whose differences are explained; others consist of the same.
EXPLAINED = ("time_us", "page_reads", "page_programs", "erases")


@dataclass(frozen=True)
class Side:
    """A result, or one variant of it. `name`: its folder; `machine`: on what it was made, and how long was seen, in a
    line; `failed`: who did not come to its end, in a sentence each."""

    name: str
    accounts: dict[str, Account]
    machine: str = ""
    failed: tuple[str, ...] = ()

    @classmethod
    def of(cls, place: str) -> Side:
        """That of a results folder, or, behind an `@`, one variant of it by a part of its name.

        Raises `ffslab.InputError`.
        """
        folder, at, part = place.rpartition("@")
        # A folder may have such a sign in its name.
        if not at or Path(place).exists():
            folder, part = place, ""
        run = Results.load(folder)
        accounts = _accounts(run)
        if part:
            found = [name for name in accounts if name == part] or [name for name in accounts if part in name]
            if len(found) != 1:
                known = ", ".join(accounts)
                raise InputError(f'{place}: {len(found) or "no"} variants are called "{part}": there are {known}')
            accounts = {found[0]: accounts[found[0]]}
        summary = typical_of(run.summary)
        named: Summary = {**summary, "variants": [one for one in summary["variants"] if one["name"] in accounts]}
        machine = machine_line.of_summary(named, machine_line.initial_of(run.resolved_toml))
        return cls(str(folder), accounts, machine, tuple(headline_of(summary).failures))


def _accounts(run: Results) -> dict[str, Account]:
    """Of each variant; of one that was run several times the run of the median time."""
    summary = typical_of(run.summary)
    # Rows of calls stand under the names of single runs.
    names = {one["name"]: one["typical"] for one in run.summary.get("repeats", [])}
    ran = {variant["name"]: variant for variant in run.summary["variants"]}
    files = files_of(run.request_columns)
    return {
        variant["name"]: account_of(ran[names.get(variant["name"], variant["name"])], files)
        for variant in summary["variants"]
    }


def compared(before: Side, after: Side) -> RunDiff:
    """Variants of the same name, or the only one of each side, beside each other."""
    one, other = before.accounts, after.accounts
    if len(one) == len(other) == 1:
        pairs = [(next(iter(one)), next(iter(other)))]
    else:
        pairs = [(name, name) for name in one if name in other]
    if not pairs:
        raise InputError(
            f"{after.name}: has no variant of {before.name}: name one of each, as "
            f'"{before.name}@{next(iter(one))}" "{after.name}@{next(iter(other))}"'
        )
    return {
        "before": before.name,
        "after": after.name,
        "machine_before": before.machine,
        "machine_after": after.machine,
        "failed_before": list(before.failed),
        "failed_after": list(after.failed),
        "without_energy": _without_energy([one[a] for a, _ in pairs] + [other[b] for _, b in pairs]),
        "pairs": [_pair(a, one[a], b, other[b]) for a, b in pairs],
        "only_before": [name for name in one if name not in {a for a, _ in pairs}],
        "only_after": [name for name in other if name not in {b for _, b in pairs}],
    }


def _without_energy(accounts: Sequence[Account]) -> list[str]:
    unknown = [account["stack"] for account in accounts if "energy_total_uJ" not in account["figures"]]
    return list(dict.fromkeys(why for stack in unknown if (why := missing_price(stack)) is not None))


def _pair(a: str, before: Account, b: str, after: Account) -> PairDiff:
    names = dict.fromkeys([*before["figures"], *after["figures"]])
    figures = [_change(name, before["figures"].get(name), after["figures"].get(name)) for name in names]
    differing = [one for one in figures if one["before"] != one["after"]]
    explained = {one["figure"] for one in differing} & set(EXPLAINED)
    reasons = {name: lines for name in EXPLAINED if name in explained and (lines := why(before, after, name))}
    needs = [side["figures"]["needs_us"] for side in (before, after) if "needs_us" in side["figures"]]
    return {"before": a, "after": b, "figures": differing, "needs_us": max(needs, default=None), "why": reasons}


def _change(figure: str, before: float | None, after: float | None) -> FigureChange:
    return {"figure": figure, "before": before, "after": after, "change": fraction(before, after)}
