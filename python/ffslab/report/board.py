"""All verdicts on a study in one picture, as HTML: what was compared, how far each number is off, which orders hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ffslab.report.page import Drawn
from ffslab.text.quoting import escape, plain_html

Grade = Literal["good", "part", "bad", "none"]
# To either side, in tolerances; what is farther off stands at the end, as an arrow.
SIDE = 4


@dataclass(frozen=True)
class Verdict:
    """On a claim, by its name; `link` leads to it. All texts are plain."""

    name: str
    said: str
    grade: Grade
    link: str


@dataclass(frozen=True)
class Number:
    """How far ours, and another's, is from a published number, in tolerances: from -1 to 1 it counts as the same."""

    off: float
    other: float | None
    said: str


@dataclass(frozen=True)
class Order:
    """Whether an order or a trend holds."""

    holds: bool
    said: str


@dataclass(frozen=True)
class Row:
    """A claim. `rest` stands behind its verdict."""

    verdict: Verdict
    title: str
    numbers: Sequence[Number]
    orders: Sequence[Order]
    rest: str = ""


def chips(verdicts: Sequence[Verdict]) -> str:
    """Verdicts for a figure, each a link to its claim."""
    items = "".join(
        f'<li><a href="{one.link}"><span class="chip {one.grade}">{escape(f"{one.name} {one.said}")}</span></a></li>'
        for one in verdicts
    )
    return f'<ul class="chips">{items}</ul>' if items else ""


def board(rows: Sequence[Row], other: str | None = None) -> Drawn:
    """A row for each claim; `other`: whose numbers stand below ours."""
    has_numbers = any(row.numbers for row in rows)
    kind = "verdicts" if has_numbers else "verdicts orders-only"
    scale = _scale() if has_numbers else ""
    body = "\n".join(_row(row, has_numbers) for row in rows)
    frame = f'<div class="{kind}" tabindex="0" role="group" aria-label="Verdicts">\n{scale}{body}\n</div>'
    return Drawn(f'<div class="bars">{frame}{_legend(rows, has_numbers, other)}</div>', {})


def _row(row: Row, has_numbers: bool) -> str:
    of = row.verdict
    lane = _lane(row.numbers) if has_numbers else ""
    rest = f' <span class="verdicts-rest">{escape(row.rest)}</span>' if row.rest else ""
    return (
        f'<div class="verdicts-name"><a href="{of.link}">{escape(of.name)}</a> {escape(row.title)}</div>'
        f'<div><span class="chip {of.grade}">{escape(of.said)}</span>{rest}</div>{lane}{_orders(row.orders)}'
    )


def _scale() -> str:
    return (
        '<div class="verdicts-head"></div><div class="verdicts-head"></div><div class="verdicts-head lane-scale">'
        "<span>less</span><span>as published</span><span>more</span></div>"
        '<div class="verdicts-head">orders, trends</div>'
    )


def _lane(numbers: Sequence[Number]) -> str:
    if not numbers:
        return '<div class="lane none"></div>'
    hold = sum(abs(one.off) <= 1 for one in numbers)
    marks = "".join(
        _mark(one.off, "ours", one.said) + ("" if one.other is None else _mark(one.other, "other", one.said))
        for one in numbers
    )
    label = plain_html(f"{hold} of {len(numbers)} numbers count as the same")
    return f'<div class="lane" role="img" aria-label="{label}">{marks}</div>'


def _mark(off: float, whose: str, said: str) -> str:
    at = 50 + 50 * max(-SIDE, min(SIDE, off)) / (SIDE + 0.4)
    far = "" if abs(off) <= SIDE else " far-left" if off < 0 else " far-right"
    return f'<i class="{whose}{far}" style="left:{at:.1f}%" title="{plain_html(said)}"></i>'


def _orders(orders: Sequence[Order]) -> str:
    hold = sum(one.holds for one in orders)
    if not orders:
        return '<div class="orders"></div>'
    marks = "".join(
        f'<i{"" if one.holds else " class=off"} title="{plain_html(one.said)}"></i>'
        for one in sorted(orders, key=lambda one: not one.holds)
    )
    label = plain_html(f"{hold} of {len(orders)} orders and trends hold")
    return f'<div class="orders" role="img" aria-label="{label}">{marks}<span>{hold} of {len(orders)}</span></div>'


def _legend(rows: Sequence[Row], has_numbers: bool, other: str | None) -> str:
    items = []
    if has_numbers:
        items = [
            '<li><i class="key-ours"></i>a number of ffslab</li>',
            '<li><i class="key-band"></i>counts as the published one</li>',
            f'<li><i class="key-far"></i>further off than {SIDE} times that</li>',
        ]
        if other is not None and any(one.other is not None for row in rows for one in row.numbers):
            items.insert(1, f'<li><i class="key-other"></i>{escape(other)}</li>')
    if any(row.orders for row in rows):
        items += [
            '<li><i class="key-holds"></i>an order or a trend that holds</li>',
            '<li><i class="key-off"></i>one that does not</li>',
        ]
    return f'<ul class="keys">{"".join(items)}</ul>'
