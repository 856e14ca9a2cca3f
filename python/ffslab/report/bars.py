"""Stacked bars, a row for each variant, as HTML: they wrap on narrow screens, print, and are read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ffslab.text.quoting import escape, plain_html


@dataclass(frozen=True)
class Piece:
    """A part of a bar. `colour`: of the style sheet. `said`: its value with the unit. `behind`: a background task's."""

    label: str
    colour: str
    value: float
    said: str
    behind: str = ""


@dataclass(frozen=True)
class Row:
    """A bar; `rest` stands behind it. All texts are plain."""

    name: str
    pieces: Sequence[Piece]
    rest: str = ""


def bars(rows: Sequence[Row]) -> str:
    """The bars on one scale, with a legend of their pieces; nothing when all are empty."""
    most = max((sum(piece.value for piece in row.pieces) for row in rows), default=0.0)
    if not most:
        return ""
    alone = len(rows) == 1
    lines = []
    for row in rows:
        name = "" if alone else f'<div class="bars-name">{escape(row.name)}</div>'
        lines.append(f'{name}<div class="bars-line">{_strip(row, most)}{_rest(row)}</div>')
    body = "\n".join(lines)
    kind = "bars-rows alone" if alone else "bars-rows"
    frame = f'<div class="{kind}" tabindex="0" role="group" aria-label="Bars">\n{body}\n</div>'
    return f'<div class="bars">{frame}\n{_legend(rows)}</div>'


def _strip(row: Row, most: float) -> str:
    # What stands behind the longest bar has room, too.
    share = 78 if any((row.rest,)) else 100
    pieces = [piece for piece in row.pieces if piece.value]
    total = sum(piece.value for piece in pieces)
    told = "; ".join(f"{_named(piece)} {piece.said}" for piece in pieces)
    cells = "".join(
        f'<i{" class=behind" if piece.behind else ""} style="--c:var(--{piece.colour});flex:{piece.value:.6g} 0 0" '
        f'title="{plain_html(f"{_named(piece)}: {piece.said}")}"></i>'
        for piece in pieces
    )
    label = plain_html(f"{row.name}: {told}" if told else row.name)
    width = f'style="width:{share * total / most:.3f}%"'
    return f'<span class="bars-strip" role="img" aria-label="{label}" {width}>{cells}</span>'


def _named(piece: Piece) -> str:
    return f"{piece.label}, {piece.behind}" if piece.behind else piece.label


def _rest(row: Row) -> str:
    return f'<span class="bars-rest">{escape(row.rest)}</span>' if row.rest else ""


def _legend(rows: Sequence[Row]) -> str:
    colours = {piece.label: piece.colour for row in rows for piece in row.pieces if piece.value}
    behind = list(dict.fromkeys(piece.behind for row in rows for piece in row.pieces if piece.value and piece.behind))
    items = [
        f'<li><span class="dot" style="--c:var(--{colour})"></span>{escape(label)}</li>'
        for label, colour in colours.items()
    ]
    items += [f'<li><span class="dot behind"></span>hatched: {escape(task)}</li>' for task in behind]
    return '<ul class="keys">' + "".join(items) + "</ul>"
