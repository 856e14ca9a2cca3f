"""The house style of all pages: one HTML file that needs no other file and no network.

A page opens with its question, on what machine, the answer in a sentence, three or four numbers with what they are
compared with, and a picture (`Opening`); then come sections, each with a link. Everything can be read without scripts;
scripts add what needs a reader: sorting, filters, hovering, zoom. Charts are drawn by uPlot (MIT licence, 50 KB,
<https://github.com/leeoniya/uPlot>), which is small enough to stand in every page and draws 100,000 points without a
pause; `make setup` gets it from npm.

Deterministic: the same results give the same bytes with the same versions of ffslab and its packages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab._native import InputError, __version__
from ffslab.text.quoting import escape, plain_html

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
# Longer tables are laid out when they come near the screen; their place is kept.
LONG_ROWS = 150
# Of a page with charts: before the scripts that use it.
UPLOT, UPLOT_STYLE = "uPlot.iife.min.js", "uPlot.min.css"


@dataclass(frozen=True)
class Drawn:
    """HTML of something that a script fills, with the data for it (what JSON can hold) under its id."""

    html: str
    data: Mapping[str, object]
    scripts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of a page with a title of its own and a link to it. `title` is plain text, `body` HTML."""

    title: str
    body: str
    drawn: tuple[Drawn, ...] = ()


@dataclass(frozen=True)
class KeyFigure:
    """One of the numbers of the first screen; all texts are plain. `beside`: what it is compared with."""

    label: str
    value: str
    beside: str


@dataclass(frozen=True)
class Opening:
    """The first screen. All texts are plain. `machine`: on what, from what state, how long was seen
    (`ffslab.text.machine_line`); `failures`: who did not come to the end, or not with everything done."""

    question: str
    setting: str
    answer: str = ""
    figures: Sequence[KeyFigure] = field(default_factory=tuple)
    picture: Drawn | None = None
    machine: str = ""
    failures: Sequence[str] = ()


# Empty texts and `None` are left out.
Part = str | Section | None


NOTE = "Made by ffslab {version}. This file is complete: it asks for nothing on the network."


def page(
    title: str, parts: Sequence[Part], opening: Opening | None = None, *, note: str = NOTE, asks: str = "'none'"
) -> str:
    """An HTML file of these parts; empty ones are left out. `title` and `note`, its last line, are plain text.

    `asks`: whom its scripts may ask for more, as `Content-Security-Policy` says it.
    """
    drawn = [opening.picture] if opening is not None and opening.picture is not None else []
    contents: list[tuple[str, str]] = []
    bodies: list[str] = []
    for part in parts:
        if isinstance(part, Section):
            drawn += part.drawn
            contents.append((_slug(part.title, [used for used, _ in contents]), escape(part.title)))
            bodies.append(_section(contents[-1][0], part))
        elif part:
            bodies.append(part)
    scripts = list(dict.fromkeys(["page.js", *(name for one in drawn for name in one.scripts)]))
    styles = [_asset(UPLOT_STYLE)] if UPLOT in scripts else []
    return _templates().get_template("page.html.j2").render(
        title=plain_html(title),
        styles="\n".join([*styles, _asset("page.css")]),
        contents=contents if len(contents) > 1 else [],
        opening=None if opening is None else _opening(opening),
        parts=bodies,
        note=escape(note.format(version=__version__)),
        asks=asks,
        data=[(name, _json(value)) for one in drawn for name, value in one.data.items()],
        scripts=[_asset(name) for name in scripts],
    ) + "\n"  # fmt: skip


def section(title: str, body: str | Drawn | Sequence[str | Drawn]) -> Section | None:
    """A part of a page; nothing when `body`, HTML, is empty."""
    pieces = [body] if isinstance(body, str | Drawn) else [*body]
    text = "\n".join(filter(None, (one if isinstance(one, str) else one.html for one in pieces)))
    return Section(title, text, tuple(one for one in pieces if isinstance(one, Drawn))) if text else None


