"""The page of a study: the answer, what one costs in the other, who gains what, what matters, and all points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ffslab._native import __version__
from ffslab.answers.study import Gains, StudyAnswer, StudyPoint
from ffslab.report.charts import explorer
from ffslab.report.page import KeyFigure, Opening, Part, bullets, page, paragraph, section, table
from ffslab.studies.sweep import charts as study_charts
from ffslab.studies.sweep.text import (
    best_said,
    cells,
    failures,
    gains_cells,
    gains_said,
    label,
    sensitivity_said,
    setting,
    told,
    too_short_said,
    trade_offs_said,
    wanted,
)
from ffslab.text.quoting import escape

if TYPE_CHECKING:
    from ffslab.studies.sweep.answers import Answered

TRADE_OFFS_MAX = 100


def html(result: Answered) -> str:
    """The whole page of a study."""
    answer = result.answer
    several = len(answer["objectives"]) > 1
    every = study_charts.listed(result)
    parts: list[Part] = [
        bullets([f"Without energy: {why}." for why in answer["without_energy"]]),
        section("Trade-offs" if several else "Best", _trade_offs(answer)),
        *(section(f"Who gains what: {label(one['figure'])}", _gains(one)) for one in answer["gains"]),
        section("What matters", _sensitivity(answer)),
        section("Along each axis", study_charts.responses(result)),
        *(section(f"Two axes at once: {name}", body) for name, body in study_charts.heat_tables(result)),
        *(section(wanted(one["figure"], one["maximise"]), table(*cells(one["best"], answer)))
          for one in (answer["objectives"] if several else [])),
        section("All points", every) if every else None,
        section("The data", paragraph(
            "Beside this file: study.json (this answer), points.parquet and points.csv (a row a point, medians and "
            "intervals), runs.parquet (a row a run)."
        )),
    ]  # fmt: skip
    picture = explorer(study_charts.DATA) if every else None
    about = f"{setting(answer)} Simulated by ffslab {__version__} in virtual time."
    opening = Opening(
        answer["title"],
        about,
        _said(answer),
        _key_figures(answer),
        picture,
        answer["machine"],
        list(failures(answer)),
    )
    return page(answer["title"], parts, opening)


def in_notebook(result: Answered) -> str:
    """The trade-offs and what matters, as HTML for a page of others."""
    answer = result.answer
    return f"<h4>{escape(answer['title'])}</h4>" + _trade_offs(answer) + _sensitivity(answer)


def _said(answer: StudyAnswer) -> str:
    """The answer in a sentence or two."""
    said = [*best_said(answer), *too_short_said(answer)]
    return " ".join(said) or "No figure that is usually wanted differs between the points."


def _key_figures(answer: StudyAnswer) -> list[KeyFigure]:
    """The best value of each of the first three objectives, and where it is."""
    made = []
    for one in answer["objectives"][:3]:
        if one["best"]:
            point = one["best"][0]
            value = told(one["figure"], point["figures"][one["figure"]])
            is_short = answer["needs_us"] is not None
            beside = f"with {_named(point)}{' in what was seen' if is_short else ''}"
            if len(one["best"]) > 1 and not is_short:
                beside += f"; the next best has {told(one['figure'], one['best'][1]['figures'][one['figure']])}"
            made.append(KeyFigure(wanted(one["figure"], one["maximise"]), value, beside))
    return made


def _named(point: StudyPoint) -> str:
    return ", ".join(f"{name}={value}" for name, value in point["axes"].items())


def _trade_offs(answer: StudyAnswer) -> str:
    if not answer["objectives"]:
        return "<p>No figure that is usually wanted differs between the points: name some in `minimise`.</p>"
    shown = answer["trade_offs"][:TRADE_OFFS_MAX]
    more = len(answer["trade_offs"]) - len(shown)
    rest = f"<p>{more:,} more are in study.json.</p>" if more else ""
    return f"<p>{escape(trade_offs_said(answer))}</p>" + table(*cells(shown, answer)) + rest


def _gains(gains: Gains) -> str:
    return f"<p>{escape(gains_said(gains))}</p>" + table(*gains_cells(gains))


def _sensitivity(answer: StudyAnswer) -> str:
    items: Sequence[str] = [
        sensitivity_said(one) or f"What matters for {label(one['figure'])} is not told: {one['nothing']}."
        for one in answer["sensitivity"]
    ]
    return bullets(items)
