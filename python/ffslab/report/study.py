"""The report of a study: the trade-offs and what matters first, then the pictures of the whole space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ffslab import __version__
from ffslab.answers.study import Gains, StudyAnswer
from ffslab.report import Opening, bullets, figure, page, section, study_plots, table
from ffslab.report.page import Part
from ffslab.studies.sweep.text import (
    cells,
    failures,
    gains_cells,
    gains_said,
    label,
    sensitivity_said,
    setting,
    trade_offs_said,
    wanted,
)
from ffslab.text.quoting import escape

if TYPE_CHECKING:
    from ffslab.studies.sweep.results import StudyResult

TRADE_OFFS_MAX = 100


def html(result: StudyResult) -> str:
    """The whole report of a study."""
    answer = result.answer
    several = len(answer["objectives"]) > 1
    parts: list[Part] = [
        *(f"<p>{escape(line)}</p>" for line in failures(answer)),
        section("Trade-offs" if several else "Best", _trade_offs(answer)),
        figure(
            "What one costs in the other",
            "Each dot is a point of the study; those on the line are beaten by none in both. Bars are the 95 % "
            "intervals of the medians.",
            study_plots.trade_offs(result),
        ),
        *(section(f"Who gains what: {label(one['figure'])}", _gains(one)) for one in answer["gains"]),
        section("What matters", _sensitivity(answer)),
        figure(
            "Along each axis",
            "Lines are medians over all points with a value, or in a tenth of a range; bands hold 80 % of these "
            "points: what is left of a band is what the other axes do.",
            study_plots.responses(result),
        ),
        figure(
            "Two axes at once",
            "Medians over the other axes, of the two axes that matter most.",
            study_plots.heat_maps(result),
        ),
        figure(
            "All axes at once",
            "Each line is a point of the study, from axis to axis; coloured ones are among the trade-offs.",
            study_plots.parallel_coordinates(result),
        ),
        *(section(wanted(one["figure"], one["maximise"]), table(*cells(one["best"], answer)))
          for one in (answer["objectives"] if several else [])),
    ]  # fmt: skip
    opening = Opening(answer["title"], f"{setting(answer)} Simulated by ffslab {__version__} in virtual time.")
    return page(answer["title"], parts, opening)


def in_notebook(result: StudyResult) -> str:
    """The trade-offs and what matters, as HTML for a page of others."""
    answer = result.answer
    return f"<h4>{escape(answer['title'])}</h4>" + _trade_offs(answer) + _sensitivity(answer)


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