def link_to(title: str) -> str:
    """The address, within its page, of the first section with this title."""
    return f"#{_slug(title, [])}"


def bullets(items: Sequence[str]) -> str:
    """A list of plain texts; nothing when there is none."""
    return "<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>" if items else ""


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>" if text else ""


def verbatim(text: str) -> str:
    """Plain text as it is, line by line; it can be reached by the keyboard."""
    return f'<pre tabindex="0">{escape(text)}</pre>'


def folded(summary: str, body: str) -> str:
    """HTML that shows when somebody asks for it. `summary` is plain text."""
    return f"<details><summary>{escape(summary)}</summary>\n{body}</details>"


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    explained: dict[str, str] | None = None,
    align: str = "",
    variants: str = "",
) -> str:
    """A table of plain texts. `explained` holds HTML for below the first cell of a row.

    `align` as for `text_table`, and w for a column of long texts, which wrap; without it numbers stand to the right.
    The first column stands to the left in any case. `variants`: the id of the data of the variants that the rows are,
    which can be pinned and compared then.
    """
    others = range(1, len(head))
    kinds = align[1:] or [_side([row[i] for row in rows if i < len(row)]) for i in others]
    sides = ["", *(_CLASS[kind] for kind in kinds)]
    heads = (escape(cell).replace("\n", "<br>") for cell in head)
    lines = ["<tr>" + "".join(f"<th{side}>{cell}</th>" for side, cell in zip(sides, heads, strict=True)) + "</tr>"]
    for first, *cells in rows:
        below = (explained or {}).get(first)
        note = f"<br><small>{below}</small>" if below else ""
        body = "".join(f"<td{side}>{escape(cell)}</td>" for side, cell in zip(sides[1:], cells, strict=False))
        lines.append(f"<tr><td>{escape(first)}{note}</td>{body}</tr>")
    named = f' data-variants="{variants}"' if variants else ""
    body = "\n".join(lines[1:])
    shown = f"<table>\n<thead>\n{lines[0]}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    kind = "table long" if len(rows) > LONG_ROWS else "table"
    return f'<div class="{kind}" tabindex="0" role="group" aria-label="Table"{named}>\n{shown}\n</div>'


# Of cells in a column of texts, of long texts, of numbers.
_CLASS = {"l": ' class="text"', "w": ' class="text wraps"', "r": ""}


def _side(cells: list[str]) -> str:
    """l for a column of texts, r for one of numbers and what there is none of."""
    return "l" if any(cell[:1].isalpha() or cell[:1] in '"/' for cell in cells if cell) else "r"


def _section(name: str, part: Section) -> str:
    title = escape(part.title)
    link = f'<a class="link" href="#{name}" aria-label="Link to this section">#</a>'
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n<div class="head" id="{name}-title">'
        f"<h2>{title}</h2>{link}</div>\n{part.body}\n</section>"
    )


def _opening(opening: Opening) -> dict[str, object]:
    figures = [{key: escape(text) for key, text in vars(one).items()} for one in opening.figures]
    return {
        "question": escape(opening.question),
        "answer": escape(opening.answer),
        "setting": escape(opening.setting),
        "machine": escape(opening.machine),
        "failures": bullets(list(opening.failures)),
        "figures": figures,
        "picture": opening.picture.html if opening.picture is not None else "",
    }


def _slug(title: str, used: Sequence[str]) -> str:
    """A name for a link: letters and digits, one that the page does not have yet."""
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
    names = [plain, *(f"{plain}-{i}" for i in range(2, len(used) + 3))]
    return next(name for name in names if name not in used)


def _json(value: object) -> str:
    """JSON that ends no script element and starts no comment."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")


@cache
def _asset(name: str) -> str:
    try:
        return (HERE / "assets" / name).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise InputError(f"{name}: this part of reports is missing: `make assets` gets it from npm") from None


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # What goes in is HTML already: quoting of names of others has its own home, `ffslab.text.quoting`.
    return Environment(
        loader=FileSystemLoader(HERE / "templates"), undefined=StrictUndefined, trim_blocks=False, autoescape=False
    )
