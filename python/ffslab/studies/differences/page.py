"""The page of `ffslab diff`: what changed between two results, and where it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from ffslab._native import __version__
from ffslab.answers.run_diff import FigureChange, PairDiff, RunDiff
from ffslab.report.changes import Change, bars
from ffslab.report.page import (
    Drawn,
    KeyFigure,
    Opening,
    Part,
    bullets,
    folded,
    page,
    paragraph,
    section,
    table,
    verbatim,
)
from ffslab.studies.differences.text import failures, machines, shown, too_short_said
from ffslab.text.figures import FIGURES
from ffslab.text.headline import CARDS_MAX, CARED, Compared, but, prices_of
from ffslab.text.quoting import escape
from ffslab.text.tables import number, percent
from ffslab.text.units import Unit

# What figures of the first screen are looked for, in this order.
FIRST = (*("time_us", "latency_max_us", "energy_total_uJ", "erases", "page_programs", "page_reads", "latency_mean_us"),)
OF = {"time_us": "Time", "page_reads": "Page reads", "page_programs": "Page programs", "erases": "Erases"}
BARS_MAX = 14
# "gc copy (program) +12.30 ms", as `ffslab.studies.differences` writes it.
_DIFFERENCE = re.compile(r"(\S.*? ([+-])[\d,.]+ [A-Za-z ]+)(?:, |$)")
# Of more pairs than this the table tells, and what changed most is told in full.
TOLD_MAX = 12


def html(diff: RunDiff) -> str:
    """The whole page."""
    pairs: list[PairDiff] = [{**pair, "figures": shown(pair, diff)} for pair in diff["pairs"]]
    changed = [pair for pair in pairs if pair["figures"]]
    told = sorted(changed, key=_size, reverse=True)[:TOLD_MAX] if len(changed) > TOLD_MAX else changed
    title = f"{diff['before']} and {diff['after']}"
    parts: list[Part] = [
        section("Variants", _listed(pairs, len(told))) if len(pairs) > 1 else None,
        *(section(_named(pair) if len(pairs) > 1 else "What changed, and why", _pair(pair)) for pair in told),
    ]
    only = [
        f"Only in {name}: {'; '.join(names)}"
        for name, names in ((diff["before"], diff["only_before"]), (diff["after"], diff["only_after"]))
        if names
    ]
    parts.append(section("Variants without a counterpart", bullets(only)))
    parts.append(bullets([f"Without energy: {why}." for why in diff["without_energy"]]))
    data = paragraph("`ffslab diff --json` prints all of this.")
    if len(pairs) <= TOLD_MAX:
        data = folded("As JSON", verbatim(json.dumps(diff, indent=1)))
    parts.append(section("The data", data))
    many = f"{number(len(pairs))} variants of the same name" if len(pairs) > 1 else "One variant each"
    of = [f", {pairs[0][side]}" if len(pairs) == 1 else "" for side in ("before", "after")]
    setting = f"{many}, compared by ffslab {__version__}. A: {diff['before']}{of[0]}; B: {diff['after']}{of[1]}."
    first = max(changed, key=_size, default=None)
    opening = Opening(
        "What changed from A to B?",
        setting,
        _answer(diff, first),
        _figures(first),
        _bars(first) if first else None,
        " ".join(machines(diff)),
        failures(diff),
    )
    return page(title, parts, opening)


def _named(pair: PairDiff) -> str:
    return pair["before"] if pair["before"] == pair["after"] else f"{pair['before']} and {pair['after']}"


def _listed(pairs: list[PairDiff], told: int) -> str:
    """A row for each pair: by how much the figures of the first screen changed, as far as any pair's did."""
    known = [{one["figure"]: one for one in pair["figures"]} for pair in pairs]
    names = [name for name in FIRST if any(name in figures for figures in known)]
    # Each figure has one unit in all rows.
    units = {name: FIGURES[name].unit(_both(figures[name] for figures in known if name in figures)) for name in names}
    head = [
        "variant",
        *(text for name in names for text in (f"A: {units[name].labelled(FIGURES[name].name)}", "B", "change")),
    ]
    rows = []
    for pair, figures in zip(pairs, known, strict=True):
        cells = (_cells(figures[name], units[name]) if name in figures else ["", "", "same"] for name in names)
        rows.append([_named(pair), *(text for three in cells for text in three)])
    some = f" The {told} of which the time changed most are told below." if told < len(pairs) else ""
    said = f"What is the same in both has no numbers.{some}"
    return paragraph(said) + table(head, rows, align="l" + "r" * (len(head) - 1))


