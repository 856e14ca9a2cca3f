"""The page of a study that was done again: all verdicts in one picture, then figure by figure, claim by claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ffslab._native import __version__
from ffslab.answers.reproduction import JudgedClaim, JudgedPaper
from ffslab.report import Opening, board, page, section, table
from ffslab.report.charts import multiples
from ffslab.report.page import Drawn, KeyFigure, Part, folded, link_to, paragraph
from ffslab.studies.reproduce.claims import Cause, Verdict
from ffslab.studies.reproduce.figures import Figure
from ffslab.studies.reproduce.words import about_real, answer, cells, columns, elsewhere, why
from ffslab.text.quoting import escape
from ffslab.text.tables import number

GRADES: Mapping[str, board.Grade] = {
    Verdict.REPRODUCED: "good",
    Verdict.SHAPE_ONLY: "part",
    Verdict.NOT_REPRODUCED: "bad",
    Verdict.NOT_RUN: "none",
}
HOW_TO_READ = (
    "Squares, dashed lines and shaded areas are what the publication states in its text and tables; a bar through a "
    "square spans what counts as the same. Its printed curves are pictures, and nothing is read off them. Lines with "
    "circles are ffslab's runs"
)
UNSTATED = "Curves of which the publication states no value"


def report(judged: JudgedPaper, figures: Sequence[Figure]) -> str:
    """The HTML report."""
    claims = {claim["id"]: claim for claim in judged["claims"]}
    drawn = [(figure, _drawn(figure, f"figure-{at}", claims)) for at, figure in enumerate(figures)]
    stated = [one for figure, one in drawn if figure.published]
    others = [one for figure, one in drawn if not figure.published]
    told = "." if judged["set_up"] is None else ", dotted ones those of the real Linux 2.6.37."
    parts: list[Part] = [
        section("Published and simulated", [paragraph(HOW_TO_READ + told), multiples(stated, "large")])
        if stated
        else None,
        section(UNSTATED, _folded(others)) if others else None,
        *(f"<p>{escape(line)}</p>" for line in about_real(judged)),
        *(section(_title(claim), _claim(judged, claim)) for claim in judged["claims"]),
    ]
    opening = Opening(
        f"{judged['title']}: published and simulated",
        f"Simulated by ffslab {__version__} in virtual time.",
        answer(judged),
        _key_figures(judged),
        board.board([_row(claim) for claim in judged["claims"]], None if judged["set_up"] is None else "Linux 2.6.37"),
        judged["machine"],
    )
    return page(judged["title"], parts, opening)


def _title(claim: JudgedClaim) -> str:
    return f"{claim['id']}: {claim['title']}"


def _drawn(figure: Figure, name: str, claims: Mapping[str, JudgedClaim]) -> Drawn:
    """A figure with the verdicts on what it shows, and what of it is published."""
    verdicts = [_verdict(claims[claim]) for claim in figure.claims]
    says = f'<p class="stated">Published: {escape(figure.says)}</p>' if figure.says else ""
    return figure.drawn(name, board.chips(verdicts) + says)


def _verdict(claim: JudgedClaim) -> board.Verdict:
    return board.Verdict(claim["id"], claim["verdict"], GRADES[claim["verdict"]], link_to(_title(claim)))


def _row(claim: JudgedClaim) -> board.Row:
    numbers, orders = [], []
    for reading in claim["readings"]:
        said = f"{reading['what']}: published {reading['published']}, ffslab {reading['ours']}"
        real = reading["real_kernel"]
        if real is not None:
            said += f", Linux 2.6.37 {real['text']}"
        if reading["off_tolerances"] is None:
            orders.append(board.Order(reading["holds"], said))
        else:
            other = None if real is None else real["off_tolerances"]
            numbers.append(board.Number(reading["off_tolerances"], other, said))
    who = "" if claim["cause"] is None else Cause(claim["cause"]).who
    return board.Row(_verdict(claim), claim["title"], numbers, orders, f"who differs: {who}" if who else "")


def _folded(figures: Sequence[Drawn]) -> Drawn:
    together = multiples(figures, "large")
    what = "One figure" if len(figures) == 1 else f"{number(len(figures))} figures"
    shown = folded(f"{what} with our curves in the publication's axes", together.html)
    return Drawn(shown, together.data, together.scripts)


def _claim(judged: JudgedPaper, claim: JudgedClaim) -> str:
    body = f"<p>{escape(claim['source'])}: <b>{claim['verdict']}</b>{escape(why(claim))}</p>"
    if claim["readings"]:
        body += table(columns(judged)[2:], [cells(judged, reading) for reading in claim["readings"]])
    if claim["differs"]:
        body += f"<p>Why it differs: {escape(claim['differs'])}</p>"
    return body + "".join(f"<p>{escape(line)}</p>" for line in [*elsewhere(claim), *claim["evidence"]])


def _key_figures(judged: JudgedPaper) -> list[KeyFigure]:
    """How many claims come out as published, and how many readings as on the real kernel."""
    claims = judged["claims"]
    same = sum(claim["verdict"] == Verdict.REPRODUCED for claim in claims)
    made = [KeyFigure("Claims that come out as published", number(same), f"of {number(len(claims))}")]
    agree = [one for claim in claims for r in claim["readings"] if (one := r["agrees_with_real_kernel"]) is not None]
    if agree:
        made.append(
            KeyFigure("Readings as on the real kernel", number(sum(agree)), f"of {number(len(agree))} measured")
        )
    made.append(KeyFigure("Runs", number(judged["runs"]), "all simulated; their figures are beside this file"))
    return made
