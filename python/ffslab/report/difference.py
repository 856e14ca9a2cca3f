"""The page of `ffslab diff`: what changed between two results, and where it comes from."""

from __future__ import annotations

import json

from ffslab import __version__
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
from ffslab.text.quoting import escape
from ffslab.text.repeats import SHOWN
from ffslab.text.tables import number, percent

# What figures of the first screen are looked for, in this order.
FIRST = ("time_us", "energy_total_uJ", "erases", "page_programs", "page_reads", "latency_mean_us")
OF = {"time_us": "Time", "page_reads": "Page reads", "page_programs": "Page programs", "erases": "Erases"}
BARS_MAX = 14
# Of more pairs than this the table tells, and what changed most is told in full.
TOLD_MAX = 12


def html(diff: RunDiff) -> str:
    """The whole page."""
    changed = [pair for pair in diff["pairs"] if shown(pair)]
    told = sorted(changed, key=_size, reverse=True)[:TOLD_MAX] if len(changed) > TOLD_MAX else changed
    title = f"{diff['before']} and {diff['after']}"
    parts: list[Part] = [
        section("Variants", _listed(diff["pairs"], len(told))) if len(diff["pairs"]) > 1 else None,
        *(section(_named(pair) if len(diff["pairs"]) > 1 else "What changed, and why", _pair(pair)) for pair in told),
    ]
    only = [
        f"Only in {name}: {'; '.join(names)}"
        for name, names in ((diff["before"], diff["only_before"]), (diff["after"], diff["only_after"]))
        if names
    ]
    parts.append(section("Variants without a counterpart", bullets(only)))
    data = paragraph("`ffslab diff --json` prints all of this.")
    if len(diff["pairs"]) <= TOLD_MAX:
        data = folded("As JSON", verbatim(json.dumps(diff, indent=1)))
    parts.append(section("The data", data))
    pairs = f"{number(len(diff['pairs']))} variants of the same name" if len(diff["pairs"]) > 1 else "One variant each"
    setting = f"{pairs}, compared by ffslab {__version__}. A: {diff['before']}; B: {diff['after']}."
    first = max(changed, key=_size, default=None)
    opening = Opening(
        "What changed from A to B?", setting, _answer(diff, first), _figures(first), _bars(first) if first else None
    )
    return page(title, parts, opening)


def shown(pair: PairDiff) -> list[FigureChange]:
    """The figures of a pair that a reader is shown."""
    return [one for one in pair["figures"] if one["figure"] in SHOWN]


def _named(pair: PairDiff) -> str:
    return pair["before"] if pair["before"] == pair["after"] else f"{pair['before']} and {pair['after']}"


def _listed(pairs: list[PairDiff], told: int) -> str:
    """A row for each pair: by how much the figures of the first screen changed, as far as any pair's did."""
    known = [{one["figure"]: one for one in shown(pair)} for pair in pairs]
    names = [name for name in FIRST if any(name in figures for figures in known)]
    head = ["variant", *(text for name in names for text in (f"A: {SHOWN[name][0]}", "B", "change"))]
    rows = []
    for pair, figures in zip(pairs, known, strict=True):
        cells = (_cells(figures[name]) if name in figures else ["", "", "same"] for name in names)
        rows.append([_named(pair), *(text for three in cells for text in three)])
    some = f" The {told} of which the time changed most are told below." if told < len(pairs) else ""
    said = f"What is the same in both has no numbers.{some}"
    return paragraph(said) + table(head, rows, align="l" + "r" * (len(head) - 1))


def _cells(one: FigureChange) -> list[str]:
    change = "" if one["change"] is None else percent(one["change"])
    return [_value(one, "before"), _value(one, "after"), change]


def _size(pair: PairDiff) -> float:
    """By how much the time of a pair changed, or its figure that changed most."""
    changes = {one["figure"]: abs(one["change"]) for one in shown(pair) if one["change"] is not None}
    return changes.get("time_us", max(changes.values(), default=0.0))


def _answer(diff: RunDiff, first: PairDiff | None) -> str:
    if first is None:
        return "Nothing that is shown here: both do the same." if diff["pairs"] else "No variant is in both of them."
    of = f" with {_named(first)}" if len(diff["pairs"]) > 1 else ""
    figure = next(iter(_first(first)), shown(first)[0])
    lines = first["why"].get(figure["figure"], [])
    reasons = next((line.removeprefix("reasons: ") for line in lines if line.startswith("reasons: ")), "")
    why = f" Most of it: {reasons}." if reasons else ""
    name, _, unit = _label(figure).partition(", ")
    before, after = (f"{_value(figure, side)} {unit}".rstrip() for side in ("before", "after"))
    return f"{name.capitalize()}{of} went from {before} to {after}.{why}"


def _first(pair: PairDiff) -> list[FigureChange]:
    """Figures for the first screen: those that people ask for first, then what changed most."""
    known = {one["figure"]: one for one in shown(pair)}
    asked = [known[name] for name in FIRST if name in known]
    others = sorted((one for one in known.values() if one not in asked), key=lambda one: -abs(one["change"] or 0))
    return [*asked, *others]


def _figures(pair: PairDiff | None) -> list[KeyFigure]:
    made = []
    for one in _first(pair)[:3] if pair else ():
        value = _value(one, "after") if one["change"] is None else percent(one["change"])
        made.append(
            KeyFigure(_label(one).capitalize(), value, f"{_value(one, 'before')} became {_value(one, 'after')}")
        )
    return made


def _label(one: FigureChange) -> str:
    return SHOWN[one["figure"]][0]


def _value(one: FigureChange, side: str) -> str:
    value = one["before"] if side == "before" else one["after"]
    _, unit, digits = SHOWN[one["figure"]]
    return "-" if value is None else number(value / unit, digits)


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
    rows = [[_label(one), *_cells(one)] for one in shown(pair)]
    parts: list[str | Drawn] = [table(["figure", "A", "B", "change"], rows, align="lrrr")]
    said: set[str] = set()
    for figure, lines in pair["why"].items():
        fresh = [line for line in lines if line not in said]
        said.update(fresh)
        if fresh:
            parts.append(f"<h3>{escape(OF.get(figure, figure))}</h3>" + bullets(fresh))
    return parts or [paragraph("No difference.")]