def _both(changes: Iterable[FigureChange]) -> list[float | None]:
    return [value for one in changes for value in (one["before"], one["after"])]


def _cells(one: FigureChange, unit: Unit) -> list[str]:
    change = "" if one["change"] is None else percent(one["change"])
    return [unit.cell(one["before"]), unit.cell(one["after"]), change]


def _size(pair: PairDiff) -> float:
    """By how much the time of a pair changed, or its figure that changed most."""
    changes = {one["figure"]: abs(one["change"]) for one in pair["figures"] if one["change"] is not None}
    return changes.get("time_us", max(changes.values(), default=0.0))


def _answer(diff: RunDiff, first: PairDiff | None) -> str:
    if first is None:
        return "Nothing that is shown here: both do the same." if diff["pairs"] else "No variant is in both of them."
    of = f" with {_named(first)}" if len(diff["pairs"]) > 1 else ""
    changes = {one["figure"]: one for one in first["figures"]}
    figure = next(iter(_first(first)), first["figures"][0])
    lines = first["why"].get(figure["figure"], [])
    main = _compared(figure)
    reasons = next((line.removeprefix("reasons: ") for line in lines if line.startswith("reasons: ")), "")
    same_way = along(reasons, is_more=main.after > main.before)
    why = f" Most of it: {same_way}." if same_way else ""
    prices = prices_of(main, [_compared(changes[name]) for name in CARED if name in changes])
    return f"{main.sentence()}{of}{but(prices)}.{why}"


def along(reasons: str, *, is_more: bool) -> str:
    """Of named differences ("gc copy +3 ms, read -1 ms") those that go the way of the sum: the others are no part of
    it."""
    sign = "+" if is_more else "-"
    return ", ".join(one[0] for one in _DIFFERENCE.findall(reasons) if one[1] == sign)


def _compared(one: FigureChange) -> Compared:
    return Compared(FIGURES[one["figure"]], "A", "B", one["before"] or 0.0, one["after"] or 0.0)


def _first(pair: PairDiff) -> list[FigureChange]:
    """Figures for the first screen: those that people ask for first, then what changed most."""
    known = {one["figure"]: one for one in pair["figures"]}
    asked = [known[name] for name in FIRST if name in known]
    others = sorted((one for one in known.values() if one not in asked), key=lambda one: -abs(one["change"] or 0))
    return [*asked, *others]


def _figures(pair: PairDiff | None) -> list[KeyFigure]:
    made = []
    for one in _first(pair)[:CARDS_MAX] if pair else ():
        compared = _compared(one)
        name = compared.figure.called
        made.append(
            KeyFigure(
                name[0].upper() + name[1:],
                compared.card_value,
                f"{_value(one, 'before')} became {_value(one, 'after')}",
            )
        )
    return made


def _label(one: FigureChange) -> str:
    return FIGURES[one["figure"]].name


def _value(one: FigureChange, side: str) -> str:
    return FIGURES[one["figure"]].said(one["before"] if side == "before" else one["after"])


def _bars(pair: PairDiff) -> Drawn | None:
    changes = [
        Change(
            _label(one),
            1 + one["change"],
            f"{percent(one['change'])}: {_value(one, 'before')} → {_value(one, 'after')}",
        )
        for one in _first(pair)
        if one["change"] is not None
    ]
    return bars(changes[:BARS_MAX], "To the left: less in B; to the right: more.")


def _pair(pair: PairDiff) -> list[str | Drawn]:
    units = [FIGURES[one["figure"]].unit(_both([one])) for one in pair["figures"]]
    rows = [[unit.labelled(_label(one)), *_cells(one, unit)] for one, unit in zip(pair["figures"], units, strict=True)]
    parts: list[str | Drawn] = [
        table(["figure", "A", "B", "change"], rows, align="lrrr"),
        bullets(too_short_said(pair)),
    ]
    said: set[str] = set()
    for figure, lines in pair["why"].items():
        fresh = [line for line in lines if line not in said]
        said.update(fresh)
        if fresh:
            parts.append(f"<h3>{escape(OF.get(figure, figure))}</h3>" + bullets(fresh))
    return parts or [paragraph("No difference.")]
