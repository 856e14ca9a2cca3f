"""The page of `ffslab advise`: what to take, what it gives, and what would change the answer."""

from __future__ import annotations

import json

from ffslab._native import __version__
from ffslab.answers.advice import Advice
from ffslab.report.changes import Change, bars
from ffslab.report.page import Drawn, KeyFigure, Opening, bullets, folded, page, paragraph, section, table, verbatim
from ffslab.studies.advise.text import (
    CHANGES_ALIGN,
    FIGURES_ALIGN,
    changes_cells,
    figures_cells,
    ordered_changes,
    others,
    rests_on,
    seen_said,
    take,
    told,
)
from ffslab.text.tables import few, number, percent


def html(advice: Advice) -> str:
    """The whole page."""
    changes = table(*changes_cells(advice), align=CHANGES_ALIGN) if advice["changes"] else ""
    said = "One axis at a time; all others stay as they are in the choice."
    figures = paragraph("Of the whole day; the default is the first value of each axis.")
    parts = [
        section("What it gives", figures + table(*figures_cells(advice), align=FIGURES_ALIGN)),
        section("Why", bullets(advice["why"])),
        section(
            "What one other value would do",
            paragraph(said) + changes + bullets(list(seen_said(advice))) if changes else "",
        ),
        section("Other choices", bullets(list(others(advice)))),
        section("What this rests on", bullets(list(rests_on(advice)))),
        section("The data", folded("As JSON", verbatim(json.dumps(advice, indent=1)))),
    ]
    setting = f"{number(advice['points_tried'])} of {number(advice['points'])} points tried by ffslab {__version__}."
    return page(
        advice["title"],
        parts,
        Opening(advice["title"], setting, take(advice), _figures(advice), _picture(advice), advice["machine"]),
    )


def _figures(advice: Advice) -> list[KeyFigure]:
    """What is wanted, and how near the tightest limits are."""
    choice, default = advice["choice"], advice["default"]
    if choice["error"] is not None or choice["needs_us"] is not None:
        return []
    beside = (
        f"the default: {told(advice['wanted'], default['wanted'])}"
        if default["error"] is None and default["needs_us"] is None
        else "no default"
    )
    made = [KeyFigure(advice["wanted"], told(advice["wanted"], choice["wanted"]), beside)]
    for limit in sorted(choice["limits"], key=lambda one: one["margin"] or float("inf")):
        name, _, bound = limit["limit"].partition(" ")
        found = told(name, choice["figures"][name]) if name in choice["figures"] else "-"
        margin = f", {few(limit['margin'])} times of room" if limit["margin"] and limit["holds"] else ""
        made.append(KeyFigure(name, found, f"limit {bound}{margin if limit['holds'] else ', missed'}"))
    return made[:3]


def _picture(advice: Advice) -> Drawn | None:
    """What one other value would do to what is wanted."""
    made = []
    for one in ordered_changes(advice):
        ratio = one["wanted_ratio"]
        misses = f", but misses {', '.join(one['breaks'])}" if one["breaks"] else ""
        effect = "does not work" if one["error"] else "not known" if ratio is None else percent(ratio - 1)
        made.append(Change(f"{one['axis']} {one['value']}", ratio, effect + misses))
    return bars(made, f"To the left: less {advice['wanted']} than the choice; to the right: more.")
